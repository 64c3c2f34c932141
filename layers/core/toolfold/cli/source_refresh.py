"""``toolfold source refresh``: read the tools of sources again, and show what changed."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from toolfold.build import lint
from toolfold.build.refreshes import refresh_source, why_not
from toolfold.build.source_folders import SourceFolder, find_source, list_sources
from toolfold.cli import output, progress
from toolfold.cli.application import Options
from toolfold.cli.environment import missing_extra
from toolfold.cli.error_text import for_person
from toolfold.errors import CallError, ToolfoldError
from toolfold.settings import Settings

if TYPE_CHECKING:
    from toolfold.build.importers.base import RefreshReport

_MAX_NAMES = 40
"""Names of each kind of change that are printed."""


def run(options: Options) -> int:
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
        if not (sentence := missing_extra(error)):
            raise
        with steps.paused():
            output.print_wrapped(f"{source.id}: this needs {sentence}", "  ")
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
