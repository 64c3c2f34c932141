"""``TOOL_CALL(tool_name, arguments, select, max_tokens, fresh)``: call a tool and fit its answer into the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolfold.catalog.json_schema import json_type
from toolfold.errors import InvalidArguments, NoData, PremiumOnly
from toolfold.execution.argument_reader import reader_of
from toolfold.messages import DESCRIBE_ANSWER
from toolfold.meta_tools.answer_reader import fetch_response
from toolfold.meta_tools.call import Item, document_size, metadata
from toolfold.meta_tools.plan import Plan
from toolfold.meta_tools.references import view_of
from toolfold.meta_tools.result import Result, to_text
from toolfold.results import output, values
from toolfold.results.tables import Document, Table

if TYPE_CHECKING:
    from toolfold.execution.call import UpstreamUse
    from toolfold.meta_tools.call import Answer, Call
    from toolfold.meta_tools.dispatcher import MetaRequest
    from toolfold.results.output import RenderedResult


def tool_call(request: MetaRequest) -> Result:
    """Call a tool.

    Returns:
        ``{"result", "cached"}``, and ``preview`` where the result is shortened; the text is the result itself. The
        result has toolfold's own form, or, where the call gives the ``format_parameter`` of the source, the upstream's;
        see ``results.output``.

    Raises:
        CallError: the call failed; see ``errors``.
    """
    with Plan(request, can_continue=False) as plan:
        item = Item("", request.arguments)
        try:
            call = plan.read(item, keeps_raw=True)
            inspects = item.given.get("inspect")
            if call.options.raw_by:
                result, use = _raw(plan, call, item.parts[0].arguments)
            else:
                filled = _fill_from_example(plan, item) if inspects else ()
                answer = plan.answer(item)
                if inspects:
                    arguments = call.sent if item.varied else item.parts[0].arguments
                    result = _inspection(plan, call, answer, arguments, filled)
                else:
                    rendered = _rendered(plan, call, answer)
                    result = Result(rendered.structured, rendered.text, blocks=answer.blocks)
                if item.varied:
                    result = result._replace(answered=plan.progress())
                use = answer.use
        except (InvalidArguments, NoData, PremiumOnly) as error:
            if error is item.error:  # of several requests, which has its next call
                raise
            raise plan.with_next_call(item.given, error) from error.__cause__
    figures = metadata(call, result.structured, use, plan.elapsed_ms, result.blocks)
    return result._replace(structured={**result.structured, **figures})


def _rendered(plan: Plan, call: Call, answer: Answer) -> RenderedResult:
    """Return the answer as text and data; a cached one as an equal call has rendered it."""
    document, status, options = answer.document, answer.status, call.options
    if not status.cached or document.notes or options.whole:  # a document with notes is made by each call
        return answer.render(options, plan.budget)
    memo, owners = plan.services.memo, (document,)
    key = status.line(), status.stale_reason, options.max_tokens
    known: RenderedResult | None = memo.get("rendered", owners, key)
    if known is not None:
        return replace(known, structured={**known.structured, **status.as_dict()})
    rendered = answer.render(options, plan.budget)
    if "preview" not in rendered.structured:  # which is as good as the time allows, and may have a link that expires
        memo.put("rendered", owners, key, rendered, document_size(document) + 2 * len(rendered.text))
    return rendered


def _raw(plan: Plan, call: Call, arguments: Mapping[str, Any]) -> tuple[Result, UpstreamUse]:
    """Return a response in the upstream's own form, whose text has no place for notes."""
    response = fetch_response(plan, call, arguments)
    plan.begin_shaping(call.tool, response)
    status = output.AnswerStatus(response.cached, response.age_s, response.stale_reason)
    rendered = output.render_raw(response.body, response.kind, call.options, status, response.redactor, plan.budget)
    notes = {"notes": list(response.notes)} if response.notes else {}
    return Result({**rendered.structured, **notes}, rendered.text), response.use


_ROWS = 3
"""First rows that are shown: enough to see what a column holds."""

_SAMPLED = 200
"""Rows, or items of a list, whose types are read."""

_MAX_MEMBERS = 60
_MAX_DEPTH = 6
_MAX_EXAMPLE_CHARS = 40


def _fill_from_example(plan: Plan, item: Item) -> tuple[str, ...]:
    """Take the arguments that a call lacks from the tool's example; return their names. ``item`` is changed."""
    tool = plan.catalog.called_tool(item.tool_name)
    if tool is None or not tool.only_reads:
        raise InvalidArguments(
            f"{item.tool_name} does more than read, or needs approval, so that it is not called to inspect its answer.",
            DESCRIBE_ANSWER,
        )
    known = reader_of(plan.catalog, tool).rename(item.parts[0].arguments).arguments
    required = [name for name in tool.parameters.get("required", ()) if name not in known]
    missing = [name for name in (required or ([] if known else tool.example)) if name in tool.example]
    item.notes = ()
    for part in item.parts:
        part.arguments = {**part.arguments, **{name: tool.example[name] for name in missing}}
    return tuple(missing)


def _inspection(plan: Plan, call: Call, answer: Answer, arguments: Mapping[str, Any], filled: Sequence[str]) -> Result:
    """Return the description of an answer.

    Returns:
        ``{"result": {"arguments", "from_example", "schema", "counts", "first_rows"}, "cached"}``. The schema is that of
        the answer as ``$ref`` and scripts see it.
    """
    document = answer.document
    view = view_of(_shortened(document, _SAMPLED), plan.budget)
    if document.tables:
        again = ("columns", "row_count", *(("rows",) if document.tables[0].name not in ("", "rows") else ()))
        view = {key: value for key, value in view.items() if key not in again}
    first = _shortened(document, _ROWS)
    tables: dict[str, Any] = {}
    for table in document.tables:
        nulls = ((column, sum(row[at] is None for row in table.rows)) for at, column in enumerate(table.columns))
        missing = {column: count for column, count in nulls if count}
        tables[table.name or "rows"] = {"rows": len(table.rows), "columns": len(table.columns), "missing": missing}
    fields = len(document.metadata) if isinstance(document.metadata, dict) else int(document.metadata is not None)
    counts = {"tables": tables, "fields": fields}
    head = {"arguments": dict(arguments), "counts": counts, "schema": _schema([view])}
    described: dict[str, Any] = {
        **head,
        "from_example": list(filled),
        "first_rows": {table.name or "rows": table.objects() for table in first.tables},
    }
    if document.metadata not in ({}, None):
        described["fields"] = document.metadata
    lines = [f"# {', '.join(filled)}: from the example"] if filled else []
    shown = replace(answer, document=first, select=call.options.select).render(call.options, plan.budget)
    text = "\n".join([*lines, to_text(head), "# First rows:" if document.tables else "# Fields:", shown.text])
    notes = {"notes": list(document.notes)} if document.notes else {}
    return Result({"result": described, **answer.status.as_dict(), **notes}, text)


def _shortened(document: Document, rows: int) -> Document:
    tables = tuple(Table(table.name, table.columns, table.rows[:rows]) for table in document.tables)
    return Document(tables, document.metadata)


def _schema(found: Sequence[Any], depth: int = 0) -> dict[str, Any]:
    """Return a schema that all values fit: the types that occur, the members of all, the first example."""
    types = list(dict.fromkeys("number" if isinstance(value, float) else json_type(value) for value in found))
    if {"integer", "number"} <= set(types):
        types.remove("integer")
    schema: dict[str, Any] = {"type": types[0] if len(types) == 1 else types} if types else {}
    objects = [value for value in found if isinstance(value, dict) and depth < _MAX_DEPTH]
    if objects:
        names = list(dict.fromkeys(name for one in objects for name in one))[:_MAX_MEMBERS]
        members = {name: [one[name] for one in objects if name in one] for name in names}
        schema["properties"] = {name: _schema(inner, depth + 1) for name, inner in members.items()}
        if depth:
            schema["required"] = [name for name, inner in members.items() if len(inner) == len(objects)]
    lists = [value[:_SAMPLED] for value in found if isinstance(value, list) and depth < _MAX_DEPTH]
    if items := [item for one in lists for item in one]:
        schema["items"] = _schema(items, depth + 1)
    texts = [value for value in found if value is not None]
    if texts and all(map(values.is_date, texts)):
        forms = {"date" if len(text) == len("2026-01-13") else "date-time" for text in texts}
        schema |= {"format": forms.pop()} if len(forms) == 1 else {}
    scalars = (value for value in found if isinstance(value, str | int | float) and not isinstance(value, bool))
    example = next((value for value in scalars if len(str(value)) <= _MAX_EXAMPLE_CHARS), None)
    return schema if example is None else {**schema, "examples": [example]}
