"""Shorten an answer that is too long: valid data of the same shape, as much of it as fits.

A preview has the first and last rows, all columns, and the number of rows. Where even a few rows are too long, long
texts and inner lists are truncated before more rows are left out; the last resort is no row at all.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from toolfold.results import values
from toolfold.results.tables import Document, Table

T = TypeVar("T")

_STAGES = ((None, None, 3), (400, 8, 2), (100, 3, 1), (30, 1, 0))
"""Characters of a text, items of an inner list, and the fewest rows for which the stage is used."""

_PRECISION = 25
"""A preview is long enough when one with a twenty-fifth more rows would not fit: each attempt counts tokens."""

_MIN_MAP_SIZE = 12
"""Members above which an object of objects or of numbers is a map that may be shortened; no record has so many."""

_MAX_FIELDS = 20
"""Fields of a record in the last stage."""

_MAX_DESCRIBED = 4
"""Truncations that are described one by one."""


class Truncation:
    """What was left out. ``rows_shown`` and ``rows_total`` count rows of tables, or items of the longest list."""

    def __init__(self, rows_shown: int = 0, rows_total: int = 0) -> None:
        self.rows_shown, self.rows_total = rows_shown, rows_total
        self._descriptions: list[str] = []
        self._undescribed = 0

    def record(self, description: str) -> None:
        """Add one part that was left out."""
        if len(self._descriptions) < _MAX_DESCRIBED:
            self._descriptions.append(description)
        else:
            self._undescribed += 1

    def record_members(self, path: str, shown: int, total: int, kind: str) -> None:
        """Add the members left out of the list or map at ``path``; the longest one sets ``rows_shown``."""
        if total > self.rows_total:
            self.rows_shown, self.rows_total = shown, total
        if shown < total:
            self.record(f"{total - shown} of {total} {kind}{f' of {path}' if path else ''}")

    def __str__(self) -> str:
        more = [f"and {self._undescribed} more cuts"] if self._undescribed else []
        return ", ".join([*self._descriptions, *more])


@dataclass(frozen=True)
class Limits:
    """How much is kept; None: everything.

    Attributes:
        rows: rows of tables, or items of outer lists.
        chars: characters of a text.
        items: items of an inner list.
    """

    rows: int
    chars: int | None
    items: int | None


def largest_fitting(max_rows: int, render: Callable[[Limits], T], fits: Callable[[T], bool]) -> T:
    """Return what ``render`` makes with the largest limits for which it ``fits``, or with the smallest if none does."""
    for chars, items, min_rows in _STAGES:
        rows = min(min_rows, max_rows)
        rendered = render(Limits(rows, chars, items))
        if not fits(rendered):
            continue
        # Double the step first: the attempts stay near the size that fits, however long the whole is.
        too_many = max_rows + 1
        step = max(1, rows)
        while too_many - rows > max(1, rows // _PRECISION):
            attempt_rows = min(rows + step, too_many - 1)
            attempt = render(Limits(attempt_rows, chars, items))
            if fits(attempt):
                rows, rendered, step = attempt_rows, attempt, step * 2
            else:
                too_many, step = attempt_rows, max(1, (attempt_rows - rows) // 2)
        break
    return rendered


def count_rows(document: Document) -> int:
    """Return the rows of the longest table, or the items of the longest list or map where there is no table."""
    if document.tables:
        return max(len(table.rows) for table in document.tables)
    return count_items(document.metadata)


def count_items(value: Any) -> int:
    """Return the items of the longest list or map anywhere in a JSON value."""
    if not isinstance(value, list | dict):
        return 0
    members = value if isinstance(value, list) else value.values()
    return max([len(value), *(count_items(item) for item in members if isinstance(item, list | dict))])


def truncate_document(document: Document, limits: Limits) -> tuple[Document, Truncation]:
    """Return the document within the limits, and what that leaves out."""
    truncation = Truncation()
    if not document.tables:
        return Document(metadata=truncate(document.metadata, limits, truncation)), truncation
    tables = tuple(
        _truncate_table(table, limits, truncation, named=len(document.tables) > 1) for table in document.tables
    )
    inner = Limits(limits.rows if limits.items is None else limits.items, limits.chars, limits.items)
    metadata = document.metadata if limits.chars is None else truncate(document.metadata, inner, Truncation())
    return Document(tables, metadata), truncation


def _truncate_table(table: Table, limits: Limits, truncation: Truncation, named: bool) -> Table:
    prefix = f"{table.name} " if named else ""
    rows: Sequence[Sequence[Any]] = first_and_last(table.rows, limits.rows)
    _record_rows(truncation, len(rows), len(table.rows), limits, prefix)
    if limits.chars is not None:
        inner = Limits(limits.items or 0, limits.chars, limits.items)
        shorter: Sequence[Sequence[Any]] = [tuple(truncate(cell, inner, Truncation()) for cell in row) for row in rows]
        if shorter != rows:
            rows = shorter
            truncation.record(f"{prefix}ends of long texts and lists")
    return Table(table.name, table.columns, rows)


def _record_rows(truncation: Truncation, shown: int, total: int, limits: Limits, prefix: str = "") -> None:
    truncation.rows_shown += shown
    truncation.rows_total += total
    if shown < total:
        first = _first_part(limits.rows)
        truncation.record(f"{prefix}rows {first + 1}-{total - limits.rows + first}")


def first_and_last(items: Sequence[T], count: int) -> list[T]:
    """Return ``count`` items, two thirds from the beginning, where the newest usually are, the rest from the end."""
    if len(items) <= count:
        return list(items)
    first = _first_part(count)
    return [*items[:first], *items[len(items) - (count - first) :]]


def _first_part(count: int) -> int:
    return -(-2 * count // 3)


def truncate(value: Any, limits: Limits, truncation: Truncation, path: str = "") -> Any:
    """Return a JSON value with lists, maps and texts within the limits; record in ``truncation`` what is left out."""
    if isinstance(value, str):
        if limits.chars is None or len(value) <= limits.chars:
            return value
        return f"{value[: limits.chars]}… (+{len(value) - limits.chars} characters)"
    if isinstance(value, list):
        items = [truncate(item, limits, truncation, path) for item in first_and_last(value, limits.rows)]
        truncation.record_members(path, len(items), len(value), "items")
        return items
    if not isinstance(value, dict):
        return value
    keys = list(value)
    if _is_map(value):
        keys = first_and_last(keys, limits.rows)
    elif limits.items == 1 and len(keys) > _MAX_FIELDS:
        keys = keys[:_MAX_FIELDS]
    truncation.record_members(path, len(keys), len(value), "keys")
    return {key: truncate(value[key], limits, truncation, f"{path}.{key}" if path else key) for key in keys}


def _is_map(value: dict[str, Any]) -> bool:
    """Return whether an object is a map of many like members, not a record."""
    if len(value) <= _MIN_MAP_SIZE:
        return False
    members = value.values()
    return (
        all(isinstance(member, list | dict) for member in members)
        or all(map(values.is_date, value))
        or all(isinstance(member, float) for member in members)
    )


def truncate_csv(body: str, limits: Limits) -> tuple[str, Truncation]:
    """Return a CSV text with its header and the first and last of its rows, and what that leaves out."""
    header, *rows = csv_records(body)
    shown = first_and_last(rows, limits.rows)
    truncation = Truncation()
    _record_rows(truncation, len(shown), len(rows), limits)
    return "\n".join([header, *shown]), truncation


def csv_records(body: str) -> list[str]:
    """Split a CSV text into records. A line break inside quotes does not end a record."""
    if '"' not in body:
        return [line for line in body.split("\n") if line]
    records = []
    for record in csv.reader(io.StringIO(body, newline="")):
        if record:
            line = io.StringIO()
            csv.writer(line, lineterminator="").writerow(record)
            records.append(line.getvalue())
    return records
