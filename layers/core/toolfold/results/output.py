"""Turn the text of an upstream into the result of a call: selected, in one of two forms, and within a token budget.

A call that gives the format parameter of its source (``raw_by``) gets the upstream's own JSON or CSV with its keys
unchanged. Other calls get toolfold's own form: typed tables (``tables``) and the most compact text of them
(``render``). The two forms are never mixed.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.errors import UpstreamError
from toolfold.messages import UNREADABLE
from toolfold.redaction import NO_REDACTION, Redactor
from toolfold.results import preview, render, tables, tokens
from toolfold.results.limits import Truncation
from toolfold.results.preview import smaller_requests
from toolfold.results.raw_output import RawRenderer
from toolfold.results.renderer import AnswerStatus, OutputOptions, RenderedResult, Renderer, everything_left_out
from toolfold.results.tables import Document

if TYPE_CHECKING:
    from toolfold.results.select.parser import Selection

__all__ = [
    "MIN_REPORTED_AGE_S",
    "MIN_TOKENS",
    "AnswerStatus",
    "OutputOptions",
    "ParsedAnswer",
    "RenderedResult",
    "parse_answer",
    "render_document",
    "render_raw",
    "select_from",
]

MIN_TOKENS = 500
"""Smallest budget: a header of forty columns with two rows and a notice needs as much."""

MIN_REPORTED_AGE_S = 300
"""Age from which the text says how old a cached answer is. Data that changes faster is not cached that long."""


class ParsedAnswer(NamedTuple):
    """The answer of an upstream.

    Attributes:
        document: its tables and metadata.
        data: what an expression in JMESPath is applied to; None where there is no such expression.
    """

    document: Document
    data: Any = None


def render_raw(
    body: str,
    kind: str,
    answer: Mapping[str, Any],
    options: OutputOptions,
    status: AnswerStatus,
    redactor: Redactor,
    budget: WorkBudget,
) -> RenderedResult:
    """Render the answer of an upstream in the upstream's own form.

    Args:
        body: its text.
        kind: ``json`` or ``csv``.
        answer: what the catalog says about the tool's answers; see :func:`toolfold.results.tables.parse_tables`.
        options: how it is wanted.
        status: where it comes from.
        redactor: replaces the keys of the call.
        budget: what the call may cost.

    Raises:
        UpstreamError: the answer cannot be parsed.
        AnswerTooLarge: the budget is used up.
    """
    size = sys.getsizeof(body)
    budget.reserve(size)
    try:
        return RawRenderer(options, status, budget, size, body, kind, answer, redactor).render()
    except RecursionError:
        raise _nested_too_deeply() from None


def parse_answer(
    body: str,
    kind: str,
    answer: Mapping[str, Any],
    selection: Selection | None,
    budget: WorkBudget,
    redactor: Redactor = NO_REDACTION,
) -> ParsedAnswer:
    """Parse an answer for toolfold's own form.

    Args:
        body: its text.
        kind: ``json`` or ``csv``.
        answer: what the catalog says about the tool's answers; see :func:`toolfold.results.tables.parse_tables`.
        selection: what will be selected; None: everything.
        budget: what the call may cost.
        redactor: replaces the keys of the call.

    Raises:
        UpstreamError: the answer cannot be parsed.
        AnswerTooLarge: the budget is used up.
    """
    budget.reserve(sys.getsizeof(body))
    try:
        if selection is None or not selection.jmespath:
            return ParsedAnswer(tables.parse_tables(body, kind, answer, budget, redactor))
        if kind == "json":
            data = tables.parse_json(body, answer, budget, redactor)
            return ParsedAnswer(tables.from_json(data, answer, budget), data)
        document = tables.parse_tables(body, kind, answer, budget, redactor)
        rows = {"rows": document.tables[0].objects()} if document.tables else document.metadata
        return ParsedAnswer(document, rows)
    except RecursionError:
        raise _nested_too_deeply() from None


def select_from(parsed: ParsedAnswer, selection: Selection | None, today: date, budget: WorkBudget) -> Document:
    """Return the selected part of an answer.

    Args:
        parsed: the answer.
        selection: what to select; None: everything.
        today: the day from which ``today`` and the future count.
        budget: what the call may cost.

    Raises:
        InvalidArguments: the ``select`` does not fit the answer.
        UpstreamError: the answer is nested too deeply.
        AnswerTooLarge: the budget is used up.
    """
    if selection is None:
        return parsed.document
    try:
        if selection.jmespath:
            from toolfold.results.select import jmespath

            return tables.from_value(jmespath.search(selection.jmespath, parsed.data, budget), budget)
        from toolfold.results.select import evaluator

        return evaluator.evaluate(selection, parsed.document, budget, today)
    except RecursionError:
        raise _nested_too_deeply() from None


def render_document(
    document: Document, options: OutputOptions, status: AnswerStatus, budget: WorkBudget, size: int
) -> RenderedResult:
    """Render a document in toolfold's own form.

    Args:
        document: what to render.
        options: how it is wanted; its ``select`` has been applied.
        status: where the answer comes from.
        budget: what the call may cost.
        size: bytes of the text that the document was made of.

    Raises:
        UpstreamError: the document is nested too deeply to be written.
        AnswerTooLarge: the budget is used up.
    """
    if document.is_text:
        from toolfold.results.text_output import TextRenderer  # few sources have such answers

        return TextRenderer(options, status, budget, size, document, _age_line(status)).render()
    try:
        return _TableRenderer(options, status, budget, size, document).render()
    except RecursionError:
        raise _nested_too_deeply() from None


def _nested_too_deeply() -> UpstreamError:
    return UpstreamError("The service sent an answer that is nested too deeply.", UNREADABLE)


@dataclass(frozen=True)
class _TableRenderer(Renderer):
    """Renders an answer in toolfold's own form."""

    document: Document

    def render(self) -> RenderedResult:
        """Render the answer in toolfold's own form."""
        document = self.document
        status = {**self.status.as_dict(), **({"notes": list(document.notes)} if document.notes else {})}
        if self.options.whole:
            return RenderedResult({"result": render.to_structured(document), **status}, "")
        lines = _age_line(self.status) + render.notes_to_text(document.notes)
        self.prepare_text()
        full_text = render.to_text(document)
        if 0 < self.options.requested_tokens < self.options.max_tokens:
            lines, status = self._with_limit(lines, status, full_text)
        text = lines + full_text
        if self.fits(text, lambda: render.to_structured(document)):
            return RenderedResult({"result": render.to_structured(document), **status}, text)
        suffix = "txt" if document.metadata and document.tables else "json" if not document.tables else "csv"
        notice = self.notice(full_text, suffix, smaller_requests(document))
        full_chars = len(full_text)
        del full_text, text
        row_counts = tuple(len(table.rows) for table in document.tables)

        def to_text(shortened: tuple[Document, Truncation]) -> str:
            part, truncation = shortened
            return f"{lines}{notice.line(truncation)}\n{render.to_text(part)}"

        part, truncation = self.preview(
            full_chars,
            preview.count_rows(document),
            lambda limits, allowance: preview.truncate_document(document, limits, allowance),
            to_text,
            lambda shortened: render.to_structured(shortened[0]),
        ) or (Document(), everything_left_out(preview.count_rows(document)))
        structured = {
            "result": render.to_structured(part, row_counts[: len(part.tables)]),
            "preview": notice.data(truncation),
            **status,
        }
        return RenderedResult(structured, to_text((part, truncation)))

    def _with_limit(self, lines: str, status: dict[str, Any], text: str) -> tuple[str, dict[str, Any]]:
        """Add that the budget is larger than requested, where the text is."""
        options = self.options
        if tokens.fits(lines + text, options.requested_tokens) or not tokens.fits(text, options.max_tokens):
            return lines, status
        note = options.limit_note
        return lines + render.notes_to_text((note,)), {**status, "notes": [*status.get("notes", ()), note]}


def _age_line(status: AnswerStatus) -> str:
    """Return the line that says how old the answer is, or ``""`` for a recent one."""
    age = _duration(status.age_s)
    if status.stale_reason:
        return f"# {age} old and expired: {status.stale_reason} now, so there is nothing newer\n"
    return f"# cached {age} ago\n" if status.cached and status.age_s >= MIN_REPORTED_AGE_S else ""


def _duration(seconds: int) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
