"""Read the mock API directly, and compute what an answer should hold: with SQLite, and nothing of toolfold."""

from __future__ import annotations

import csv
import functools
import io
import json
import math
import sqlite3
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
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
        """Return the rows of a series or list, newest first as the API sends them, or one; dates are under ``date``."""
        text = self.get(function, **parameters)
        if not text.startswith("{"):
            return [_row(row) for row in csv.DictReader(io.StringIO(text))]
        members = json.loads(text).values()
        for member in members:
            if isinstance(member, list):
                return [_row(row) for row in member]
        for member in members:
            if isinstance(member, dict) and all(isinstance(row, dict) for row in member.values()):
                return [{"date": date, **_row(row)} for date, row in member.items()]
        return [self.record(function, **parameters)]

    def lists(self, function: str, **parameters: str) -> dict[str, list[Row]]:
        """Return all lists of a response by name."""
        found = json.loads(self.get(function, **parameters))
        return {name: [_row(row) for row in member] for name, member in found.items() if isinstance(member, list)}

    def record(self, function: str, **parameters: str) -> Row:
        """Return a response that is one object, or holds one object; empty for one that holds a list."""
        found = json.loads(self.get(function, **parameters))
        [only] = found.values() if len(found) == 1 else [found]
        return _row(only) if isinstance(only, dict) else {}

    def values(self, requests: Sequence[str], sql: str) -> list[Any]:
        """Return the values of the rows that an SQL query finds; none for an empty one.

        Args:
            requests: function and parameters of each response that is read: ``RSI symbol=IBM interval=daily``.
            sql: their rows are the table ``data``, each of their lists is a table of its name, and the values beside
                the rows are the table ``record``. The columns ``request`` and ``nr`` count from 1.
        """
        rows = _database(self, tuple(requests)).execute(sql) if sql else ()
        return [value for row in rows for value in row]

    def tables(self, function: str, **parameters: str) -> dict[str, list[Row]]:
        """Return the tables of a response."""
        rows = {"data": self.rows(function, **parameters)}
        if not self.get(function, **parameters).startswith("{"):
            return rows
        return rows | self.lists(function, **parameters) | {"record": [self.record(function, **parameters)]}


@functools.cache
def _database(data: RawData, requests: tuple[str, ...]) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    for number, request in enumerate(requests, 1):
        function, *parameters = request.split()
        for name, rows in data.tables(function, **dict(pair.split("=") for pair in parameters)).items():
            columns = list(dict.fromkeys(column for row in rows for column in row))
            listed = ", ".join(f'"{column}"' for column in ("request", "nr", *columns))
            database.execute(f'CREATE TABLE IF NOT EXISTS "{name}" ({listed})')
            values = ([json.dumps(row[name]) if isinstance(row.get(name), list | dict) else row.get(name)
                       for name in columns] for row in rows)  # fmt: skip
            cells = ([number, nr, *row] for nr, row in enumerate(values, 1))
            marks = ", ".join("?" * (len(columns) + 2))
            database.executemany(f'INSERT INTO "{name}" ({listed}) VALUES ({marks})', cells)
    return database


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
