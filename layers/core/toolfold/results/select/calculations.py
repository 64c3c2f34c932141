"""Return what a ``select`` wants of the chosen rows: columns, calculations, functions, groups, different values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.results import values
from toolfold.results.select import functions
from toolfold.results.select.rows import ChosenRows, key_columns
from toolfold.results.select.selection import (
    Call,
    Column,
    Expression,
    Item,
    Order,
    RowLimit,
    Selection,
    invalid_select,
)
from toolfold.results.select.sql_engine import SqlTables
from toolfold.results.select.statements import Statements, has_aggregate
from toolfold.results.tables import Table, unique_names
from toolfold.text_safety import quoted_name

_MAX_TIES = 5
"""Rows of equal extremes that are counted."""


class Calculation:
    """Calculates one result from the chosen rows of one table.

    Args:
        selection: what is wanted.
        statements: writes SQL for the table.
        chosen: the rows.
        budget: what the call may cost.
    """

    def __init__(self, selection: Selection, statements: Statements, chosen: ChosenRows, budget: WorkBudget) -> None:
        self._selection, self._statements, self._budget = selection, statements, budget
        self._table = statements.table
        budget.reserve(8 * len(chosen.positions))
        self._rows = [self._table.rows[position] for position in chosen.positions]
        self._chosen = chosen

    def _query(self, tables: SqlTables, statement: str) -> list[tuple[Any, ...]]:
        return tables.query(statement)[1]

    def _tables(self) -> SqlTables:
        return SqlTables([self._statements.shadow(self._rows)], self._budget)

    # Rows

    def rows(self, items: Sequence[Item]) -> Table:
        """Return columns and calculations for every row."""
        computed = [item for item in items if not isinstance(item.expression, Column)]
        sql = [self._statements.calculation(item.expression) for item in computed]
        with self._tables() as tables:
            found = self._query(tables, f"SELECT {', '.join(sql)} FROM data ORDER BY rowid")  # noqa: S608
        self._budget.reserve((56 + 8 * len(items)) * len(found))
        rows = [
            tuple(self._merged(items, row, list(map(self._shown, cells))))
            for row, cells in zip(self._rows, self._budget.checked(found), strict=True)
        ]
        return Table(self._table.name, unique_names(self.label(item) for item in items), rows)

    def _merged(self, items: Sequence[Item], row: Sequence[Any], computed: list[Any]) -> list[Any]:
        cells = iter(computed)
        return [
            row[self._statements.index(item.expression.name)] if isinstance(item.expression, Column) else next(cells)
            for item in items
        ]

    def distinct(self, items: Sequence[Item]) -> Table:
        """Return each combination of values once, as listed, with limits."""
        sql = [self._statements.calculation(item.expression) for item in items]
        statement = f"SELECT {', '.join(sql)} FROM data GROUP BY {', '.join(sql)} ORDER BY min(rowid)"  # noqa: S608
        with self._tables() as tables:
            found = self._query(tables, statement)
        rows = [tuple(map(self._shown, row)) for row in self._budget.checked(found)]
        return Table(self._table.name, unique_names(map(self.label, items)), limited(rows, self._selection))

    # Functions

    def aggregates(self, items: Sequence[Item]) -> tuple[Table, dict[str, Any]]:
        """Return a line for every function, with the date or name of the row that an extreme is from."""
        called = [item for item in items if not isinstance(item.expression, Column)]
        called = list({self.label(part): part for item in called for part in _with_percent(item)}.values())
        plain = [item.expression.name for item in items if isinstance(item.expression, Column)]
        shown = list(dict.fromkeys([*key_columns(self._statements.lookup), *map(self._statements.index, plain)]))
        sql = [self._statements.calculation(item.expression, in_rows=False) for item in called]
        with self._tables() as tables:
            (found,) = self._query(tables, f"SELECT {', '.join(sql)} FROM data") if called else [()]  # noqa: S608
            lines = [
                (self.label(item), self._result(item, value), *self._source(tables, item, value, shown))
                for item, value in zip(called, found, strict=True)
            ]
        used = [place for place in range(len(shown)) if any(line[2 + place] is not None for line in lines)]
        columns = ("function", "value", *(self._table.columns[shown[place]] for place in used))
        rows = [(*line[:2], *(line[2 + place] for place in used)) for line in lines]
        return Table(self._table.name, columns, rows), self._extent()

    def _extent(self) -> dict[str, Any]:
        """Return the number of rows, and their first and last date."""
        metadata: dict[str, Any] = {"rows": len(self._rows)}
        index = self._statements.lookup.date_index
        dates = [row[index] for row in self._rows if row[index] is not None] if index is not None else []
        return {**metadata, "from": min(dates), "to": max(dates)} if dates else metadata

    def _source(self, tables: SqlTables, item: Item, value: Any, shown: Sequence[int]) -> list[Any]:
        """Return the cells that say which row an extreme is from; nulls where it is from several."""
        call, nothing = item.expression, [None] * len(shown)
        if not isinstance(call, Call) or call.function not in ("min", "max", "first", "last") or value is None:
            return nothing
        sql = self._statements.calculation(call.arguments[0])
        if call.function in ("first", "last"):
            dated = self._statements.lookup.date_index
            key = f"c{dated}" if dated is not None else "rowid"
            way = "ASC" if call.function == "first" else "DESC"
            statement = f"SELECT rowid FROM data WHERE {sql} IS NOT NULL ORDER BY {key} {way}, rowid LIMIT 1"  # noqa: S608
            found = self._query(tables, statement)
        else:
            target = f"(SELECT {call.function}({sql}) FROM data)"  # noqa: S608 - no name from data
            statement = f"SELECT rowid FROM data WHERE {sql} = {target} LIMIT {_MAX_TIES + 1}"  # noqa: S608
            found = self._query(tables, statement)
        rows = [self._rows[row[0] - 1] for row in found]
        if len(rows) == 1:
            return [rows[0][index] for index in shown]
        if shown and len(rows) > 1:
            more = "more than " if len(rows) > _MAX_TIES else ""
            self._chosen.notes.append(f"{self.label(item)}: in {more}{min(len(rows), _MAX_TIES)} rows.")
        return nothing

    # Groups

    def groups(self, items: Sequence[Item]) -> Table:
        """Return a row for every group."""
        selection, statements = self._selection, self._statements
        keys = selection.groups
        key_labels = {self.label(key).lower() for key in keys}
        called = [item for item in items if has_aggregate(item.expression)]
        for item in items:
            if not has_aggregate(item.expression) and self.label(item).lower() not in key_labels:
                name = quoted_name(self.label(item))
                problem = f"{name} is neither grouped nor in a function"
                raise invalid_select(problem, _offset(item.expression), f"Write e.g. mean({name}) by {keys[0].text}.")
        called = called or [Item(Call("count", (), "count", 0), "count")]
        sql = [statements.calculation(key.expression) for key in keys]
        values_sql = [statements.calculation(item.expression, in_rows=False) for item in called]
        ranks, limit = [Order(one.expression, one.descending) for one in selection.order], selection.row_limit
        if limit is not None and limit.which in ("top", "bottom") and not ranks:
            ranks = [Order(called[0].expression, descending=limit.which == "top")]
            self._chosen.notes.append(f'"{limit.which} {limit.count}" is by {self.label(called[0])}.')
        order = [self._group_order(one, called) for one in ranks]
        statements.parameters = []
        having = " AND ".join(map(statements.having, selection.having))
        statement = (
            f"SELECT {', '.join([*sql, *values_sql])} FROM data GROUP BY {', '.join(sql)} "  # noqa: S608
            f"{having and f'HAVING {having} '}ORDER BY {', '.join([*order, 'min(rowid)'])}"
        )
        with self._tables() as tables:
            found = tables.query(statement, statements.parameters)[1]
        if selection.having and not found:
            self._chosen.notes.append("No group meets the condition.")
        rows = [tuple(map(self._shown, row)) for row in self._budget.checked(found)]
        columns = unique_names([*map(self.label, keys), *map(self.label, called)])
        return Table(
            self._table.name, columns, limited(rows, replace(selection, order=tuple(ranks)), _is_time(keys[0]))
        )

    def _group_order(self, order: Order, called: Sequence[Item]) -> str:
        expression = order.expression
        if not has_aggregate(expression) and not any(key.expression == expression for key in self._selection.groups):
            aggregate = next(
                (item.expression for item in called if expression in getattr(item.expression, "arguments", ())), None
            )
            if aggregate is None:
                problem = "groups are sorted by a function or by what they are grouped by"
                raise invalid_select(problem, _offset(expression),
                                     f"Write e.g. order by {self.label(called[0])} desc.")  # fmt: skip
            expression = aggregate
        way = "DESC" if order.descending else "ASC"
        return f"{self._statements.calculation(expression, in_rows=False)} {way}"

    # Cells and names

    def _result(self, item: Item, value: Any) -> Any:
        """Return the value of a function; one that is that of a cell has all its digits."""
        call = item.expression
        if isinstance(call, Call) and call.function in ("min", "max", "first", "last"):
            is_number = isinstance(value, float) and math.isfinite(value)
            return values.lossless(value) if is_number and isinstance(call.arguments[0], Column) else self._shown(value)
        return self._shown(value)

    def _shown(self, value: Any) -> Any:
        """Return a cell of a result: numbers to twelve digits, more than any price has."""
        if isinstance(value, float):
            if not math.isfinite(value):
                raise invalid_select("the numbers are too large to calculate with")
            return values.parse_number(f"{value:.12g}")
        return values.lossless(value)

    def label(self, item: Item) -> str:
        """Return the name of a column of the result."""
        if item.alias:
            return item.alias
        expression = item.expression
        if isinstance(expression, Column):
            return self._table.columns[self._statements.index(expression.name)]
        if isinstance(expression, Call) and expression.function not in functions.TIME_UNITS:
            inner = ", ".join(self.label(Item(one, _text(one, item.text))) for one in expression.arguments)
            distinct = "distinct " if expression.distinct else ""
            return f"{expression.function}({distinct}{inner})" if expression.arguments else expression.function
        return item.text


def _text(expression: Expression, whole: str) -> str:
    """Return how an argument was written, from the text of the whole call."""
    if isinstance(expression, Call):
        return expression.text
    text = getattr(expression, "text", "")
    return text or whole[whole.find("(") + 1 : whole.rfind(")")].split(",", maxsplit=1)[0].strip()


def _offset(expression: Expression) -> int | None:
    return expression.name.offset if isinstance(expression, Column) else getattr(expression, "offset", None)


def _with_percent(item: Item) -> list[Item]:
    """Return a change as two functions: absolute and in percent."""
    call = item.expression
    if not isinstance(call, Call) or call.function != "change":
        return [item]
    percent = Call("change_percent", call.arguments, call.text, call.offset)
    return [item, Item(percent, item.text, f"{item.alias}_percent" if item.alias else "")]


def _is_time(key: Item) -> bool:
    return isinstance(key.expression, Call) and key.expression.function in functions.TIME_UNITS


def limited(rows: list[tuple[Any, ...]], selection: Selection, is_time: bool = False) -> list[tuple[Any, ...]]:
    """Return the rows of a result that are wanted; of groups by time, ``last`` are the newest."""
    limit: RowLimit | None = selection.row_limit
    if selection.rows is not None:
        return rows[selection.rows.start : selection.rows.stop]
    rows = rows[selection.skip :]
    if limit is None:
        return rows
    if limit.which in ("head", "top") or selection.order:
        return rows[: limit.count]
    from_end = limit.which in ("last", "newest", "tail", "bottom")
    if is_time and limit.which != "tail":
        places = sorted(range(len(rows)), key=lambda place: str(rows[place][0]), reverse=from_end)[: limit.count]
        return [rows[place] for place in sorted(places)]
    return rows[max(0, len(rows) - limit.count) :] if from_end else rows[: limit.count]
