"""A part of an answer that is too long: valid data of the same shape, as much of it as fits.

First and last rows, all columns, and how many there are. Where three rows are too much, long texts and inner lists are
cut before rows are; the last resort is no row at all.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from toolfold.results import values
from toolfold.results.tables import Document, Table

if TYPE_CHECKING:
    _T = TypeVar("_T")


_STAGES = ((None, None, 3), (400, 8, 2), (100, 3, 1), (30, 1, 0))
"""Characters of a text, items of an inner list, and the fewest rows that are worth showing so."""

_NEAR = 25
"""A preview is good enough when one with a twenty-fifth more rows would not fit; each try costs a count of tokens."""

_MAP_FROM = 12
"""Members from which an object of objects, or of numbers, is a map that may be cut: no record has so many."""

_FIELDS = 20
"""Fields of a record when nothing else helps."""

_TOLD = 4
"""Cuts that are told one by one."""


class Cuts:
    """What was left out. ``shown`` and ``total`` count rows of tables, or of the longest list."""

    def __init__(self, shown: int = 0, total: int = 0) -> None:
        self.shown, self.total = shown, total
        self.told: list[str] = []
        self.more = 0

    def tell(self, what: str) -> None:
        """Note one cut."""
        if len(self.told) < _TOLD:
            self.told.append(what)
        else:
            self.more += 1

    def __str__(self) -> str:
        return ", ".join([*self.told, *([f"and {self.more} more cuts"] if self.more else [])])


@dataclass(frozen=True)
class Level:
    """How much is kept: rows (or items of the outer lists), characters of a text, items of an inner list."""

    rows: int
    chars: int | None
    items: int | None


def fitting(most: int, make: Callable[[Level], _T], fits: Callable[[_T], bool]) -> _T:
    """What ``make`` makes at the highest level that ``fits``; the lowest when none does."""
    for chars, items, least in _STAGES:
        rows = min(least, most)
        made = make(Level(rows, chars, items))
        if not fits(made):
            continue
        # Doubled first: what is tried stays near what fits, however long the whole is.
        too_many = most + 1
        step = max(1, rows)
        while too_many - rows > max(1, rows // _NEAR):
            tried_rows = min(rows + step, too_many - 1)
            tried = make(Level(tried_rows, chars, items))
            if fits(tried):
                rows, made, step = tried_rows, tried, step * 2
            else:
                too_many, step = tried_rows, max(1, (tried_rows - rows) // 2)
        break
    return made


def longest(document: Document) -> int:
    """The most rows of any table, or the items of the longest list or map where there is none."""
    if document.tables:
        return max(len(table.rows) for table in document.tables)
    return longest_list(document.rest)


def longest_list(value: Any) -> int:
    """The items of the longest list or map anywhere in a JSON value."""
    if not isinstance(value, list | dict):
        return 0
    inner = value if isinstance(value, list) else value.values()
    return max([len(value), *(longest_list(item) for item in inner if isinstance(item, list | dict))])


def cut(document: Document, level: Level) -> tuple[Document, Cuts]:
    """The document at a level, and what that leaves out."""
    cuts = Cuts()
    if not document.tables:
        return Document(rest=shortened(document.rest, level, cuts)), cuts
    tables = tuple(_cut_table(table, level, cuts, named=len(document.tables) > 1) for table in document.tables)
    inner = Level(level.rows if level.items is None else level.items, level.chars, level.items)
    rest = document.rest if level.chars is None else shortened(document.rest, inner, Cuts())
    return Document(tables, rest), cuts


def _cut_table(table: Table, level: Level, cuts: Cuts, named: bool) -> Table:
    total = len(table.rows)
    rows: Sequence[Sequence[Any]] = ends(table.rows, level.rows)
    cuts.shown, cuts.total = cuts.shown + len(rows), cuts.total + total
    if len(rows) < total:
        first = _first(level.rows)
        cuts.tell(f"{table.name + ' ' if named else ''}rows {first + 1}-{total - level.rows + first}")
    if level.chars is not None:
        inner = Level(level.items or 0, level.chars, level.items)
        shorter: Sequence[Sequence[Any]] = [tuple(shortened(cell, inner, Cuts()) for cell in row) for row in rows]
        if shorter != rows:
            rows = shorter
            cuts.tell(f"{table.name + ' ' if named else ''}ends of long texts and lists")
    return Table(table.name, table.columns, rows)


def ends(items: Sequence[_T], count: int) -> list[_T]:
    """``count`` of the first and last ``items``, two thirds of them from the beginning: there mostly are the newest."""
    if len(items) <= count:
        return list(items)
    first = _first(count)
    return [*items[:first], *items[len(items) - (count - first) :]]


def _first(count: int) -> int:
    return -(-2 * count // 3)


def shortened(value: Any, level: Level, cuts: Cuts, path: str = "") -> Any:
    """A JSON value with its lists, maps and texts cut to the level."""
    if isinstance(value, str):
        if level.chars is None or len(value) <= level.chars:
            return value
        return f"{value[: level.chars]}… (+{len(value) - level.chars} characters)"
    if isinstance(value, list):
        inner = [shortened(item, level, cuts, path) for item in ends(value, level.rows)]
        _told(cuts, path, len(inner), len(value), "items")
        return inner
    if not isinstance(value, dict):
        return value
    keys = list(value)
    if _is_map(value):
        keys = ends(keys, level.rows)
    elif level.items == 1 and len(keys) > _FIELDS:
        keys = keys[:_FIELDS]
    _told(cuts, path, len(keys), len(value), "keys")
    return {key: shortened(value[key], level, cuts, f"{path}.{key}" if path else key) for key in keys}


def _told(cuts: Cuts, path: str, shown: int, total: int, what: str) -> None:
    if total > cuts.total:
        cuts.shown, cuts.total = shown, total
    if shown < total:
        cuts.tell(f"{total - shown} of {total} {what}{f' of {path}' if path else ''}")


def _is_map(value: dict[str, Any]) -> bool:
    if len(value) <= _MAP_FROM:
        return False
    kinds = [isinstance(item, list | dict) for item in value.values()]
    return all(kinds) or all(map(values.is_date, value)) or all(isinstance(item, float) for item in value.values())


def cut_csv(body: str, level: Level) -> tuple[str, Cuts]:
    """A CSV text with its header and the first and last of its rows."""
    header, *rows = records(body)
    shown = ends(rows, level.rows)
    cuts = Cuts(len(shown), len(rows))
    if len(shown) < len(rows):
        first = _first(level.rows)
        cuts.tell(f"rows {first + 1}-{len(rows) - level.rows + first}")
    return "\n".join([header, *shown]), cuts


def records(body: str) -> list[str]:
    """The lines of a CSV text; a line break inside quotes ends none."""
    if '"' not in body:
        return [line for line in body.split("\n") if line]
    out = []
    for record in csv.reader(io.StringIO(body, newline="")):
        if record:
            line = io.StringIO()
            csv.writer(line, lineterminator="").writerow(record)
            out.append(line.getvalue())
    return out
