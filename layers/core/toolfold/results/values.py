"""Convert an upstream's texts to values: numbers, null for what is missing, dates in ISO 8601, plain names.

A column is converted as a whole, so that it never mixes numbers with texts of numbers. A number that JSON cannot hold
exactly stays text: digits are never lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Sequence
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any

MISSING_WORDS = frozenset(("", "None", "null", "n/a", "N/A"))
"""Texts that mean "no value" in any column."""

BESIDE_NUMBERS = frozenset(("..", "–", "—", ":", "NULL", "n.a.", "#N/A"))
"""Texts that mean "no value" beside numbers or dates alone: a delimiter may be a colon."""

MISSING = MISSING_WORDS | BESIDE_NUMBERS | {".", "-", "--", "NaN", "nan"}
"""Texts that mean "no value" among numbers and dates. In a column of words a dash may be a word; NAN is a ticker."""

MAX_SAFE_INTEGER = 2**53
"""Whole numbers up to this one survive a client that reads every number as a double (RFC 8259, section 6)."""

MAX_NUMBER_CHARS = 1000
"""A number with more digits stays text; a double has at most 767 that count."""

_SAFE_LENGTH = 16
"""Characters of a decimal that a double represents exactly: 15 digits and a point."""

_CELLS_AT_ONCE = 10_000
"""Cells that one expression matches together: it keeps a state for each."""

_ORDINAL = re.compile(r"\d+(\.\d+)*[.:]\s*")
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATES = re.compile(r"\d{4}-\d\d-\d\d(?:,\d{4}-\d\d-\d\d)*")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)")
_COMPACT_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)?")
_SIMPLE_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_BARE_EXPONENTS = re.compile(r"\d+[eE]\d+(?:,\d+[eE]\d+)*")
"""Digits that may be hashes, where all of a column are such."""

_ENDING_IN_ZERO = re.compile(r"\.([^,.]+0)(?=,|\Z)")
"""Decimals of numbers with a zero at their end."""

_DECIMAL_COMMA = re.compile(r"[-+]?(?:(?:0|\d{4,}|),\d+|\d+,(?:\d\d?|\d{4,})|[1-9]\d{0,2}(?:\.\d{3})+,\d+)", re.ASCII)
"""A number whose comma cannot separate thousands; points before it separate them."""

_PERCENT = re.compile(r"-?\d+(\.\d+)?%")


def is_date(text: Any) -> bool:
    """Return whether ``text`` starts with an ISO 8601 date."""
    return isinstance(text, str) and _DATE.match(text) is not None


def clean_names(keys: Iterable[str]) -> list[str]:
    """Return keys as plain names: ``1. open`` → ``open``, ``5. adjusted close`` → ``adjusted_close``.

    Keys without an ordinal or a space stay as they are: they may be data (dates, tickers,
    ``STDDEV(ANNUALIZED=TRUE)``). Names stay unique.
    """
    return list(unique_names(map(_clean_name, keys)))


def unique_names(names: Iterable[str], key: Callable[[str], str] = str) -> tuple[str, ...]:
    """Return the names of columns, equal ones with a number: ``close_2``. ``key`` makes two names equal."""
    listed = list(names)
    given = set(map(key, listed))  # a column that has the name ``close_2`` keeps it
    taken: dict[str, str] = {}
    numbers: dict[str, int] = {}  # continues counting where a name was last found taken: linear for equal names
    for name in listed:
        unique = name
        while key(unique) in taken or (unique != name and key(unique) in given):
            numbers[name] = numbers.get(name, 1) + 1
            unique = f"{name}_{numbers[name]}"
        taken[key(unique)] = unique
    return tuple(taken.values())


def sql_identifier(name: str, mark: str = '"') -> str:
    """Return a name in the quotation marks of SQL. In backticks SQLite never takes an unknown one for text."""
    return mark + name.replace(mark, mark * 2) + mark


def _clean_name(key: str) -> str:
    key = key.strip()
    ordinal = _ORDINAL.match(key)
    rest = key[ordinal.end() :] if ordinal else key
    if _PLAIN_NAME.fullmatch(rest):
        return rest[0].lower() + rest[1:] if ordinal else rest
    if not rest or not (ordinal or " " in rest) or _DATE.match(rest):
        return key
    return re.sub(r"\W+", "_", rest).strip("_").lower() or key


def typed_column(name: str, cells: Sequence[Any], *, identifiers: Container[str] = ()) -> list[Any]:
    """Return a column's cells as values; those of ``identifiers`` stay text.

    Percentages become numbers where the name states the unit.
    """
    if name in identifiers:
        return _words(cells)
    numbers = _numbers(cells)
    if numbers is not None and (BESIDE_NUMBERS.isdisjoint(cells) or numbers.count(None) < len(numbers)):
        return numbers
    first = next((cell for cell in cells if isinstance(cell, str) and cell not in MISSING), "")
    if "percent" in name.lower() and _PERCENT.fullmatch(first):
        numbers = _numbers([cell.removesuffix("%") if isinstance(cell, str) else cell for cell in cells])
        bare = [cell for cell in cells if cell is not None and cell not in MISSING and not str(cell).endswith("%")]
        if numbers is not None and not bare:
            return numbers
    times = parse_dates(cells) if is_date(first) or _COMPACT_TIME.fullmatch(first) else None
    return _words(cells) if times is None else times


def typed_scalar(name: str, cell: Any, *, identifiers: Container[str] = ()) -> Any:
    """Return the same for a single value."""
    if cell is None or isinstance(cell, bool) or (isinstance(cell, int) and abs(cell) <= MAX_SAFE_INTEGER):
        return cell
    if isinstance(cell, str):
        if cell[:1].isalpha() and cell not in MISSING:
            return cell  # a word: neither a number nor a date
        if len(cell) < _SAFE_LENGTH and name not in identifiers and _SIMPLE_NUMBER.fullmatch(cell):
            return parse_number(cell)
    return typed_column(name, (cell,), identifiers=identifiers)[0]


def _words(cells: Sequence[Any]) -> list[Any]:
    return [None if isinstance(cell, str) and cell in MISSING_WORDS else lossless(cell) for cell in cells]


def _numbers(cells: Sequence[Any]) -> list[Any] | None:
    """Return the cells as numbers and nulls, or None when one of them is neither.

    JSON's own grammar decides what a number is (no leading zeros), and its parser is the fastest there is: the cells
    are joined to an array. A cell with a comma in it changes the length, one with quotes or brackets the types.
    """
    types = set(map(type, cells))
    if not types <= {str, int, float, type(None)}:
        return None
    literals = cells
    if types != {str} or not MISSING.isdisjoint(cells):
        literals = [
            ("null" if cell in MISSING else cell) if isinstance(cell, str) else "null" if cell is None else repr(cell)
            for cell in cells
        ]
    joined = ",".join(literals)
    # A zero at the end of a number may say something: 1.10 beside 1.9 is not 1.1.
    zeros = min(map(len, _ENDING_IN_ZERO.findall(joined)), default=0)
    are_versions = zeros > 1 and re.search(rf"\.(?!0*(?:,|\Z))[^,]{{1,{zeros - 1}}}(?:,|\Z)", joined)
    if _BARE_EXPONENTS.fullmatch(joined) or are_versions:
        return None
    try:
        values = json.loads(f"[{joined}]", parse_constant=int)  # which refuses NaN
    except (ValueError, RecursionError):
        return None
    if len(values) != len(cells) or not {type(value) for value in values} <= {int, float, type(None)}:
        return None
    if "e" in joined or "E" in joined or max(map(len, literals), default=0) >= _SAFE_LENGTH:
        values = [
            value if value is None or (type(value) is int and len(text) < _SAFE_LENGTH) else parse_number(text.strip())
            for text, value in zip(literals, values, strict=True)
        ]
    return [int(value) if type(value) is float and value.is_integer() else value for value in values]


def parse_number(text: str) -> int | float | str:
    """Return the number that ``text`` spells, or the text where no JSON number means exactly that to every reader."""
    if len(text) > MAX_NUMBER_CHARS:
        return text
    try:
        value = float(text)
        if len(text) < _SAFE_LENGTH and "e" not in text and "E" not in text and isfinite(value):
            return int(value) if value.is_integer() else value
        exact = Decimal(text)
        if value.is_integer():
            return int(value) if abs(value) <= MAX_SAFE_INTEGER and int(value) == exact else text
        return value if Decimal(repr(value)) == exact else text
    except (ValueError, OverflowError, InvalidOperation):
        return text


def has_decimal_comma(text: str) -> bool:
    """Return whether a text is a number whose comma can only be that before decimals.

    >>> [has_decimal_comma(text) for text in ("0,125", ",5", "1.250,75", "1,250", "0.125")]
    [True, True, True, False, False]
    """
    return _DECIMAL_COMMA.fullmatch(text) is not None


def with_decimal_point(text: str) -> str:
    """Return a number with a decimal comma as JSON writes it: ``1.250,75`` is ``1250.75``, and ``,5`` is ``0.5``."""
    sign, digits = (text[:1], text[1:]) if text[:1] in ("+", "-") else ("", text)
    whole, _, decimals = digits.partition(",")
    return f"{sign}{whole.replace('.', '') or '0'}.{decimals}" if decimals else text.replace(".", "")


def parse_float(text: str) -> float | str:
    """Return the double that ``text`` spells, or the text where no double means exactly that."""
    if len(text) > MAX_NUMBER_CHARS:
        return text
    value = float(text)
    is_short = len(text) < _SAFE_LENGTH and "e" not in text and "E" not in text
    return value if isfinite(value) and (is_short or Decimal(repr(value)) == Decimal(text)) else text


def lossless(value: Any) -> Any:
    """Return a JSON value that loses no digits: whole numbers beyond :data:`MAX_SAFE_INTEGER` as text."""
    if type(value) is int and abs(value) > MAX_SAFE_INTEGER:
        return str(value)
    if type(value) is float and value.is_integer() and abs(value) <= MAX_SAFE_INTEGER:
        return int(value)
    return value


def parse_dates(cells: Sequence[Any]) -> list[Any] | None:
    """Return the cells as ISO 8601 dates and times and nulls, or None when one of them is neither."""
    if (dates := plain_dates(cells)) is not None:
        return dates
    times = [_parse_date(cell) for cell in cells]
    return None if False in times else times


def plain_dates(cells: Sequence[Any]) -> list[Any] | None:
    """Return the cells where all are days in ISO 8601 or have no value, which is then None; else None."""
    given = [cell for cell in cells if cell is not None and cell not in MISSING]
    starts = range(0, len(given), _CELLS_AT_ONCE)
    if {*map(type, given)} != {str}:
        return None
    if not all(_DATES.fullmatch(",".join(given[start : start + _CELLS_AT_ONCE])) for start in starts):
        return None
    return list(cells) if len(given) == len(cells) else [None if cell in MISSING else cell for cell in cells]


def _parse_date(cell: Any) -> Any:
    """Return a date or time in ISO 8601, None when there is no value, False for anything else."""
    if cell is None or cell in MISSING:
        return None
    if not isinstance(cell, str):
        return False
    if _DATE.fullmatch(cell):
        return cell
    if found := _TIME.fullmatch(cell):
        return f"{found[1]}T{found[2]}"
    if found := _COMPACT_TIME.fullmatch(cell):
        seconds = "" if found[6] is None else f":{found[6]}"
        return f"{found[1]}-{found[2]}-{found[3]}T{found[4]}:{found[5]}{seconds}"
    return False
