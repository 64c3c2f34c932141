"""A source that was read and checked alone, however its tools are described.

One that is written by hand is read here: ``source.yaml`` and a YAML file for each category.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import ValidationError

from toolfold.build import emitter, yaml_loader
from toolfold.build.schema.field_types import VOCABULARY, Vocabulary
from toolfold.build.schema.sources import Category, Parameter, Source, SourceSettings, Tool
from toolfold.build.text_review import UnreadText
from toolfold.build.validation_errors import located, parse


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


def load_yaml_source(folder: Path, document: yaml_loader.Document, problems: list[str]) -> LoadedSource | None:
    """Return the source in ``folder``, or None where ``source.yaml`` has errors."""
    source = parse(Source, document, document.data, problems)
    if source is None:
        return None
    for key, fields in source.parameters.items():
        try:
            Parameter.model_validate({"name": key, **fields})
        except ValidationError as error:
            problems += located(error, document, ("parameters", key))
    vocabulary = _vocabulary(source, folder, problems)
    categories = [LoadedCategory(category, file.in_tool) for file, category in _categories(source, folder, problems)]
    return LoadedSource(source, emitter.source_entry(source), categories, vocabulary)


def _vocabulary(source: Source, folder: Path, problems: list[str]) -> Vocabulary:
    path = folder / VOCABULARY
    if not path.exists():
        return Vocabulary()
    document = yaml_loader.load(path)
    vocabulary = parse(Vocabulary, document, document.data, problems) or Vocabulary()
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
        category = parse(Category, document, data, problems)
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
