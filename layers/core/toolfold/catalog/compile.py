"""Sources → the compiled catalog: one JSON document with everything that can be decided before a request.

Build side. ``compile_folder`` reads ``<folder>/<source>/source.yaml`` and the categories beside it, checks them
(``sources``, then ``lint``: what only the whole can tell) and returns the JSON text. It is deterministic: same YAML,
same bytes, same hash.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from toolfold.catalog import index, lint, yaml_lines
from toolfold.catalog.model import FORMAT
from toolfold.catalog.sources import Category, Parameter, Source, Tool
from toolfold.errors import SourceError

ModelT = TypeVar("ModelT", bound=BaseModel)

_UNION_MEMBERS = {"str", "bool", "int", "float", "list[str]"}
"""What pydantic appends to a location when no type of a union fits."""


def compile_folder(folder: Path) -> str:
    """Compile every source below ``folder``.

    Returns:
        The compiled catalog as JSON text, ending in a line feed.

    Raises:
        SourceError: with every mistake found, each as ``file:line: what is wrong``.
    """
    problems: list[str] = []
    sources: dict[str, Any] = {}
    categories: list[dict[str, Any]] = []
    tools: dict[str, Any] = {}
    written: list[tuple[Category, Tool]] = []
    places: dict[str, str] = {}
    paths = sorted(folder.glob("*/source.yaml"))
    if not paths:
        raise SourceError([f"{folder}:1: holds no <source>/source.yaml"])
    for path in paths:
        source_document = yaml_lines.read(path)
        source = _parse(Source, source_document, source_document.data, problems)
        if source is None:
            continue
        _check_shared(source, source_document, problems)
        sources[source.id] = _source_entry(source)
        for document, category in _categories(source, path.parent, problems):
            categories.append(
                {
                    "name": category.category,
                    "title": category.title,
                    "description": category.description,
                    "tools": len(category.tools),
                }
            )
            for number, tool in enumerate(category.tools):
                where = functools.partial(_where, document, number)
                written.append((category, tool))
                if tool.name in places:
                    problems.append(f"{where('name')}: tool {tool.name} is already defined at {places[tool.name]}")
                places[tool.name] = where("name")
                tools[tool.name] = _tool_entry(source, category, tool)
                problems += lint.tool(source, tool, tools[tool.name], where)
    problems += lint.mentions(tools, places)
    problems += lint.neighbours([tool for _, tool in written], places)
    if problems:
        raise SourceError(problems)
    searchable = _searchable(written)
    compiled = {
        "format": FORMAT,
        "sources": sources,
        "categories": categories,
        "listing": _listing(categories, tools),
        "tools": tools,
        "index": index.build(searchable),
        "spellings": index.spellings(searchable),
    }
    return json.dumps(compiled, ensure_ascii=False, separators=(",", ":")) + "\n"


def _where(document: yaml_lines.Document, number: int, *at: str | int) -> str:
    return document.where(("tools", number, *at))


def _parse(model: type[ModelT], document: yaml_lines.Document, data: Any, problems: list[str]) -> ModelT | None:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems += _located(error, document, ())
        return None


def _located(error: ValidationError, document: yaml_lines.Document, at: yaml_lines.Location) -> list[str]:
    """Each mistake once, as ``file:line: key: what is wrong``."""
    found: dict[str, None] = {}
    for item in error.errors():
        location, message = (*at, *item["loc"]), item["msg"].removeprefix("Value error, ")
        if location[-1:] and location[-1] in _UNION_MEMBERS:
            location, message = location[:-1], "Input should be a string, a number, true or false"
        found[f"{document.where(location)}: {'.'.join(map(str, location)) or 'file'}: {message}"] = None
    return list(found)


def _check_shared(source: Source, document: yaml_lines.Document, problems: list[str]) -> None:
    for key, fields in source.parameters.items():
        try:
            Parameter.model_validate({"name": key, **fields})
        except ValidationError as error:
            problems += _located(error, document, ("parameters", key))


def _categories(source: Source, folder: Path, problems: list[str]) -> Iterator[tuple[yaml_lines.Document, Category]]:
    for path in sorted(set(folder.glob("*.yaml")) - {folder / "source.yaml"}):
        if path.stem not in source.categories:
            problems.append(f"{path}:1: is not named in the categories of source.yaml")
    for name in source.categories:
        document = yaml_lines.read(folder / f"{name}.yaml")
        data = _resolved(document, source.parameters, problems)
        category = _parse(Category, document, data, problems)
        if category is None:
            continue
        if category.category != name:
            problems.append(
                f"{document.where(('category',))}: category is {category.category!r} in a file called {name}"
            )
        yield document, category


def _resolved(document: yaml_lines.Document, shared: Mapping[str, Mapping[str, Any]], problems: list[str]) -> Any:
    """The document's data with references to shared parameters replaced: ``key``, or ``{ref: key, …overrides}``."""
    data = document.data
    if not isinstance(data, dict) or not isinstance(data.get("tools"), list):
        return data
    tools = []
    for number, tool in enumerate(data["tools"]):
        if not isinstance(tool, dict) or not isinstance(tool.get("parameters"), list):
            tools.append(tool)
            continue
        parameters = []
        for position, use in enumerate(tool["parameters"]):
            key = use if isinstance(use, str) else use.get("ref") if isinstance(use, dict) else None
            if key is None:
                parameters.append(use)
            elif key not in shared:
                where = document.where(("tools", number, "parameters", position))
                problems.append(f"{where}: shared parameter {key!r} is not defined in source.yaml")
            else:
                overrides = (
                    {} if isinstance(use, str) else {name: value for name, value in use.items() if name != "ref"}
                )
                parameters.append({"name": key, **shared[key], **overrides})
        tools.append({**tool, "parameters": parameters})
    return {**data, "tools": tools}


def _source_entry(source: Source) -> dict[str, Any]:
    entry = source.model_dump(
        include={"title", "description", "backend", "base_url", "function_key", "auth", "freshness", "no_data"}
    )
    entry["faults"] = [fault.model_dump(exclude_none=True) for fault in source.faults]
    entry["unknown_notice"] = source.unknown_notice
    return entry


def _tool_entry(source: Source, category: Category, tool: Tool) -> dict[str, Any]:
    shape = tool.returns.json_
    return {
        "source": source.id,
        "category": category.category,
        "title": tool.title,
        "summary": tool.summary,
        "description": tool.description,
        "tags": tool.tags,
        "access": tool.access,
        "freshness": tool.freshness,
        "formats": tool.formats,
        "parameters": _json_schema(tool),
        "returns": tool.returns.outline or _outline(tool),
        "call": _call(tool),
        "answer": {
            "csv": tool.returns.csv,
            "rows": shape.rows.split("|") if shape is not None else [],
            "kind": shape.kind if shape is not None else None,
        },
    }


def _json_schema(tool: Tool) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {parameter.name: _property(parameter) for parameter in tool.parameters},
    }
    required = [parameter.name for parameter in tool.parameters if parameter.required]
    if required:
        schema["required"] = required
    if tool.any_of:
        schema["anyOf"] = [{"required": [name]} for name in tool.any_of]
    schema["additionalProperties"] = False
    return schema


def _property(parameter: Parameter) -> dict[str, Any]:
    rule: dict[str, Any] = {"type": parameter.type, "description": parameter.description}
    if parameter.item_enum:
        rule["description"] += " Any of: " + ", ".join(parameter.item_enum) + "."
    for keyword, value in (
        ("enum", parameter.enum),
        ("default", parameter.default),
        ("pattern", parameter.pattern),
        ("minimum", _plain(parameter.minimum)),
        ("exclusiveMinimum", _plain(parameter.exclusive_minimum)),
        ("maximum", _plain(parameter.maximum)),
        ("examples", parameter.examples or None),
    ):
        if value is not None:
            rule[keyword] = value
    if parameter.max_repeats is None:
        return rule
    items = {"type": "string", **({"pattern": rule.pop("pattern")} if "pattern" in rule else {})}
    bounds = {"items": items, "minItems": 1, "maxItems": parameter.max_repeats}
    return {"type": "array", "description": rule["description"], **bounds, "examples": rule["examples"]}


def _plain(number: float | None) -> float | int | None:
    return int(number) if number is not None and number.is_integer() else number


def _call(tool: Tool) -> dict[str, Any]:
    """What the backend needs to send the call; keys that would be empty are left out."""
    lists = {
        parameter.name: {
            "separator": parameter.separator,
            **({"max_items": parameter.max_items} if parameter.max_items else {}),
            **({"items": parameter.item_enum} if parameter.item_enum else {}),
        }
        for parameter in tool.parameters
        if parameter.separator
    }
    call = {
        "query": {parameter.name: parameter.query for parameter in tool.parameters if parameter.query},
        "lists": lists,
        "sends": {parameter.name: parameter.default for parameter in tool.parameters if parameter.send_default},
    }
    return {"function": tool.function or tool.name, **{key: value for key, value in call.items() if value}}


def _outline(tool: Tool) -> str:
    """The shape of the answer in a line: ``csv: columns`` and ``json: {keys, rows: […]}``, as far as known."""
    parts = []
    if "csv" in tool.formats:
        parts.append(f"csv: {tool.returns.csv or 'the JSON columns'}")
    shape = tool.returns.json_
    if shape is not None:
        row = "{" + ", ".join(shape.columns) + "}"
        form = {"object": row, "list": f"[{row}]", "map": f"{{time: {row}}}", "names": "{symbol: name}"}[shape.kind]
        paths = [path for path in shape.rows.split("|") if path]
        outer = [key for key in shape.keys if key not in {path.partition(".")[0] for path in paths}]
        if len(paths) > 1:
            outer.append(f"{', '.join(paths)}: each {form}")
        elif paths:
            outer.append(": {".join(paths[0].split(".")) + f": {form}" + "}" * paths[0].count("."))
        parts.append("json: " + ("{" + ", ".join(outer) + "}" if paths else form))
    return "; ".join(parts)


def _searchable(written: list[tuple[Category, Tool]]) -> list[dict[str, list[str]]]:
    """The texts by which each tool is found. What a tool is not for speaks for the neighbour that is."""
    said: dict[str, list[str]] = {}
    for _, tool in written:
        for neighbour in tool.not_for:
            said.setdefault(neighbour.take, []).append(neighbour.say)
    return [
        {
            "name": [tool.name.replace("_", " ")],
            "title": [tool.title],
            "summary": [tool.summary],
            "description": [tool.description],
            "tags": tool.tags,
            "category": [category.title, category.description],
            "asks": tool.asks,
            "aliases": tool.aliases,
            "asks_of_neighbours": said.get(tool.name, []),
        }
        for category, tool in written
    ]


def _listing(categories: list[dict[str, Any]], tools: Mapping[str, Any]) -> str:
    """The text of ``TOOL_LIST()``. One heading a category, one line a tool: the smallest form measured (see
    ``docs/decisions/listing-format.md``)."""
    lines = [f"{len(tools)} tools. Next: TOOL_GET(tool_name) for the parameters, then TOOL_CALL(tool_name, arguments)."]
    for category in categories:
        lines.append(f"# {category['name']}: {category['title']}")
        for name, tool in tools.items():
            if tool["category"] == category["name"]:
                lines.append(f"{name}: {tool['summary']}" + (" (premium)" if tool["access"] == "premium" else ""))
    return "\n".join(lines)
