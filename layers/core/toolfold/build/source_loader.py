"""Read and check each source of a folder alone, with the loader of its kind."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from toolfold.build import yaml_loader
from toolfold.build.importers import find_importer
from toolfold.build.loaded_source import LoadedSource
from toolfold.build.yaml_source import load_yaml_source
from toolfold.errors import SourceError
from toolfold.fuzzy import closest_matches

__all__ = ["load_sources"]


def load_sources(
    folder: Path, adapters: Collection[str], problems: list[str], progress: Callable[[str], None]
) -> list[LoadedSource]:
    """Return every source that can be read, sorted by the names of their folders.

    Args:
        folder: The folder that contains ``<source>/source.yaml``.
        adapters: Names that ``kind`` may have.
        problems: Receives the errors of the files, each as ``file:line: problem``.
        progress: Called with a sentence before each source.

    Raises:
        SourceError: The folder has no source, or a ``source.yaml`` is not YAML.
    """
    paths = sorted(folder.glob("*/source.yaml"))
    if not paths:
        problem = "contains no <source>/source.yaml" if folder.is_dir() else "is not a folder"
        raise SourceError([f"{folder}: {problem}"])
    found: dict[str, LoadedSource] = {}
    for path in paths:
        progress(f"Reading {path.parent.name} …")
        document = yaml_loader.load(path)
        source = _load_source(path.parent, document, adapters, problems)
        if source is not None and found.setdefault(source.settings.id, source) is not source:
            problems.append(f"{document.where(('id',))}: another source has the id {source.settings.id!r}")
    return list(found.values())


def _load_source(
    folder: Path, document: yaml_loader.Document, adapters: Collection[str], problems: list[str]
) -> LoadedSource | None:
    """Return the source whose ``source.yaml`` is ``document``; None where ``problems`` gets its errors."""
    kind = document.data.get("kind", "http_api") if isinstance(document.data, dict) else "http_api"
    if kind not in adapters:
        closest = closest_matches(str(kind), adapters)
        hint = f"; did you mean {closest[0]}?" if closest else ""
        known = ", ".join(adapters)
        problems.append(
            f"{document.where(('kind',))}: no adapter for the kind {kind!r} is installed; known are {known}{hint}"
        )
        return None
    importer = None if _has_functions(document) else find_importer(kind)
    if importer is None:
        return load_yaml_source(folder, document, problems)
    from toolfold.build.imported_source import load_imported_source

    return load_imported_source(importer, folder, document, problems)


def _has_functions(document: yaml_loader.Document) -> bool:
    """Return whether the tools of an HTTP API are functions of one URL: see ``build.schema.sources.Source``."""
    return isinstance(document.data, dict) and "function_key" in document.data
