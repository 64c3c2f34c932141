"""``toolfold source remove``: move the folder of a source away, where it can be moved back from."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from toolfold.build.source_folders import REMOVED, find_source
from toolfold.cli import terminal
from toolfold.errors import ToolfoldError


def run(options: argparse.Namespace) -> int:
    """Show what is removed, ask, and move it."""
    found = find_source(options.folder, options.id)
    files = sorted(path for path in found.folder.rglob("*") if path.is_file())
    print(f"{found.id} ({found.kind}): {len(files)} file{'s' * (len(files) != 1)} in {found.folder}")
    if not options.yes and not _is_confirmed(found.id):
        print("Nothing was changed.", file=sys.stderr)
        return 1
    kept = _move_away(found.folder, options.folder)
    print(f"Removed {found.id}. To have it back: mv {kept} {found.folder}")
    print(f"Next: toolfold catalog compile --folder {options.folder}")
    return 0


def _is_confirmed(source_id: str) -> bool:
    if not terminal.is_terminal(sys.stdin):
        raise ToolfoldError("There is no terminal for a confirmation. Add --yes to remove the source.")
    print(f"Remove {source_id} from the catalog? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _move_away(source: Path, folder: Path) -> Path:
    """Move the folder of a source into a hidden folder, which no catalog is compiled from; return its new path."""
    target = folder / REMOVED / f"{source.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    try:
        target.parent.mkdir(exist_ok=True)
        while target.exists():
            target = target.with_name(f"{target.name}_")
        source.rename(target)
    except OSError as error:
        raise ToolfoldError(f"{source} cannot be moved to {target}: {error.strerror}. Nothing was changed.") from None
    return target
