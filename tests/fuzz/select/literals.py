"""Make literals that meet the values of a column: numbers, texts and dates in the spellings of the language."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from tests.fuzz.select import expressions as e
from tests.fuzz.select.language import RESERVED, Expression, Period
from tests.fuzz.select.steps import COMPUTED
from tests.fuzz.select.table import Cell, Column
from tests.fuzz.select.times import floor, shift

_UNQUOTED = re.compile(r"[A-Za-z][A-Za-z-]*( [A-Za-z][A-Za-z-]*)*")


def _text(cell: Cell) -> str:
    return str(cell.value if cell.shown is COMPUTED else cell.shown)


class Literals:
    """Make literals from a seed.

    Args:
        random: decides everything.
    """

    def __init__(self, random: Random) -> None:
        self._random = random

    def number(self, column: Column | None = None) -> Expression:
        """Return a number near the values of a column, at times one of them."""
        random = self._random
        known = [value for value in column.values() if isinstance(value, int | float)] if column else []
        value: Any = random.choice(known) if known else random.choice((0, 1, 2, 10, 0.5))
        kind = random.randrange(5)
        if kind == 0:
            value = random.choice((0, 1, -1, 2.5, value * 2))
        elif kind == 1:
            value = round(value * random.choice((0.5, 0.9, 1.1)), 2)
        if isinstance(value, float) and value == int(value):
            value = int(value)
        texts = [repr(value)] * 4
        if value >= 0 and "e" not in repr(value):
            texts += [f"{value:,}", f"${value}"]
            if isinstance(value, int) and value and value % 100_000 == 0:
                texts.append(f"{value / 10**6!r}M")
            if isinstance(value, int) and value and value % 100 == 0:
                texts.append(f"{value / 1000!r}K")
        if column and (column.kind == "percent" or "percent" in column.name):
            texts = [f"{value!r}%", repr(value)]
        if "e" in repr(value):
            return e.number(1)
        return e.number(value, random.choice(texts))

    def text(self, column: Column, names: Sequence[str]) -> Expression:
        """Return a value of a column, or another text; with quotes where it could be something else."""
        random = self._random
        known = [_text(cell) for cell in column.cells if cell.value is not None]
        value = random.choice(known) if known and random.random() < 0.85 else random.choice(("call", "nothing", "x"))
        kind = random.randrange(6)
        value = value.lower() if kind == 0 else value.upper() if kind == 1 else value
        return e.text(value, self._quoted(value, names))

    def exact(self, column: Column) -> str:
        """Return a value of a column, in its own letter case: SQL compares texts exactly."""
        known = [_text(cell) for cell in column.cells if cell.value is not None]
        return self._random.choice(known or ["nothing"])

    def pattern(self, column: Column, way: str) -> Expression:
        """Return a part of a value for ``like``, ``contains``, ``starts with`` or ``ends with``."""
        random = self._random
        known = [_text(cell) for cell in column.cells if cell.value is not None]
        value = random.choice(known) if known else "abc"
        start = 0 if way == "starts with" else random.randrange(len(value))
        end = len(value) if way == "ends with" else min(len(value), start + random.choice((1, 2, 4)))
        piece = value[start:end]
        piece = piece.upper() if random.random() < 0.3 else piece
        if way == "like":
            piece = random.choice((f"%{piece}%", f"{piece}%", f"%{piece}", value[:1] + "_" + value[2:], piece))
        return e.text(piece)

    def _quoted(self, value: str, names: Sequence[str]) -> str:
        taken = {re.sub(r"\W", "", name).lower() for name in names}
        words = value.lower().replace("-", " ").split()
        is_plain = _UNQUOTED.fullmatch(value) and not RESERVED.intersection(words)
        if is_plain and re.sub(r"\W", "", value).lower() not in taken and self._random.random() < 0.7:
            return value
        return "'" + value.replace("'", "''") + "'"

    def instant(self, column: Column) -> datetime:
        """Return a time near those of a column."""
        known = [value for value in column.values() if isinstance(value, datetime)]
        at: datetime = self._random.choice(known) if known else datetime(2025, 6, 30)
        return at + timedelta(days=self._random.choice((0, 0, 0, 0, 1, -1, 7, -40)))

    def date(self, column: Column) -> Expression:
        """Return a date literal inside an expression: a day, a month or a quarter."""
        units = ("quarter",) if column.kind == "coarse" else ("day", "day", "day", "month", "quarter")
        period = self._one(column, units)
        if period.text.count("-") == 2 and self._random.random() < 0.3:
            period = replace(period, text=f"'{period.text}'")
        return e.date(period)

    def _one(self, column: Column, units: Sequence[str]) -> Period:
        random = self._random
        unit = random.choice(units)
        start = floor(self.instant(column), unit)
        quarter = (start.month + 2) // 3
        texts = {
            "day": [f"{start:%Y-%m-%d}"],
            "month": [f"{start:%Y-%m}"],
            "quarter": [f"{start.year}Q{quarter}", f"{start.year}-Q{quarter}"],
            "year": [f"{start.year}"],
        }[unit]
        return Period(start, shift(start, 1, unit), random.choice(texts))

    def period(self, column: Column) -> Period:
        """Return a whole step that is a period."""
        random = self._random
        units: Sequence[str] = ("day", "month", "month", "quarter", "year", "year")
        units = units[3:] if column.kind == "coarse" else units
        one = self._one(column, units)
        kind = random.randrange(10)
        if kind < 3:
            return replace(one, text=random.choice((one.text, one.text, f"in {one.text}", f"during {one.text}")))
        if kind < 6:
            other = self._one(column, units)
            assert one.start is not None
            assert other.start is not None
            first, last = (one, other) if one.start <= other.start else (other, one)
            forms = (f"{first.text}..{last.text}", f"{first.text}..{last.text}",
                     f"between {first.text} and {last.text}", f"from {first.text} to {last.text}")  # fmt: skip
            return Period(first.start, last.end, random.choice(forms))
        return random.choice(
            (
                Period(one.start, None, f"since {one.text}"),
                Period(None, one.start, f"before {one.text}"),
                Period(one.end, None, f"after {one.text}"),
                Period(None, one.end, f"until {one.text}"),
            )
        )
