"""The state of a folder with everything below it, to show that nothing in it changed."""

import hashlib
import os
import stat
from pathlib import Path
from typing import NamedTuple


class State(NamedTuple):
    kind: int
    mode: int
    owner: int
    links: int
    modified_ns: int
    content: str


def snapshot(folder: Path, without: tuple[Path, ...] = ()) -> dict[str, State]:
    """Return the state of ``folder`` and all that is in it, but not of what is at or below ``without``.

    The time and the link count of a folder change when something is made in it, so they are left out for folders.
    """
    found = {}
    for path in sorted([folder, *folder.rglob("*")]):
        if any(path == left or left in path.parents for left in without):
            continue
        status = path.lstat()
        kind, is_folder = stat.S_IFMT(status.st_mode), path.is_dir() and not path.is_symlink()
        content = ""
        if stat.S_ISREG(status.st_mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        elif path.is_symlink():
            content = os.readlink(path)
        found[str(path)] = State(
            kind,
            stat.S_IMODE(status.st_mode),
            status.st_uid,
            0 if is_folder else status.st_nlink,
            0 if is_folder else status.st_mtime_ns,
            content,
        )
    return found
