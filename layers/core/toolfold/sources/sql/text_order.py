"""Note where SQLite compares, sorts or adds up texts of numbers or dates, and numbers that are read as dates.

Among texts, 10 is before 9; and each number is less than any text. The type of a column is that of its values: a column
declared as TEXT, or without a type, may have texts of numbers.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlglot import exp

from toolfold.results.types import Kind, column_type, out_of_order
from toolfold.sources.sql.schema import Table
from toolfold.text_safety import quoted_name

_COMPARING = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)
_ORDERING = (*_COMPARING, exp.Ordered, exp.Max, exp.Min)
_ADDING = (exp.Sum, exp.Avg)
_PLAIN_NUMBER = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*", re.A)
_DECIMAL = {
    "sqlite": re.compile("real|floa|doub", re.I),
    "postgresql": re.compile("real|doub|numeric|money|interval|^time", re.I),
}
"""Types of columns that are divided with decimals; to SQLite a whole number in a NUMERIC column is one."""
_FUNCTIONS_OF_DATES = re.compile(r"(?:STRFTIME|DATE|TIME|DATETIME|JULIANDAY)\((?!.*'(?:unixepoch|auto)')", re.I)
_DATES = re.compile(r"(?:DATE|TIME|DATETIME)\(|CURRENT_(?:DATE|TIME|TIMESTAMP)$", re.I)
_LAST_DAY = 5_373_484.5
"""The largest number that a function reads as a day: https://www.sqlite.org/lang_datefunc.html."""

_DECIMALS = re.compile(
    r"\b\d+(?:\.(?!\w)|\.\d|[eE][-+]?\d)|(?<!\w)\.\d|\b(?:REAL|FLOAT|DOUBLE|DECIMAL|NUMERIC|AVG|ROUND)\b"
    r"|\b(?:TOTAL|JULIANDAY|POW|POWER|SQRT|EXP|LN|LOG|LOG10|LOG2|PERCENT_RANK|CUME_DIST|EXTRACT|DATE_PART)\("
)
"""A number with decimals in SQL, and types and functions that make one."""

_FUNCTIONS_OF_TEXT = re.compile(r"(?:STRFTIME|DATE|TIME|DATETIME|SUBSTR|SUBSTRING|REPLACE|TRIM|PRINTF|FORMAT)\(", re.I)


class ReadColumn(NamedTuple):
    """A column that a statement reads, by its name and that of its table in lower case.

    The table is empty where the statement names none, or no table of the database.
    """

    table: str
    name: str


class Reading(NamedTuple):
    """How a statement reads a column: its order, its sum, and as texts or dates, which no number above ``limit`` is."""

    in_order: bool = False
    is_sum: bool = False
    limit: float = math.inf


def read_columns(tree: exp.Expr, values: Mapping[str, Any]) -> dict[ReadColumn, Reading]:
    """Return the columns whose order, sum or dates a statement reads. ``values`` are those of its placeholders."""
    tables = {one.alias_or_name.lower(): one.name.lower() for one in tree.find_all(exp.Table)}
    computed = {one.alias.lower() for one in tree.find_all(exp.Alias) if not isinstance(one.this, exp.Column)}
    outputs = [one.unalias() for one in tree.selects] if isinstance(tree, exp.Query) else []
    renamed = {one.alias.lower(): one.this for one in tree.find_all(exp.Alias) if isinstance(one.this, exp.Column)}
    found: dict[ReadColumn, Reading] = {}

    def add(sides: Sequence[exp.Expr], **how: Any) -> None:
        for side in sides:
            if isinstance(side, exp.Column) and side.name.lower() not in computed:
                column = renamed.get(side.name.lower(), side)
                read = ReadColumn(tables.get(column.table.lower(), ""), column.name.lower())
                found[read] = found.get(read, Reading())._replace(**how)

    for node in tree.find_all(*_ORDERING):
        is_place = isinstance(node, exp.Ordered) and isinstance(node.this, exp.Literal) and node.this.is_int
        add(outputs[int(node.this.name) - 1 : int(node.this.name)] if is_place else _sides(node), in_order=True)
    for node in tree.find_all(*_ADDING):
        add([node.this], is_sum=True)
    for node in tree.find_all(exp.Func):
        if _FUNCTIONS_OF_DATES.match(node.sql("sqlite")):
            add(_sides(node.find(exp.TsOrDsToTimestamp) or node), limit=_LAST_DAY)
    for node in tree.find_all(exp.EQ, exp.NEQ, exp.In, *_COMPARING):
        if any(_is_text(side, values) for side in _sides(node)):
            add(_sides(node), limit=-math.inf)
    return found


def _sides(node: exp.Expr) -> list[exp.Expr]:
    return [side for side in node.iter_expressions() if isinstance(side, exp.Expr)]


def _is_text(side: exp.Expr, values: Mapping[str, Any]) -> bool:
    """Return whether a side of a comparison is a literal, a parameter or a date whose text is not a number."""
    text = values.get(side.name) if isinstance(side, exp.Placeholder) else side.name
    if isinstance(side, exp.Placeholder) or (isinstance(side, exp.Literal) and side.is_string):
        return isinstance(text, str) and text != "" and not _PLAIN_NUMBER.fullmatch(text)
    return _DATES.match(side.sql("sqlite")) is not None


def note_on_column(name: str, texts: Sequence[str], *, is_sum: bool) -> str:
    """Return a note on the texts of a column that are read as numbers, or compared and are not; empty: neither.

    >>> note_on_column("v", ["9", "10"], is_sum=False)
    'SQLite compares the texts of v as texts, in which 10 is before 9. CAST(v AS REAL) reads numbers.'
    """
    found = column_type(texts)
    if is_sum:
        odd = "" if found.kind is Kind.TEXT else next((one for one in texts if not _PLAIN_NUMBER.fullmatch(one)), "")
        return f"SQLite adds up the digits at the beginning of a text: {name} has {quoted_name(odd)}." if odd else ""
    cast = ""
    if found.kind.is_number or found.kind.is_date:
        pairs = itertools.pairwise(sorted(zip(texts, found.values, strict=True)))
        pair = next(
            (
                f"{quoted_name(low)} is before {quoted_name(high)}"
                for (low, one), (high, other) in pairs
                if None not in (one, other) and one > other
            ),
            "",
        )
        cast = f" CAST({name} AS REAL) reads numbers." if found.kind.is_number else ""
    else:
        pair = out_of_order(texts)
        are_codes = len(set(map(len, texts))) == 1 and all(map(str.isalnum, texts))  # 1234567 is a hash, as 12bcdef is
        if not pair and found.kind is Kind.MIXED and not are_codes:
            pair = f"{quoted_name(found.misfit)} is one of several kinds"
    return f"SQLite compares the texts of {name} as texts, in which {pair}.{cast}" if pair else ""


def note_on_division(tree: exp.Expr, tables: Sequence[Table], dialect: str) -> str:
    """Return a note on what a statement divides that may be whole numbers; empty: it divides none."""
    columns = [column for table in tables for column in table.columns]
    decimal = {column.name.lower() for column in columns if _DECIMAL[dialect].search(column.type)}
    wide = {column.name.lower() for column in columns if dialect == "postgresql" and column.type.startswith("bigint")}

    def is_decimal(node: exp.Expr) -> bool:
        summed = {one.name.lower() for total in node.find_all(exp.Sum) for one in total.find_all(exp.Column)}
        names = {one.name.lower() for one in node.find_all(exp.Column)}
        return not decimal.isdisjoint(names) or not wide.isdisjoint(summed) or bool(_DECIMALS.search(node.sql()))

    for alias in reversed([*tree.find_all(exp.Alias)]):  # the innermost first
        if is_decimal(alias.this):
            decimal.add(alias.alias.lower())
    for node in tree.find_all(exp.Div):
        if node.find(exp.Column) and not is_decimal(node):
            return "Whole numbers are divided without decimals: 5 / 2 is 2, and 1.0 * 5 / 2 is 2.5."
    return ""


def notes_on_functions(tree: exp.Expr) -> Iterator[str]:
    """Yield a note for each function that returns text and is compared with a number."""
    for node in tree.find_all(exp.EQ, exp.NEQ, exp.In, *_COMPARING):
        sides = _sides(node)
        numbers = [side for side in sides if isinstance(side, exp.Literal) and not side.is_string]
        calls = [side for side in sides if isinstance(side, exp.Func) and not isinstance(side, exp.Connector)]
        called = next((text for call in calls if _FUNCTIONS_OF_TEXT.match(text := call.sql("sqlite"))), "")
        if numbers and called:
            name = called.partition("(")[0].lower()
            number = numbers[0].name
            yield f"{name}(…) is a text, which to SQLite is more than each number: write '{number}' for {number}."
