"""Read the tools of sources again from their services, and write them into the folders of the sources.

Each kind of source that reads from somewhere has a module ``refresh`` beside its importer. A folder is as it was where
that fails, or where what was read cannot be compiled.
"""

from __future__ import annotations

import importlib
import logging
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from toolfold.build import yaml_loader
from toolfold.build.imported_source import parse_settings
from toolfold.build.importers import find_importer
from toolfold.build.source_folders import SourceFolder, list_sources
from toolfold.errors import SourceError, ToolfoldError

if TYPE_CHECKING:
    from toolfold.build.importers.base import RefreshReport
    from toolfold.settings import Settings

__all__ = ["REFRESHERS", "refresh_source", "refreshes_of", "why_not"]

logger = logging.getLogger("toolfold")

_MAX_NAMES = 20

_LOCAL_KINDS = frozenset({"skills"})
"""Kinds that are read from files of the machine on which their sources are written."""

Progress = Callable[[str], None]

REFRESHERS: Mapping[str, str] = {
    "mcp": "toolfold.build.importers.mcp.refresh",
    "openapi": "toolfold.build.importers.openapi.refresh",
    "skills": "toolfold.build.importers.skills.refresh",
    "sql": "toolfold.build.importers.sql.refresh",
}
"""Kind of source → module with its function ``refresh``. Imported when a source of the kind is refreshed."""

_NEEDED_KEYS: Mapping[str, str] = {"openapi": "url", "skills": "copied_from"}
"""Kind → the key of ``source.yaml`` without which its sources have nothing to read again."""


def why_not(source: SourceFolder) -> str:
    """Return why a source cannot be refreshed; empty for one that can."""
    if source.problem:
        return source.problem
    if source.kind not in REFRESHERS:
        return f"{source.id} is written by hand, in {source.folder}; there is nothing to read again"
    key = _NEEDED_KEYS.get(source.kind)
    if key and not source.data.get(key):
        return f"{source.id} has no {key} in {source.folder / 'source.yaml'}, so there is nothing to read again"
    return ""


def refresh_source(
    source: SourceFolder, process_settings: Settings, *, check: bool = False, progress: Progress = lambda _: None
) -> RefreshReport:
    """Refresh one source, and return what changed.

    Args:
        source: the source.
        process_settings: what the source may reach.
        check: whether to write nothing.
        progress: called with a sentence before each step.

    Raises:
        SourceError: it cannot be refreshed, or what was read does not compile. Its folder is as it was.
        ToolfoldError: the settings do not allow it.
    """
    importer = find_importer(source.kind)
    if (problem := why_not(source)) or importer is None:
        raise SourceError([problem or f"{source.folder / 'source.yaml'}:1: the kind {source.kind!r} has no importer"])
    document = yaml_loader.load(source.folder / "source.yaml")
    problems: list[str] = []
    settings = parse_settings(importer, source.folder, document, problems)
    if settings is None:
        raise SourceError(problems)
    module = importlib.import_module(REFRESHERS[source.kind])
    with _unchanged_on_failure(source.folder):
        report: RefreshReport = module.refresh(
            source.folder, settings, process_settings, check=check, progress=progress
        )
        if not check:
            importer.read(source.folder, settings, document, problems)
        if problems:
            raise SourceError(problems)
    return report


def refreshes_of(
    folder: Path, process_settings: Settings, progress: Progress = lambda _: None, *, is_attended: bool = True
) -> list[Callable[[Path], None]]:
    """Return a refresh for each source in ``folder`` that is read from a service, for ``prepare_catalog``.

    Skills are left out: they are copied from another folder of the machine on which they are written.

    Args:
        folder: The folder of the sources.
        process_settings: What they may reach.
        progress: Called with a sentence for each source.
        is_attended: Whether a failure ends the publication. Without a person, the source keeps what was read before,
            and the log has the reason.
    """
    return [
        _refresh_in(source.folder.name, process_settings, progress, is_attended)
        for source in list_sources(folder)
        if source.kind not in _LOCAL_KINDS and not why_not(source)
    ]


def _refresh_in(name: str, process_settings: Settings, progress: Progress, is_attended: bool) -> Callable[[Path], None]:
    """Return a function that refreshes the source in the folder ``name`` of a copy of all sources."""

    def refresh(copy: Path) -> None:
        source = next(source for source in list_sources(copy) if source.folder.name == name)
        progress(f"Reading the tools of {source.id} …")
        try:
            report = refresh_source(source, process_settings, progress=progress)
        except (ToolfoldError, ModuleNotFoundError) as error:
            if is_attended:
                raise
            logger.warning("source %s was not refreshed: %s", source.id, ascii(str(error)[:500]))
            return
        changes = {"added": report.added, "changed": report.changed, "removed": report.removed}
        for word, names in changes.items():
            if names:
                progress(f"{source.id}: {word} {', '.join(names[:_MAX_NAMES])}")

    return refresh


@contextmanager
def _unchanged_on_failure(folder: Path) -> Iterator[None]:
    """Restore ``folder`` when the body raises."""
    with tempfile.TemporaryDirectory(prefix="toolfold-refresh-") as scratch:
        copy = Path(scratch) / folder.name
        shutil.copytree(folder, copy, symlinks=True)
        try:
            yield
        except BaseException:
            if _content(folder) != _content(copy):
                shutil.rmtree(folder)
                shutil.copytree(copy, folder, symlinks=True)
            raise


def _content(folder: Path) -> dict[str, bytes | str]:
    """Return the path of each file → what it has, and of each symbolic link → where it leads."""
    return {
        path.relative_to(folder).as_posix(): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }
