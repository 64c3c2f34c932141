"""Turn the text of an upstream into the result of a call: selected, in one of two forms, and within a token budget.

A call that gives the format parameter of its source (``raw_by``) gets the upstream's own JSON or CSV with its keys
unchanged. Other calls get toolfold's own form: typed tables (``tables``) and the most compact text of them
(``render``), or plain text as it is.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.errors import UpstreamError
from toolfold.messages import UNREADABLE
from toolfold.redaction import NO_REDACTION, Redactor
from toolfold.results import parsing, preview, render, tables, tokens, values
from toolfold.results.preview import Limits, Shortener, TooLong
from toolfold.results.select import jmespath
from toolfold.results.select.coverage import notes_beside
from toolfold.results.select.names import invalid
from toolfold.results.tables import Document

if TYPE_CHECKING:
    from toolfold.results.select.grammar import Selection

MIN_TOKENS = 500
"""Smallest budget: a header of forty columns with two rows and a notice needs as much."""

MIN_REPORTED_AGE_S = 300
"""Age from which the text says how old a cached answer is. Data that changes faster is not cached that long."""

_MAX_RESPONSE_CHARS = 5_500_000
"""A Lambda function returns at most 6 MB (6,291,556 bytes, lambda/latest/dg/gettingstarted-limits.html)."""

_SAFE_TEXT_CHARS = 100_000  # the response, which has the text twice and escaped twice, is then far below that limit
_PREVIEW_S = 1.0  # that saving the full text leaves for making the preview
_EVERYTHING = "everything, because its parts are too long"


@dataclass(frozen=True)
class OutputOptions:
    """How the result of a call is wanted.

    Attributes:
        raw_by: name of the argument that requests the upstream's own form; empty: toolfold's own form.
        select: the part to return.
        max_tokens: budget of the text.
        save_answer: saves a text over the budget (see ``offload.AnswerStore.save``); None: it is not saved.
        whole: whether nothing is left out, for a person and for files. The text is then empty.
        ask_less: how to ask for less; empty: with ``select``.
    """

    raw_by: str = ""
    select: Selection | None = None
    max_tokens: int = 8000
    save_answer: Callable[[str, str, float], dict[str, Any]] | None = None
    whole: bool = False
    ask_less: str = ""


@dataclass(frozen=True)
class RenderedResult:
    """The result of a call.

    Attributes:
        structured: ``result``, ``cached``, ``age_s`` where it is true, ``late`` where the answer has expired, ``notes``
            where there are some, and ``preview`` where the result is shortened.
        text: the result for a model.
    """

    structured: Mapping[str, Any]
    text: str


@dataclass(frozen=True)
class AnswerStatus:
    """Where an answer comes from.

    Attributes:
        cached: whether from a cache.
        age_s: seconds since it was fetched.
        stale_reason: code of the error because of which an expired answer is returned.
    """

    cached: bool = False
    age_s: int = 0
    stale_reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return ``cached``, for a cached answer ``age_s``, and ``late`` where it has expired."""
        late = {"late": self.stale_reason} if self.stale_reason else {}
        age = {"age_s": self.age_s} if self.cached else {}
        return {"cached": self.cached, **age, **late}

    def line(self) -> str:
        """Return the line that says how old the answer is, or ``""`` for a recent one."""
        if not self.stale_reason and (not self.cached or self.age_s < MIN_REPORTED_AGE_S):
            return ""
        units = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
        size, unit = next((pair for pair in units if self.age_s >= pair[0]), units[-1])
        age = f"{self.age_s // size} {unit}"
        if self.stale_reason:
            return f"# {age} old and expired: {self.stale_reason} now, so there is nothing newer\n"
        return f"# cached {age} ago\n"


class ParsedAnswer(NamedTuple):
    """The answer of an upstream.

    Attributes:
        document: its tables and metadata.
        data: what an expression in JMESPath is applied to; None where there is no such expression.
    """

    document: Document
    data: Any = None


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
        kind: ``json``, ``csv`` or ``text``.
        answer: what the catalog says about the tool's answers; see :func:`toolfold.results.tables.parse_tables`.
        selection: what will be selected; None: everything.
        budget: what the call may cost.
        redactor: replaces the keys of the call.

    Raises:
        UpstreamError: the answer cannot be parsed.
        AnswerTooLarge: the budget is used up.
    """
    budget.reserve(sys.getsizeof(body))
    with _nesting_checked():
        if selection is None or not selection.jmespath:
            return ParsedAnswer(tables.parse_tables(body, kind, answer, budget, redactor))
        if kind == "json":
            data = tables.parse_json(body, answer, budget, redactor)
            return ParsedAnswer(tables.from_json(data, answer, budget), data)
        document = tables.parse_tables(body, kind, answer, budget, redactor)
        rows = {"rows": document.tables[0].objects()} if document.tables else document.metadata
        return ParsedAnswer(document, rows)


def select_from(
    parsed: ParsedAnswer, selection: Selection | None, today: date, budget: WorkBudget, partition: Sequence[str] = ()
) -> Document:
    """Return the selected part of an answer.

    Args:
        parsed: the answer.
        selection: what to select; None: everything.
        today: the day from which ``today`` and the future count.
        budget: what the call may cost.
        partition: of the answers to a list of calls, the columns of the arguments in which they differ.

    Raises:
        InvalidArguments: the ``select`` does not fit the answer.
        UpstreamError: the answer is nested too deeply.
        AnswerTooLarge: the budget is used up.
    """
    found = whole = parsed.document
    with _nesting_checked():
        if selection is not None and not selection.jmespath:
            from toolfold.results.select import engine

            return engine.evaluate(selection, whole, budget, today, partition)
        if selection is not None:
            found = tables.from_value(jmespath.search(selection.jmespath, parsed.data, budget), budget)
    return replace(found, notes=tuple(dict.fromkeys((*whole.notes, *notes_beside(whole, whole.tables)))))


def raw_document(body: str, kind: str, options: OutputOptions, redactor: Redactor, budget: WorkBudget) -> Document:
    """Return the answer of an upstream in the upstream's own form: its CSV as text, or its JSON as a value.

    Raises:
        InvalidArguments: a part is selected that this form does not have.
        UpstreamError: the answer cannot be parsed.
        AnswerTooLarge: the budget is used up.
    """
    selection = options.select
    if selection is not None and not (selection.jmespath and kind == "json"):
        hint = f"Leave out {options.raw_by}; with {options.raw_by}=json only jmespath: and an expression can be used."
        raise invalid("works on toolfold's own form", hint)
    if kind != "json":
        text = body if options.whole else body.replace("\r\n", "\n").strip("\n")
        return Document(metadata=redactor.redact_text(text), is_text=True)
    with _nesting_checked():
        data = parsing.parse_json(body, redactor, budget, values.parse_float)
        return Document(metadata=data if selection is None else jmespath.search(selection.jmespath, data, budget))


def render_document(
    document: Document, options: OutputOptions, status: AnswerStatus, budget: WorkBudget, size: int
) -> RenderedResult:
    """Render a document: whole, or else as much of it as fits, below a notice.

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
    about = {**status.as_dict(), **({"notes": list(document.notes)} if document.notes else {})}
    with _nesting_checked():
        if options.whole:
            return RenderedResult({"result": render.to_structured(document), **about}, "")
        budget.reserve(2 * size)  # what the text takes, which is written in one step
        budget.check_time(3 * size)
        text, lines = render.to_text(document), status.line() + render.notes_to_text(document.notes)
        if _fits(lines + text, lambda: render.to_structured(document), options.max_tokens):
            return RenderedResult({"result": render.to_structured(document), **about}, lines + text)
        return _preview(document, text, options, budget, lines, about)


@contextlib.contextmanager
def _nesting_checked() -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise UpstreamError("The service sent an answer that is nested too deeply.", UNREADABLE) from None


def _preview(
    document: Document, text: str, options: OutputOptions, budget: WorkBudget, lines: str, about: Mapping[str, Any]
) -> RenderedResult:
    """Render as much of a document as fits, below ``lines`` and a notice; ``text`` is the whole."""
    max_tokens, row_counts = options.max_tokens, [len(table.rows) for table in document.tables]
    ask_less = options.ask_less or preview.smaller_request(document, options.select, max_tokens)
    if options.raw_by:
        ask_less = f"leave out {options.raw_by}: the preview then names columns for select"
    full_text, full, suffix = document.metadata if document.is_text else text, {}, "json"
    if document.is_text or document.tables:
        suffix = "txt" if document.is_text or document.metadata else "csv"
    if options.save_answer is not None and 2 * sys.getsizeof(full_text) <= budget.left:
        full = options.save_answer(full_text, suffix, budget.remaining_s - _PREVIEW_S)
    notice = {"full": {**full, "tokens": tokens.estimate(full_text)}, "ask_less": ask_less}
    del text, full_text

    def with_notice(part: Document, left_out: Mapping[str, Any]) -> RenderedResult:
        data = {**left_out, **notice}
        shown = f"{lines}{preview.notice_line(data, max_tokens)}\n{render.to_text(part)}"
        return RenderedResult({"result": render.to_structured(part, row_counts), "preview": data, **about}, shown)

    def attempt(limits: Limits) -> RenderedResult | None:
        shortener = Shortener(limits, max_tokens)
        with contextlib.suppress(TooLong):
            rendered = with_notice(shortener.document(document), shortener.left_out())
            if _fits(rendered.text, lambda: rendered.structured, max_tokens):
                return rendered
        return None

    nothing = Document(metadata="" if document.is_text else {}, is_text=document.is_text)
    left_out = {"rows_shown": 0, "rows_total": sum(row_counts), "left_out": _EVERYTHING}
    return preview.largest_fitting(max_tokens, attempt, budget) or with_notice(nothing, left_out)


def _fits(text: str, structured: Callable[[], Any], max_tokens: int) -> bool:
    """Return whether a text is within the budget, and its response, JSON in the string of a body, within Lambda's."""
    if not tokens.fits(text, max_tokens) or 2 * len(text) > _MAX_RESPONSE_CHARS:
        return False
    if len(text) < _SAFE_TEXT_CHARS:
        return True
    body = json.dumps({"content": text, "structuredContent": structured()})
    return len(json.dumps(body)) <= _MAX_RESPONSE_CHARS
