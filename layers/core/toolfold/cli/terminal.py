"""What stdout and stderr can show: a terminal or not, its width, colour, and characters.

Tables for a person: drawn by rich on a terminal, with tabs between columns elsewhere. Questions to a person, by rich
on stderr: stdout has the result alone.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TextIO

from toolfold.errors import ToolfoldError
from toolfold.text_safety import escape_unsafe

if TYPE_CHECKING:
    from rich.console import Console

MIN_WIDTH, MAX_WIDTH = 40, 200
"""Below, no table is readable; above, the eye loses the line."""

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
    return max(MIN_WIDTH, min(shutil.get_terminal_size().columns, MAX_WIDTH))


def is_unicode(stream: Any) -> bool:
    """Return whether ``stream`` has all characters."""
    return str(getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


def make_console(stream: TextIO) -> Console:
    """Return a console of rich that writes to ``stream``, with colour where it and the variables want it.

    What is printed must hold no control characters: the escape sequences are rich's own.
    """
    from rich.console import Console

    file = getattr(stream, "unescaped", stream)
    return Console(file=file, width=width(), highlight=False, markup=False, emoji=False, legacy_windows=False)


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
    indent = name_width + _GAP
    for name, value in pairs:
        lines = wrap(value, width() - indent) if can_draw(sys.stdout) else [value]
        if can_draw(sys.stdout) and len(name) > name_width:
            lines.insert(0, "")
        for number, line in enumerate(lines):
            print(f"{'' if number else name:{indent}}{line}".rstrip())


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, has_header: bool = True) -> list[str]:
    """Print a table to stdout; return the names of the columns that do not fit the terminal.

    Args:
        columns: the names.
        rows: the cells; a short row lacks the last ones.
        has_header: whether the names are printed where the table is not drawn.
    """
    names, cells = [cell_text(name) for name in columns], [[cell_text(cell) for cell in row] for row in rows]
    if not can_draw(sys.stdout) or len(rows) > _MAX_DRAWN:
        print("".join("\t".join(row) + "\n" for row in [names, *cells][not has_header :]), end="")
        return []
    from rich import box
    from rich.table import Table
    from rich.text import Text

    ascii_only, end = not is_unicode(sys.stdout), 0
    table = Table(  # the box has one space between columns
        box=box.ASCII_DOUBLE_HEAD if ascii_only else box.SIMPLE_HEAD,
        padding=(0, _GAP - 1, 0, 0),
        header_style="bold",
        pad_edge=False,
        show_edge=False,
    )
    values = zip_longest([None] * len(names), *rows)
    for texts, column in zip(zip_longest(names, *cells, fillvalue=""), values, strict=False):
        types = {type(cell) for cell in column if cell is not None}
        is_number = bool(types) and types <= {int, float}
        # A column that is narrower would cut a number, its name, or a word of usual length.
        whole = texts if is_number else [word[:_MAX_WORD] for text in texts for word in text.split()]
        least = max(1, len(texts[0]), *map(len, whole))
        end += least + _GAP
        if table.columns and end - _GAP > width():
            break
        table.add_column(
            Text(texts[0]),
            justify="right" if is_number else "left",
            no_wrap=is_number,
            min_width=min(least, width()),
            overflow="crop" if ascii_only else "ellipsis",
        )
    shown = len(table.columns)
    for row in cells:
        table.add_row(*map(Text, row[:shown]))
    make_console(sys.stdout).print(table)
    return names[shown:]


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table to a terminal; elsewhere its rows alone, with tabs between cells, for other programs."""
    print_table(columns, rows, has_header=is_terminal(sys.stdout))


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
