"""Find the sources in a folder, each in a folder of its own with ``source.yaml``, and read each alone."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

from toolfold.build import yaml_loader
from toolfold.build.importers import find_importer
from toolfold.build.loaded_source import LoadedSource, load_source_document
from toolfold.errors import SourceError, ToolfoldError
from toolfold.fuzzy import did_you_mean

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

    Args:
        folder: The folder that contains ``<source>/source.yaml``.
        adapters: Names that ``kind`` may have.
        problems: Receives the errors of sources that can be read, each as ``file:line: problem``.
        left_out: Receives those of sources that cannot: one of them does not stop the others.
        progress: Called with a sentence before each source.

    Raises:
        SourceError: The folder has no source that can be read.
    """
    paths = sorted(folder.glob("*/source.yaml"))
    if not paths:
        problem = (
            "contains no <source>/source.yaml"
            if folder.is_dir()
            else "is not a folder; `toolfold source add` makes one"
        )
        raise SourceError([f"{folder}: {problem}"])
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
            where = yaml_loader.load(path).where(("id",))
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
            problem = f"no adapter for the kind {kind!r} is installed; known are {', '.join(adapters)}"
            problems.append(f"{document.where(('kind',))}: {problem}. {did_you_mean(str(kind), adapters)}".rstrip(". "))
            return None
        return load_source_document(find_importer(str(kind)), folder, document, problems)
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
    names = [source.id for source in sources]
    hint = did_you_mean(source_id, names).strip() or f"There are: {', '.join(names) or 'none'}."
    raise ToolfoldError(f"{folder} has no source {source_id!r}. {hint}")


class Inspection(NamedTuple):
    """What is in the folder of a source: the number of tools, 0 where they cannot be read, and what is wrong."""

    tools: int
    fetched_at: str
    title: str
    problems: list[str]


def inspect_source(source: SourceFolder) -> Inspection:
    """Read one source as the compiler does, and return what is found."""
    if source.problem:
        return Inspection(0, "", "", [source.problem])
    problems: list[str] = []
    if (loaded := load_source(source.folder, problems)) is None:
        return Inspection(0, "", str(source.data.get("title", "")), problems)
    problems += loaded.left_out
    tools = sum(len(category.category.tools) for category in loaded.categories)
    return Inspection(tools, str(loaded.entry.get("fetched_at", "")), str(loaded.entry["title"]), problems)
