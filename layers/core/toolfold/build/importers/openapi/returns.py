"""Describe the answer of an operation in one line: the names of its rows and fields, as ``select`` takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from toolfold.build.importers.openapi.document import DocumentError, Location
from toolfold.build.importers.openapi.references import References
from toolfold.build.importers.openapi.schema_parts import DEFINITIONS
from toolfold.build.importers.openapi.schemas import SchemaConverter
from toolfold.results.values import clean_names

__all__ = ["Answer", "describe_answer"]

MAX_COLUMNS = 40
"""Names of columns that are listed: about 200 tokens. GitHub's repository has 90."""

MAX_NAME = 60
_MAX_PARTS = 100
_SUCCESS = ("200", "201", "202", "203", "206", "2XX", "2xx", "default")


class Answer(NamedTuple):
    """What a tool returns: ``outline`` for the model, and ``rows``, the path of the rows in the response."""

    outline: str = ""
    rows: tuple[str, ...] = ()


def describe_answer(responses: Any, at: Location, references: References, converter: SchemaConverter) -> Answer:
    """Return the fields of a successful response in JSON; nothing where the document does not describe it."""
    try:
        schema = _schema(responses, at, references, converter)
        return _described(schema, converter) if schema is not None else Answer()
    except DocumentError:
        # A response that is not described well can still be returned.
        return Answer()


def _schema(responses: Any, at: Location, references: References, converter: SchemaConverter) -> Any:
    if not isinstance(responses, dict):
        return None
    for status in _SUCCESS:
        if status not in responses:
            continue
        response_at, response = references.follow(responses[status], (*at, status))
        content = response.get("content") if isinstance(response, dict) else None
        for content_type, media in content.items() if isinstance(content, dict) else ():
            is_json = "json" in str(content_type).lower() or content_type == "*/*"
            if is_json and isinstance(media, dict) and "schema" in media:
                return converter.convert(media["schema"], (*response_at, "content", content_type, "schema"))
        return None
    return None


def _described(schema: Any, converter: SchemaConverter) -> Answer:
    if (item := _item(schema, converter)) is not None:
        columns = _columns(_properties(item, converter))
        return Answer(f"rows: {columns}" if columns else "", ("",))
    properties = _properties(schema, converter)
    rows = {name: item for name, part in properties.items() if (item := _item(part, converter)) is not None}
    tables = {name: columns for name, item in rows.items() if (columns := _columns(_properties(item, converter)))}
    others = {name: part for name, part in properties.items() if name not in tables}
    # One list of objects beside a few numbers is an answer with rows; an object with many fields is a record.
    if len(tables) == 1 and len(others) <= 12:
        ((name, columns),) = tables.items()
        meta = f"; meta: {_columns(others)}" if others else ""
        return Answer(f"rows: {columns}{meta}", (name,))
    fields = _columns(properties)
    return Answer(f"fields: {fields}" if fields else "", ())


def _parts(schema: Any, converter: SchemaConverter) -> Iterator[Mapping[str, Any]]:
    """Yield ``schema`` and the schemas that apply to the same value, also those of alternatives, each once."""
    open_, seen = [schema], set[int]()
    while open_ and len(seen) < _MAX_PARTS:
        part = open_.pop(0)
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if "$ref" in part:
            open_.append(converter.definition(part["$ref"].removeprefix(DEFINITIONS)))
        for key in ("allOf", "anyOf", "oneOf"):
            open_ += part.get(key, ())


def _item(schema: Any, converter: SchemaConverter) -> Any:
    """Return the schema of the items of a list of objects, or None."""
    for part in _parts(schema, converter):
        if "items" in part and _properties(part["items"], converter):
            return part["items"]
    return None


def _properties(schema: Any, converter: SchemaConverter) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in _parts(schema, converter):
        for name, value in part.get("properties", {}).items():
            if len(name) <= MAX_NAME and name.isprintable():
                found.setdefault(name, value)
    return found


def _columns(properties: Mapping[str, Any]) -> str:
    names = clean_names(list(properties))
    shown = [name.replace(",", " ").replace(";", " ") for name in names[:MAX_COLUMNS]]
    return ",".join(shown) + (f",… ({len(names) - MAX_COLUMNS} more)" if len(names) > MAX_COLUMNS else "")
