"""What stdout and stderr can show: a terminal or not, its width, colour, and characters.

Tables for a person: drawn by rich on a terminal, aligned with spaces elsewhere.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from toolfold.text_safety import escape_unsafe

if TYPE_CHECKING:
    from rich.console import Console

MIN_WIDTH, MAX_WIDTH = 40, 200
"""Below, no table is readable; above, the eye loses the line."""

_DEFAULT_WIDTH = 80


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a person reads ``stream`` at once. A closed stream is not a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def can_draw(stream: TextIO | None) -> bool:
    """Return whether ``stream`` is a terminal that can place text: not ``TERM=dumb``."""
    return is_terminal(stream) and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def width() -> int:
    """Return the columns of the terminal (``COLUMNS``, else what it reports), within readable limits."""
    columns = os.environ.get("COLUMNS", "")
    size = int(columns) if columns.isdecimal() and len(columns) < 9 else 0
    return max(MIN_WIDTH, min(size or _reported_width(), MAX_WIDTH))


def _reported_width() -> int:
    """Return the columns of the terminal that stdout, stderr or stdin is: one of them may be a pipe."""
    for descriptor in (1, 2, 0):
        try:
            return os.get_terminal_size(descriptor).columns or _DEFAULT_WIDTH
        except OSError:  # not a terminal, or closed
            continue
    return _DEFAULT_WIDTH


def is_unicode(stream: Any) -> bool:
    """Return whether ``stream`` has all characters."""
    return str(getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


def make_console(stream: TextIO, line_width: int) -> Console:
    """Return a console of rich that writes to ``stream``, with colour where it is wanted.

    ``NO_COLOR`` and ``FORCE_COLOR`` count if they are not empty: https://no-color.org, https://force-color.org. What is
    printed must hold no control characters: the escape sequences are rich's own.
    """
    from rich.console import Console

    forced = os.environ.get("FORCE_COLOR", "") not in ("", "0")
    has_colour = not os.environ.get("NO_COLOR") and (forced or can_draw(stream))
    unescaped: TextIO = getattr(stream, "unescaped", stream)
    return Console(
        file=unescaped,
        width=line_width,
        force_terminal=has_colour or can_draw(stream),
        color_system="standard" if has_colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


_MAX_WORD = 24
"""Least width for the longest word of a column of text. A longer word is cut, with a mark."""

_MAX_DRAWN = 1000
"""Rows of a table that is drawn. Rich takes a millisecond for each."""

_GAP = 2
"""Spaces between two columns."""


def cell_text(value: Any) -> str:
    """Return a cell in one line: null as nothing, lists and objects as JSON, control characters as escapes."""
    if value is None:
        return ""
    if isinstance(value, str):
        return escape_unsafe(" ".join(value.split("\n")))
    if isinstance(value, list) and value and all(isinstance(item, str | int | float) for item in value):
        return escape_unsafe(", ".join(map(str, value)))
    if isinstance(value, bool | list | dict):
        return escape_unsafe(json.dumps(value, ensure_ascii=False))  # with spaces, at which lines can end
    return str(value)


def is_numeric(cells: Sequence[Any]) -> bool:
    """Return whether the cells that are not null are numbers, and there is one."""
    given = [cell for cell in cells if cell is not None]
    return bool(given) and all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in given)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Print a table to stdout; return the names of the columns that do not fit the terminal."""
    names = [cell_text(name) for name in columns]
    texts = [[cell_text(cell) for cell in row] for row in rows]
    numeric = [is_numeric([row[index] for row in rows if index < len(row)]) for index in range(len(names))]
    if not can_draw(sys.stdout) or len(rows) > _MAX_DRAWN:
        _print_plain(names, texts, numeric)
        return []
    return _print_drawn(names, texts, numeric)


def fits(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> bool:
    """Return whether all columns of a table fit the terminal."""
    least = 0
    for index, name in enumerate(columns):
        cells = [row[index] for row in rows if index < len(row)]
        least += _GAP + _Column(cell_text(name), list(map(cell_text, cells)), is_numeric(cells), len).least
    return least - _GAP <= width()


def print_fields(fields: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
    """Print names and values, one pair a line or more; long values continue below their beginning, at words."""
    pairs = fields.items() if isinstance(fields, Mapping) else fields
    names = [(cell_text(name), cell_text(value)) for name, value in pairs]
    name_width = min(max((len(name) for name, _ in names), default=0), width() // 2)
    if not can_draw(sys.stdout):
        for name, value in names:
            print(f"{name:{name_width}}  {value}")
        return
    from rich.text import Text

    line_width = width()
    console = make_console(sys.stdout, line_width)
    for name, value in names:
        indent = name_width + _GAP
        lines = wrap(value, line_width - indent)
        if len(name) > name_width:
            console.print(Text(name, style="bold"), soft_wrap=True)
        else:
            line = Text(f"{name:{name_width}}", style="bold") + Text(f"{'':{_GAP}}{lines.pop(0)}", style="not bold")
            console.print(line, soft_wrap=True)
        for rest in lines:
            console.print(Text(f"{'':{indent}}{rest}"), soft_wrap=True)


def wrap(text: str, columns: int) -> list[str]:
    """Return ``text`` in lines of at most ``columns``, broken at spaces; a longer word has a line of its own."""
    return textwrap.wrap(text, columns, break_long_words=False, break_on_hyphens=False) or [""]


def _print_plain(names: list[str], texts: list[list[str]], numeric: list[bool]) -> None:
    widths = [max(map(len, cells)) for cells in zip(names, *texts, strict=False)]
    for row in (names, *texts):
        cells = [
            text.rjust(size) if number else text.ljust(size)
            for text, size, number in zip(row, widths, numeric, strict=False)
        ]
        print((" " * _GAP).join(cells).rstrip())


def _print_drawn(names: list[str], texts: list[list[str]], numeric: list[bool]) -> list[str]:
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    line_width = width()
    columns = [
        _Column(name, [row[index] if index < len(row) else "" for row in texts], is_number, cell_len)
        for index, (name, is_number) in enumerate(zip(names, numeric, strict=True))
    ]
    shown = len(columns)
    while shown > 1 and sum(column.least for column in columns[:shown]) + _GAP * (shown - 1) > line_width:
        shown -= 1
    ascii_only = not is_unicode(sys.stdout)
    # The box has one space between columns.
    table = Table(
        box=box.ASCII_DOUBLE_HEAD if ascii_only else box.SIMPLE_HEAD,
        padding=(0, _GAP - 1, 0, 0),
        header_style="bold",
        pad_edge=False,
        show_edge=False,
    )
    for column, size in zip(columns, _share(columns[:shown], line_width - _GAP * (shown - 1)), strict=False):
        table.add_column(
            Text(column.name),
            justify="right" if column.is_number else "left",
            no_wrap=column.is_number,
            width=size,
            overflow="crop" if ascii_only else "ellipsis",
        )
    for row in texts:
        table.add_row(*map(Text, row[:shown]))
    make_console(sys.stdout, line_width).print(table)
    return names[shown:]


class _Column:
    """The widths of a column: ``least`` without cutting numbers and words, ``most`` without a second line."""

    def __init__(self, name: str, cells: Sequence[str], is_number: bool, cell_len: Callable[[str], int]) -> None:
        self.name, self.is_number = name, is_number
        lengths = list(map(cell_len, cells))
        self.most = max([cell_len(name), 1, *lengths])
        words = (min(_MAX_WORD, cell_len(word)) for cell in cells for word in cell.split())
        self.least = self.most if is_number else max(cell_len(name), 1, *words, 1)


def _share(columns: Sequence[_Column], line_width: int) -> list[int]:
    """Return the width of each column: what it needs, first those that need the least more than they must have."""
    widths = [min(column.least, line_width) for column in columns]
    left = line_width - sum(widths)
    missing = sorted((column.most - column.least, index) for index, column in enumerate(columns))
    for done, (wanted, index) in enumerate(missing):
        extra = max(0, min(wanted, left // (len(missing) - done)))
        widths[index] += extra
        left -= extra
    return widths
