"""``toolfold source list`` and ``remove``: the folders of sources, what is wrong with them, and taking one away."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from toolfold.build.refreshes import why_not
from toolfold.build.source_folders import REMOVED, SourceFolder, find_source, inspect_source, list_sources
from toolfold.cli import output, terminal
from toolfold.cli.application import Options
from toolfold.cli.prompts import confirm
from toolfold.errors import ToolfoldError

_LISTED = ("id", "kind", "title", "tools", "fetched", "state")


def list_folders(options: Options) -> int:
    """Print the sources and return 0."""
    found = [_entry(source) for source in list_sources(options.folder)]
    if options.json:
        output.print_json(found)
        return 0
    if not found:
        print(f"{options.folder} has no source. Add one: toolfold source add --help", file=sys.stderr)
        return 0
    rows = [[entry[name] for name in _LISTED] for entry in found]
    if terminal.is_terminal(sys.stdout):
        terminal.print_table(_LISTED, rows)
    else:
        for row in rows:
            print("\t".join(map(terminal.cell_text, row)))
    for entry in found:
        for problem in entry["problems"]:
            output.print_wrapped(problem, "  ")
    return 0


def _entry(source: SourceFolder) -> dict[str, Any]:
    tools, fetched_at, title, problems = inspect_source(source)
    state = "works" if not problems else output.counted(len(problems), "problem")
    if problems and not why_not(source) and tools == 0:
        state = "to be refreshed"
    return {
        "id": source.id,
        "kind": source.kind,
        "title": title,
        "tools": tools,
        "fetched": fetched_at[:16].replace("T", " "),
        "state": state,
        "problems": problems,
    }


def remove(options: Options) -> int:
    """Show what is removed, ask, and move it."""
    found = find_source(options.folder, options.id)
    files = sorted(path for path in found.folder.rglob("*") if path.is_file())
    print(f"{found.id} ({found.kind}): {output.counted(len(files), 'file')} in {found.folder}")
    if not options.yes and not confirm(f"Remove {found.id} from the catalog?", "Add --yes to remove the source."):
        print("Nothing was changed.", file=sys.stderr)
        return 1
    kept = _move_away(found.folder, options.folder)
    print(f"Removed {found.id}. To have it back: mv {kept} {found.folder}")
    print(f"Next: toolfold catalog compile --folder {options.folder}")
    return 0


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
