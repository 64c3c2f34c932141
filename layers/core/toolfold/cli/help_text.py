"""Fit the lines of examples and tables in a help to a narrow terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

__all__ = ["fit"]

_FULL_LINE = 95
"""A line of prose this long continues in the next one: the texts are written in lines of at most 120 characters."""

_MIN_COLUMN = 24
"""Narrower columns are not readable: the text of such a one is put below its name."""

_CONTINUED = re.compile(r" {8,}(?=\S)")
_ENTRY = re.compile(r"(?P<name> +\S.*?) {2,}(?P<text>\S.*)")


def fit(text: str, width: int) -> str:
    """Return ``text`` in lines of at most ``width``; a command is never broken, so that it can be copied.

    Args:
        text: paragraphs, and indented lines: each a command or a name, often with two spaces and its meaning.
        width: the columns of the terminal.
    """
    lines = text.splitlines()
    if all(len(line) <= width for line in lines):
        return text
    return "\n".join(fitted for line in _logical_lines(lines) for fitted in _fit_line(line, width))


def _logical_lines(lines: list[str]) -> Iterator[str]:
    """Yield each paragraph as one line, and each entry with the lines that continue it."""
    current, is_open = "", False
    for line in lines:
        is_prose = line[:1].strip() != ""
        continues_entry = current.startswith(" ") and _CONTINUED.match(line)
        if continues_entry or (is_prose and is_open):
            current += f" {line.strip()}"
        else:
            yield from [current] * (current != "")
            yield from [line] * (line == "")
            current = line
        is_open = is_prose and len(line) >= _FULL_LINE
    yield from [current] * (current != "")


def _fit_line(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    if not line.startswith(" "):
        return _wrap(line, width)
    entry = _ENTRY.fullmatch(line)
    if entry is None:
        return [line]
    column = entry.start("text")
    if width - column >= _MIN_COLUMN:
        return _wrap(entry["text"], width, f"{entry['name']:{column}}", " " * column)
    return [entry["name"], *_wrap(entry["text"], width, " " * 6, " " * 6)]


def _wrap(text: str, width: int, first: str = "", others: str = "") -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )
