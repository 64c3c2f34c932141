"""Tables in documents that a command writes, between a marker that names the command and an end marker."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

_END = "<!-- end of measured -->\n"


def parse_options(about: str | None, *modes: str, flags: Sequence[str] = ()) -> argparse.Namespace:
    """Parse the command line of such a command.

    Args:
        about: The text of ``--help``, with its lines as they are.
        modes: Options of which at most one may be given; ``--write FILE`` is one that takes a path.
        flags: Options that can be combined with each of them, and names of required paths.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in flags:
        parser.add_argument(flag, **({"action": "store_true"} if flag.startswith("--") else {"type": Path}))
    exclusive = parser.add_mutually_exclusive_group()
    for mode in modes:
        name, _, path = mode.partition(" ")
        if path:
            exclusive.add_argument(name, type=Path, metavar=path)
        else:
            exclusive.add_argument(name, action="store_true")
    return parser.parse_args()


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a Markdown table whose first ``left`` columns are words and whose other columns are figures."""
    lines = [head, ["---" if at < left else "---:" for at in range(len(head))], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def update_page(page: Path | None, command: str, measured: str, *, write: bool) -> int:
    """Put ``measured`` between the markers of ``command`` in ``page``.

    Args:
        page: The document; None prints the tables.
        command: The command in the marker.
        measured: The tables.
        write: False compares the page with the tables.

    Returns:
        0, or 1 when the page is compared and differs.

    Raises:
        ValueError: The page has no such marker.
    """
    if page is None:
        print(measured)
        return 0
    begin = f"<!-- measured by: {command} -->\n"
    before, marked, rest = page.read_text(encoding="utf-8").partition(begin)
    current, ended, after = rest.partition(_END)
    if not marked or not ended:
        raise ValueError(f"{page} has no tables of {command!r}")
    if write:
        page.write_text(f"{before}{begin}\n{measured}\n{_END}{after}", encoding="utf-8")
    elif current.strip() != measured.strip():
        print(f"The tables of {page} are stale. Run: {command}", file=sys.stderr)
        return 1
    return 0
