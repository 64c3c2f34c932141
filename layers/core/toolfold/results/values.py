"""An upstream's words as values: numbers as numbers, what is missing as null, times as ISO 8601, names as names.

Cells are typed a column at a time, so that a column never mixes numbers with the texts of numbers. What has no exact
counterpart among JSON's numbers stays text: digits are never lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

MISSING_WORDS = frozenset(("", "None", "null", "n/a", "N/A"))
"""What stands for "no value" wherever it stands."""

MISSING = MISSING_WORDS | {".", "-", "--", "NaN", "nan"}
"""The same among numbers and dates. In a column of words a dash may be a word, and NAN is a ticker."""

LARGEST = 2**53
"""MemoryBlocks numbers up to here survive a client that reads every number as a double (RFC 8259, section 6)."""

_SAFE_LENGTH = 16
"""Characters of a decimal that any double keeps: 15 digits and a point."""

_IDENTIFIER = re.compile(r"(?i)(^|_)(symbol|ticker|cik|cusip|isin|district|id)$|ID$")
"""Columns whose digits are names: 04 is a district, and a ticker may be all digits."""

_ORDINAL = re.compile(r"\d+(\.\d+)*[.:]\s*")
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATES = re.compile(r"\d{4}-\d\d-\d\d(?:,\d{4}-\d\d-\d\d)*")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)")
_COMPACT_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)?")
_PERCENT = re.compile(r"-?\d+(\.\d+)?%")


def is_date(text: Any) -> bool:
    """Whether ``text`` begins with a date of ISO 8601."""
    return isinstance(text, str) and _DATE.match(text) is not None


def names(keys: Iterable[str]) -> list[str]:
    """Keys as names: ``1. open`` → ``open``, ``5. adjusted close`` → ``adjusted_close``; others stay what they are.

    Keys that are data (dates, tickers, ``STDDEV(ANNUALIZED=TRUE)``) have neither ordinal nor space. Names stay unique.
    """
    taken: dict[str, None] = {}
    for key in keys:
        name, number = _name(key), 1
        while name in taken:
            number += 1
            name = f"{_name(key)}_{number}"
        taken[name] = None
    return list(taken)


def _name(key: str) -> str:
    key = key.strip()
    ordinal = _ORDINAL.match(key)
    rest = key[ordinal.end() :] if ordinal else key
    if _PLAIN_NAME.fullmatch(rest):
        return rest[0].lower() + rest[1:] if ordinal else rest
    if not rest or not (ordinal or " " in rest) or _DATE.match(rest):
        return key
    return re.sub(r"\W+", "_", rest).strip("_").lower() or key


def column(name: str, cells: Sequence[Any], beside: Container[str] = ()) -> tuple[str, list[Any]]:
    """A column's name and its cells as values.

    Percents become numbers, and then the name says so: ``yield`` → ``yield_percent``. They stay text where no name can
    say it: in a list without one (``""``), under a date, or when ``beside``, the names around, has that name already.
    """
    if _IDENTIFIER.search(name):
        return name, _words(cells)
    numbers = _numbers(cells)
    if numbers is not None:
        return name, numbers
    first = next((cell for cell in cells if isinstance(cell, str) and cell not in MISSING), "")
    unit = name if "percent" in name.lower() else f"{name}_percent"
    sayable = name and not is_date(name) and (unit == name or unit not in beside)
    if sayable and _PERCENT.fullmatch(first):
        numbers = _numbers([cell.removesuffix("%") if isinstance(cell, str) else cell for cell in cells])
        bare = [cell for cell in cells if cell is not None and cell not in MISSING and not str(cell).endswith("%")]
        if numbers is not None and not bare:
            return unit, numbers
    times = moments(cells) if is_date(first) or _COMPACT_TIME.fullmatch(first) else None
    return name, _words(cells) if times is None else times


def scalar(name: str, cell: Any, beside: Container[str] = ()) -> tuple[str, Any]:
    """The same for a value that stands alone."""
    name, cells = column(name, (cell,), beside)
    return name, cells[0]


def _words(cells: Sequence[Any]) -> list[Any]:
    return [None if isinstance(cell, str) and cell in MISSING_WORDS else exact(cell) for cell in cells]


def _numbers(cells: Sequence[Any]) -> list[Any] | None:
    """The cells as numbers and nulls, or None when one of them is neither.

    JSON's own grammar decides what a number is (no leading zeros), and its parser is the fastest there is: the cells
    are joined to an array. A cell with a comma in it changes the length, one with quotes or brackets the types.
    """
    literals = []
    for cell in cells:
        if isinstance(cell, str):
            literals.append("null" if cell in MISSING else cell)
        elif cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool)):
            literals.append("null" if cell is None else repr(cell))
        else:
            return None
    joined = ",".join(literals)
    try:
        values = json.loads(f"[{joined}]", parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if len(values) != len(cells) or not {type(value) for value in values} <= {int, float, type(None)}:
        return None
    if "e" in joined or "E" in joined or max(map(len, literals), default=0) >= _SAFE_LENGTH:
        values = [None if value is None else number(text.strip()) for text, value in zip(literals, values, strict=True)]
    return [int(value) if type(value) is float and value.is_integer() else value for value in values]


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def number(text: str) -> int | float | str:
    """The number that ``text`` spells; the text itself where no JSON number means exactly that to every reader."""
    try:
        wanted = Decimal(text)
        value = float(text)
        if value.is_integer():
            return int(value) if abs(value) <= LARGEST and int(value) == wanted else text
        return value if Decimal(repr(value)) == wanted else text
    except (ValueError, OverflowError, InvalidOperation):
        return text


def exact(value: Any) -> Any:
    """A JSON value as it can be handed out: whole numbers beyond :data:`LARGEST` as text."""
    if type(value) is int and abs(value) > LARGEST:
        return str(value)
    if type(value) is float and value.is_integer() and abs(value) <= LARGEST:
        return int(value)
    return value


def moments(cells: Sequence[Any]) -> list[Any] | None:
    """The cells as dates and times of ISO 8601 and nulls, or None when one of them is neither."""
    if _DATES.fullmatch(",".join(cell if isinstance(cell, str) else "" for cell in cells)):
        return list(cells)
    times = [_moment(cell) for cell in cells]
    return None if False in times else times


def _moment(cell: Any) -> Any:
    """A date or time in ISO 8601, None when there is none, False for anything else."""
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
