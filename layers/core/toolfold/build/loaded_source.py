"""A source that was read and checked alone, however its tools are described.

What an importer found becomes tools of the catalog with clean texts, summaries, examples and corrections.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from toolfold.build import emitter, yaml_loader
from toolfold.build.emitter import clean_schema, clean_text, first_sentence
from toolfold.build.example_arguments import example_arguments
from toolfold.build.importers.base import (
    FRESHNESS_CLASS,
    ImportedCategory,
    ImportedTool,
    Importer,
    ImporterSettings,
    ToolOverlay,
    overlay_line,
    read_overlay,
)
from toolfold.build.relations import safe_name
from toolfold.build.schema.field_types import VOCABULARY, Vocabulary
from toolfold.build.schema.sources import Category, SourceSettings, Tool
from toolfold.build.text_review import UnreadText, unread_texts
from toolfold.build.yaml_loader import parse_model
from toolfold.catalog.tokenizer import in_words
from toolfold.execution.validation import SchemaError, compile_schema


class LoadedCategory(NamedTuple):
    """A category, and what returns ``file:line`` of a key of one of its tools: number of the tool, then keys."""

    category: Category
    where: Callable[..., str]


class LoadedSource(NamedTuple):
    """A source with its tools, under the names that the source has for them.

    Attributes:
        left_out: What the source describes and no tool can express, each as ``file:line: problem``.
        notes: What tools lack without harm, each as ``file:line: sentence``.
        is_imported: Whether the texts were written for other readers; fewer rules are checked then.
        files: Content that calls return: its SHA-256 → text, or bytes.
        unread: Texts that a person has to read first; ``left_out`` has a line about each.
    """

    settings: SourceSettings
    entry: Mapping[str, Any]
    categories: Sequence[LoadedCategory]
    vocabulary: Vocabulary
    left_out: Sequence[str] = ()
    notes: Sequence[str] = ()
    is_imported: bool = False
    files: Mapping[str, str | bytes] = MappingProxyType({})
    unread: Sequence[UnreadText] = ()

    @property
    def has_failed(self) -> bool:
        """Whether a source that has no tool in the catalog was to have some."""
        return bool(self.left_out or self.categories)


class ToolDefinition(NamedTuple):
    """A tool under its name in the catalog, with its source and its category, which is called ``label`` in the catalog.

    ``where`` returns ``file:line`` of a key of the tool.
    """

    source: LoadedSource
    category: Category
    label: str
    tool: Tool
    where: functools.partial[str]


def _vocabulary(folder: Path, categories: Collection[str], problems: list[str]) -> Vocabulary:
    path = folder / VOCABULARY
    if not path.exists():
        return Vocabulary()
    document = yaml_loader.load(path)
    vocabulary = parse_model(Vocabulary, document, document.data, problems) or Vocabulary()
    for kind, names in vocabulary.names.items():
        where = document.where(("names", kind))
        problems += (
            f"{where}: category {category!r} is not one of the source"
            for category in names.categories
            if category not in categories
        )
    return vocabulary


_MAX_TITLE, _MAX_DESCRIPTION = 150, 2000
_MIN_SUMMARY = 10
_MAX_TAGS, _MAX_NAME = 6, 64
_NOT_IN_TAG = re.compile(r"[^a-z0-9]+")


def load_source_document(
    importer: Importer[Any], folder: Path, document: yaml_loader.Document, problems: list[str]
) -> LoadedSource | None:
    """Return the source in ``folder``, or None where it cannot be read."""
    settings = parse_settings(importer, folder, document, problems)
    if settings is None:
        return None
    found = importer.read(folder, settings, document, problems)
    if found is None:
        return None
    overlay = read_overlay(folder, [tool.name for tool in found.tools], problems)
    unread = list(unread_texts(settings, document, found, overlay))
    refused = {one.tool for one in unread}
    withheld: dict[str, Any] = {one.field: "" for one in unread if one.field}
    found = replace(found, **withheld)
    clean = clean_text if importer.is_refreshed else _as_written
    title = settings.title or in_words(settings.id).capitalize()
    description = clean_text(settings.description or found.description, emitter.MAX_PARAGRAPH) or f"Tools of {title}."
    groups: dict[str, list[tuple[ImportedTool, Tool]]] = {}
    left_out, notes = [*found.left_out, *map(str, unread)], list(found.notes)
    for tool in (tool for tool in found.tools if tool.name not in refused):
        own = overlay.tools.get(tool.name, ToolOverlay())
        wrong = left_out if importer.is_refreshed else problems
        model = _tool(settings, title, tool, own, document, wrong, notes)
        if model is not None:
            groups.setdefault(tool.category or settings.id, []).append((tool, model))
    described = {category.name: category for category in found.categories}
    categories = []
    for name, members in groups.items():
        category = described.get(name) or ImportedCategory(name, title, description)
        shown = clean(category.title, _MAX_TITLE) or name
        text = clean(category.description, emitter.MAX_PARAGRAPH) or shown
        made = Category(category=name, title=shown, description=text, tools=[tool for _, tool in members])
        categories.append(LoadedCategory(made, functools.partial(_where, folder, [tool for tool, _ in members])))
    return LoadedSource(
        settings,
        emitter.source_entry(settings, found, title, description),
        categories,
        _vocabulary(folder, groups, problems),
        left_out,
        notes,
        is_imported=importer.is_refreshed,
        files=found.files,
        unread=unread,
    )


def _as_written(text: str, _: int) -> str:
    """Return a text that was written for the catalog: its model has checked it."""
    return text


def parse_settings(importer: Importer[Any], folder: Path, document: yaml_loader.Document, problems: list[str]) -> Any:
    """Return the settings in ``document``, the ``source.yaml`` of ``folder``, or None where they are not valid."""
    data = document.data
    if isinstance(data, dict):  # the folder is named after the source
        data = {"id": folder.name, **data}
    return parse_model(importer.settings_model, document, data, problems)


def _where(folder: Path, tools: list[ImportedTool], number: int, *at: str | int) -> str:
    """Return ``file:line`` of a key of a tool, or of the whole tool where a service describes it."""
    tool = tools[number]
    if at[:1] == ("relations",) and not tool.relations:
        return overlay_line(folder, "tools", tool.name, *at)
    return tool.where if tool.locate is None else tool.locate(*at)


def _tool(
    settings: ImporterSettings,
    source_title: str,
    found: ImportedTool,
    overlay: ToolOverlay,
    document: yaml_loader.Document,
    problems: list[str],
    notes: list[str],
) -> Tool | None:
    parameters, clean = dict(found.parameters), _as_written if found.locate else clean_text
    if found.locate is None:
        parameters = clean_schema({key: value for key, value in parameters.items() if key not in ("$schema", "$id")})
        parameters, wrong = _with_valid_values({"type": "object", **parameters})
        notes += (f"{found.where}: {found.name}: {one}: what the parameter does not take is left out" for one in wrong)
    title = overlay.title or clean(found.title, _MAX_TITLE) or in_words(found.name).capitalize()[:_MAX_TITLE]
    description = overlay.description or clean(found.description or found.summary, _MAX_DESCRIPTION)
    summary = overlay.summary or first_sentence(clean(found.summary, _MAX_DESCRIPTION) or description)
    if len(summary) < _MIN_SUMMARY:
        summary = first_sentence(f"{summary or title} ({source_title})").ljust(_MIN_SUMMARY, "…")
    tags = [*overlay.tags, *map(_tag, found.tags), *settings.tags, *([_tag(settings.id)] if settings.prefix else [])]
    data = {
        "name": found.name if found.locate else safe_name(found.name)[:_MAX_NAME],
        "function": found.name,
        "title": title,
        "summary": summary,
        "description": description or summary,
        "tags": list(dict.fromkeys(filter(None, tags)))[:_MAX_TAGS],
        "example_queries": [*overlay.example_queries, *found.example_queries],
        "aliases": [*overlay.aliases, *found.aliases],
        "relations": [one.model_dump(exclude_none=True) for one in (*found.relations, *overlay.relations)],
        "effect": overlay.effect or found.effect,
        "confirm": overlay.confirm or found.confirm,
        "freshness": FRESHNESS_CLASS,
        "parameters": parameters,
        "binding": dict(found.call),
        "returns": {
            "outline": clean_text(found.returns) or None,
            "rows": list(found.rows),
            "typed": found.is_typed,
        },
        "example": overlay.example or found.example or example_arguments(parameters),
        "is_example_generated": not (overlay.example or found.example),
        **found.more,
        **overlay.model_dump(include={"expose"}, exclude_none=True),
    }
    before = len(problems)
    tool = parse_model(Tool, document, data, problems)
    problems[before:] = [f"{found.where}: {found.name}: {problem.partition(': ')[2]}" for problem in problems[before:]]
    return tool


def _with_valid_values(schema: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the schema without defaults and examples that their parameters do not take, and what was left out."""
    given, wrong = schema.get("properties"), list[str]()
    properties = dict(given) if isinstance(given, dict) else {}
    definitions: dict[str, Any] = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    for name, part in properties.items():
        for key in sorted({"default", "examples"} & part.keys()) if isinstance(part, dict) else ():
            values = part[key] if key == "examples" and isinstance(part[key], list) else [part[key]]
            try:
                fitting = list(filter(compile_schema({**definitions, **part}).is_valid, values))
            except SchemaError:  # which the compiler reports
                continue
            if len(fitting) < len(values):
                wrong.append(f"{key} of {name}")
                others = {other: value for other, value in properties[name].items() if other != key}
                properties[name] = {**others, key: fitting} if fitting else others
    return {**schema, "properties": properties} if wrong else schema, wrong


def _tag(word: str) -> str:
    return _NOT_IN_TAG.sub("-", word.lower()).strip("-")
