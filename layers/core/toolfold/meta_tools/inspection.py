"""Describe the answer of a tool for ``inspect``: its schema, how many rows and fields it has, and the first rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolfold.catalog.json_schema import json_type
from toolfold.errors import InvalidArguments
from toolfold.execution.argument_reader import reader_of
from toolfold.messages import DESCRIBE_ANSWER
from toolfold.meta_tools.references import view_of
from toolfold.meta_tools.result import Result, to_text
from toolfold.results.tables import Document, Table

if TYPE_CHECKING:
    from toolfold.meta_tools.answer_reader import CallSession
    from toolfold.meta_tools.call import Answer, Call, Item

_ROWS = 3
"""First rows that are shown: enough to see what a column holds."""

_SAMPLED = 200
"""Rows, or items of a list, whose types are read."""

_MAX_MEMBERS = 60
_MAX_DEPTH = 6
_MAX_EXAMPLE_CHARS = 40


def fill_from_example(session: CallSession, item: Item) -> tuple[str, ...]:
    """Take the arguments that a call lacks from the tool's example; return their names. ``item`` is changed."""
    tool = session.catalog.get(item.tool_name)
    if tool is None or not tool.only_reads:
        raise InvalidArguments(
            f"{item.tool_name} does more than read, or needs approval, so that it is not called to inspect its answer.",
            DESCRIBE_ANSWER,
        )
    known = reader_of(session.catalog, tool).rename(item.parts[0].arguments).arguments
    required = [name for name in tool.parameters.get("required", ()) if name not in known]
    missing = [name for name in (required or ([] if known else tool.example)) if name in tool.example]
    item.notes = ()
    for part in item.parts:
        part.arguments = {**part.arguments, **{name: tool.example[name] for name in missing}}
    return tuple(missing)


def describe_answer(
    session: CallSession, call: Call, answer: Answer, arguments: Mapping[str, Any], filled: Sequence[str]
) -> Result:
    """Return the description of an answer.

    Returns:
        ``{"result": {"arguments", "from_example", "schema", "counts", "first_rows"}, "cached"}``. Schema and first rows
        are those of the answer as ``$ref`` and scripts see it.
    """
    document = answer.document
    first = _shortened(document, _ROWS)
    shapes = {
        table.name or "rows": {"rows": len(table.rows), "columns": len(table.columns)} for table in document.tables
    }
    fields = len(document.metadata) if isinstance(document.metadata, dict) else int(document.metadata is not None)
    schema = _schema([view_of(_shortened(document, _SAMPLED), session.budget)])
    head = {"arguments": dict(arguments), "counts": {"tables": shapes, "fields": fields}, "schema": schema}
    described = {**head, "from_example": list(filled), "first_rows": view_of(first, session.budget)}
    lines = [f"# {', '.join(filled)}: from the example"] if filled else []
    shown = replace(answer, document=first, select=call.options.select).render(call.options, session.budget)
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
    lists = [value[:_SAMPLED] for value in found if isinstance(value, list) and depth < _MAX_DEPTH]
    if items := [item for one in lists for item in one]:
        schema["items"] = _schema(items, depth + 1)
    scalars = (value for value in found if isinstance(value, str | int | float) and not isinstance(value, bool))
    example = next((value for value in scalars if len(str(value)) <= _MAX_EXAMPLE_CHARS), None)
    return schema if example is None else {**schema, "examples": [example]}
