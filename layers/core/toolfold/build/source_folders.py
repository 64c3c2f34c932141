"""Find the sources in a folder, without compiling them: each has a folder with ``source.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from toolfold.build import yaml_loader
from toolfold.errors import SourceError, ToolfoldError
from toolfold.fuzzy import closest_matches

__all__ = ["REMOVED", "Inspection", "SourceFolder", "find_source", "inspect_source", "list_sources"]

REMOVED = ".removed"
"""Hidden folder beside the sources, for those that were removed. ``glob`` of the compiler does not look into it."""

_LEAST_SIMILAR = 0.5


class SourceFolder(NamedTuple):
    """The folder of a source.

    Attributes:
        id: The id in ``source.yaml``; the name of the folder where it has none.
        kind: The kind in it.
        folder: Where it is.
        data: The content of ``source.yaml``; empty where it cannot be read.
        problem: Why it cannot be read; empty otherwise.
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
    return [_read(path) for path in sorted(folder.glob("*/source.yaml"))]


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
    closest = closest_matches(source_id, names, least=_LEAST_SIMILAR)
    hint = f"Did you mean {closest[0]}?" if closest else f"There are: {', '.join(names) or 'none'}."
    raise ToolfoldError(f"{folder} has no source {source_id!r}. {hint}")


def _read(path: Path) -> SourceFolder:
    try:
        data = yaml_loader.load(path).data
    except SourceError as error:
        return SourceFolder(path.parent.name, "?", path.parent, {}, str(error))
    data = data if isinstance(data, dict) else {}
    return SourceFolder(str(data.get("id", path.parent.name)), str(data.get("kind", "http_api")), path.parent, data)


class Inspection(NamedTuple):
    """What is in the folder of a source.

    Attributes:
        tools: How many tools it has; 0 where they cannot be read.
        fetched_at: When it was read from its service; may be empty.
        title: Its name for people.
        problems: What is wrong, each as ``file:line: problem``.
    """

    tools: int
    fetched_at: str
    title: str
    problems: list[str]


def inspect_source(source: SourceFolder) -> Inspection:
    """Read one source as the compiler does, and return what is found."""
    if source.problem:
        return Inspection(0, "", "", [source.problem])
    from toolfold.build.importers import find_importer

    problems: list[str] = []
    try:
        document = yaml_loader.load(source.folder / "source.yaml")
        importer = find_importer(source.kind)
        if importer is None:
            from toolfold.build.yaml_source import load_yaml_source

            loaded = load_yaml_source(source.folder, document, problems)
        else:
            from toolfold.build.imported_source import load_imported_source

            loaded = load_imported_source(importer, source.folder, document, problems)
    except SourceError as error:
        return Inspection(0, "", str(source.data.get("title", "")), error.problems)
    if loaded is None:
        return Inspection(0, "", str(source.data.get("title", "")), problems)
    problems += loaded.left_out
    tools = sum(len(category.category.tools) for category in loaded.categories)
    return Inspection(tools, str(loaded.entry.get("fetched_at", "")), str(loaded.entry["title"]), problems)
