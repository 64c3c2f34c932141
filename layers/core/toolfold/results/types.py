"""Decide the type of a column once, from all of its cells, and return the values that are compared and computed with.

The shown cells stay as they are. A column of which some cells are numbers or dates and others are not is *mixed*:
anything that needs an order or a number of it is refused, so that texts of numbers are never compared as texts.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import cached_property
from math import isfinite
from typing import Any

from toolfold.dates import MONTHS, WEEKDAYS, parse_date
from toolfold.results import values
from toolfold.text_safety import quoted_name


class Kind(Enum):
    """What a column holds."""

    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"
    DATETIME = "datetime"
    BOOLEAN = "boolean"
    TEXT = "text"
    MIXED = "mixed"
    NESTED = "nested"
    EMPTY = "empty"
    ANY = "any"
    """A computed value of which nothing is known."""

    @property
    def is_number(self) -> bool:
        """Whether values are numbers."""
        return self in (Kind.INTEGER, Kind.NUMBER)

    @property
    def is_date(self) -> bool:
        """Whether values are dates, with or without a time."""
        return self in (Kind.DATE, Kind.DATETIME)


@dataclass(frozen=True)
class ColumnType:
    """The type of a column.

    Attributes:
        kind: what it holds.
        values: a value for each cell: a number, a text (dates in ISO 8601, times with an offset in UTC), or None.
        misfit: of a mixed column the first cell that does not fit; of texts two whose numbers have another order.
        unit: ``%`` or a sign of a currency that all cells have, ``UTC`` where times have other offsets,
            ``s`` or ``ms`` where whole numbers can be such times since 1970; empty: none.
    """

    kind: Kind
    values: Sequence[Any]
    misfit: str = ""
    unit: str = ""

    @cached_property
    def folded(self) -> frozenset[str]:
        """The values of a column of texts without regard to letter case."""
        return frozenset(str(value).casefold() for value in self.values if value is not None)


_CURRENCIES = "$€£¥₹₩₽₺₿"

_NUMBER = re.compile(
    rf"(?P<open>\()?(?P<sign>[-+\u2212])?(?P<currency>[{_CURRENCIES}])?(?P<inner>[-\u2212])?"
    r"(?P<digits>[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)(?P<exponent>[eE][-+]?\d{1,3})?"
    rf" ?(?P<suffix>[%{_CURRENCIES}]|[kKMBT]|bn)?(?(open)\))",
    re.A,
)
"""A number with thousands, a currency, a percent sign or a suffix of magnitude; in parentheses it is negative."""

_MAGNITUDES = {"k": 3, "m": 6, "b": 9, "bn": 9, "t": 12}
"""Suffix → zeros: 8.3B is read as 8.3e9, because 8.3 times 10^9 is not 8300000000."""

_VERSION = re.compile(r"(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*))?", re.A)
"""What may be a version: 1.9 is before 1.10 as one. A column that also has a 1.05, a sign or a unit is of numbers."""

_NUMBER_LIKE = re.compile(
    rf"[-+\u2212( {_CURRENCIES}]*\d[\d.,:/%'\u2019\u00a0 +TZ()\u2212-]*(?:[kKmMbBtT{_CURRENCIES}]|bn|[AaPp][Mm])?"
)
"""A text that a reader takes for a number, a date or a time."""

_ZONED = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]* ?([A-Z]{2,5}|[A-Z][A-Za-z]+/[A-Za-z_/]{2,40})")
"""A time of a time zone that is named: of one zone texts are in the order of the times."""

_MEASURE = re.compile(
    r"[-+\u2212]?\d[\d.,]* ?[^\s\d.,:;]{1,12}(?: [-+]?\d[\d.,:]*(?: ?[^\W\d_]{1,12})?){0,5}(?: ago| [NSEW])?"
    r"|-?P(?=T?\d)(?:\d+[YMWD]){0,4}(?:T(?:\d+(?:[.,]\d+)?[HMS]){1,3})?"
)
"""Numbers with a unit: 5 kg, 900KB, 10th, 3 days 04:00:00, 2h 5m, 9 km/h, PT45M. As texts, 5 kg is more than 12 kg."""

_DECIMALS = re.compile(r"\D*\d+\.(?:\d\d?|\d{4,})\D*"), re.compile(r".*\d,\d\d?\D*")
"""Numbers with a point before decimals, and with a comma."""

_WORD = re.compile(r"[^\W\d_]+")
_CALENDAR_WORDS = frozenset(
    ("sept", "tues", "thur", "thurs", *(name[:end] for name in (*MONTHS, *WEEKDAYS) for end in (3, len(name))))
)
"""Names of months and weekdays: as texts, April is before January."""
_OF_CALENDAR = _CALENDAR_WORDS | frozenset(
    ("am", "pm", "at", "of", "on", "the", "st", "nd", "rd", "th", "week", "t", "z", "utc", "gmt",
     "cet", "cest", "est", "edt", "cst", "cdt", "mst", "mdt", "pst", "pdt")
)  # fmt: skip
"""All words of a date: beside others, as in Sun Life, the name of a month or a weekday may be one of something else."""

_DIGITS = re.compile(r"(\d{1,18})")
_COMPARED_TEXTS, _COMPARED_CHARS = 200, 100
"""Texts whose order is looked at, and their most characters: a column may have millions, and documents."""

_ZONE = re.compile(r"(?:z|utc|gmt|[+-]\d\d(?::?\d\d)?)\Z", re.I)
_SLASHED = re.compile(r"(\d\d?)([-/.])(\d\d?)\2(\d{4})(?P<time>[ T].*)?")
_COMPACT_YEARS = range(19000101, 21001232)
_UNIX_TIMES = {"s": range(10**9, 4 * 10**9), "ms": range(10**12, 4 * 10**12)}


def column_type(cells: Sequence[Any]) -> ColumnType:
    """Return the type of a column.

    >>> column_type(["1,234.5", "12,000", None]).values
    [1234.5, 12000, None]
    >>> column_type(["5%", "0.5"]).misfit
    '0.5'
    """
    kinds = set(map(type, cells))
    kinds.discard(type(None))
    if not kinds:
        return ColumnType(Kind.EMPTY, cells)
    if kinds <= {int, float}:
        if float in kinds:
            return ColumnType(Kind.NUMBER, cells)
        given = {cell for cell in cells if cell is not None}
        may_be_days = len(given) > 1 and all(cell in _COMPACT_YEARS for cell in given)
        if may_be_days and (found := _compact_days([*map(str, given)])):
            return ColumnType(Kind.DATE, [None if cell is None else found[0][str(cell)] for cell in cells])
        spread = {next((unit for unit, times in _UNIX_TIMES.items() if cell in times), "") for cell in given}
        return ColumnType(Kind.INTEGER, cells, unit=spread.pop() if len(spread) == 1 else "")
    if kinds == {bool}:
        return ColumnType(Kind.BOOLEAN, cells)
    if kinds == {bool, str} and all(isinstance(cell, bool) or _text_or_none(cell) is None for cell in cells):
        return ColumnType(Kind.BOOLEAN, [cell if isinstance(cell, bool) else None for cell in cells])
    if not kinds <= {str, int, float}:
        nested = next((str(cell) for cell in cells if isinstance(cell, list | dict)), "")
        kind = Kind.TEXT if not nested else Kind.NESTED if kinds <= {list, dict} else Kind.MIXED
        return ColumnType(kind, cells, misfit=nested)
    if dates := values.plain_dates(cells):
        late = dict.fromkeys([day for day in dates if day is not None and day[8:] > "28"])
        impossible = next((day for day in late if _iso(day) is None), "")  # a day that no month has
        return ColumnType(Kind.MIXED if impossible else Kind.DATE, dates, misfit=impossible)
    return _of_texts(cells)


def number_of(text: str) -> int | float | None:
    """Return the number that a text spells, or None: ``1.5M`` is 1500000, ``10%`` is 10, ``$99`` is 99."""
    match = _NUMBER.fullmatch(text.strip())
    return None if match is None else _number(match)


def _of_texts(cells: Sequence[Any]) -> ColumnType:
    texts = [_text_or_none(cell) for cell in cells]
    given = list(dict.fromkeys(text for text in texts if text is not None))
    shown = [None if cell in values.MISSING_WORDS else cell for cell in cells]
    if not given:
        is_empty = values.BESIDE_NUMBERS.isdisjoint(shown)
        return ColumnType(Kind.EMPTY, [None] * len(cells)) if is_empty else ColumnType(Kind.TEXT, shown)
    if all(map(str.isdecimal, given)) and (codes := [text for text in given if is_code(text)]):
        # As texts, 10 is less than 9: without leading zeros, codes of several lengths have no order.
        has_order = len(set(map(len, given))) == 1 or any(text[0] == "0" for text in codes)
        misfit = out_of_order(given) if has_order else codes[0]
        return ColumnType(Kind.TEXT if has_order else Kind.MIXED, texts, misfit=misfit)
    if all(text.lower() in ("true", "false") for text in given):
        return ColumnType(Kind.BOOLEAN, [None if text is None else text.lower() == "true" for text in texts])
    for read in (_compact_days, _numbers, _dates):
        found = read(given)
        if isinstance(found, str):
            return ColumnType(Kind.MIXED, texts, misfit=found)
        if found is not None:
            known, kind, unit = found
            return ColumnType(kind, [None if text is None else known[text] for text in texts], unit=unit)
    zoned = {text: match[1] for text in given if (match := _ZONED.fullmatch(text))}
    zoned = {} if len(zoned) == len(given) and len(set(zoned.values())) == 1 else zoned
    others = [text for text in given if not _NUMBER_LIKE.fullmatch(text) and not _iso(text) and text not in zoned]
    if len(others) < len(given) or all(map(_MEASURE.fullmatch, given)):  # some look like numbers or dates
        others = others or [text for text in given if not _NUMBER.fullmatch(text)]
        styles = [next(filter(style.fullmatch, given), "") for style in _DECIMALS]
        return ColumnType(Kind.MIXED, texts, misfit=" beside ".join(styles) if all(styles) else (others or given)[0])
    words = (set(map(str.lower, _WORD.findall(text[:_COMPARED_CHARS]))) for text in given)
    if len(given) > 1 and all(some & _CALENDAR_WORDS and some <= _OF_CALENDAR for some in words):  # and no other word
        return ColumnType(Kind.MIXED, texts, misfit=given[0])
    return ColumnType(Kind.TEXT, shown, misfit=out_of_order(given))


def out_of_order(texts: Sequence[str]) -> str:
    """Return two texts whose numbers have the opposite order, as those of A10 and A9; empty without such texts.

    Texts of one length, such as UUIDs, have no numbers but digits.
    """
    compared = [text for text in texts[:_COMPARED_TEXTS] if len(text) <= _COMPARED_CHARS]
    if len(set(map(len, compared))) < 2:
        return ""
    for low, high in itertools.pairwise(sorted(compared)):
        parts = zip(*(_DIGITS.split(text.replace(",", "")) for text in (low, high)), strict=False)
        one, other = next(((one, other) for one, other in parts if one != other), ("", ""))
        if one.isdecimal() and other.isdecimal() and int(one) > int(other):
            return f"{quoted_name(low)} is before {quoted_name(high)}"
    return ""


def _text_or_none(cell: Any) -> str | None:
    if cell is None:
        return None
    text = str(cell).strip()
    return None if text in values.MISSING else text


_Read = tuple[dict[str, Any], Kind, str]


def _compact_days(texts: Sequence[str]) -> _Read | None:
    """Return the days that texts of eight digits are, such as 20240215; None for other texts."""
    if not all(len(text) == len("20240215") and text.isdecimal() and int(text) in _COMPACT_YEARS for text in texts):
        return None
    days = {text: _iso(f"{text[:4]}-{text[4:6]}-{text[6:]}") for text in texts}
    known = {text: day[0] for text, day in days.items() if day is not None}
    return (known, Kind.DATE, "") if len(known) == len(days) else None


def _numbers(texts: Sequence[str]) -> _Read | str | None:
    """Return the numbers that texts spell, the first text that does not fit the others, or None for other texts."""
    known: dict[str, Any] = {}
    units: dict[str, str] = {}
    for text in texts:
        match = _NUMBER.fullmatch(text)
        if match is None:
            return None
        number = _number(match)
        if number is None or is_code(text):
            return text
        known[text] = number
        units.setdefault(match["currency"] or (match["suffix"] or "").strip("kKMBTbn"), text)
    if len(units) > 1:
        return list(units.values())[1]
    if all(map(_VERSION.fullmatch, texts)) and (version := _version_in(texts)):
        return version
    kind = Kind.INTEGER if all(type(value) is int for value in known.values()) else Kind.NUMBER
    return known, kind, next(iter(units))


def _version_in(texts: Sequence[str]) -> str:
    """Return the first of those like 1.10 beside 1.9, which has another place as a version; empty without one."""
    parts = [(text, *text.partition(".")[::2]) for text in texts]
    shortest: dict[str, int] = {}  # decimals that are not 0 alone, of each whole number
    for _, whole, decimals in parts:
        if decimals.strip("0"):
            shortest[whole] = min(len(decimals), shortest.get(whole, len(decimals)))
    found = (
        text
        for text, whole, decimals in parts
        if decimals[-1:] == "0" and len(decimals) > shortest.get(whole, len(text))
    )
    return next(found, "")


def is_code(text: str) -> bool:
    """Return whether digits are a code and no number: with leading zeros, or more than a double holds."""
    return text.isdecimal() and ((text[0] == "0" and len(text) > 1) or int(text[:20]) > values.MAX_SAFE_INTEGER)


def _number(match: re.Match[str]) -> int | float | None:
    """Return the number; None for a whole one that a double does not hold, which is a code, and for one too large."""
    digits, suffix = match["digits"].replace(",", ""), (match["suffix"] or "").lower()
    zeros = int((match["exponent"] or "e0")[1:]) + _MAGNITUDES.get(suffix, 0)
    number = float(f"{digits}e{zeros}")
    if not isfinite(number) or (not zeros and digits.isdecimal() and number > values.MAX_SAFE_INTEGER):
        return None
    is_negative = bool(match["open"]) != ((match["sign"] or "+") in "-\u2212" or bool(match["inner"]))
    number = -number if is_negative else number
    return int(number) if number.is_integer() and abs(number) <= values.MAX_SAFE_INTEGER else number


def _dates(texts: Sequence[str]) -> _Read | str | None:
    """Return the dates that texts spell, the first one that can be two dates, or None for other texts."""
    if not any(character.isdigit() for character in texts[0]):
        return None
    if _SLASHED.fullmatch(texts[0]):
        return _slashed_dates(texts)
    known: dict[str, Any] = {}
    zones: dict[bool, str] = {}
    for text in texts:
        found = _iso(text)
        if found is None:
            readings = parse_date(text)
            if len(readings) != 1 or (text.isdecimal() and len(text) in (4, 10, 13)):
                return None  # a year alone and seconds since 1970 are numbers
            low = readings[0].low.replace(tzinfo=None)
            found = (low.isoformat() if readings[0].has_time else low.date().isoformat()), bool(_ZONE.search(text))
        known[text], is_zoned = found
        if "T" in known[text]:
            zones.setdefault(is_zoned, text)
    if len(zones) > 1:
        return list(zones.values())[1]
    is_moved = any(zones) and not all(text.lower().endswith(("z", "utc", "gmt")) for text in texts)
    return known, Kind.DATETIME if zones else Kind.DATE, "UTC" if is_moved else ""


def _iso(text: str) -> tuple[str, bool] | None:
    """Return a day or time in ISO 8601, times with an offset in UTC, and whether it has an offset."""
    if len(text) < 10 or text[4] != "-":
        return None
    written, has_name, _ = text.partition("[")  # RFC 9557: an offset, and the name of the time zone
    try:
        time = datetime.fromisoformat(written)
    except ValueError:
        return None
    if has_name and time.tzinfo is None:
        return None
    if len(text) == 10:
        return text, False
    if time.tzinfo is not None:
        return time.astimezone(UTC).replace(tzinfo=None).isoformat(), True
    return time.isoformat(), False


def _slashed_dates(texts: Sequence[str]) -> _Read | str | None:
    """Return days such as 02/15/2024 where one order of day and month fits the whole column."""
    matches = [(text, match) for text in texts if (match := _SLASHED.fullmatch(text)) is not None]
    read: list[dict[str, str]] = []
    for month, day in ((1, 3), (3, 1)):
        known = {}
        for text, match in matches:
            time = (match["time"] or "").replace(" ", "T")
            if found := _iso(f"{match[4]}-{int(match[month]):02}-{int(match[day]):02}{time}"):
                known[text] = found[0]
        if len(known) == len(texts):
            read.append(known)
    if len(read) == 2 and read[0] != read[1]:
        return next(text for text in texts if read[0][text] != read[1][text])
    if not read:
        return None
    kind = Kind.DATETIME if any("T" in value for value in read[0].values()) else Kind.DATE
    return read[0], kind, ""
