"""Tables in documents that a command writes: each between a mark that names its command and a mark that ends it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

_END = "<!-- end of measured -->\n"


def options(about: str | None, *modes: str, flags: Sequence[str] = ()) -> argparse.Namespace:
    """What the command line of such a command says.

    Args:
        about: what ``--help`` prints, its lines as they are.
        modes: options of which one at most may be given; ``--write FILE`` is one that takes a path.
        flags: options that go with each of them.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in flags:
        parser.add_argument(flag, action="store_true")
    exclusive = parser.add_mutually_exclusive_group()
    for mode in modes:
        name, _, path = mode.partition(" ")
        if path:
            exclusive.add_argument(name, type=Path, metavar=path)
        else:
            exclusive.add_argument(name, action="store_true")
    return parser.parse_args()


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Markdown: the first ``left`` columns are words, the others figures."""
    lines = [head, ["---" if at < left else "---:" for at in range(len(head))], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def keep(page: Path | None, command: str, measured: str, *, write: bool = True) -> int:
    """Put ``measured`` between the marks of ``command`` in ``page``; without ``write``, say whether it stands there
    already; without a page, print it.

    Returns:
        0, or 1 when nothing is to be written and the page says something else.

    Raises:
        ValueError: the page has no such mark.
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
