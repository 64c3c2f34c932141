"""Read what units of the calendar are compared with: ``weekday = Monday``, ``month = December``, ``quarter = 4``.

A month or quarter without a year is that of every year; with one, ``2025-12``, it is a text like any other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from toolfold.dates import MONTHS
from toolfold.results.select.dates import parse_date
from toolfold.results.select.selection import Comparison, Operand, invalid_select

_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS = tuple(month[:3] for month in MONTHS)
_NAME = re.compile(
    r"(mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:days?)?"
    r"|(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?",
    re.I,
)
_NUMBER = re.compile(r"[Qq]?(\d{1,2})(?::00)?")
_QUARTER = re.compile(r"(?P<year>\d{4})[ -]?Q(?P<number>[1-4])|Q(?P<first>[1-4])[ ,/-]*(?P<last>\d{4})", re.I)

_NUMBERED: Mapping[str, str] = {
    "month": "CAST(substr({0}, 6, 2) AS INTEGER)",
    "quarter": "CAST((substr({0}, 6, 2) + 2) / 3 AS INTEGER)",
    "day": "CAST(substr({0}, 9, 2) AS INTEGER)",
    "hour": "CAST(nullif(substr({0}, 12, 2), '') AS INTEGER)",
    "weekday": "((strftime('%w', substr({0}, 1, 10)) + 6) % 7)",
}
_RANGES = {"month": (1, 12), "quarter": (1, 4), "day": (1, 31), "hour": (0, 23)}
_EXAMPLES = {
    "month": "month = 12, or 2025-12 for one of them",
    "quarter": "quarter = 4, or Q4 2025 for one of them",
    "day": "2025-12-31",
    "hour": "hour >= 15",
    "weekday": "weekday = Mon",
    "week": "2025-12-29..2026-01-04",
}

UNITS = frozenset((*_NUMBERED, "week"))
"""Functions of dates whose values are compared here."""


class UnitTest(NamedTuple):
    """How a unit is compared.

    Attributes:
        left: SQL of the unit; None: its text, as it is shown.
        values: what it is compared with.
    """

    left: str | None
    values: list[Any]


def read_comparison(unit: str, column: str, comparison: Comparison) -> UnitTest:
    """Return how the ``unit`` of the dates in ``column`` is compared.

    Raises:
        InvalidArguments: it is compared with something else, or the days of the week by their order.
    """
    numbers = [_number(unit, operand.text) for operand in comparison.operands]
    if None not in numbers and unit in _NUMBERED:
        if unit == "weekday" and comparison.operator not in ("=", "!="):
            raise invalid_select("the days of the week have no order", comparison.operands[0].offset,
                                 "Write e.g. weekday in (Mon, Tue).")  # fmt: skip
        return UnitTest(_NUMBERED[unit].format(column), list(numbers))
    return UnitTest(None, [_text(unit, operand) for operand in comparison.operands])


def _number(unit: str, text: str) -> int | None:
    """Return the number of a month of any year, a day of the week, …; None for another text."""
    text = text.strip().strip("\"'")
    if found := _NAME.fullmatch(text):
        names, name = (_WEEKDAYS, found[1]) if found[1] else (_MONTHS, found[2])
        wanted = names is (_WEEKDAYS if unit == "weekday" else _MONTHS) and unit in ("weekday", "month")
        return names.index(name[:3].lower()) + (names is _MONTHS) if wanted else None
    number = _NUMBER.fullmatch(text)
    if number is None or unit not in _RANGES or (text[0] in "Qq") > (unit == "quarter"):
        return None
    low, high = _RANGES[unit]
    return int(number[1]) if low <= int(number[1]) <= high else None


def _text(unit: str, operand: Operand) -> str:
    """Return a text as the unit is shown: ``2025-12``, ``2025-Q4``."""
    text = operand.text.strip().strip("\"'")
    if unit == "quarter" and (found := _QUARTER.fullmatch(text)):
        return f"{found['year'] or found['last']}-q{found['number'] or found['first']}"
    dates = None if unit in ("weekday", "hour", "quarter") else parse_date(text, operand.offset)
    length = {"month": 7, "day": 10, "week": 10}.get(unit, 0)
    if dates is not None and dates[0] == dates[1] and len(dates[0]) >= length:
        return dates[0][:length]
    raise invalid_select(f"{text[:40]!r} is no {unit}", operand.offset, f"Write e.g. {_EXAMPLES[unit]}.")
