"""Tables in documents that a command writes: each between a mark that names its command and a mark that ends it."""

from __future__ import annotations

import sys
from pathlib import Path

_END = "<!-- end of measured -->\n"


def keep(page: Path, command: str, measured: str, *, write: bool) -> int:
    """Put ``measured`` between the marks of ``command`` in ``page``, or say whether it stands there already.

    Returns:
        0, or 1 when nothing is to be written and the page says something else.

    Raises:
        ValueError: the page has no such mark.
    """
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
