"""Prepare the catalog that a publisher publishes: refresh the sources, lint them, compile, and check the result.

A refresh reads the tools of a source again from its service, and writes them into the folder of the source. What was
read is compiled in a copy of the folder first, so that the folder is as it was where that fails. What does not pass the
lint or the check never reaches the bucket.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolfold.build import lint, yaml_loader
from toolfold.build.importers import find_importer
from toolfold.build.importers.base import Importer
from toolfold.build.source_folders import SourceFolder, list_sources
from toolfold.catalog.allow_list import AllowList, command_of
from toolfold.catalog.model import Catalog
from toolfold.catalog.reader import CachedBlockReader, parse_head
from toolfold.errors import CatalogRejected, CatalogUnavailable, SettingsError, SourceError, ToolfoldError
from toolfold.private_folder import replace_file
from toolfold.settings.model import PREFIX

if TYPE_CHECKING:
    from toolfold.build.importers.base import Fetched, RefreshReport
    from toolfold.settings import Settings

logger = logging.getLogger("toolfold")

_MAX_NAMES = 20

Progress = Callable[[str], None]


def why_not(source: SourceFolder) -> str:
    """Return why a source cannot be refreshed; empty for one that can."""
    if source.problem:
        return source.problem
    importer = find_importer(source.kind)
    if importer.fetch is Importer.fetch:
        return f"{source.id} is made of files in {source.folder}; there is nothing to read again"
    if importer.needed_key and not source.data.get(importer.needed_key):
        where = source.folder / "source.yaml"
        return f"{source.id} has no {importer.needed_key} in {where}, so there is nothing to read again"
    return ""


def refresh_source(
    source: SourceFolder, process_settings: Settings, *, check: bool = False, progress: Progress = lambda _: None
) -> RefreshReport:
    """Refresh one source, unless it is only to ``check``, and return what changed.

    Raises:
        SourceError: It cannot be refreshed, or what was read does not compile. Its folder is as it was.
        ToolfoldError: The settings do not allow it.
    """
    folder, kind = source.folder, find_importer(source.kind)
    if problem := why_not(source):
        raise SourceError([problem])
    problems: list[str] = []
    importer = kind.open(folder, yaml_loader.load(folder / "source.yaml"), problems)
    if importer is None:
        raise SourceError(problems)
    name = importer.file_name
    if (folder / name).is_symlink():
        raise SourceError([f"{folder / name}:1: is a symbolic link, which is not replaced"])
    fetched = importer.fetch(process_settings, progress)
    if check:
        return fetched.report
    with tempfile.TemporaryDirectory(prefix="toolfold-refresh-") as scratch:
        copy = Path(scratch) / folder.name
        shutil.copytree(folder, copy, symlinks=True)
        if fetched.report:
            _write(copy / name, fetched)
        kind(copy, importer.settings, importer.document).read(problems)
        if problems:
            raise SourceError([problem.replace(str(copy), str(folder)) for problem in problems])
    if fetched.report:
        _write(folder / name, fetched)
        progress(f"Wrote {folder / name}: {len(fetched.content):,} bytes")
    return fetched.report


def _write(path: Path, fetched: Fetched) -> None:
    try:
        replace_file(path, fetched.content)
    except OSError as error:
        raise SourceError([f"{path}:1: cannot be written: {error.strerror}; it is as it was"]) from None


def refresh_sources(
    folder: Path, process_settings: Settings, progress: Progress = lambda _: None, *, is_attended: bool = True
) -> None:
    """Refresh each source in ``folder`` that is read from a service, one after the other.

    A failure ends the publication; where it is not ``is_attended`` by a person, the source keeps what was read before,
    and the log has the reason.
    """
    for source in list_sources(folder):
        if why_not(source):
            continue
        progress(f"Reading the tools of {source.id} …")
        try:
            report = refresh_source(source, process_settings, progress=progress)
        except (ToolfoldError, ModuleNotFoundError) as error:
            if is_attended:
                raise
            logger.warning("source %s was not refreshed: %s", source.id, ascii(str(error)[:500]))
            continue
        for word in ("added", "changed", "removed"):
            if names := getattr(report, word):
                progress(f"{source.id}: {word} {', '.join(names[:_MAX_NAMES])}")


Refresh = Callable[[Path], None]
"""Updates the sources in a folder. What it raises ends the publication."""

_MAX_SHOWN = 3
"""Findings that an error repeats; ``toolfold catalog lint`` prints all of them."""


def prepare_catalog(folder: Path, allow_list: AllowList, refresh: Refresh | None = None) -> bytes:
    """Return the compiled catalog of the sources below ``folder``, which is not changed.

    ``refresh`` is called with a copy of the folder; None: the sources are compiled as they are.

    Raises:
        CatalogRejected: The YAML has errors or findings, or names what is not allowed.
    """
    with tempfile.TemporaryDirectory(prefix="toolfold-sources-") as scratch:
        sources = folder
        if refresh is not None:
            sources = Path(shutil.copytree(folder, Path(scratch) / "catalog"))
            refresh(sources)
        checked = lint.check(sources)
        findings = [finding for finding in checked.findings if not finding.is_warning]
        if findings or checked.compiled is None:
            shown = "; ".join(str(finding).replace(f"{sources}/", "") for finding in findings[:_MAX_SHOWN])
            more = f"; and {len(findings) - _MAX_SHOWN} more" if len(findings) > _MAX_SHOWN else ""
            raise CatalogRejected(f"The sources have findings: {shown}{more}.", "Run: toolfold catalog lint")
    content = checked.compiled.content
    check_allowed(check_catalog(content), allow_list)
    return content


def check_catalog(content: bytes) -> Catalog:
    """Check every line, tool and hash of ``content``, and return the catalog.

    Raises:
        SettingsError: It is not a compiled catalog.
    """
    head_line = content[: content.find(b"\n") + 1]

    def fetch(starts: Sequence[int], lengths: Sequence[int]) -> list[bytes]:
        return [content[start : start + length] for start, length in zip(starts, lengths, strict=True)]

    try:
        head = parse_head(head_line)
        catalog = Catalog(head, CachedBlockReader(fetch, len(head_line)))
        if head.get("bytes") != len(content) - len(head_line):
            raise ValueError("incomplete")
        catalog.verify()
    except (ValueError, RecursionError, CatalogUnavailable) as error:
        raise SettingsError(f"The file is not a compiled catalog ({error}).") from None
    return catalog


def check_allowed(catalog: Catalog, allow_list: AllowList) -> None:
    """Check that a gateway with ``allow_list`` would serve ``catalog``.

    Raises:
        CatalogRejected: It would not.
    """
    for source in catalog.sources:
        if command_of(source):
            raise CatalogRejected(
                f"Source {source.id} is a program that is started where toolfold runs (transport: stdio), which a "
                "Lambda function cannot do.",
                "Run the server where it has a URL and use transport: http, or leave its folder out of this catalog.",
            )
    refusal = allow_list.first_refusal(catalog.sources)
    if refusal is not None:
        raise CatalogRejected(
            f"A gateway would refuse this catalog: source {refusal.source_id} names {refusal.what}, {refusal.name}.",
            f"If the gateway allows it, set {refusal.setting}={refusal.entry} here as well"
            f" (of a stack: {refusal.setting.removeprefix(PREFIX).lower()} in settings.toml).",
        )
