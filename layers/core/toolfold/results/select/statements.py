"""Write the conditions and calculations of a ``select`` as SQL over the rows of one table.

The table is called ``data`` and its columns ``c0``, ``c1``, …: names from data are in no statement.
"""

from __future__ import annotations

import datetime
import re
from typing import Any

from toolfold.results import values
from toolfold.results.select import calendar_units
from toolfold.results.select.amounts import parse_amount
from toolfold.results.select.dates import parse_date
from toolfold.results.select.names import ColumnLookup
from toolfold.results.select.period_words import parse_period
from toolfold.results.select.periods import Bounds, Dates, bounds_of, dates_of
from toolfold.results.select.selection import (
    All,
    AnyOf,
    Arithmetic,
    Call,
    Column,
    Comparison,
    Condition,
    Expression,
    IsNull,
    Name,
    Not,
    Number,
    Operand,
    Period,
    invalid_select,
    parts_of,
)
from toolfold.results.tables import Table
from toolfold.text_safety import quoted_name

_AGGREGATES = {
    "min": "min({0})", "max": "max({0})", "mean": "avg({0})", "sum": "sum({0})", "median": "median({0})",
    "stddev": "stddev({0})", "variance": "variance({0})", "range": "(max({0}) - min({0}))",
    "first": "first({0}, {key})", "last": "last({0}, {key})", "change": "change({0}, {key})",
    "change_percent": "pct_change({0}, {key})", "percentile": "percentile({0}, {1})",
}  # fmt: skip
_OF_TEXTS = ("min", "max", "first", "last", "count")
"""Functions of all rows that need no numbers."""

_TIME_UNITS = {
    "year": "CAST(substr({0}, 1, 4) AS INTEGER)",
    "quarter": "substr({0}, 1, 4) || '-Q' || CAST((substr({0}, 6, 2) + 2) / 3 AS INTEGER)",
    "month": "substr({0}, 1, 7)",
    "week": "date(substr({0}, 1, 10), 'weekday 0', '-6 days')",
    "weekday": "substr('SunMonTueWedThuFriSat', 1 + 3 * strftime('%w', substr({0}, 1, 10)), 3)",
    "day": "substr({0}, 1, 10)",
    "hour": "substr({0}, 12, 2)",
}
_DIGITS = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_SIGNS = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_TRUE, _FALSE = {"true", "yes", "1", "y"}, {"false", "no", "0", "n"}


class Statements:
    """Writes SQL for one table.

    Args:
        lookup: the columns of the table.
        today: the day on which the question is answered.
    """

    def __init__(self, lookup: ColumnLookup, today: datetime.date) -> None:
        self.lookup, self.table, self.today = lookup, lookup.table, today
        self.parameters: list[Any] = []
        self.notes: dict[str, None] = {}
        self._in_rows = True
        self._kinds: dict[int, str] = {}
        self._dates: dict[int, Dates | None] = {}

    def shadow(self, rows: Any = None) -> Table:
        """Return the table with plain names; ``rows``: with other rows."""
        columns = tuple(f"c{index}" for index in range(len(self.table.columns)))
        return Table("data", columns, self.table.rows if rows is None else rows)

    def index(self, name: Name) -> int:
        """Return the index of a column that the table has."""
        return self.lookup.index(name.text)  # type: ignore[return-value]  # called for tables that have every name

    def kind(self, index: int) -> str:
        """Return what a column holds: ``number``, ``digits`` (numbers as text), ``date``, ``boolean``, ``text``."""
        if index not in self._kinds:
            self._kinds[index] = _kind([row[index] for row in self.table.rows])
        return self._kinds[index]

    def dates(self, index: int) -> Dates | None:
        """Return what is known of the dates in a column."""
        if index not in self._dates:
            cells = [row[index] for row in self.table.rows]
            self._dates[index] = dates_of([cell for cell in cells if values.is_date(cell)], self.today)
        return self._dates[index]

    # Calculations

    def having(self, condition: Condition) -> str:
        """Return a condition of groups as SQL; see :meth:`condition`."""
        self._in_rows = False
        try:
            return self.condition(condition)
        finally:
            self._in_rows = True

    def calculation(self, expression: Expression, *, in_rows: bool | None = None) -> str:
        """Return an expression as SQL; ``in_rows``: a function of all rows is one number beside each row."""
        in_rows = self._in_rows if in_rows is None else in_rows
        if isinstance(expression, Number):
            return repr(expression.value / 100 if "%" in expression.text else expression.value)
        if isinstance(expression, Column):
            return self._cell(expression.name)
        if isinstance(expression, Arithmetic):
            left, right = (self._number(part, in_rows=in_rows) for part in (expression.left, expression.right))
            return f"({left} {expression.operator} {right})"
        if expression.function in _TIME_UNITS:
            return self._time_unit(expression)
        if expression.function in ("abs", "round", "lower", "upper", "length"):
            arguments = ", ".join(self.calculation(one, in_rows=in_rows) for one in expression.arguments)
            return f"{expression.function}({arguments})"
        aggregate = self._aggregate(expression)
        return f"(SELECT {aggregate} FROM data)" if in_rows else aggregate  # noqa: S608 - no name from data

    def _cell(self, name: Name) -> str:
        index = self.index(name)
        return f"CAST(c{index} AS NUMERIC)" if self.kind(index) == "digits" else f"c{index}"

    def _number(self, expression: Expression, *, in_rows: bool) -> str:
        if isinstance(expression, Column):
            self._need_numbers(expression.name, "a calculation")
        return self.calculation(expression, in_rows=in_rows)

    def _need_numbers(self, name: Name, what: str) -> None:
        index = self.index(name)
        if self.kind(index) not in ("number", "digits", "boolean"):
            column = self.table.columns[index]
            numbers = [other for position, other in enumerate(self.table.columns) if self.kind(position) == "number"]
            listed = f"Columns of numbers: {', '.join(map(quoted_name, numbers[:20]))}." if numbers else ""
            problem = f"{what} needs numbers, and {quoted_name(column)} holds other things"
            raise invalid_select(problem, name.offset, listed)

    def _time_unit(self, call: Call) -> str:
        argument = call.arguments[0]
        name = argument.name if isinstance(argument, Column) else None
        if name is None or self.kind(self.index(name)) != "date":
            dated = self.lookup.date_index
            example = quoted_name(self.table.columns[dated]) if dated is not None else "date"
            raise invalid_select(
                f"{call.function} needs a column of dates", call.offset, f"Write {call.function}({example})."
            )
        return f"({_TIME_UNITS[call.function].format(f'c{self.index(name)}')})"

    def _aggregate(self, call: Call) -> str:
        arguments = call.arguments
        for part in arguments:
            if any(isinstance(inner, Call) and is_aggregate(inner) for inner in parts_of(part)):
                raise invalid_select("a function of rows cannot be in another", call.offset, "Write e.g. max(close).")
        if call.function == "count":
            distinct = "DISTINCT " if call.distinct else ""
            return f"count({distinct}{self.calculation(arguments[0])})" if arguments else "count(*)"
        if call.function not in _OF_TEXTS and isinstance(arguments[0], Column):
            self._need_numbers(arguments[0].name, call.function)
        if call.function == "percentile" and not (isinstance(arguments[1], Number) and 0 <= arguments[1].value <= 100):
            raise invalid_select(
                "percentile needs a number from 0 to 100", call.offset, "Write e.g. percentile(close, 90)."
            )
        dated = self.lookup.date_index
        key = f"c{dated}" if dated is not None else "(rowid + 1000000000)"
        return _AGGREGATES[call.function].format(*map(self.calculation, arguments), key=key)

    # Conditions

    def condition(self, condition: Condition) -> str:
        """Return a condition as SQL; its values are appended to ``parameters``."""
        if isinstance(condition, All | AnyOf):
            joined = " AND " if isinstance(condition, All) else " OR "
            return f"({joined.join(map(self.condition, condition.conditions))})"
        if isinstance(condition, Not):
            return f"NOT {self.condition(condition.condition)}"
        if isinstance(condition, IsNull):
            return f"({self.calculation(condition.left)} IS NULL)"
        if isinstance(condition, Period):
            index = self.lookup.date_index
            assert index is not None  # noqa: S101 - only tables with dates come here
            return self._within(index, self.bounds(condition, index))
        return self._comparison(condition)

    def bounds(self, period: Period, index: int) -> Bounds:
        """Return the dates of a period for a column of dates; note those of a relative one."""
        dates = self.dates(index)
        if dates is None:
            return Bounds("9999")
        bounds = bounds_of(period, dates)
        if bounds.note:
            self.notes[bounds.note] = None
        return bounds

    def _comparison(self, comparison: Comparison) -> str:
        left = comparison.left
        if not isinstance(left, Column):
            is_tested = comparison.operator in ("contains", "starts", "ends", "like")
            if isinstance(left, Call) and left.function in calendar_units.UNITS and not is_tested:
                return self._compare_units(left, comparison)
            is_text = isinstance(left, Call) and left.function in ("lower", "upper", *calendar_units.UNITS)
            return (
                self._compare_texts(self.calculation(left), comparison)
                if is_text
                else self._compare_numbers(comparison)
            )
        kind = self.kind(self.index(left.name))
        if comparison.operator in ("contains", "starts", "ends", "like"):
            return self._compare_texts(f"c{self.index(left.name)}", comparison)
        if kind in ("number", "digits"):
            return self._compare_numbers(comparison)
        if kind == "date" and (compared := self._compare_dates(left.name, comparison)):
            return compared
        if kind == "boolean":
            return self._compare_booleans(left.name, comparison)
        return self._compare_texts(f"c{self.index(left.name)}", comparison)

    def _compare_units(self, left: Call, comparison: Comparison) -> str:
        shown = self.calculation(left)
        argument = left.arguments[0]
        assert isinstance(argument, Column)  # noqa: S101 - _time_unit takes no other
        test = calendar_units.read_comparison(left.function, f"c{self.index(argument.name)}", comparison)
        self.parameters += test.values
        sql, operator = test.left or f"lower({shown})", comparison.operator
        if operator == "between":
            return f"({sql} BETWEEN ? AND ?)"
        if operator in ("=", "!="):
            return f"({sql} {'NOT ' if operator == '!=' else ''}IN ({', '.join('?' * len(test.values))}))"
        return f"({sql} {_SIGNS[operator]} ?)"

    def _compare_numbers(self, comparison: Comparison) -> str:
        left = self.calculation(comparison.left)
        operands = [self._number_operand(operand, comparison.left) for operand in comparison.operands]
        if comparison.operator == "between":
            return f"({left} BETWEEN {operands[0]} AND {operands[-1]})"
        if len(operands) > 1:
            return f"({left} {'NOT ' if comparison.operator == '!=' else ''}IN ({', '.join(operands)}))"
        return f"({left} {_SIGNS[comparison.operator]} {operands[0]})"

    def _number_operand(self, operand: Operand, left: Expression) -> str:
        amount = parse_amount(operand.text)
        if amount is not None:
            value, is_percent = amount
            self.parameters.append(self._share(value, left, operand) if is_percent else value)
            return "?"
        if operand.expression is not None:
            return self.calculation(operand.expression)
        name = quoted_name(left.name.text) if isinstance(left, Column) else "the calculation"
        raise invalid_select(
            f"{name} holds numbers, and {operand.text[:40]!r} is not one", operand.offset, f"Write e.g. {name}>=100."
        )

    def _share(self, value: float, left: Expression, operand: Operand) -> float:
        """Return 10% as 10 for a column of percentages, as 0.1 for one of fractions."""
        columns = [part.name for part in parts_of(left) if isinstance(part, Column)]
        for name in columns:
            index = self.index(name)
            cells = (row[index] for row in self.table.rows)
            if (
                any(isinstance(cell, int | float) and abs(cell) > 1.5 for cell in cells)
                or "percent" in name.text.lower()
            ):
                return value
        self.notes[f"{operand.text} is compared as {value / 100:.12g}."] = None
        return value / 100

    def _compare_dates(self, name: Name, comparison: Comparison) -> str | None:
        index = self.index(name)
        if any(operand.expression and isinstance(operand.expression, Column) for operand in comparison.operands):
            return None
        bounds = [self.date_operand(operand, index) for operand in comparison.operands]
        first, last = bounds[0], bounds[-1]
        column, operator = index, comparison.operator
        if operator == "between":
            return self._within(column, Bounds(first.low, last.high))
        if operator in (">", ">="):
            return self._within(column, Bounds(first.high, after=True) if operator == ">" else Bounds(first.low))
        if operator in ("<", "<="):
            return self._within(
                column, Bounds("", first.low, before=True) if operator == "<" else Bounds("", first.high)
            )
        found = " OR ".join(self._within(column, one) for one in bounds)
        return f"({found})" if operator == "=" else f"NOT ({found})"

    def date_operand(self, operand: Operand, index: int) -> Bounds:
        """Return the dates that the value of a comparison means."""
        if found := parse_date(operand.text, operand.offset):
            return Bounds(*found)
        period = parse_period(operand.text, 0)
        if period is not None and period[1] == len(operand.text):
            return self.bounds(period[0], index)
        name = quoted_name(self.table.columns[index])
        raise invalid_select(f"{name} holds dates, and {operand.text[:40]!r} is not one", operand.offset,
                             f"Write e.g. {name}>=2025-01-31.")  # fmt: skip

    def _within(self, index: int, bounds: Bounds) -> str:
        column, parts = f"c{index}", []
        if bounds.low:
            parts.append(f"substr({column}, 1, {len(bounds.low)}) {'>' if bounds.after else '>='} ?")
            self.parameters.append(bounds.low)
        if bounds.high:
            parts.append(f"{column} < ?" if bounds.before else f"substr({column}, 1, {len(bounds.high)}) <= ?")
            self.parameters.append(bounds.high)
        return f"({' AND '.join(parts) or f'{column} IS NOT NULL'})"

    def _compare_booleans(self, name: Name, comparison: Comparison) -> str:
        wanted = comparison.operands[0].text.lower()
        if wanted not in _TRUE | _FALSE or comparison.operator not in ("=", "!="):
            raise invalid_select(
                f"{quoted_name(name.text)} holds true and false", name.offset, f"Write {quoted_name(name.text)}=true."
            )
        self.parameters.append(int(wanted in _TRUE))
        return f"(c{self.index(name)} {_SIGNS[comparison.operator]} ?)"

    def _compare_texts(self, left: str, comparison: Comparison) -> str:
        operator, operands = comparison.operator, comparison.operands
        texts = [operand.text.lower() for operand in operands]
        if operator == "between":
            self.parameters += (texts[0], texts[-1])
            return f"(lower({left}) BETWEEN ? AND ?)"
        columns = [operand.expression for operand in operands if isinstance(operand.expression, Column)]
        if columns and operator in _SIGNS and len(operands) == 1:
            return f"({left} {_SIGNS[operator]} {self.calculation(columns[0])})"
        if operator in ("=", "!=") and not any("*" in text for text in texts):
            self.parameters += texts
            return f"(lower({left}) {'NOT ' if operator == '!=' else ''}IN ({','.join('?' * len(texts))}))"
        joined = " AND " if operator == "!=" else " OR "
        return f"({joined.join(self._text_test(left, operator, text) for text in texts)})"

    def _text_test(self, left: str, operator: str, text: str) -> str:
        """Return the comparison of a text with one in lower case."""
        if operator in ("=", "!="):  # with an asterisk
            operator, text = "like" if operator == "=" else "not like", text.replace("*", "%")
        self.parameters.append(text)
        return {
            "like": f"lower({left}) LIKE ?",
            "not like": f"lower({left}) NOT LIKE ?",
            "contains": f"instr(lower({left}), ?) > 0",
            "starts": f"substr(lower({left}), 1, {len(text)}) = ?",
            "ends": f"substr(lower({left}), -{max(1, len(text))}) = ?",
        }.get(operator) or f"lower({left}) {_SIGNS[operator]} ?"


def is_aggregate(call: Call) -> bool:
    """Return whether a function is one of all rows."""
    return call.function in _AGGREGATES or call.function == "count"


def has_aggregate(expression: Expression) -> bool:
    """Return whether an expression has a function of all rows in it."""
    return any(isinstance(part, Call) and is_aggregate(part) for part in parts_of(expression))


def has_rows(expression: Expression) -> bool:
    """Return whether an expression has a column outside of functions of all rows."""
    if isinstance(expression, Column):
        return True
    if isinstance(expression, Arithmetic):
        return has_rows(expression.left) or has_rows(expression.right)
    return isinstance(expression, Call) and not is_aggregate(expression) and any(map(has_rows, expression.arguments))


def _kind(cells: list[Any]) -> str:
    types = {type(cell) for cell in cells} - {type(None)}
    if types <= {int, float}:
        return "number"
    if types == {bool}:
        return "boolean"
    if str not in types or bool in types or list in types or dict in types:
        return "text"
    texts = [cell for cell in cells if type(cell) is str]
    if types == {str} and all(map(values.is_date, texts)):
        return "date"
    return "digits" if all(map(_DIGITS.fullmatch, texts)) else "text"
