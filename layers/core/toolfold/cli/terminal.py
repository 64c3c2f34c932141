"""What stdout and stderr can show: a terminal or not, its width, colour, and characters.

Tables for a person: drawn by rich on a terminal, aligned with spaces elsewhere. Questions to a person, by rich on
stderr: stdout has the result alone.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING, Any, TextIO

from toolfold.errors import ToolfoldError
from toolfold.text_safety import escape_unsafe

if TYPE_CHECKING:
    from rich.console import Console

MIN_WIDTH, MAX_WIDTH = 40, 200
"""Below, no table is readable; above, the eye loses the line."""

_DEFAULT_WIDTH = 80
_MAX_WORD = 24
"""Least width for the longest word of a column of text. A longer word is cut, with a mark."""

_MAX_DRAWN = 1000
"""Rows of a table that is drawn. Rich takes a millisecond for each."""

_GAP = 2
"""Spaces between two columns."""


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


def has_colour(stream: TextIO) -> bool:
    """Return whether ``stream`` gets colour: the variables count if not empty (no-color.org, force-color.org)."""
    is_forced = os.environ.get("FORCE_COLOR", "") not in ("", "0")
    return not os.environ.get("NO_COLOR") and (is_forced or can_draw(stream))


def make_console(stream: TextIO) -> Console:
    """Return a console of rich that writes to ``stream``, with colour where it is wanted.

    What is printed must hold no control characters: the escape sequences are rich's own.
    """
    from rich.console import Console

    return Console(
        file=getattr(stream, "unescaped", stream),
        width=width(),
        force_terminal=has_colour(stream) or can_draw(stream),
        color_system="standard" if has_colour(stream) else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


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


def wrap(text: str, columns: int, indent: str = "") -> list[str]:
    """Return ``text`` in lines of at most ``columns``, broken at spaces; a longer word has a line of its own.

    All lines but the first begin with ``indent``.
    """
    wrapper = textwrap.TextWrapper(columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return wrapper.wrap(text) or [""]


def print_fields(fields: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
    """Print names and values, one pair a line or more; long values continue below their beginning, at words."""
    given = fields.items() if isinstance(fields, Mapping) else fields
    pairs = [(cell_text(name), cell_text(value)) for name, value in given]
    name_width = min(max((len(name) for name, _ in pairs), default=0), width() // 2)
    gap, indent, is_drawn = " " * _GAP, name_width + _GAP, can_draw(sys.stdout)
    bold, plain = ("\x1b[1m", "\x1b[0m") if is_drawn and has_colour(sys.stdout) else ("", "")
    stream = getattr(sys.stdout, "unescaped", sys.stdout)  # every text is a cell
    for name, value in pairs:
        first, *others = wrap(value, width() - indent) if is_drawn else [value]
        if is_drawn and len(name) > name_width:
            first, others = "", [first, *others]
        print(f"{bold}{name:{name_width}}{plain}{gap if first or not is_drawn else ''}{first}", file=stream)
        for line in others:
            print(f"{'':{indent}}{line}", file=stream)


class Grid:
    """A table of texts: its columns, what they need, and how it is printed.

    Args:
        columns: the names.
        rows: the cells; a short row lacks the last ones.
    """

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self.names = [cell_text(name) for name in columns]
        self.rows = [[cell_text(cell) for cell in row] for row in rows]
        self.is_number: list[bool] = []
        self.least: list[int] = []
        """Width of each column that cuts no number, not its name, and no word of usual length."""
        texts = zip_longest(self.names, *self.rows, fillvalue="")
        for column, cells in zip(texts, zip_longest([None] * len(columns), *rows), strict=False):
            types = {type(cell) for cell in cells if cell is not None}
            self.is_number.append(bool(types) and types <= {int, float})
            whole = column if self.is_number[-1] else [word[:_MAX_WORD] for text in column for word in text.split()]
            self.least.append(max(1, len(column[0]), *map(len, whole)))

    def columns_that_fit(self) -> int:
        """Return how many columns fit the terminal, at least one."""
        ends = accumulate(least + _GAP for least in self.least)
        return max(1, sum(end - _GAP <= width() for end in ends))

    def print(self) -> list[str]:
        """Print the table to stdout; return the names of the columns that do not fit the terminal."""
        if not can_draw(sys.stdout) or len(self.rows) > _MAX_DRAWN:
            widths = [max(map(len, cells)) for cells in zip(self.names, *self.rows, strict=False)]
            for row in (self.names, *self.rows):
                aligned = zip(row, widths, self.is_number, strict=False)
                cells = [text.rjust(size) if number else text.ljust(size) for text, size, number in aligned]
                print((" " * _GAP).join(cells).rstrip())
            return []
        from rich import box
        from rich.table import Table
        from rich.text import Text

        shown, ascii_only = self.columns_that_fit(), not is_unicode(sys.stdout)
        table = Table(  # the box has one space between columns
            box=box.ASCII_DOUBLE_HEAD if ascii_only else box.SIMPLE_HEAD,
            padding=(0, _GAP - 1, 0, 0),
            header_style="bold",
            pad_edge=False,
            show_edge=False,
        )
        for name, is_number, least in list(zip(self.names, self.is_number, self.least, strict=True))[:shown]:
            table.add_column(
                Text(name),
                justify="right" if is_number else "left",
                no_wrap=is_number,
                min_width=min(least, width()),
                overflow="crop" if ascii_only else "ellipsis",
            )
        for row in self.rows:
            table.add_row(*map(Text, row[:shown]))
        make_console(sys.stdout).print(table)
        return self.names[shown:]


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Print a table to stdout; return the names of the columns that do not fit the terminal."""
    return Grid(columns, rows).print()


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table to a terminal; elsewhere its rows alone, with tabs between cells, for other programs."""
    if is_terminal(sys.stdout):
        print_table(columns, rows)
    else:
        print("".join("\t".join(map(cell_text, row)) + "\n" for row in rows), end="")


def is_interactive() -> bool:
    """Return whether a person can read a question and answer it."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def confirm(question: str, missing: str, *, default: bool = False) -> bool:
    """Return whether the person agrees; the end of the input is a no."""
    if not is_terminal(sys.stdin):
        raise ToolfoldError(f"There is no terminal for a confirmation. {missing}")
    from rich.prompt import Confirm

    try:
        return Confirm.ask(question, console=make_console(sys.stderr), default=default)
    except EOFError:
        return False


class Questions:
    """Ask for what the options of a command do not give."""

    def __init__(self) -> None:
        self.is_asking = is_interactive()
        self.has_asked = False

    def text(
        self,
        given: str | None,
        question: str,
        option: str,
        *,
        default: str | None = None,
        check: Callable[[str], str] = lambda _: "",
    ) -> str:
        """Return ``given``, or the answer of the person.

        Args:
            given: the value of the option; None: it was left out.
            question: what to ask, with an example.
            option: the option that gives it, for the error.
            default: the value of an empty answer, and of a missing option; None: there must be one.
            check: returns what is wrong with a value, or an empty text.
        """
        if given is not None:
            if problem := check(given):
                raise ToolfoldError(f"{option} {problem}.")
            return given
        if not self.is_asking:
            if default is not None:
                return default
            raise ToolfoldError(f"{option} is missing. Give it, or run the command on a terminal.")
        self.has_asked = True
        from rich.prompt import Prompt

        console = make_console(sys.stderr)
        try:
            while True:
                answer = str(Prompt.ask(question, console=console, default=... if default is None else default)).strip()
                if not (problem := check(answer) if answer else "is needed"):
                    return answer
                console.print(f"This {problem}.")
        except EOFError:
            raise ToolfoldError("Nothing was written.") from None
