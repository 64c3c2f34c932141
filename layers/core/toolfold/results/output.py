"""Turn the text of an upstream into the result of a call: selected, in one of two forms, and within a token budget.

A call that gives the format parameter of its source (``raw_by``) gets the upstream's own JSON or CSV with its keys
unchanged. Other calls get toolfold's own form: typed tables (``tables``) and the most compact text of them
(``render``). The two forms are never mixed.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.budget import WorkBudget
from toolfold.errors import UpstreamError
from toolfold.redaction import NO_REDACTION, Redactor
from toolfold.results import preview, render, tables
from toolfold.results.limits import Truncation
from toolfold.results.preview_notice import example_select
from toolfold.results.raw_output import RawRenderer
from toolfold.results.renderer import OutputOptions, RenderedResult, Renderer, everything_left_out
from toolfold.results.tables import Document

if TYPE_CHECKING:
    from toolfold.results.select.parser import Selection

__all__ = ["MIN_REPORTED_AGE_S", "MIN_TOKENS", "OutputOptions", "RenderedResult", "render_result"]

MIN_TOKENS = 500
"""Smallest budget: a header of forty columns with two rows and a notice needs as much."""

MIN_REPORTED_AGE_S = 300
"""Age from which the text says how old a cached answer is. Data that changes faster is not cached that long."""


def render_result(
    body: str,
    kind: str,
    answer: Mapping[str, Any],
    options: OutputOptions,
    *,
    cached: bool = False,
    age_s: int = 0,
    stale_reason: str = "",
    redactor: Redactor = NO_REDACTION,
    budget: WorkBudget | None = None,
) -> RenderedResult:
    """Render the answer of an upstream.

    Args:
        body: its text.
        kind: ``json`` or ``csv``.
        answer: what the catalog says about the tool's answers; see :func:`toolfold.results.tables.parse_tables`.
        options: how it is wanted.
        cached: whether it comes from a cache.
        age_s: seconds since it was fetched.
        stale_reason: code of the error because of which an expired answer is returned.
        redactor: replaces the keys of the call.
        budget: what the call may cost; without one, time is unlimited.

    Raises:
        InvalidArguments: the ``select`` does not fit the answer.
        UpstreamError: the answer cannot be parsed.
        AnswerTooLarge: the budget is used up.
    """
    budget = WorkBudget() if budget is None else budget
    budget.reserve(sys.getsizeof(body))
    status: dict[str, Any] = {"cached": cached, "age_s": age_s, **({"late": stale_reason} if stale_reason else {})}
    renderer = RawRenderer if options.raw_by else _TableRenderer
    try:
        return renderer(body, kind, answer, options, status, redactor, budget).render()
    except RecursionError:
        raise UpstreamError(
            "The service sent an answer that is nested too deeply.", "Tell the user that this answer cannot be read."
        ) from None


class _TableRenderer(Renderer):
    """Renders an answer in toolfold's own form."""

    def render(self) -> RenderedResult:
        """Render the answer in toolfold's own form."""
        document = self._select(self.options.select)
        status = {**self.status, **({"notes": list(document.notes)} if document.notes else {})}
        lines = _age_line(self.status) + render.notes_to_text(document.notes)
        self.prepare_text()
        full_text = render.to_text(document)
        text = lines + full_text
        if self.fits(text, lambda: render.to_structured(document)):
            return RenderedResult({"result": render.to_structured(document), **status}, text)
        suffix = "txt" if document.metadata and document.tables else "json" if not document.tables else "csv"
        notice = self.notice(full_text, suffix, example_select(document))
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

    def _select(self, selection: Selection | None) -> Document:
        budget = self.budget
        if selection is None:
            return self.parse()
        from toolfold.results.select import evaluator, jmespath_query

        if not selection.jmespath:
            return evaluator.evaluate(selection, self.parse(), budget)
        if self.kind == "json":
            data = tables.parse_json(self.body, self.answer, budget, self.redactor)
        else:
            document = self.parse()
            data = {"rows": document.tables[0].objects()} if document.tables else document.metadata
        return tables.from_value(jmespath_query.search(selection.jmespath, data, budget), budget)


def _age_line(status: Mapping[str, Any]) -> str:
    """Return the line that says how old the answer is, or ``""`` for a recent one."""
    age_s = status["age_s"]
    if "late" in status:
        return f"# {_duration(age_s)} old and expired: {status['late']} now, so there is nothing newer\n"
    return f"# cached {_duration(age_s)} ago\n" if status["cached"] and age_s >= MIN_REPORTED_AGE_S else ""


def _duration(seconds: int) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
