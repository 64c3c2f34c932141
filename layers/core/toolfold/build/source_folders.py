"""Find the sources in a folder, each in a folder of its own with ``source.yaml``, and read and check each alone.

What an importer found becomes tools of the catalog with clean texts, summaries, examples and corrections. A tool with a
text that looks like instructions to a model is left out until a person has read it, and so is one of the source itself.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from toolfold.build import emitter, yaml_loader
from toolfold.build.emitter import clean_schema, clean_text, first_sentence, safe_name
from toolfold.build.example_arguments import example_arguments
from toolfold.build.importers import base, find_importer
from toolfold.build.importers.base import Category, Tool, ToolOverlay
from toolfold.build.schema import VOCABULARY, Vocabulary
from toolfold.build.text_safety import find_prompt_injection, texts_in
from toolfold.build.yaml_loader import parse_model
from toolfold.catalog.tokenizer import in_words
from toolfold.errors import SourceError, ToolfoldError
from toolfold.execution.validation import SchemaError, compile_schema
from toolfold.fuzzy import closest

REMOVED = ".removed"
"""Hidden folder beside the sources, for those that were removed. ``glob`` of the compiler does not look into it."""


def load_sources(
    folder: Path,
    adapters: Collection[str],
    problems: list[str],
    left_out: list[str],
    progress: Callable[[str], None],
) -> list[LoadedSource]:
    """Return every source that can be read, sorted by the names of their folders.

    ``problems`` receives the errors of sources that can be read, each as ``file:line: problem``, and ``left_out`` those
    of sources that cannot: one of them does not stop the others.

    Raises:
        SourceError: The folder has no source that can be read.
    """
    paths = sorted(folder.glob("*/source.yaml"))
    stray = [path for path in sorted(folder.glob("*/[sS]ource*.y*ml")) if not (path.parent / "source.yaml").exists()]
    left_out += (f"{path}:1: is not read; call it source.yaml" for path in stray)
    if not paths:
        problem = "contains no <source>/source.yaml"
        if not folder.is_dir():
            problem = "is not a folder; `toolfold source add` makes one"
        raise SourceError([f"{folder}: {problem}", *left_out])
    found: dict[str, LoadedSource] = {}
    for path in paths:
        progress(f"Reading {path.parent.name} …")
        own: list[str] = []
        source = load_source(path.parent, own, adapters)
        if source is None:
            left_out += (f"{problem}; the source {path.parent.name} is left out" for problem in own)
            continue
        problems += own
        if found.setdefault(source.settings.id, source) is not source:
            where = yaml_loader.load(path).where("id")
            problems.append(f"{where}: another source has the id {source.settings.id!r}")
    if not found:
        raise SourceError([*problems, *left_out])
    return list(found.values())


def load_source(folder: Path, problems: list[str], adapters: Collection[str] | None = None) -> LoadedSource | None:
    """Return the source in ``folder`` as the compiler reads it; None where ``problems`` gets its errors."""
    try:
        document = yaml_loader.load(folder / "source.yaml")
        data = document.data if isinstance(document.data, dict) else {}
        kind = data.get("kind", "http_api")
        if adapters is not None and kind not in adapters:
            hint = closest(str(kind), adapters)
            problem = f"no adapter for the kind {kind!r} is installed.{hint}".rstrip(".")
            problems.append(f"{document.where('kind')}: {problem}")
            return None
        return _load(find_importer(str(kind)), folder, document, problems)
    except SourceError as error:
        problems += error.problems
        return None


class SourceFolder(NamedTuple):
    """The folder of a source, with the content of ``source.yaml``; ``problem`` says why it cannot be read.

    The id is the name of the folder where the file has none.
    """

    id: str
    kind: str
    folder: Path
    data: dict[str, Any]
    problem: str = ""


def list_sources(folder: Path) -> list[SourceFolder]:
    """Return the sources in ``folder``, in the order of the catalog.

    Raises:
        ToolfoldError: it is not a folder.
    """
    if not folder.is_dir():
        raise ToolfoldError(f"{folder} is not a folder. Add a source first: toolfold source add --help")
    found = []
    for path in sorted(folder.glob("*/source.yaml")):
        try:
            data = yaml_loader.load(path).data
        except SourceError as error:
            found.append(SourceFolder(path.parent.name, "?", path.parent, {}, str(error)))
            continue
        data = data if isinstance(data, dict) else {}
        id_, kind = str(data.get("id", path.parent.name)), str(data.get("kind", "http_api"))
        found.append(SourceFolder(id_, kind, path.parent, data))
    return found


def find_source(folder: Path, source_id: str) -> SourceFolder:
    """Return the source called ``source_id``.

    Raises:
        ToolfoldError: no source is called so; the error names the closest ones.
    """
    sources = list_sources(folder)
    for source in sources:
        if source_id in (source.id, source.folder.name):
            return source
    raise ToolfoldError(f"{folder} has no source {source_id!r}.{closest(source_id, [one.id for one in sources])}")


_MAX_TITLE, _MAX_DESCRIPTION = 150, 2000
_SHORT_SUMMARY = 10
"""Characters below which a summary says too little, and is followed by the title of its source."""

_MAX_TAGS, _MAX_NAME = 6, 64
_NOT_IN_TAG = re.compile(r"[^a-z0-9]+")
_HASH_DIGITS = 12


class UnreadText(NamedTuple):
    """A text that a person has to read before a model does; ``str()`` is the line about it.

    ``tool`` is empty for a text of the source itself, which is in its ``field``.
    ``finding`` is what it looks like, as a verb, and an excerpt; joined, where it is more.
    """

    source: str
    tool: str
    field: str
    where: str
    finding: str
    text: str

    @property
    def hash(self) -> str:
        """The hash with which ``overlay.yaml`` says that a person has read this text of this tool."""
        name = self.tool or self.source
        return hashlib.sha256(f"{name}\n{self.text}".encode()).hexdigest()[:_HASH_DIGITS]

    def __str__(self) -> str:
        what = f"{self.tool} is left out: a text" if self.tool else f"{self.field} of {self.source} left out: the text"
        return f"{self.where}: {what} {self.finding}. Read and accept it: toolfold source review {self.source}"


@dataclass(frozen=True, kw_only=True)
class LoadedSource(base.ImportedSource):
    """A source that was read and checked alone, with its tools under the names that it has for them.

    The tools of a category follow each other, and ``categories`` has that of each.

    Attributes:
        is_imported: Whether the texts were written for other readers; fewer rules are checked then.
        unread: Texts that a person has to read first; ``left_out`` has a line about each.
    """

    settings: base.ImporterSettings
    vocabulary: Vocabulary
    is_imported: bool
    unread: Sequence[UnreadText]


def _load(
    kind: type[base.Importer[Any]], folder: Path, document: yaml_loader.Document, problems: list[str]
) -> LoadedSource | None:
    importer = kind.open(folder, document, problems)
    found = None if importer is None else importer.read(problems)
    if importer is None or found is None:
        return None
    settings: base.ImporterSettings = importer.settings
    overlay = base.read_overlay(folder, [tool.name for tool in found.tools], problems)
    unread = list(_unread_texts(importer, document, found, overlay))
    refused = {one.tool for one in unread}
    refused_lines: dict[str, str] = {}
    for text in unread:  # the first of a tool
        refused_lines.setdefault(text.tool or text.field, str(text))
    withheld: dict[str, Any] = {one.field: type(getattr(found.source, one.field))() for one in unread if one.field}
    source = found.source._replace(**withheld)
    title = source.title or settings.id
    description = clean_text(source.description, emitter.MAX_PARAGRAPH) or f"Tools of {title}."
    source = source._replace(
        title=title,
        description=description,
        version=clean_text(source.version, emitter.MAX_LABEL),
        instructions=clean_text(source.instructions, emitter.MAX_PARAGRAPH),
    )
    notes, tools = list(found.notes), []
    for one in (one for one in found.tools if one.name not in refused):
        tool = replace(one, function=one.name, category=one.category or settings.id)
        tools.append(_cleaned(tool, notes) if importer.is_imported else tool)
    summaries = Counter(first_sentence(tool.summary or tool.description) for tool in tools)
    tools = [
        _completed(settings, title, tool, overlay.tools.get(tool.function, ToolOverlay()), summaries) for tool in tools
    ]
    # What was written for the catalog stays as its model has checked it.
    clean = clean_text if importer.is_imported else lambda text, _: text
    categories = {}
    for name in dict.fromkeys(tool.category for tool in tools):
        category = found.categories.get(name) or Category(title, description)
        shown = clean(category.title, _MAX_TITLE) or name
        categories[name] = Category(shown, clean(category.description, emitter.MAX_PARAGRAPH) or shown)
    order = list(categories)
    return LoadedSource(
        tools=sorted(tools, key=lambda tool: order.index(tool.category)),
        source=source,
        categories=categories,
        files=found.files,
        left_out=[*found.left_out, *refused_lines.values()],
        notes=notes,
        settings=settings,
        vocabulary=_vocabulary(folder, categories, problems),
        is_imported=importer.is_imported,
        unread=unread,
    )


def _unread_texts(
    importer: base.Importer[Any], document: yaml_loader.Document, found: base.ImportedSource, overlay: base.Overlay
) -> Iterator[UnreadText]:
    """Yield the texts of a source that look like instructions to a model and that no person has read yet.

    Values in the schemas of others are what their services take, and are no texts.
    """
    texts: list[tuple[str, str, str, str]] = []
    fields = ("description", "title")
    for tool in found.tools:
        own = overlay.tools.get(tool.name, ToolOverlay())
        described = "" if own.description else tool.description
        values = texts_in([tool.parameters, tool.example])
        in_schema = (text for at, text in values if not importer.is_imported or at[-1] in fields)
        requests = (*tool.example_queries, *tool.aliases, *tool.use_instead)
        about = found.categories.get(tool.category, Category("", ""))
        listed = (described, tool.title, tool.summary, *in_schema, *requests, about.title, about.description)
        texts += ((tool.name, "", tool.where(), text) for text in dict.fromkeys(listed))
    where = document.where()
    for field in ("title", "description", "instructions", "no_data", "faults"):
        texts += (("", field, where, text) for _, text in texts_in(getattr(found.source, field)))
    for tool_name, field, at, text in texts:
        finding = " and ".join(f"{kind}: {excerpt}" for kind, excerpt in find_prompt_injection(text))
        unread = UnreadText(importer.settings.id, tool_name, field, at, finding, text)
        if finding and unread.hash not in overlay.reviewed:
            yield unread


def _vocabulary(folder: Path, categories: Collection[str], problems: list[str]) -> Vocabulary:
    path = folder / VOCABULARY
    if not path.exists():
        return Vocabulary()
    document = yaml_loader.load(path)
    vocabulary = parse_model(Vocabulary, document, document.data, problems) or Vocabulary()
    for kind, names in vocabulary.names.items():
        where = document.where("names", kind)
        problems += (
            f"{where}: category {category!r} is not one of the source"
            for category in names.categories
            if category not in categories
        )
    return vocabulary


_OF_DOCUMENTS = ("$schema", "$id")


def _cleaned(tool: Tool, notes: list[str]) -> Tool:
    """Return a tool that others described with clean texts, and values that its parameters take."""
    patterns, given = list[str](), {key: value for key, value in tool.parameters.items() if key not in _OF_DOCUMENTS}
    parameters, wrong = _with_valid_values({"type": "object", **clean_schema(given, patterns)})
    notes += (
        f"{tool.where()}: {tool.name}: pattern {one[:60]!r} is no regular expression of JSON Schema, and left out"
        for one in patterns
    )
    notes += (f"{tool.where()}: {tool.name}: {one}: what the parameter does not take is left out" for one in wrong)
    return replace(
        tool,
        name=safe_name(tool.name)[:_MAX_NAME],
        title=clean_text(tool.title, _MAX_TITLE),
        summary=clean_text(tool.summary, _MAX_DESCRIPTION),
        description=clean_text(tool.description or tool.summary, _MAX_DESCRIPTION),
        returns=clean_text(tool.returns),
        parameters=parameters,
    )


def _completed(
    settings: base.ImporterSettings, source_title: str, tool: Tool, overlay: ToolOverlay, summaries: Mapping[str, int]
) -> Tool:
    """Return a tool with what others left out; ``summaries`` has how many tools of the source begin in the same way."""
    words = in_words(tool.function).strip().capitalize() or tool.name  # a name may be signs alone
    title = overlay.title or tool.title or words[:_MAX_TITLE]
    description = overlay.description or tool.description or tool.summary
    first = first_sentence(tool.summary or description)
    # What several tools begin with, as with a heading, does not say which is which.
    summary = overlay.summary or (title if summaries[first] > 1 else first)
    if len(summary) < _SHORT_SUMMARY:
        summary = first_sentence(f"{summary or title} ({source_title})")
    tags = [*overlay.tags, *map(_tag, tool.tags), *settings.tags, *([_tag(settings.id)] if settings.prefix else [])]
    example = overlay.example or tool.example
    return replace(
        tool,
        title=title,
        summary=summary,
        description=description or summary,
        tags=list(dict.fromkeys(filter(None, tags)))[:_MAX_TAGS],
        example_queries=[*overlay.example_queries, *tool.example_queries],
        aliases=[*overlay.aliases, *tool.aliases],
        relations=[*tool.relations, *overlay.relations],
        effect=overlay.effect or tool.effect,
        confirm=overlay.confirm or tool.confirm,
        expose=tool.expose if overlay.expose is None else overlay.expose,
        example=example or example_arguments(tool.parameters),
        is_example_generated=not example,
    )


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
