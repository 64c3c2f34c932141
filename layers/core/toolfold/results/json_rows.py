"""Tell which lists and objects in JSON are the rows of a table, or its columns side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from toolfold.results import values
from toolfold.results.types import Kind, column_type

_NAMES = ("name", "label", "title", "field", "id")
"""Keys under which objects that describe columns have their names."""


def are_objects(items: Sequence[Any]) -> bool:
    """Return whether a list has objects alone, and some."""
    return bool(items) and all(isinstance(item, dict) for item in items)


def are_dates(value: Any) -> bool:
    """Return whether the keys of an object are dates."""
    return isinstance(value, dict) and bool(value) and all(map(values.is_date, value))


def are_keyed_rows(value: Any) -> bool:
    """Return whether an object has rows by their keys: objects of the same names, some of whose parts are values.

    Two are enough that have all names; of three and more some may lack some, where the table is not mostly empty.
    """
    if not isinstance(value, dict) or len(value) < 2 or "next" in value or not all(map(_may_be_row, value.values())):
        return False  # the next of several links is no row
    names = {name for row in value.values() for name in row}
    given = sum(map(len, value.values()))
    is_whole = given == len(names) * len(value)
    return is_whole or (len(value) > 2 and 2 * given > len(names) * len(value))


def _may_be_row(row: Any) -> bool:
    """Return whether an object can be a row of an object by keys: its parts are no tables."""
    if not isinstance(row, dict) or not row or are_dates(row):
        return False
    parts = [part for part in row.values() if isinstance(part, list | dict)]
    has_tables = any(are_dates(part) or (isinstance(part, list) and are_objects(part)) for part in parts)
    return len(parts) < len(row) and not has_tables and not columns_of(row)


def is_flat(value: Any) -> bool:
    """Return whether a value is an object without parts."""
    return isinstance(value, dict) and not any(isinstance(item, list | dict) for item in value.values())


def row_width(rows: Sequence[Any]) -> int:
    """Return how many cells each of the rows has, where all are lists of one length; else 0."""
    return len(rows[0]) if rows and all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows) else 0


def has_header(rows: Sequence[Sequence[Any]]) -> bool:
    """Return whether the first of several rows names the columns: it has words alone, and some column no other."""
    if len(rows) < 2 or not _are_words(rows[0]):
        return False
    return any(not _are_words([cell]) for row in rows[1:] for cell in row if cell is not None)


def _are_words(cells: Sequence[Any]) -> bool:
    """Return whether cells can name columns: each is a text of its own, and neither a number nor a date."""
    are_texts = all(isinstance(cell, str) and cell for cell in cells) and len(set(cells)) == len(cells)
    return are_texts and all(column_type([cell]).kind is Kind.TEXT for cell in cells)


def titles_in(value: Any) -> list[str]:
    """Return the names that a list gives to columns: as texts, or objects with a name; empty where it gives none."""
    if isinstance(value, list) and are_objects(value):
        value = [next((item[key] for key in _NAMES if key in item), None) for item in value]
    return value if isinstance(value, list) and _are_words(value) else []


def titled_rows(
    rows: Sequence[Sequence[Any]], titles: Sequence[str], dates: str
) -> tuple[Sequence[str], Sequence[Sequence[Any]]] | None:
    """Return the titles of columns, which are beside rows, in the first one, or made of the type, and the rows.

    None where nothing says that lists of equal length are rows: one row without titles, or several without a column
    of times or words before their numbers. Lists of lists are rows by titles beside them alone.
    """
    if not titles and any(isinstance(cell, list | dict) for row in rows for cell in row):
        return None
    if not titles and has_header(rows):
        titles, rows = rows[0], rows[1:]
    if not titles:
        first, *others = (list(cells) for cells in zip(*rows, strict=True))
        has_times = _are_times(first)
        is_key = has_times or all(isinstance(cell, str) for cell in first)
        if len(rows) < 2 or not is_key or not any(isinstance(cell, int | float) for cell in chain(*others)):
            return None
        key = (dates if isinstance(first[0], str) else "time") if has_times else "column_1"
        numbered = [f"column_{number}" for number in range(2, len(others) + 2)]
        titles = [key, *(["value"] if has_times and len(others) == 1 else numbered)]
    return titles, rows


def columns_of(value: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the lists of an object that are columns side by side: one has the times of others, which are numbers.

    Lists of equal length may as well have nothing to do with each other.
    """
    lists = {key: item for key, item in value.items() if isinstance(item, list)}
    if len(lists) < 2 or len(set(map(len, lists.values()))) > 1:
        return {}
    others = [cells for cells in lists.values() if not _are_times(cells)]
    has_numbers = any(all(isinstance(cell, int | float | None) for cell in cells) for cells in others)
    if len(others) == len(lists) or (others and not has_numbers):
        return {}
    cells = chain((item for key, item in value.items() if key not in lists), *lists.values())
    return {} if any(isinstance(cell, list | dict) for cell in cells) else lists


_UNIX_TIMES = range(10**8, 10**13)
"""Seconds from 1973 on, or milliseconds."""


def _are_times(cells: Sequence[Any]) -> bool:
    if all(isinstance(cell, str) for cell in cells):
        return bool(cells) and column_type(cells).kind.is_date
    return all(type(cell) is int and cell in _UNIX_TIMES for cell in cells) and sorted(cells) in (cells, cells[::-1])
