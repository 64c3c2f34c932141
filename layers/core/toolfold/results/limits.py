"""How much of an answer a preview keeps, how much an attempt at one may cost, and what was left out.

Bound the memory that parsed text takes, before it is parsed.

The parsers of the standard library cannot be interrupted. Counting characters takes a hundredth of their time, and
bounds what they allocate: ``[{},{},…]`` takes eighty bytes for each three. The constants are sizes of CPython 3.11 to
3.13 on 64 bits (``sys.getsizeof``); ``tests/unit/results/test_measure.py`` compares the bounds with what is allocated.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from toolfold.budget import WorkBudget
from toolfold.text_safety import quoted_name

_OBJECT_BYTES = 165
"""An object with a few members has 200 bytes; together with its members it has fewer than this and theirs."""

_MEMBER_BYTES = 45
"""The place of a member in an object, and the growth of the table of keys."""

_ARRAY_BYTES = 90
_PLACE_BYTES = 9
"""The place of an item in a list that grows by an eighth at a time."""

_NUMBER_BYTES = 32
_STRING_BYTES = 60
"""A string without its characters."""

_CELL_BYTES = _STRING_BYTES + _PLACE_BYTES
"""A cell of CSV as a string in a column, without its characters."""


_SHORT_CHARS = 1 << 18
"""Length of a text that is not counted: even ``[{},{},…]`` of that length takes some tens of megabytes."""

_MOST_BYTES_PER_CHAR = 64
"""What a short text is taken to allocate: more than ``[{},{},…]``, of containers and of scalars each."""


class JsonSize(NamedTuple):
    """Upper bounds in bytes: of objects and lists, and of the strings and numbers in them."""

    containers: int
    scalars: int


def json_size(body: str) -> JsonSize:
    """Return how much ``json.loads(body)`` allocates at most. Signs inside strings count as well."""
    if len(body) <= _SHORT_CHARS:
        return JsonSize(len(body) * _MOST_BYTES_PER_CHAR, len(body) * _MOST_BYTES_PER_CHAR)
    objects, arrays, commas, members = (body.count(sign) for sign in "{[,:")
    strings = body.count('"') // 2
    string_values = strings - members
    numbers = max(0, commas + objects + arrays - string_values)
    # An escaped character makes the string that it is in as wide as itself.
    width = 4 if "\\ud" in body or "\\uD" in body else 2 if "\\u" in body else 1
    characters = max(sys.getsizeof(body), width * len(body))
    return JsonSize(
        objects * _OBJECT_BYTES + members * _MEMBER_BYTES + arrays * _ARRAY_BYTES + commas * _PLACE_BYTES,
        numbers * _NUMBER_BYTES + strings * _STRING_BYTES + characters,
    )


def csv_size(body: str) -> int:
    """Return how much the cells of a CSV text take at most, in bytes."""
    if len(body) <= _SHORT_CHARS:
        return len(body) * 2 * _MOST_BYTES_PER_CHAR
    return (body.count(",") + body.count("\n") + body.count("\r") + 1) * _CELL_BYTES + sys.getsizeof(body)


def object_size(members: int) -> int:
    """Return how much an object of numbers takes, in bytes."""
    return 80 + members * (_MEMBER_BYTES + _NUMBER_BYTES)


def keys_size(members: int) -> int:
    """Return how much the keys of an object take without their characters, in bytes."""
    return members * _STRING_BYTES


def list_size(items: int) -> int:
    """Return how much a list of numbers takes, in bytes."""
    return _ARRAY_BYTES + items * (_PLACE_BYTES + _NUMBER_BYTES)


def rows_size(rows: int, columns: int) -> int:
    """Return how much the rows of a table take without their cells, in bytes."""
    return rows * (64 + 8 * columns)


def require_parsable_json(body: str) -> None:
    """Check that ``json.loads(body)`` fits the memory of one call.

    Raises:
        AnswerTooLarge: it does not.
    """
    size = json_size(body)
    WorkBudget().reserve(size.containers + size.scalars)


T = TypeVar("T")

FEW_FIELDS = 4
"""With no more fields than this, a preview also has few columns, few tables, short names and no deep nesting."""

MAX_PATH_CHARS = 60
"""Length of a path in the description of what is left out."""

VALUES_PER_TOKEN = 8
"""More values than that for each token cannot fit: empty cells are four for a token."""

_CHARS_PER_TOKEN = 100
"""Nor can more characters: the longest token that is counted has 97."""

_MAX_DESCRIBED = 4
"""Truncations that are described one by one."""


@dataclass(frozen=True)
class Limits:
    """How much is kept; None: everything.

    Attributes:
        rows: rows of tables, or items of outer lists.
        chars: characters of a text.
        items: items of an inner list.
        fields: fields of a record.
    """

    rows: int
    chars: int | None = None
    items: int | None = None
    fields: int | None = None

    @property
    def inner(self) -> Limits:
        """The limits of what is inside a row."""
        return Limits(self.rows if self.items is None else self.items, self.chars, self.items, self.fields)

    @property
    def is_last(self) -> bool:
        """Whether names and depth are limited as well."""
        return self.fields is not None and self.fields <= FEW_FIELDS


class TooLong(Exception):
    """An attempt has more values than can fit."""


class Allowance:
    """The values that an attempt may have.

    Args:
        max_tokens: the limit of the text; None: the values need not be counted.
    """

    def __init__(self, max_tokens: int | None) -> None:
        self.is_counted = max_tokens is not None
        self._left = VALUES_PER_TOKEN * (max_tokens or 0)

    def take(self, count: int) -> None:
        """Count ``count`` values.

        Raises:
            TooLong: there are more than can fit.
        """
        if self.is_counted:
            self._left -= count
            if self._left < 0:
                raise TooLong

    def take_text(self, text: str) -> None:
        """Count the characters of a text."""
        if self.is_counted:
            self.take(len(text) * VALUES_PER_TOKEN // _CHARS_PER_TOKEN)

    def take_value(self, value: Any) -> None:
        """Count a JSON value with everything in it.

        Raises:
            TooLong: there is more than can fit.
        """
        pending = [value] if self.is_counted else []
        while pending:
            item = pending.pop()
            self.take(1)
            if isinstance(item, str):
                self.take_text(item)
            elif isinstance(item, list):
                self.take(len(item))
                pending.extend(item)
            elif isinstance(item, dict):
                self.take(len(item))
                pending.extend(item.values())
                for key in item:
                    self.take_text(key)

    def take_cells(self, rows: Sequence[Sequence[Any]]) -> None:
        """Count the contents of cells."""
        for row in rows if self.is_counted else ():
            for cell in row:
                if isinstance(cell, str):
                    self.take_text(cell)
                elif isinstance(cell, list | dict):
                    self.take_value(cell)


def first_and_last(items: Sequence[T], count: int) -> list[T]:
    """Return ``count`` items, two thirds from the beginning, where the newest usually are, the rest from the end."""
    if len(items) <= count:
        return list(items)
    first = first_part(count)
    return [*items[:first], *items[len(items) - (count - first) :]]


def first_part(count: int) -> int:
    """Return how many of ``count`` items come from the beginning."""
    return -(-2 * count // 3)


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

    def record_rows(self, shown: int, total: int, limit: int, prefix: str = "") -> None:
        """Add the rows of a table that are left out: those between the first and the last of ``limit`` rows."""
        self.rows_shown += shown
        self.rows_total += total
        if shown < total:
            first = first_part(limit)
            self.record(f"{prefix}rows {first + 1}-{total - limit + first}")

    def record_members(self, path: str, shown: int, total: int, kind: str) -> None:
        """Add the members left out of the list or map at ``path``; the longest one sets ``rows_shown``."""
        if total > self.rows_total:
            self.rows_shown, self.rows_total = shown, total
        if shown < total:
            self.record(f"{total - shown} of {total} {kind}{f' of {quoted_name(path)}' if path else ''}")

    def __str__(self) -> str:
        more = [f"and {self._undescribed} more cuts"] if self._undescribed else []
        return ", ".join([*self._descriptions, *more])
