"""``toolfold source refresh``: read the tools of sources again, and show what changed.

``toolfold source list``: the sources of a folder, their tools, and what is wrong with them.

``toolfold source remove``: move the folder of a source away, where it can be moved back from.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolfold.build import lint
from toolfold.build.refreshes import refresh_source, why_not
from toolfold.build.source_folders import REMOVED, SourceFolder, find_source, inspect_source, list_sources
from toolfold.cli import output, progress, terminal
from toolfold.cli.environment import EXTRAS, install_command
from toolfold.cli.error_text import for_person
from toolfold.errors import CallError, ToolfoldError
from toolfold.settings import Settings

if TYPE_CHECKING:
    from toolfold.build.importers.base import RefreshReport

_MAX_NAMES = 40
"""Names of each kind of change that are printed."""


def run(options: argparse.Namespace) -> int:
    """Refresh the sources, one after the other, and return the exit code."""
    settings = Settings.from_environment()
    if options.ids:
        sources = [find_source(options.folder, source_id) for source_id in dict.fromkeys(options.ids)]
    else:
        sources = [source for source in list_sources(options.folder) if not why_not(source)]
    if not sources:
        print(f"No source in {options.folder} is read from elsewhere: there is nothing to refresh.")
        return 0
    with progress.steps(len(sources)) as steps:
        reports = {source.id: _refresh(source, settings, steps, check=options.check) for source in sources}
    changed = [source_id for source_id, report in reports.items() if report]
    failed = [source_id for source_id, report in reports.items() if report is None]
    if changed and options.check:
        print(f"Changed since the last refresh: {', '.join(changed)}. Run: toolfold source refresh", file=sys.stderr)
    elif changed:
        print(f"Next: review the change, then toolfold catalog compile --folder {options.folder}")
    return 1 if failed or (changed and options.check) else 0


def _refresh(source: SourceFolder, settings: Settings, steps: progress.Steps, *, check: bool) -> RefreshReport | None:
    """Refresh one source and print what changed; return None where it failed."""
    steps.start(f"Reading the tools of {source.id} …")
    try:
        report = refresh_source(source, settings, check=check, progress=steps.describe)
    except ToolfoldError as error:
        with steps.paused():
            output.print_wrapped(f"{source.id}: {_sentence(source.id, error)}", "  ")
        return None
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        with steps.paused():
            output.print_wrapped(f"{source.id}: this needs {package}: {install_command(EXTRAS[package])}", "  ")
        return None
    with steps.paused():
        _print_report(source.id, report)
    if report and not check:
        _print_warnings(source)
    return report


def _print_warnings(source: SourceFolder) -> None:
    """Print how many texts of a source do not help a model, where it can be compiled."""
    with tempfile.TemporaryDirectory(prefix="toolfold-lint-") as scratch:
        shutil.copytree(source.folder, Path(scratch) / source.folder.name)
        warnings = [finding for finding in lint.check(Path(scratch)) if finding.is_warning]
    if warnings:
        rules = ", ".join(sorted({finding.rule for finding in warnings}))
        counted = f"{len(warnings)} {'warning' if len(warnings) == 1 else 'warnings'}"
        print(f"{source.id}: {counted} about texts ({rules}): toolfold catalog lint lists them", file=sys.stderr)


def _sentence(source_id: str, error: ToolfoldError) -> str:
    """Return an error as one sentence or more, with the next step where it has one."""
    if isinstance(error.__cause__, CallError):  # worded for a model
        return f"{' '.join(for_person(error.__cause__))} Nothing of it was written."
    suggestion = getattr(error, "suggestion", "")
    text = str(error).removeprefix(f"{source_id}: ")
    unchanged = "" if "othing was written" in text else " Nothing of it was written."
    return f"{text}{'' if text.endswith('.') else '.'}{f' {suggestion}' if suggestion else ''}{unchanged}"


def _print_report(source_id: str, report: RefreshReport) -> None:
    changes = (("+", "added", report.added), ("~", "changed", report.changed), ("-", "removed", report.removed))
    counts = ", ".join(f"{len(names)} {word}" for _, word, names in changes if names)
    print(f"{source_id}: {counts or 'no change'}")
    for sign, _, names in changes:
        for name in names[:_MAX_NAMES]:
            print(f"  {sign} {name}")
        if len(names) > _MAX_NAMES:
            print(f"  {sign} and {len(names) - _MAX_NAMES} more")
    for note in report.notes:
        print(f"{source_id}: {note}.", file=sys.stderr)


_LISTED = ("id", "kind", "title", "tools", "fetched", "state")


def list_folders(options: argparse.Namespace) -> int:
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
    state = "works" if not problems else f"{len(problems)} problem{'s' * (len(problems) != 1)}"
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


def remove(options: argparse.Namespace) -> int:
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
