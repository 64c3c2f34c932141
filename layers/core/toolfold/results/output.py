"""Turn the text of an upstream into the result of a call: selected, in one of two forms, and within a token budget.

A call that gives the format parameter of its source (``raw_by``) gets the upstream's own JSON or CSV with its keys
unchanged. Other calls get toolfold's own form: typed tables (``tables``) and the most compact text of them
(``render``). The two forms are never mixed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolfold.budget import WorkBudget
from toolfold.errors import UpstreamError
from toolfold.redaction import NO_REDACTION, Redactor
from toolfold.results import preview, render, tables, tokens
from toolfold.results.preview_notice import PreviewNotice, example_select
from toolfold.results.tables import Document

if TYPE_CHECKING:
    from toolfold.aws.clients import AwsClients
    from toolfold.results.select.parser import Selection

MIN_TOKENS = 500
"""Smallest budget: a header of forty columns with two rows and a notice needs as much."""

MIN_REPORTED_AGE_S = 300
"""Age from which the text says how old a cached answer is. Data that changes faster is not cached that long."""

_MAX_RESPONSE_CHARS = 5_500_000
"""A Lambda function returns at most 6 MB (6,291,556 bytes, lambda/latest/dg/gettingstarted-limits.html)."""

_SAFE_TEXT_CHARS = 100_000
"""Length of a text below which the response, which has it twice and escaped twice, is far below that limit."""


@dataclass(frozen=True)
class OutputOptions:
    """How the result of a call is wanted.

    Attributes:
        raw_by: name of the argument that requests the upstream's own form; empty: toolfold's own form.
        select: the part to return.
        max_tokens: budget of the text.
        offload_to: where a text over the budget is saved (see ``offload``), or empty.
        presigned_url_ttl_s: seconds that a link to it is valid.
        offload_timeout_s: seconds that saving it in S3 may take.
        deadline: ``time.monotonic()`` at which the response must be complete.
        aws: makes the client of S3.
    """

    raw_by: str = ""
    select: Selection | None = None
    max_tokens: int = 8000
    offload_to: str = ""
    presigned_url_ttl_s: float = 3600
    offload_timeout_s: float = 5
    deadline: float | None = None
    aws: AwsClients | None = None


@dataclass(frozen=True)
class RenderedResult:
    """The result of a call.

    Attributes:
        structured: ``result``, ``cached``, ``age_s``, ``late`` where the answer has expired, and ``preview`` where the
            result is shortened.
        text: the result for a model.
    """

    structured: Mapping[str, Any]
    text: str


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
    status: dict[str, Any] = {"cached": cached, "age_s": age_s, **({"late": stale_reason} if stale_reason else {})}
    try:
        return (_render_raw if options.raw_by else _render_tables)(body, kind, answer, options, status, budget)
    except RecursionError:
        raise UpstreamError(
            "The service sent an answer that is nested too deeply.", "Tell the user that this answer cannot be read."
        ) from None


def _render_tables(
    body: str,
    kind: str,
    answer: Mapping[str, Any],
    options: OutputOptions,
    status: Mapping[str, Any],
    budget: WorkBudget,
) -> RenderedResult:
    """Render the answer in toolfold's own form."""
    document = _select(body, kind, answer, options.select, budget)
    age_line = _age_line(status)
    full_text = render.to_text(document)
    text = age_line + full_text
    token_count = tokens.count(text)
    if token_count <= options.max_tokens and _fits_lambda(text, lambda: render.to_structured(document)):
        return RenderedResult({"result": render.to_structured(document), **status}, text)
    suffix = "txt" if document.metadata and document.tables else "json" if not document.tables else "csv"
    saved = _offload(full_text, suffix, options)
    notice = PreviewNotice(token_count, saved, example_select(document), options.max_tokens)
    row_counts = tuple(len(table.rows) for table in document.tables)

    def to_text(shortened: tuple[Document, preview.Truncation]) -> str:
        part, truncation = shortened
        return f"{age_line}{notice.line(truncation)}\n{render.to_text(part)}"

    part, truncation = preview.largest_fitting(
        preview.count_rows(document),
        lambda limits: preview.truncate_document(document, limits),
        lambda shortened: _fits(to_text(shortened), lambda: render.to_structured(shortened[0]), options.max_tokens),
    )
    structured = {"result": render.to_structured(part, row_counts), "preview": notice.data(truncation), **status}
    return RenderedResult(structured, to_text((part, truncation)))


def _select(
    body: str, kind: str, answer: Mapping[str, Any], selection: Selection | None, budget: WorkBudget
) -> Document:
    if selection is None:
        return tables.parse_tables(body, kind, answer, budget)
    from toolfold.results.select import evaluator, jmespath_query

    if not selection.jmespath:
        return evaluator.evaluate(selection, tables.parse_tables(body, kind, answer, budget), budget)
    if kind == "json":
        data = tables.parse_json(body, answer, budget)
        return tables.from_value(jmespath_query.search(selection.jmespath, data, budget))
    document = tables.parse_tables(body, kind, answer, budget)
    data = {"rows": document.tables[0].objects()} if document.tables else document.metadata
    return tables.from_value(jmespath_query.search(selection.jmespath, data, budget))


def _render_raw(
    body: str,
    kind: str,
    answer: Mapping[str, Any],
    options: OutputOptions,
    status: Mapping[str, Any],
    budget: WorkBudget,
) -> RenderedResult:
    """Render the answer in the upstream's own form."""
    selection = options.select
    if selection is not None and not (selection.jmespath and kind == "json"):
        from toolfold.results.select.parser import invalid_select

        raise invalid_select(
            "works on toolfold's own form" if kind == "json" else "does not work on the upstream's CSV",
            None,
            f"Leave out {options.raw_by}; with {options.raw_by}=json only jmespath: and an expression can be used.",
        )
    data: Any
    if kind == "csv":
        data = text = body.replace("\r\n", "\n").strip("\n")
    else:
        data = json.loads(body, parse_constant=lambda _constant: None)
        if selection is not None:
            from toolfold.results.select import jmespath_query

            data = jmespath_query.search(selection.jmespath, data, budget)
        text = render.dumps_compact(data)
    token_count = tokens.count(text)
    if token_count <= options.max_tokens and _fits_lambda(text, lambda: data):
        return RenderedResult({"result": data, **status}, text)
    smaller_request = (
        f"leave out {options.raw_by} and add {example_select(tables.parse_tables(body, kind, answer, budget))}"
    )
    notice = PreviewNotice(token_count, _offload(text, kind, options), smaller_request, options.max_tokens)

    def shorten(limits: preview.Limits) -> tuple[Any, preview.Truncation]:
        if kind == "csv":
            return preview.truncate_csv(text, limits)
        truncation = preview.Truncation()
        return preview.truncate(data, limits, truncation), truncation

    def to_text(shortened: tuple[Any, preview.Truncation]) -> str:
        part, truncation = shortened
        if kind == "csv":
            return f"{notice.line(truncation)}\n{part}"
        return render.dumps_compact({"preview": notice.data(truncation), "result": part})

    part, truncation = preview.largest_fitting(
        text.count("\n") if kind == "csv" else preview.count_items(data),
        shorten,
        lambda shortened: _fits(to_text(shortened), lambda: shortened[0], options.max_tokens),
    )
    structured = {"result": part, "preview": notice.data(truncation), **status}
    return RenderedResult(structured, to_text((part, truncation)))


def _offload(text: str, suffix: str, options: OutputOptions) -> dict[str, Any]:
    """Save the full text where the options say; return where it is, or ``{}``."""
    if not options.offload_to:
        return {}
    from toolfold.results import offload

    remaining_s = float("inf") if options.deadline is None else options.deadline - time.monotonic()
    return offload.save(
        text,
        suffix,
        options.offload_to,
        options.presigned_url_ttl_s,
        options.offload_timeout_s,
        remaining_s,
        options.aws,
    )


def _fits(text: str, data: Callable[[], Any], max_tokens: int) -> bool:
    return tokens.count(text) <= max_tokens and _fits_lambda(text, data)


def _fits_lambda(text: str, data: Callable[[], Any]) -> bool:
    """Return whether a Lambda function can return the answer: JSON in the string of a body, in JSON."""
    if len(text) < _SAFE_TEXT_CHARS:
        return True
    body = json.dumps({"content": text, "structuredContent": data()})
    return len(json.dumps(body)) <= _MAX_RESPONSE_CHARS


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
