"""Bound the memory that parsed text takes, before it is parsed.

The parsers of the standard library cannot be interrupted. Counting characters takes a hundredth of their time, and
bounds what they allocate: ``[{},{},…]`` takes eighty bytes for each three. The constants are sizes of CPython 3.11 to
3.13 on 64 bits (``sys.getsizeof``); ``tests/unit/results/test_measure.py`` compares the bounds with what is allocated.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from toolfold.budget import WorkBudget

_OBJECT_BYTES = 165  # with a few members it has 200; together with its members it has fewer than this and theirs
_MEMBER_BYTES = 45  # its place in an object, and the growth of the table of keys
_ARRAY_BYTES = 90
_PLACE_BYTES = 9  # of an item in a list that grows by an eighth at a time
_NUMBER_BYTES = 32
_STRING_BYTES = 60  # without its characters
_SHORT_CHARS = 1 << 18  # of a text that is not counted: even ``[{},{},…]`` of that length takes some tens of megabytes
_MOST_BYTES_PER_CHAR = 64  # that a short text is taken to allocate: more than ``[{},{},…]``, for either kind


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
    numbers = max(0, commas + objects + arrays + members - strings)
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
    cells = body.count(",") + body.count("\n") + body.count("\r") + 1
    return cells * (_STRING_BYTES + _PLACE_BYTES) + sys.getsizeof(body)


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
    WorkBudget().reserve(sum(json_size(body)))
