"""Sources → the compiled catalog: one JSON document with everything that can be decided before a request.

Build side. ``compile_folder`` reads ``<folder>/<source>/source.yaml`` and the categories beside it, checks them
(``sources``, then ``lint``: what only the whole can tell) and returns the JSON text. It is deterministic: same YAML,
same bytes, same hash.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from toolfold.build import checks, emitter, search_index, writer, yaml_loader
from toolfold.build.schema import VOCABULARY, Category, Parameter, Source, Tool, Vocabulary
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
    vocabularies: list[Vocabulary] = []
    places: dict[str, str] = {}
    paths = sorted(folder.glob("*/source.yaml"))
    if not paths:
        raise SourceError([f"{folder}:1: holds no <source>/source.yaml"])
    for path in paths:
        source_document = yaml_loader.load(path)
        source = _parse(Source, source_document, source_document.data, problems)
        if source is None:
            continue
        _check_shared(source, source_document, problems)
        sources[source.id] = emitter.source_entry(source)
        vocabularies.append(_vocabulary(source, path.parent, problems))
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
                tools[tool.name] = emitter.tool_entry(source, category, tool)
                problems += checks.tool(source, tool, tools[tool.name], where)
    problems += checks.mentions(tools, places)
    problems += checks.neighbours([tool for _, tool in written], places)
    problems += checks.meant(vocabularies, tools)
    if problems:
        raise SourceError(problems)
    emitter.finish(tools)
    searchable, out_of_scope = _searchable(written, vocabularies), _out_of_scope(vocabularies)
    compiled = {
        "sources": sources,
        "categories": categories,
        "listing": _listing(categories, tools),
        "tools": tools,
        "index": search_index.build(searchable, out_of_scope),
        "spellings": search_index.spellings(searchable + out_of_scope, vocabularies),
        "synonyms": search_index.synonyms(vocabularies),
    }
    return writer.dumps(compiled)


def _where(document: yaml_loader.Document, number: int, *at: str | int) -> str:
    return document.where(("tools", number, *at))


def _parse(model: type[ModelT], document: yaml_loader.Document, data: Any, problems: list[str]) -> ModelT | None:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems += _located(error, document, ())
        return None


def _located(error: ValidationError, document: yaml_loader.Document, at: yaml_loader.Location) -> list[str]:
    """Each mistake once, as ``file:line: key: what is wrong``."""
    found: dict[str, None] = {}
    for item in error.errors():
        location, message = (*at, *item["loc"]), item["msg"].removeprefix("Value error, ")
        if location[-1:] and location[-1] in _UNION_MEMBERS:
            location, message = location[:-1], "Input should be a string, a number, true or false"
        found[f"{document.where(location)}: {'.'.join(map(str, location)) or 'file'}: {message}"] = None
    return list(found)


def _check_shared(source: Source, document: yaml_loader.Document, problems: list[str]) -> None:
    for key, fields in source.parameters.items():
        try:
            Parameter.model_validate({"name": key, **fields})
        except ValidationError as error:
            problems += _located(error, document, ("parameters", key))


def _vocabulary(source: Source, folder: Path, problems: list[str]) -> Vocabulary:
    """What is in ``vocabulary.yaml`` beside the source, which may be missing."""
    path = folder / VOCABULARY
    if not path.exists():
        return Vocabulary()
    document = yaml_loader.load(path)
    vocabulary = _parse(Vocabulary, document, document.data, problems) or Vocabulary()
    for kind, names in vocabulary.names.items():
        where = document.where(("names", kind))
        problems += [
            f"{where}: category {category!r} is not one of source.yaml"
            for category in names.categories
            if category not in source.categories
        ]
    return vocabulary


def _categories(source: Source, folder: Path, problems: list[str]) -> Iterator[tuple[yaml_loader.Document, Category]]:
    for path in sorted(set(folder.glob("*.yaml")) - {folder / "source.yaml", folder / VOCABULARY}):
        if path.stem not in source.categories:
            problems.append(f"{path}:1: is not named in the categories of source.yaml")
    for name in source.categories:
        document = yaml_loader.load(folder / f"{name}.yaml")
        data = _resolved(document, source.parameters, problems)
        category = _parse(Category, document, data, problems)
        if category is None:
            continue
        if category.category != name:
            problems.append(
                f"{document.where(('category',))}: category is {category.category!r} in a file called {name}"
            )
        yield document, category


def _resolved(document: yaml_loader.Document, shared: Mapping[str, Mapping[str, Any]], problems: list[str]) -> Any:
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


def _searchable(written: list[tuple[Category, Tool]], vocabularies: list[Vocabulary]) -> list[dict[str, list[str]]]:
    """The texts by which each tool is found. What a tool is not for speaks for the neighbour that is."""
    said: dict[str, list[str]] = {}
    kinds = [kind for vocabulary in vocabularies for kind in vocabulary.names.items()]
    for _, tool in written:
        for other in tool.use_instead:
            said.setdefault(other.tool, []).append(other.phrase)
    return [
        {
            "name": [tool.name.replace("_", " ")],
            "title": [tool.title],
            "summary": [tool.summary],
            "description": [tool.description],
            "tags": tool.tags,
            "category": [category.title, category.description],
            "example_queries": tool.example_queries,
            "aliases": tool.aliases,
            "redirected_queries": said.get(tool.name, []),
            "kinds": [f"@{kind}" for kind, names in kinds if names.holds(category.category, tool.name)],
            "preferred": [f"@{kind}" for kind, names in kinds if tool.name in names.preferred],
        }
        for category, tool in written
    ]


def _out_of_scope(vocabularies: list[Vocabulary]) -> list[dict[str, list[str]]]:
    """What no tool serves, each topic as if it were one more tool after the last."""
    return [
        {"example_queries": [part for phrase in phrases for part in phrase.split(",")], "title": [topic]}
        for vocabulary in vocabularies
        for topic, phrases in vocabulary.out_of_scope.items()
    ]


def _listing(categories: list[dict[str, Any]], tools: Mapping[str, Any]) -> str:
    """The text of ``TOOL_LIST()``. One heading a category, one line a tool: the smallest form measured (see
    ``docs/explanation/decisions/listing-format.md``)."""
    lines = [f"{len(tools)} tools. Next: TOOL_GET(tool_name) for the parameters, then TOOL_CALL(tool_name, arguments)."]
    for category in categories:
        lines.append(f"# {category['name']}: {category['title']}")
        for name, tool in tools.items():
            if tool["category"] == category["name"]:
                lines.append(f"{name}: {tool['summary']}" + (" (premium)" if tool["access"] == "premium" else ""))
    return "\n".join(lines)
