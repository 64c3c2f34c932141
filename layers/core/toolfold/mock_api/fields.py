"""Values by the names of their columns, for all that no other part of the mock API computes: ``fields.csv``.

The first line whose pattern is the column, or ``function.column``, in lower case, says what is in it:

=====================  ================================================================================================
``any A|B``            one of the texts; ``each A|B`` by the number of the row, ``list A|B`` a list of some of them
``time FORMAT``        the time of the row; ``day N`` its day, N days later
``ahead N``            a trading day after today, N days after that of the row before
``LOW HIGH [%]``       a number with the decimals of LOW; ``number LOW HIGH`` is a number also where others are texts
``flow R``             about R times the revenue of the period; ``level R`` that of a quarter
``each_share R``       the same of a flow, for each share; ``price R`` about R times the price of the share
``?MARK:SHARE …``      a share of the values has the mark of a missing one
``falling N R``        N in the first row, and in each row R times that of the row before
``null``               no value
=====================  ================================================================================================

Anything else is the text, with {symbol}, {name} and others of the share that is requested, {ticker} and {company} of
another company in each row, what was sent for a parameter, {index}, {word}, {letters} and {number}.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path
from random import Random
from typing import Any

from toolfold.mock_api.endpoint import Request, parse_column, strip_number
from toolfold.mock_api.market import Instrument, UnknownSymbol, find_stock, of_kind, trading_day

_MISSING = re.compile(r"\?([^:]*):([\d.]+) (.*)")
_NUMBERS = re.compile(r"-?[\d.]+ -?[\d.]+( %)?")
_WORDS = ("Amber", "Birch", "Cobalt", "Delta", "Ember", "Fjord", "Granite", "Harbor", "Indigo", "Juniper")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


_OF_TYPES = {"integer": "1 9000", "number": "1.00 400.00", "boolean": "any true|false", "array": "list amber|birch"}
"""Type in the JSON Schema of a parameter that has the name of the column → its rule."""


with Path(__file__).with_name("fields.csv").open(encoding="utf-8", newline="") as file:
    RULES = [(re.compile(line["column"]), line["value"]) for line in csv.DictReader(file)]
_QUARTER = 50_000_000
"""Revenue of a quarter for each dollar of a share's price; a twentieth of it for each of a billion shares."""

COMPANIES = [one for one in of_kind("stock") if one.kind == "Equity"]


@lru_cache(maxsize=2000)
def _rule(function: str, column: str) -> tuple[str, bool]:
    """Return the rule of a column, and whether it is that of this function alone."""
    column = column.lower()
    names = {True: f"{function.lower()}.{column}", False: column}
    known = ((rule, "\\." in pattern.pattern, pattern) for pattern, rule in RULES)
    return next((rule, is_own) for rule, is_own, pattern in known if pattern.fullmatch(names[is_own]))


def has_own_rule(function: str, column: str) -> bool:
    """Return whether there is a rule for the column of this function alone."""
    return _rule(function, column)[1]


def is_listed(function: str, column: str) -> bool:
    """Return whether a column has a list of values, by which a parameter of that name selects rows."""
    return _rule(function, column)[0].startswith("each ")


@dataclass(frozen=True, slots=True)
class Cell:
    """Where a value is: the request, and the row with its number, its time, and its random numbers.

    Attributes:
        subject: The symbol that the request is about; empty for none, and each row is about another one.
        months: The months that a row is about, for figures of companies.
    """

    request: Request
    index: int
    time: datetime
    rng: Random
    subject: str = ""
    months: int = 3

    @property
    def stock(self) -> Instrument:
        """The share that the row is about."""
        try:
            return find_stock(self.subject)
        except UnknownSymbol:
            return self.another

    @property
    def another(self) -> Instrument:
        """A company for this row of a list of several."""
        return COMPANIES[self.index % len(COMPANIES)]


def value_of(column: str, cell: Cell) -> Any:
    """Return the value of a column: that of the parameter with this name, or what its rule gives."""
    name, inner = parse_column(strip_number(column))
    request = cell.request
    if inner:
        wanted = {one: items for one in inner if (items := request.items(f"{one}s"))}
        count = max(map(len, wanted.values()), default=cell.rng.randint(1, 3))
        return [
            {one: wanted[one][at] if one in wanted else value_of(one, cell) for one in inner} for at in range(count)
        ]
    if (said := request.text(name)) and name not in ("date", "symbol") and not is_listed(request.function, name):
        return _typed(said, request)
    schema = request.endpoint.siblings.get(name, {}) if request.endpoint.is_typed else {}
    rule = _OF_TYPES.get(str(schema.get("type"))) or _rule(request.function, name)[0]
    return _typed(_apply("any " + "|".join(map(str, schema["enum"])) if "enum" in schema else rule, cell), request)


def _apply(rule: str, cell: Cell) -> Any:
    if missing := _MISSING.fullmatch(rule):
        if cell.rng.random() < float(missing[2]):
            return None if missing[1] == "null" else missing[1]
        rule = missing[3]
    if _NUMBERS.fullmatch(rule):
        return _number(rule, cell.rng)
    word, _, rest = rule.partition(" ")
    if word in _WORDS_OF_RULES:
        return _WORDS_OF_RULES[word](rest, cell)
    if "{" not in rule:
        return rule
    stock, letters = cell.stock, _LETTERS[cell.index // 26 % 26] + _LETTERS[cell.index % 26]
    parts = {
        "symbol": cell.subject,
        "letters": f"A{letters}",
        "ticker": cell.another.symbol,
        "company": cell.another.name.upper(),
        "index": str(cell.index + 1),
        "number": str(cell.rng.randint(100_000, 999_999)),
    }

    def replace(found: re.Match[str]) -> str:
        name = found[1]
        return parts.get(name) or getattr(stock, name, "") or cell.request.text(name) or cell.rng.choice(_WORDS)

    return re.sub(r"\{(\w+)\}", replace, rule)


def _falling(rest: str, cell: Cell) -> str:
    first, ratio = rest.split()
    return f"{float(first) * float(ratio) ** cell.index:.{len(first.partition('.')[2])}f}"


def _number(rule: str, rng: Random) -> str:
    low, high, *unit = rule.split()
    return f"{rng.uniform(float(low), float(high)):.{len(low.partition('.')[2])}f}{''.join(unit)}"


def _figure(ratio: str, cell: Cell, *, scale: float) -> str:
    """Return a figure in proportion to the price of the share, 2 % more or less, that grows with the year."""
    value = cell.stock.level * scale * float(ratio) * cell.rng.uniform(0.98, 1.02) * 1.06 ** (cell.time.year - 2025)
    return f"{value:.2f}" if scale <= 1 else f"{value / 1e6:.0f}000000"


_WORDS_OF_RULES: Mapping[str, Callable[[str, Cell], Any]] = {
    "any": lambda rest, cell: cell.rng.choice(rest.split("|")),
    "each": lambda rest, cell: rest.split("|")[cell.index % (rest.count("|") + 1)],
    "list": lambda rest, cell: cell.rng.sample(rest.split("|"), cell.rng.randint(1, 2)),
    "time": lambda rest, cell: cell.time.strftime(rest),
    "day": lambda rest, cell: (cell.time + timedelta(days=int(rest))).date().isoformat(),
    "ahead": lambda rest, cell: trading_day(cell.request.today + timedelta(int(rest) * (cell.index + 1))).isoformat(),
    "falling": _falling,
    "number": lambda rest, cell: float(_number(rest, cell.rng)),
    "null": lambda rest, cell: None,
    "price": partial(_figure, scale=1),
    "level": partial(_figure, scale=_QUARTER),
    "flow": lambda rest, cell: _figure(rest, cell, scale=_QUARTER * cell.months / 3),
    "each_share": lambda rest, cell: _figure(rest, cell, scale=cell.months / 60),
}


def _typed(value: Any, request: Request) -> Any:
    """Return a number or a boolean for a text that is one, where the source does not write them as texts."""
    if not request.endpoint.is_typed or not isinstance(value, str):
        return value
    if re.fullmatch(r"-?\d+(\.\d+)?", value):
        return float(value) if "." in value else int(value)
    return value == "true" if value in ("true", "false") else value
