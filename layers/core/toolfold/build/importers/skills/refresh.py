"""Copy skills into the folder of their source, from where their authors keep them.

A catalog compiles from its own folder alone, so that it can be reviewed and moved; ``copied_from`` in ``source.yaml``
says where the copies are from.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from toolfold.build.importers.base import RefreshReport
from toolfold.build.importers.skills.files import SKILL_FILE, Limits, UnsafeFile, find_skills, list_files, read_file
from toolfold.errors import SourceError

if TYPE_CHECKING:
    from toolfold.build.importers.skills.importer import SkillsSettings
    from toolfold.settings import Settings

__all__ = ["copy_skills", "refresh"]

LIMITS = Limits()


def refresh(
    folder: Path,
    settings: SkillsSettings,
    process_settings: Settings,
    *,
    check: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> RefreshReport:
    """Copy the folders of ``settings`` again, and return which skills differ.

    Raises:
        SourceError: there is nothing to copy from, or a file cannot be copied; nothing was written then.
    """
    if len(settings.copied_from) != len(settings.folders):
        raise SourceError(
            [f"{folder / 'source.yaml'}:1: copied_from must have a folder for each of folders, to be copied again"]
        )
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    copies: list[tuple[Path, Mapping[Path, bytes]]] = []
    for name, origin in zip(settings.folders, settings.copied_from, strict=True):
        progress(f"Reading {origin} …")
        files: Mapping[Path, bytes] = read_skills(folder / Path(origin).expanduser())
        target = folder / name
        copies.append((target, files))
        before |= _digests(read_skills(target) if target.is_dir() else {})
        after |= _digests(files)
    if not check:
        for target, files in copies:
            write_skills(target, files)
    return RefreshReport(
        added=sorted(after.keys() - before.keys()),
        removed=sorted(before.keys() - after.keys()),
        changed=sorted(name for name in before.keys() & after.keys() if before[name] != after[name]),
    )


def copy_skills(origin: Path, target: Path) -> int:
    """Copy the skills in ``origin`` to ``target``, which does not exist; return how many there are.

    Raises:
        SourceError: there is no skill, or a file cannot be copied.
    """
    files = read_skills(origin)
    write_skills(target, files)
    return sum(path.name == SKILL_FILE for path in files)


def read_skills(folder: Path) -> dict[Path, bytes]:
    """Return the files of all skills in ``folder``: path in it → content.

    Raises:
        SourceError: there are no skills, or a file cannot be read.
    """
    if not folder.is_dir():
        raise SourceError([f"{folder}:1: is not a folder"])
    found: dict[Path, bytes] = {}
    size = 0
    try:
        for skill in find_skills(folder, folder):
            for file in list_files(skill, folder):
                path = file.relative_to(folder)
                if path not in found:
                    found[path] = read_file(file, folder, LIMITS.max_file_bytes)
                    size += len(found[path])
                if size > LIMITS.max_source_bytes:
                    raise UnsafeFile(
                        file, f"is one too many: {LIMITS.max_source_bytes:,} bytes are allowed for a source"
                    )
    except UnsafeFile as error:
        raise SourceError([f"{error.path}:1: {error}"]) from None
    if not found:
        raise SourceError([f"{folder}:1: has no folder with a {SKILL_FILE}"])
    return found


def write_skills(target: Path, files: Mapping[Path, bytes]) -> None:
    """Replace the folder ``target`` by one with ``files``. What is executable is not executable there."""
    if target.is_symlink():
        raise SourceError([f"{target}:1: is a symbolic link; remove it first"])
    fresh = target.with_name(f".{target.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        for path, content in files.items():
            (fresh / path).parent.mkdir(parents=True, exist_ok=True)
            (fresh / path).write_bytes(content)
        if target.exists():
            shutil.rmtree(target)
        fresh.rename(target)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise SourceError([f"{target}:1: cannot be written: {error.strerror}"]) from None


def _digests(files: Mapping[Path, bytes]) -> dict[str, str]:
    """Return the path of each skill → a digest of all its files."""
    roots = [path.parent for path in files if path.name == SKILL_FILE]
    found = {}
    for root in roots:
        digest = hashlib.sha256()
        for path, content in files.items():
            if path.is_relative_to(root):
                digest.update(f"{path.as_posix()}\0{len(content)}\0".encode())
                digest.update(content)
        found[root.as_posix()] = digest.hexdigest()
    return found
