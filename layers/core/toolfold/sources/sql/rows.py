"""The rows that a statement returns, as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

__all__ = ["Rows", "json_value", "row_line", "unique_names"]

_MAX_SAFE_INTEGER = 2**53
"""Whole numbers up to this one survive a client that reads every number as a double (RFC 8259, section 6)."""

MAX_NAME_BYTES = 63
"""Of an identifier of PostgreSQL, which cuts longer ones."""

_UNNAMED = ("", "?column?")


@dataclass(frozen=True)
class Rows:
    """The first rows of a result.

    Attributes:
        columns: the names of the columns; no two are equal.
        lines: the rows, each a JSON object.
        has_more: whether there were more rows.
    """

    columns: tuple[str, ...]
    lines: Sequence[str]
    has_more: bool = False


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names for columns: an expression without a name is ``column_2``, a repeated name ``id_2``.

    Example:
        >>> unique_names(["id", "?column?", "id"])
        ('id', 'column_2', 'id_2')
    """
    listed = list(names)
    taken: set[str] = set()
    for position, name in enumerate(listed, 1):
        base = candidate = f"column_{position}" if name in _UNNAMED else name
        number = 1
        while candidate in taken or (number > 1 and candidate in listed):
            number += 1
            candidate = f"{_cut(base, MAX_NAME_BYTES - 1 - len(str(number)))}_{number}"
        taken.add(candidate)
        listed[position - 1] = candidate
    return tuple(listed)


def row_line(names: Sequence[str], values: Iterable[Any]) -> str:
    """Return one row as a JSON object."""
    return json.dumps(
        {name: json_value(value) for name, value in zip(names, values, strict=True)},
        ensure_ascii=False,
        separators=(",", ":"),
    )


def json_value(value: Any) -> Any:
    r"""Return a value of SQLite as JSON has it.

    Whole numbers that a double cannot hold and infinity become text, bytes the hexadecimal text of PostgreSQL.

    Example:
        >>> json_value(b"hi"), json_value(2**60), json_value(1.5)
        ('\\x6869', '1152921504606846976', 1.5)
    """
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, int) and abs(value) > _MAX_SAFE_INTEGER:
        return str(value)
    if isinstance(value, float) and not isfinite(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _cut(name: str, size: int) -> str:
    return name.encode()[:size].decode(errors="ignore")
