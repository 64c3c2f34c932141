"""Turn what an importer found into tools of the catalog: clean texts, summaries, examples, corrections."""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

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
from toolfold.build.loaded_source import LoadedCategory, LoadedSource
from toolfold.build.relations import safe_name
from toolfold.build.schema.field_types import Vocabulary
from toolfold.build.schema.sources import Category, Tool
from toolfold.build.text_review import unread_texts
from toolfold.build.validation_errors import parse
from toolfold.catalog.tokenizer import in_words
from toolfold.execution.validation import SchemaError, compile_schema

_MAX_TITLE, _MAX_DESCRIPTION = 150, 2000
_MIN_SUMMARY = 10
_MAX_TAGS, _MAX_NAME = 6, 64
_NOT_IN_TAG = re.compile(r"[^a-z0-9]+")


def load_imported_source(
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
    title = settings.title or in_words(settings.id).capitalize()
    description = clean_text(settings.description or found.description, emitter.MAX_PARAGRAPH) or f"Tools of {title}."
    groups: dict[str, list[tuple[ImportedTool, Tool]]] = {}
    left_out, notes = [*found.left_out, *map(str, unread)], list(found.notes)
    for tool in (tool for tool in found.tools if tool.name not in refused):
        model = _tool(settings, title, tool, overlay.tools.get(tool.name, ToolOverlay()), document, left_out, notes)
        if model is not None:
            groups.setdefault(tool.category or settings.id, []).append((tool, model))
    described = {category.name: category for category in found.categories}
    categories = []
    for name, members in groups.items():
        category = described.get(name) or ImportedCategory(name, title, description)
        shown = clean_text(category.title, _MAX_TITLE) or name
        text = clean_text(category.description, emitter.MAX_PARAGRAPH) or shown
        made = Category(category=name, title=shown, description=text, tools=[tool for _, tool in members])
        places = [(tool.where, tool.name if not tool.relations else "") for tool, _ in members]
        categories.append(LoadedCategory(made, functools.partial(_where, folder, places)))
    return LoadedSource(
        settings,
        emitter.imported_source_entry(settings, found, title, description),
        categories,
        Vocabulary(),
        left_out,
        notes,
        is_imported=True,
        files=found.files,
        unread=unread,
    )


def parse_settings(importer: Importer[Any], folder: Path, document: yaml_loader.Document, problems: list[str]) -> Any:
    """Return the settings in ``document``, the ``source.yaml`` of ``folder``, or None where they are not valid."""
    data = document.data
    if isinstance(data, dict):  # the folder is named after the source
        data = {"id": folder.name, **data}
    return parse(importer.settings_model, document, data, problems)


def _where(folder: Path, places: list[tuple[str, str]], number: int, *at: str | int) -> str:
    """Return ``file:line`` of what describes a tool, for any key of it but those that the overlay alone has."""
    where, in_overlay = places[number]
    if at[:1] == ("relations",) and in_overlay:
        return overlay_line(folder, "tools", in_overlay, *at)
    return where


def _tool(
    settings: ImporterSettings,
    source_title: str,
    found: ImportedTool,
    overlay: ToolOverlay,
    document: yaml_loader.Document,
    problems: list[str],
    notes: list[str],
) -> Tool | None:
    parameters = clean_schema({key: value for key, value in found.parameters.items() if key not in ("$schema", "$id")})
    parameters, wrong = _with_valid_values({"type": "object", **parameters})
    notes += (f"{found.where}: {found.name}: {one}: what the parameter does not take is left out" for one in wrong)
    title = overlay.title or clean_text(found.title, _MAX_TITLE) or in_words(found.name).capitalize()[:_MAX_TITLE]
    description = overlay.description or clean_text(found.description or found.summary, _MAX_DESCRIPTION)
    summary = overlay.summary or first_sentence(clean_text(found.summary) or description)
    if len(summary) < _MIN_SUMMARY:
        summary = first_sentence(f"{summary or title} ({source_title})").ljust(_MIN_SUMMARY, "…")
    tags = [*overlay.tags, *map(_tag, found.tags), *settings.tags, _tag(settings.id)]
    data = {
        "name": safe_name(found.name)[:_MAX_NAME],
        "function": found.name,
        "title": title,
        "summary": summary,
        "description": description or summary,
        "tags": list(dict.fromkeys(filter(None, tags)))[:_MAX_TAGS],
        "example_queries": [*overlay.example_queries, *found.example_queries],
        "aliases": [*overlay.aliases, *found.aliases],
        "relations": [one.model_dump(exclude_none=True) for one in (*found.relations, *overlay.relations)],
        "access": "free",
        "effect": overlay.effect or found.effect,
        "confirm": overlay.confirm or found.confirm,
        "expose": overlay.expose is not False,
        "freshness": FRESHNESS_CLASS,
        "formats": ["json"],
        "parameters_schema": parameters,
        "binding": dict(found.call),
        "returns": {
            "outline": clean_text(found.returns) or None,
            "json": {"rows": found.typed_rows, "kind": "typed"} if found.typed_rows else None,
            "rows": list(found.rows),
        },
        "example": overlay.example or found.example or example_arguments(parameters),
        "is_example_generated": not (overlay.example or found.example),
    }
    before = len(problems)
    tool = parse(Tool, document, data, problems)
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
