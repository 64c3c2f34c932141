"""Render the answers of several calls within one budget of tokens, shared fairly, and within one response.

The structured data has each answer completely. The text is for a model: answers of the same form become one table with
the ids as its first column; others stand below a line with their id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.errors import CallError
from toolfold.meta_tools.call import metadata, output_options
from toolfold.meta_tools.plan import Item
from toolfold.meta_tools.result import safe_line, to_text
from toolfold.results import output, render, tokens
from toolfold.results.combine import LabelledDocument, combine
from toolfold.results.tables import Document
from toolfold.text_safety import quoted_name

if TYPE_CHECKING:
    from toolfold.meta_tools.call import Answer
    from toolfold.meta_tools.result import MetaRequest
    from toolfold.results.output import OutputOptions, RenderedResult

__all__ = ["Rendering", "error_of", "heading", "render_items", "status_of"]

_MIN_SHARE = 100
"""Tokens that an answer gets at least: a header and a row of a usual table."""

_CHARS_PER_TOKEN = 8
"""Longer answers than that do not fit in one table: a token has some four characters."""

ID = "id"


class Rendering(NamedTuple):
    """Answers as data and as text."""

    structured: dict[str, Any]
    text: str


def render_items(request: MetaRequest, items: Sequence[Item], budget: WorkBudget, max_tokens: int) -> Rendering:
    """Render each item.

    Args:
        request: of the meta-tool.
        items: performed, in the order of the answer.
        budget: what it may cost.
        max_tokens: budget of the text; 0: that of the settings.
    """
    options = output_options(request, max_tokens)
    failures = {item.id: to_text({"error": _short(item.error)}) for item in items if item.error is not None}
    left = max(output.MIN_TOKENS, options.max_tokens - sum(tokens.count(text) + 8 for text in failures.values()))
    if not request.whole and (table := _as_one_table(items, left, budget)) is not None:
        shown = {item.id: _plain(item.answer) for item in items if item.answer is not None}
        failed = [f"{heading(item)}\n{failures[item.id]}" for item in items if item.id in failures]
        entries = [status_of(item, shown.get(item.id)) for item in items]
        return Rendering({"results": entries}, "\n".join([table, *failed]))
    rendered = _rendered(items, replace(options, max_tokens=left), budget)
    entries = [status_of(item, rendered.get(item.id)) for item in items]
    if request.whole:
        return Rendering({"results": entries}, "")
    text = "\n".join(_part(item, rendered, failures) for item in items if not item.is_skipped)
    return Rendering({"results": entries}, text)


def _plain(answer: Answer) -> RenderedResult:
    """Return an answer that fits as it is, as data."""
    document = answer.document
    notes = {"notes": list(document.notes)} if document.notes else {}
    return output.RenderedResult({"result": render.to_structured(document), **answer.status.as_dict(), **notes}, "")


def status_of(item: Item, rendered: RenderedResult | None) -> dict[str, Any]:
    """Return the entry of an item in the structured data."""
    entry: dict[str, Any] = {"id": item.id, "tool_name": item.tool_name, "ok": item.answer is not None}
    if item.is_skipped:
        return {**entry, "skipped": True}
    entry["elapsed_ms"] = round(item.elapsed_s * 1000, 1)
    if item.error is not None:
        return {**entry, "error": item.error.as_dict()}
    if rendered is None or item.call is None or item.answer is None:
        return entry
    figures = metadata(item.call, rendered.structured, item.answer.use, item.elapsed_s)
    return {**entry, **rendered.structured, **figures}


def heading(item: Item) -> str:
    """Return the line above an answer; no data can look like it."""
    return f"# {quoted_name(item.id)}{' failed' if item.error is not None else ''}"


def error_of(error: CallError) -> str:
    """Return an error as a line of text."""
    return to_text({"error": _short(error)})


def _short(error: CallError | None) -> dict[str, Any]:
    """Return an error for the text: without the schema, which TOOL_GET returns and which the problems quote."""
    return {} if error is None else {key: value for key, value in error.as_dict().items() if key != "schema"}


def _rendered(items: Sequence[Item], options: OutputOptions, budget: WorkBudget) -> dict[str, RenderedResult]:
    """Return the rendered answers, those over their share as previews."""
    answers = {item.id: item.answer for item in items if item.answer is not None}
    first = {id_: _render(answer, replace(options, save_answer=None), budget) for id_, answer in answers.items()}
    if options.whole:
        return first
    sizes = {
        id_: options.max_tokens + 1 if "preview" in one.structured else tokens.count(one.text)
        for id_, one in first.items()
    }
    shares = _shares(sizes, options.max_tokens)
    for id_, share in shares.items():
        if sizes[id_] > share:
            first[id_] = _render(answers[id_], replace(options, max_tokens=share), budget)
    return first


def _shares(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """Divide tokens: each answer gets an equal share, and what short answers leave is for the longer ones."""
    shares: dict[str, int] = {}
    left = total
    for position, (id_, size) in enumerate(sorted(sizes.items(), key=lambda item: item[1])):
        share = max(_MIN_SHARE, left // (len(sizes) - position))
        shares[id_] = share
        left -= min(size, share)
    return shares


def _render(answer: Answer, options: OutputOptions, budget: WorkBudget) -> RenderedResult:
    own = WorkBudget(budget.deadline)
    return output.render_document(answer.document, options, answer.status, own, answer.size)


def _part(item: Item, rendered: Mapping[str, RenderedResult], failures: Mapping[str, str]) -> str:
    text = failures[item.id] if item.id in failures else rendered[item.id].text
    return f"{heading(item)}\n{text}"


def _as_one_table(items: Sequence[Item], max_tokens: int, budget: WorkBudget) -> str | None:
    """Return answers of the same form as one table, or None where they differ in form, or are too long together."""
    answered = [(item.id, item.answer) for item in items if item.answer is not None]
    if len(answered) < 2 or any(answer.status.stale_reason for _, answer in answered):
        return None
    documents = [answer.document for _, answer in answered]
    form, notes = _form(documents[0]), documents[0].notes
    if form is None or any(_form(document) != form or document.notes != notes for document in documents[1:]):
        return None
    if sum(answer.size for _, answer in answered) > _CHARS_PER_TOKEN * max_tokens:
        return None
    parts = [LabelledDocument((id_,), answer.document) for id_, answer in answered]
    document = combine((ID,), parts, WorkBudget(budget.deadline))
    text = render.notes_to_text([safe_line(note) for note in notes]) + render.to_text(document)
    return text if tokens.fits(text, max_tokens) else None


def _form(document: Document) -> tuple[str, ...] | None:
    """Return the columns of a document that is one table or one object of simple values; None for others."""
    if len(document.tables) == 1 and not document.metadata:
        return ("table", *document.tables[0].columns)
    fields = document.metadata
    if document.tables or not isinstance(fields, dict) or not fields:
        return None
    return ("fields", *fields) if {type(value) for value in fields.values()}.isdisjoint((dict, list)) else None
