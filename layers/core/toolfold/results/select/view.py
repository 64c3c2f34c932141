"""Write expressions over the rows at a step as SQL, and steps as common table expressions over one table.

The columns of SQL are ours: ``c0`` for the first column of the table, ``x1`` for the first computed one, ``_r`` for the
row that the cells are of, and a number for the place of a row. Cells are taken from the answer at the end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from operator import itemgetter
from typing import Any, Self

from sqlglot import exp

from toolfold.dates import parse_date
from toolfold.errors import InvalidSelect
from toolfold.fuzzy import normalize
from toolfold.results.select import dialect, expressions
from toolfold.results.select.adapter import Adapter
from toolfold.results.select.dialect import call_of, column_of, function_of, is_aggregate, node_of, replaced, shown
from toolfold.results.select.expressions import split_items
from toolfold.results.select.grammar import Clause, Step, kind_of_step
from toolfold.results.select.names import (
    PARTS_OF_DATES,
    Column,
    Names,
    invalid,
    known_names,
    listed,
    unknown_column,
    written_name,
)
from toolfold.results.select.requested import Request
from toolfold.results.select.sandbox import Rows
from toolfold.results.tables import Table
from toolfold.results.types import Kind
from toolfold.text_safety import counted, quoted_name

_COMPARED = {"lag": "{1}", "change": "({0}) - {1}", "pct_change": "(({0}) - {1}) * 100.0 / nullif(abs({1}), 0)"}
"""Function that looks at the row before → how it compares both."""

_AS = re.compile(r"\s+as\s+(?:\w+|\"[^\"]*\")\s*$", re.I)
_BY_PLACE = "There is no column of dates: rows are compared in the order of the list."
_ROWS_WITH_A_DATE = 20
"""Rows in which a column that has dates has one."""


@dataclass
class View:
    """The rows of one table at a step: their columns, the SQL that makes them, and expressions over them.

    Attributes:
        rows: runs SQL over the table.
        names: the columns at this step.
        today: the day of relative dates.
        request: what the steps so far request.
        partition: columns whose values are the calls of a list: what looks at other rows stays among those of one call.
        absent: notes on texts that are compared and that no row has, for a reader who gets rows nevertheless.
        ctes: the common table expressions.
        place: the column of SQL by which rows are in order.
        is_ordered: whether a step has sorted them.
        is_summary: whether they are one row of functions.
        groups: the kinds of units by which they are grouped; None: they are not.
    """

    rows: Rows
    names: Names
    today: date
    request: Request
    partition: tuple[Column, ...] = ()
    absent: list[str] = field(default_factory=list)
    ctes: list[str] = field(default_factory=list)
    place: str = "_n"
    is_ordered: bool = False
    is_summary: bool = False
    groups: tuple[str, ...] | None = None
    step: Step = Step("", 0, Clause("all"))  # noqa: RUF009 - it is immutable
    before: list[str] = field(default_factory=list)
    _computed: int = 0

    @classmethod
    def of(cls, rows: Rows, today: date, partition: Sequence[str] = (), *, is_object: bool = False) -> Self:
        """Return the view of a whole table, ``partition`` first; in that of an object no column is a key."""
        table = rows.table
        dated = None if is_object else rows.date_index
        keys = set(table.keys)
        labels = len(partition)  # by place: a column of the answer may have the name of an argument
        is_series = not labels or len({str(row[:labels]) for row in table.rows}) < len(table.rows)
        columns, first = list[Column](), next(iter(table.rows), ())
        for index, name in enumerate(table.columns):
            is_given = name in keys and (len(table.rows) < 2 or any(row[index] != first[index] for row in table.rows))
            is_key = (index == dated and is_series) or index < labels or is_given
            column = Column(name, f"c{index}", index=index, is_key=is_key)
            columns.append(rows.typed(column) if is_key else column)
        shown = len(columns) - table.nested
        names = Names(columns[:shown], None if dated is None else columns[dated], nested=columns[shown:])
        parts = tuple(rows.typed(column) for column in columns[:labels])
        return cls(rows, names, today, Request(table, today), parts)

    # Expressions

    def _parsed(self, text: str) -> list[exp.Expr]:
        """Return the items of a text; each knows how it is written."""
        counted = self.names.exact("count")
        has_count = counted is not None and counted.index is None
        trees = expressions.parse_items(text, self.step.offset, self.names, has_count=has_count)
        texts = split_items(text)
        for tree, written in zip(trees, texts if len(texts) == len(trees) else (), strict=False):
            tree.unalias().meta["text"] = _AS.split(written)[0]
        return trees

    def _row(self, tree: exp.Expr) -> exp.Expr:
        """Return an expression of a row; functions of rows in it are columns that are added first."""
        node = self._resolved(tree.copy())
        node = dialect.transformed(
            node, lambda one: self._hoisted(one) if self._is_windowed(one) or is_aggregate(one) else one
        )
        return self._adapted(node)

    def _resolved(self, tree: exp.Expr) -> exp.Expr:
        tree = normal(self._with_known(tree))
        words: dict[str, str] = {}  # column → the word of its name by which it was found
        for one in list(tree.find_all(exp.Column)):
            if "column" not in one.meta:
                found = self._column_node(one)
                column, name = column_of(found), normalize(one.name)
                is_word = column is not None and name != normalize(column.name)
                if column is not None and is_word and words.setdefault(column.name, name) != name:
                    # x-y is no difference where it is the name of a column.
                    known = [other.name for other in self.names.columns]
                    raise unknown_column(one.name, known, offset=self.step.offset, step=self.step.text)
                tree = replaced(tree, one, found)
        return tree

    def _with_known(self, tree: exp.Expr) -> exp.Expr:
        """Return a tree with the columns that earlier steps have computed in place of what computed them."""
        for one in list(tree.walk()):
            is_call = isinstance(one.parent, exp.Window) and one.arg_key == "this"
            if one is not tree and (is_call or isinstance(one, exp.Column | exp.Identifier)):
                continue
            written = written_form(one)
            known = next((column for column in self.names.columns if column.written == written), None)
            if known is not None:
                tree = replaced(tree, one, node_of(self.loaded(known)))
        return tree

    def _column_node(self, node: exp.Column) -> exp.Expr:
        name = ".".join(part.name for part in node.parts)
        column, part = self.names.find(name), name.lower()
        is_part = part in PARTS_OF_DATES and not self.names.step_without(name)
        if column is None and is_part and self.names.date is not None:
            dated = node_of(self.loaded(self.names.date))
            return call_of("dayname", dated) if part == "weekday" else call_of("date_part", part, dated)
        loaded = self.loaded(column if column is not None else self._column(name))
        if part == "day" and loaded.kind is Kind.DATETIME and normalize(loaded.name) != part:
            return call_of("date_trunc", part, node_of(loaded))  # the day that a time is in
        return node_of(loaded)

    def _column(self, name: str) -> Column:
        if (column := self.names.find(name)) is not None:
            return column
        if not (step := self.names.step_without(name)):
            known = known_names(self.rows.table, [one.name for one in self.names.columns])
            raise unknown_column(name, known, offset=self.step.offset, step=self.step.text)
        at, text, adds = self.before.index(step), self.step.text, kind_of_step(step) == "items"
        earlier, later = self.before[:at], self.before[at + 1 :]
        joined = [f"{text} by {step}", *([f"{step}, {text}"] if adds else [])]
        forms = [[*earlier, one, *later] for one in joined if self.step.clause.kind == "items"]
        forms.append([*earlier, text, step, *later])
        if adds:
            forms.append([*earlier, f"{step}, {written_name(name)}", *later, text])
        needed = quoted_name(name)
        problem = f"{needed} is not among the columns of {quoted_name(step)}, which an earlier step chose"
        next_step = f"Write the step that needs {needed} before it."
        raise invalid(problem, next_step, offset=self.step.offset, forms=map("; ".join, forms))

    def loaded(self, column: Column) -> Column:
        """Return a column with its kind, and load it with the table."""
        return self.rows.typed(column) if column.index is not None else column

    def _adapted(self, tree: exp.Expr) -> exp.Expr:
        for one in tree.find_all(exp.Column):
            column = one.meta.get("column")
            if column is not None and one is not tree and not isinstance(one.parent, exp.Ordered):
                self.names.note(column.zone_note)
        self.names.note(dialect.note_on_texts(tree))
        for comparison in tree.find_all(exp.EQ, exp.NEQ, exp.In):
            compared = column_of(comparison.this)
            if compared is not None and compared.kind is Kind.TEXT and compared.index is not None:
                self.rows.budget.check_time(20 * len(self.rows.table.rows))
                known, nodes = self.rows.table.type_of(compared.index).folded, list(comparison.iter_expressions())
                texts = [one.name for one in nodes if isinstance(one, exp.Literal) and one.name.casefold() not in known]
                self.absent += [f"No row has {quoted_name(text)} as {quoted_name(compared.name)}." for text in texts]
        return Adapter(self.today).adapt(tree)

    def _is_windowed(self, node: exp.Expr) -> bool:
        return isinstance(node, exp.Window) or (
            function_of(node) in dialect.NEIGHBOURS and not isinstance(node.parent, exp.Window)
        )

    def _hoisted(self, node: exp.Expr) -> exp.Expr:
        """Add what looks at other rows as a column, and return that."""
        inner = self._adapted(node.copy())
        kind = dialect.kind_of(inner)
        if self._is_windowed(node):
            inner = self._window(inner) if isinstance(inner, exp.Window) else self._neighbour(inner, self._by_time)
            sql = dialect.sql_of(inner)
        else:
            self._complete_ends(inner)
            sql = dialect.sql_of(inner)
            sql = f"{sql} OVER ({self._partition_by})" if self.partition else f"(SELECT {sql} FROM {self._current})"
        name = self._add(sql)
        return node_of(Column(shown(node), name, kind, unit="%" if function_of(node) == "pct_change" else ""))

    def _neighbour(self, node: exp.Expr, window: str) -> exp.Expr:
        """Return a value against the one before it in time."""
        argument, *others = node.expressions
        value = dialect.sql_of(argument)
        count = int(others[0].name) if others and isinstance(others[0], exp.Literal) and others[0].is_int else 1
        before = self._add(f"lag({value}, {count}) OVER ({window})")
        return exp.Var(this=f"({_COMPARED[function_of(node)].format(value, before)})")

    def _window(self, node: exp.Window) -> exp.Expr:
        """Return ``avg(x) over 20`` by time, null where a row or a value is missing; other windows as written."""
        spec = node.args.get("spec")
        if node.args.get("order") is not None or node.args.get("partition_by") or spec is None:
            return node
        count = dialect.count_of(node)
        function = node.this
        argument = dialect.argument_of(function)
        rows = f"({self._by_time} ROWS BETWEEN {count - 1} PRECEDING AND CURRENT ROW)"
        self._complete_ends(function)
        counted = dialect.sql_of(argument) if argument is not None and not isinstance(argument, exp.Star) else "1"
        is_whole = f"count({counted}) OVER {rows} = {count}"
        return exp.Var(this=f"(CASE WHEN {is_whole} THEN {dialect.sql_of(function)} OVER {rows} END)")

    def _complete_ends(self, tree: exp.Expr) -> None:
        """Give ``first`` and ``last`` the date and the place by which they choose."""
        for one in tree.walk():
            if function_of(one) in ("first", "last") and len(one.expressions) == 1:
                dated = self.names.date
                if dated is None and not self.is_ordered:
                    self.names.note(_BY_PLACE)
                day = exp.Literal.number(1) if dated is None else node_of(self.loaded(dated))
                place = f"-{self.place}" if self.rows.table.is_newest_first and dated is not None else self.place
                one.set("expressions", [one.expressions[0], day, exp.Var(this=place)])

    @property
    def _by_time(self) -> str:
        dated = self.names.date
        if dated is None:
            self.names.note(_BY_PLACE)
            return f"{self._partition_by}ORDER BY {self.place}"
        day = self.loaded(dated).sql
        dates = self.rows.table.dates
        if not self.partition and (dated.index is None or len(set(dates)) < len(dates)):
            counts = f"SELECT count({day}) - count(DISTINCT {day}) FROM {self._current}"
            ((repeated,),) = self.rows.run(self.ctes, counts)
            if repeated:
                rows = counted(repeated, "row")
                self.names.note(
                    f"There is the same date in another row for {rows}; choose one series to compare its rows."
                )
        return f"{self._partition_by}ORDER BY {day}, {self._tie(is_reversed=False)}"

    def _tie(self, *, is_reversed: bool) -> str:
        """Return the order of rows of one date: as in time, where the newest are listed first from the last one on."""
        return f"{self.place} {'DESC' if self.rows.table.is_newest_first != is_reversed else 'ASC'}"

    @property
    def _partition_by(self) -> str:
        return f"PARTITION BY {', '.join(column.sql for column in self.partition)} " if self.partition else ""

    def _date(self, what: str) -> Column:
        """Return the column of dates."""
        if self.names.date is None:
            problem = self._misfit_of_dates() or "there is none here"
            columns = listed(known_names(self.rows.table, [one.name for one in self.names.columns]))
            raise self._invalid(f"{quoted_name(what)} needs a column of dates, and {problem}", f"Columns: {columns}.")
        return self.loaded(self.names.date)

    def _misfit_of_dates(self) -> str:
        """Return which column has dates beside something else; empty: there is no such column."""
        for column in self.names.columns:
            if column.index is None:
                continue
            typed = self.rows.table.type_of(column.index)
            some = [row[column.index] for row in self.rows.table.rows[:_ROWS_WITH_A_DATE]]
            are_dates = (isinstance(cell, str) and len(cell) > 5 and parse_date(cell) for cell in some)
            if typed.kind is Kind.MIXED and any(are_dates):
                return f"{quoted_name(column.name)} has {quoted_name(typed.misfit)} among its dates"
        return ""

    # SQL

    @property
    def _current(self) -> str:
        return f"s{len(self.ctes) - 1}" if self.ctes else "t"

    def _new_name(self) -> str:
        self._computed += 1
        return f"x{self._computed}"

    def _add(self, sql: str = "", name: str = "", *, tail: str = "") -> str:
        """Add a step with the rows of the last one: a computed column, of which the name is returned, or some rows."""
        name = name or (self._new_name() if sql else "")
        columns = f"*, {sql} AS {name}" if sql else "*"
        self.ctes.append(f"SELECT {columns} FROM {self._current} {tail}")
        return name

    def _invalid(self, problem: str, next_step: str = "", forms: Sequence[str] = (), **facts: Any) -> InvalidSelect:
        others = ["; ".join([*self.before, form]) for form in forms]
        return invalid(problem, next_step, offset=self.step.offset, forms=others, **facts)

    def result(self) -> Table:
        """Return the rows at this step, with the cells of the answer where they are not computed."""
        columns, whole = list(self.names.columns), self.rows.table
        if not self.ctes and [(column.index, column.name) for column in columns] == list(enumerate(whole.columns)):
            return replace(whole, keys=tuple(column.name for column in columns if column.is_key))
        computed = [column for column in columns if column.index is None]
        selected = ", ".join(["_r", *(column.sql for column in computed)])
        found = self.rows.run(self.ctes, f"SELECT {selected} FROM {self._current} ORDER BY {self.place}")
        for place, column in enumerate(computed, 1):
            if column.looks_back and None in map(itemgetter(place), found):
                self.names.note(f"{quoted_name(column.name)} is null where rows before it are missing.")
        return self.rows.shown(columns, computed, found)


def is_inside_aggregate(node: exp.Expr) -> bool:
    """Return whether a node is part of the argument of a function of rows."""
    parent = node.parent
    return parent is not None and (is_aggregate(parent) or is_inside_aggregate(parent))


def normal(tree: exp.Expr) -> exp.Expr:
    """Return a tree with the functions of SQLite and of ``select``."""
    tree = dialect.to_sqlite(tree)
    for lag in list(tree.find_all(exp.Lag)):
        if not isinstance(lag.parent, exp.Window):
            offset = lag.args.get("offset")
            tree = replaced(tree, lag, call_of("lag", lag.this.copy(), *([] if offset is None else [offset.copy()])))
    for one in tree.walk():
        if function_of(one) in dialect.NEIGHBOURS and not one.expressions:
            name = function_of(one)
            raise invalid(f"{name} needs a column", f"Write {name}(x), with the name of a column.")
    return tree


def written_form(tree: exp.Expr) -> str:
    """Return an expression in one spelling, to find it again."""
    return str(tree.sql()).lower()


def text_of(tree: exp.Expr) -> str:
    """Return an expression as it is written."""
    if text := tree.unalias().meta.get("text"):
        return str(text)
    return shown(tree)
