"""``toolfold source list``: the sources of a folder, their tools, and what is wrong with them."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from toolfold.build.refreshes import why_not
from toolfold.build.source_folders import SourceFolder, inspect_source, list_sources
from toolfold.cli import output, tables, terminal

_COLUMNS = ("id", "kind", "title", "tools", "fetched", "state")


def run(options: argparse.Namespace) -> int:
    """Print the sources and return 0."""
    found = [_entry(source) for source in list_sources(options.folder)]
    if options.json:
        output.print_json(found)
        return 0
    if not found:
        print(f"{options.folder} has no source. Add one: toolfold source add --help", file=sys.stderr)
        return 0
    rows = [[entry[name] for name in _COLUMNS] for entry in found]
    if terminal.is_terminal(sys.stdout):
        tables.print_table(_COLUMNS, rows)
    else:
        for row in rows:
            print("\t".join(map(tables.cell_text, row)))
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
