"""Read the mock API directly, and compute what an answer should hold: with plain Python, and nothing of toolfold."""

from __future__ import annotations

import csv
import functools
import io
import json
import math
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]

_RELATIVE_TOLERANCE = 1e-3


@dataclass(frozen=True)
class RawData:
    """The functions of the mock API at ``url``, as rows. Every number is a float, every missing value None."""

    url: str

    def get(self, function: str, **parameters: str) -> str:
        """Return the text of a response."""
        query = urllib.parse.urlencode({"function": function, **parameters, "apikey": "raw-data"})
        return _fetch(f"{self.url}?{query}")

    def rows(self, function: str, **parameters: str) -> list[Row]:
        """Return the rows of a series or list, newest first as the API sends them; dates are under ``date``."""
        text = self.get(function, **parameters)
        if not text.startswith("{"):
            return [_row(row) for row in csv.DictReader(io.StringIO(text))]
        members = json.loads(text).values()
        for member in members:
            if isinstance(member, list):
                return [_row(row) for row in member]
        series = next(m for m in members if isinstance(m, dict) and all(isinstance(v, dict) for v in m.values()))
        return [{"date": date, **_row(row)} for date, row in series.items()]

    def lists(self, function: str, **parameters: str) -> dict[str, list[Row]]:
        """Return all lists of a response by name."""
        found = json.loads(self.get(function, **parameters))
        return {name: [_row(row) for row in member] for name, member in found.items() if isinstance(member, list)}

    def record(self, function: str, **parameters: str) -> Row:
        """Return a response that is one object, or holds one object."""
        found = json.loads(self.get(function, **parameters))
        [only] = found.values() if len(found) == 1 else [found]
        return _row(only)


@functools.cache
def _fetch(url: str) -> str:
    with urllib.request.urlopen(url) as response:
        return str(response.read().decode())


def _row(row: dict[str, Any]) -> Row:
    return {_plain(name): _value(cell) for name, cell in row.items()}


def _plain(name: str) -> str:
    """``1. open`` → ``open``, ``5. adjusted close`` → ``adjusted_close``."""
    number, dot, rest = name.partition(". ")
    return (rest if dot and number.replace(".", "").rstrip("ab").isdigit() else name).replace(" ", "_")


def _value(cell: Any) -> Any:
    if cell in ("None", "none", ".", "-", "", None, "n/a"):
        return None
    try:
        return float(str(cell).removesuffix("%"))
    except ValueError:
        return cell


def mean(values: list[Any]) -> float:
    """Return the mean of the values that are there."""
    known = [value for value in values if value is not None]
    return float(sum(known) / len(known))


def within(rows: list[Row], begin: str, end: str = "9999", by: str = "date") -> list[Row]:
    """Return the rows with ``begin <= date < end``."""
    return [row for row in rows if begin <= str(row[by])[:10] < end]


def values_of(value: Any) -> Iterator[Any]:
    """Yield all single values in an answer, which may be CSV."""
    if isinstance(value, str) and "\n" in value:
        value = [row.split(",") for row in value.splitlines()]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from values_of(item)
    else:
        yield value


def holds(found: list[Any], wanted: list[Any]) -> bool:
    """Return whether all of ``wanted`` are among ``found``; numbers to three digits, since models round."""
    return all(any(_is_same(one, other) for other in found) for one in wanted)


def _is_same(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, float | int) and isinstance(found, float | int | str):
        try:
            return math.isclose(wanted, float(found), rel_tol=_RELATIVE_TOLERANCE)
        except ValueError:
            return False
    return str(wanted).lower() == str(found).lower()
