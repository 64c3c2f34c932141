"""Compile the YAML of all sources to one JSON document.

The compiler validates each file with the models of ``build.schema``, checks references between files with
``build.checks``, and computes everything that does not depend on a request. The result is deterministic: the same YAML
gives the same bytes and the same hash.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from toolfold.build import checks, emitter, search_index, writer, yaml_loader
from toolfold.build.schema import VOCABULARY, Category, Parameter, Source, Tool, Vocabulary
from toolfold.catalog.model import name_key, summary_suffix
from toolfold.catalog.tokenizer import in_words
from toolfold.errors import SourceError
from toolfold.results import tokens
from toolfold.sources.registry import adapter_names


class _ToolDefinition(NamedTuple):
    """A tool in YAML, with its source and category."""

    source: str
    category: Category
    tool: Tool


ModelT = TypeVar("ModelT", bound=BaseModel)

_UNION_MEMBERS = {"str", "bool", "int", "float", "list[str]"}
"""Names that pydantic appends to a location when a value matches no type of a union."""


def compile_folder(folder: Path, adapters: Collection[str] | None = None) -> str:
    """Compile every source below ``folder``.

    Args:
        folder: The folder that contains ``<source>/source.yaml``.
        adapters: Names that ``adapter`` may have. None: the adapters that ``sources.registry`` finds here.

    Returns:
        The compiled catalog as JSON text, ending in a line feed.

    Raises:
        SourceError: The YAML has errors. The exception lists all of them, each as ``file:line: problem``.
    """
    problems: list[str] = []
    sources: dict[str, Any] = {}
    categories: list[dict[str, Any]] = []
    tools: dict[str, Any] = {}
    definitions: list[_ToolDefinition] = []
    vocabularies: dict[str, Vocabulary] = {}
    locations: dict[str, str] = {}
    spellings: dict[str, str] = {}
    paths = sorted(folder.glob("*/source.yaml"))
    shared = _shared_categories(paths)
    known_adapters = adapter_names() if adapters is None else sorted(adapters)
    if not paths:
        problem = "contains no <source>/source.yaml" if folder.is_dir() else "is not a folder"
        raise SourceError([f"{folder}: {problem}"])
    for path in paths:
        source_document = yaml_loader.load(path)
        source = _parse(Source, source_document, source_document.data, problems)
        if source is None:
            continue
        if source.adapter not in known_adapters:
            where_adapter = source_document.where(("adapter",))
            problems.append(
                f"{where_adapter}: adapter {source.adapter!r} is not installed; known are {', '.join(known_adapters)}"
            )
        _check_shared(source, source_document, problems)
        sources[source.id] = emitter.source_entry(source)
        vocabularies[source.id] = _vocabulary(source, path.parent, problems)
        for document, category in _categories(source, path.parent, problems):
            label = f"{source.id}/{category.category}" if category.category in shared else category.category
            categories.append(
                {
                    "name": label,
                    "source": source.id,
                    "title": category.title,
                    "description": category.description,
                    "tools": len(category.tools),
                }
            )
            for number, tool in enumerate(category.tools):
                where = functools.partial(_where, document, number)
                definitions.append(_ToolDefinition(source.id, category, tool))
                if (known := spellings.setdefault(name_key(tool.name), tool.name)) in locations:
                    other = "" if known == tool.name else f" as {known}: names that differ by case alone are the same"
                    problems.append(
                        f"{where('name')}: tool {tool.name} is already defined at {locations[known]}{other}"
                    )
                locations[tool.name] = where("name")
                tools[tool.name] = emitter.tool_entry(source, label, tool)
                problems += checks.check_tool(source, tool, tools[tool.name], where)
    problems += checks.check_mentions(tools, locations)
    problems += checks.check_use_instead([entry.tool for entry in definitions], locations)
    problems += checks.check_hints(tools, locations)
    problems += checks.check_vocabulary(vocabularies.values(), tools)
    if problems:
        raise SourceError(problems)
    emitter.finish(tools)
    searchable, out_of_scope = _searchable(definitions, vocabularies), _out_of_scope(vocabularies)
    compiled = {
        "sources": sources,
        "categories": categories,
        "listing": _listing(categories, tools),
        "definition_tokens": _definition_tokens(tools),
        "tools": tools,
        "index": search_index.build(searchable, out_of_scope),
        "spellings": search_index.spellings(searchable + out_of_scope, vocabularies.values()),
        "synonyms": search_index.synonyms(vocabularies.values()),
    }
    return writer.dumps(compiled)


def _definition_tokens(tools: Mapping[str, Mapping[str, Any]]) -> int:
    """Return the tokens of ``tools`` as definitions of ``tools/list``: what a client reads that has no meta-tools."""
    pieces = 0
    for name, entry in tools.items():
        description = f"{entry['summary']}. {entry['description']}"
        definition = {"name": name, "description": description, "inputSchema": entry["parameters"]}
        pieces += tokens.pieces(json.dumps(definition, ensure_ascii=False, separators=(",", ":")) + ",")
    return tokens.with_margin(pieces)


def _shared_categories(paths: list[Path]) -> set[str]:
    """Return the names of categories that occur in several sources."""
    found: Counter[str] = Counter()
    for path in paths:
        data = yaml_loader.load(path).data
        listed = data.get("categories") if isinstance(data, dict) else None
        found.update({name for name in listed if isinstance(name, str)} if isinstance(listed, list) else ())
    return {name for name, count in found.items() if count > 1}


def _where(document: yaml_loader.Document, number: int, *at: str | int) -> str:
    return document.where(("tools", number, *at))


def _parse(model: type[ModelT], document: yaml_loader.Document, data: Any, problems: list[str]) -> ModelT | None:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems += _located(error, document, ())
        return None


def _located(error: ValidationError, document: yaml_loader.Document, at: yaml_loader.Location) -> list[str]:
    """Return each error once, as ``file:line: key: problem``."""
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
    """Return the vocabulary in ``folder``; empty when there is no ``vocabulary.yaml``."""
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
            problems.append(f"{path}:1: is not listed in the categories of source.yaml")
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
    """Return the data of ``document`` with references to shared parameters replaced.

    A reference is ``key``, or ``{ref: key}`` with fields that override those of the shared parameter.
    """
    data = document.data
    if not isinstance(data, dict) or not isinstance(data.get("tools"), list):
        return data
    tools = []
    for number, tool in enumerate(data["tools"]):
        if isinstance(tool, dict) and isinstance(tool.get("parameters"), dict):
            tools.append({**tool, "parameters": [], "parameters_schema": tool["parameters"]})
            continue
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


def _searchable(
    definitions: list[_ToolDefinition], vocabularies: Mapping[str, Vocabulary]
) -> list[dict[str, list[str]]]:
    """Return the indexed texts of each tool. A phrase in ``use_instead`` is a text of the tool that it refers to."""
    redirected: dict[str, list[str]] = {}
    for entry in definitions:
        for other in entry.tool.use_instead:
            redirected.setdefault(other.tool, []).append(other.phrase)
    return [_texts(entry, vocabularies[entry.source], redirected.get(entry.tool.name, [])) for entry in definitions]


def _texts(entry: _ToolDefinition, vocabulary: Vocabulary, redirected: list[str]) -> dict[str, list[str]]:
    category, tool, names = entry.category, entry.tool, vocabulary.names.items()
    # Written requests say better what a tool is for than its parameters, which similar tools share.
    parameters = [] if tool.example_queries else tool.parameters
    return {
        "name": [in_words(tool.name)],
        "title": [tool.title],
        "summary": [tool.summary],
        "description": [tool.description],
        "parameter_names": [in_words(parameter.name) for parameter in parameters],
        "parameter_descriptions": [parameter.description or "" for parameter in parameters],
        "tags": tool.tags,
        "category": [category.title, category.description],
        "example_queries": tool.example_queries,
        "aliases": tool.aliases,
        "redirected_queries": redirected,
        "kinds": [f"@{kind}" for kind, known in names if known.matches_tool(category.category, tool.name)],
        "preferred": [f"@{kind}" for kind, known in names if tool.name in known.preferred],
    }


def _out_of_scope(vocabularies: Mapping[str, Vocabulary]) -> list[dict[str, list[str]]]:
    """Return the indexed texts of each topic that no tool serves."""
    return [
        {"example_queries": [part for phrase in phrases for part in phrase.split(",")], "title": [topic]}
        for vocabulary in vocabularies.values()
        for topic, phrases in vocabulary.out_of_scope.items()
    ]


def _listing(categories: list[dict[str, Any]], tools: Mapping[str, Any]) -> str:
    """Return the text of ``TOOL_LIST()``: a heading for each category, a line for each tool.

    This format needs the fewest tokens of those measured (``docs/explanation/decisions/listing-format.md``).
    """
    lines = [f"{len(tools)} tools. Next: TOOL_GET(tool_name) for the parameters, then TOOL_CALL(tool_name, arguments)."]
    for category in categories:
        lines.append(f"# {category['name']}: {category['title']}")
        for name, tool in tools.items():
            if tool["category"] == category["name"]:
                lines.append(f"{name}: {tool['summary']}{_suffix(tool)}")
    return "\n".join(lines)


def _suffix(tool: Mapping[str, Any]) -> str:
    return summary_suffix(tool["access"], tool["effect"], tool.get("confirm", ""))
