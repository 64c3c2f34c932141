"""How much of an answer a preview keeps, how much an attempt at one may cost, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from toolfold.text_safety import quoted_name

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
