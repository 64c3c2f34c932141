"""Parse numbers as models write them in conditions: ``1,200,000``, ``1.5 million``, ``2M``, ``$70``, ``10%``."""

from __future__ import annotations

import re
from decimal import Decimal

_SCALES = {"k": 3, "thousand": 3, "m": 6, "mm": 6, "mn": 6, "mio": 6, "million": 6, "b": 9, "bn": 9, "billion": 9,
           "t": 12, "tn": 12, "trillion": 12}  # fmt: skip

AMOUNT = (
    r"(?:[$€£]\s*+)?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+"
    rf"(?:\s*+(?:%|(?:percent|{'|'.join(sorted(_SCALES, key=len, reverse=True))})(?!\w)))?+(?![\w.])"
)
"""Regular expression of a number without sign, without groups."""

_AMOUNT = re.compile(
    r"(?P<sign>[+-]?)\s*[$€£]?\s*(?P<digits>(?:[0-9]+(?:,[0-9]{3})*(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?)"
    r"\s*(?P<unit>%|[a-z]+)?",
    re.I,
)

_MAX_CHARS = 320
"""No double has more digits before its point."""

_MAX_INTEGER = 2**63 - 1


def parse_amount(text: str) -> tuple[int | float, bool] | None:
    """Return the number that ``text`` means, and whether it is a percentage; None when it is not a number.

    Example:
        >>> parse_amount("1.5 million"), parse_amount("-10%"), parse_amount("call")
        ((1500000, False), (-10, True), None)
    """
    found = _AMOUNT.fullmatch(text.strip()) if len(text) <= _MAX_CHARS else None
    if found is None:
        return None
    unit = (found["unit"] or "").lower()
    is_percent = unit in ("%", "percent")
    if unit and not is_percent and unit not in _SCALES:
        return None
    try:
        digits = Decimal(found["sign"] + found["digits"].replace(",", ""))
        value = digits if is_percent else digits.scaleb(_SCALES.get(unit, 0))
        number = float(value)
    except ArithmeticError:
        return None
    if number in (float("inf"), float("-inf")):
        return None
    if number.is_integer() and abs(number) <= _MAX_INTEGER and value == int(value):
        return int(value), is_percent
    return number, is_percent
