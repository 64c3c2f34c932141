"""Collect what the steps of a ``select`` request of a series: bounds on dates, how many rows, and which end of them.

The steps state it as they are compiled. Dates are known by their name here: a name that cannot be found is refused by
what compiles the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from sqlglot import exp

from toolfold.dates import Reading, parse_date
from toolfold.fuzzy import normalize
from toolfold.models import Requested
from toolfold.results.select import dialect, jmespath
from toolfold.results.select.dialect import NEIGHBOURS, date_text, function_of, is_aggregate, to_sqlite
from toolfold.results.select.expressions import parse_sql
from toolfold.results.select.names import PARTS_OF_DATES, find_table
from toolfold.results.tables import DATE_NAMES, Table


class Request:
    """What the steps over one table request so far, which is ``found``; ``ascends``: the oldest rows come first.

    ``is_done``: later steps are about what was computed; ``has_groups``: periods are still about the dates of the rows.
    """

    def __init__(self, table: Table, today: date) -> None:
        self._today, self.found = today, Requested()
        self.is_done = self.has_groups = False
        self._take(table)

    def rows(self, count: int, *, is_oldest_first: bool) -> None:
        """Request a number of rows."""
        if not self.is_done and not self.found.row_count and not self.found.is_summary:
            self._note(row_count=count, is_oldest_first=is_oldest_first)

    def slice(self, start: int | None, stop: int | None) -> None:
        """Request as many rows as a slice needs, from the end for a place below zero."""
        first = start or 0
        count = -first if first < 0 else max(stop, 0) if stop is not None else first and first + 1
        self.rows(count, is_oldest_first=count > 0 and (first < 0) != self.ascends)

    def summary(self) -> None:
        """Request all rows, unless a number of them was chosen before."""
        if not self.is_done:
            self._note(is_summary=self.found.is_summary or not self.found.row_count)

    def order(self, name: str, *, is_descending: bool) -> None:
        """Request rows in the order of a column."""
        if self._is_date(name):
            self.ascends = not is_descending
        else:
            self.summary()

    def narrow(self, low: str, high: str) -> None:
        """Request a period: its first and its last date, empty where it is open."""
        if not self.is_done or self.has_groups:
            highs = [one for one in (high, self.found.high) if one]
            self._note(low=max(low, self.found.low), high=min(highs, default=""))

    def condition(self, tree: exp.Expr) -> None:
        """Request rows that meet a condition: bounds on the dates; any other filters."""
        tree = to_sqlite(tree.copy())
        self._look_back(tree)
        self._filter(tree)
        if any(map(is_aggregate, tree.walk())):
            self.summary()

    def columns(self, trees: Sequence[exp.Expr], by: str = "") -> None:
        """Request columns and functions, perhaps of groups."""
        if self.is_done:
            return
        trees = [to_sqlite(tree.copy()) for tree in trees]
        self._look_back(*trees)
        for tree in trees:
            self._name(tree)
        if by or self.found.functions - {"last"}:
            self.summary()
        self.is_done = bool(by or self.found.functions)
        self.has_groups = by.strip().lower() in PARTS_OF_DATES - {"weekday"}

    def statement(self, text: str, tables: Sequence[Table]) -> None:
        """Request what a statement of SQL reads, of the first of the tables that it names."""
        if self.is_done:
            return
        tree = to_sqlite(parse_sql(text))
        if len(tables) > 1:
            named = (find_table(node.name, tables) for node in tree.find_all(exp.Table))
            self._take(next(filter(None, named), self._table))
        self._look_back(tree)
        for where in tree.find_all(exp.Where):
            self._filter(where.this)
        self._name(tree)
        is_plain = len(list(tree.find_all(exp.Query))) == 1 and tree.find(exp.Window) is None
        if self.found.functions or not is_plain or tree.args.get("group") or tree.args.get("distinct"):
            self.summary()
        order = tree.args.get("order")
        if order is not None:
            self.order(order.expressions[0].this.name, is_descending=bool(order.expressions[0].args.get("desc")))
        count, offset = (_number_in(tree.args.get(key)) for key in ("limit", "offset"))
        if count:
            self.slice(offset, offset + count)
        self.is_done = True

    def _take(self, table: Table) -> None:
        self._table, self.ascends = table, not table.is_newest_first
        self._note(table=table.name)

    def _note(self, **changes: Any) -> None:
        self.found = replace(self.found, **changes)

    def _look_back(self, *trees: exp.Expr) -> None:
        """Request the rows before it that a row needs, unless earlier steps have chosen the rows there are."""
        if not self.is_done and not self.found.row_count and not self.found.low:
            self._note(rows_before=self.found.rows_before + max(map(_rows_before, trees), default=0))

    def _name(self, tree: exp.Expr) -> None:
        functions = {function_of(node) for node in tree.walk() if is_aggregate(node)}
        columns = {node.name.lower() for node in tree.find_all(exp.Column)}
        self._note(functions=self.found.functions | functions, columns=self.found.columns | columns)

    def _filter(self, tree: exp.Expr) -> None:
        for part in tree.flatten() if isinstance(tree, exp.And) else (tree,):
            if (bounded := self._bounds(part.unnest())) is not None:
                self.narrow(*bounded)
            elif not self.is_done and not self.found.row_count:  # else it is about groups, or about the rows chosen
                self._note(is_filtered=True)

    def _bounds(self, node: exp.Expr) -> tuple[str, str] | None:
        """Return the bounds that a condition sets on the dates; None: it is another."""
        if isinstance(node, exp.NEQ) or not isinstance(node.this, exp.Column) or not self._is_date(node.this.name):
            return None
        others = [node.args.get(key) for key in ("low", "high", "expression")] + node.expressions
        dates = map(date_text, filter(None, others))
        texts = (one.name.rstrip("%") for one in dates if isinstance(one, exp.Literal))
        readings = [found[0] for text in texts if len(found := parse_date(text, self._today)) == 1]
        if not readings:
            return None
        low = "" if isinstance(node, exp.LT | exp.LTE) else min(_bound(one.low, one) for one in readings)
        if isinstance(node, exp.GT | exp.GTE):
            return low, ""
        return low, max(_bound(one.low if isinstance(node, exp.LT) else one.high, one) for one in readings)

    def _is_date(self, name: str) -> bool:
        index = self._table.date_index
        names = DATE_NAMES if index is None else {*DATE_NAMES, normalize(self._table.columns[index])}
        return normalize(name) in names


def requested_by(expression: str, tables: Sequence[Table]) -> Requested:
    """Return what an expression in JMESPath requests: its fields, and whether it depends on rows that are not there.

    It may, unless it only names fields and places from the first row on.

    Raises:
        InvalidSelect: it is not JMESPath.
    """
    nodes = list(jmespath.nodes_of(jmespath.parse(expression)))
    fields = [node["value"] for node in nodes if node["type"] == "field"]
    names = {normalize(table.name.rpartition(".")[2]): table for table in reversed(tables)}
    named = (names.get(normalize(field)) for field in fields)
    table = next(filter(None, named), tables[0] if tables else None)
    row_count = 0 if table is None else len(table.dates)
    places = [place for node in nodes if node["type"] in ("index", "slice")
              for place in node["children"] or (node["value"],) if place is not None]  # fmt: skip
    functions = _SUMMARIES.intersection(map(jmespath.kind_of, nodes))
    return Requested(
        functions=frozenset(name.replace("length", "count") for name in functions),
        columns=frozenset(map(str.lower, fields)),
        is_summary=bool(functions) or any(not 0 <= place <= row_count for place in places),
        is_filtered=any(node["type"] == "filter_projection" for node in nodes),
        table="" if table is None else table.name,
    )


_SUMMARIES = frozenset(("avg", "length", "max", "max_by", "min", "min_by", "reverse", "sort", "sort_by", "sum"))
"""Functions of JMESPath whose value depends on how many rows there are."""


def _rows_before(node: exp.Expr) -> int:
    """Return how many rows before its own an expression reads: 199 for ``avg(x) over 200``, 12 for ``lag(x, 12)``."""
    own = 0
    if isinstance(node, exp.Window):
        own = max(dialect.count_of(node) - 1, 0)
    elif function_of(node) in NEIGHBOURS:
        offset = node.args.get("offset") if isinstance(node, exp.Lag) else next(iter(node.expressions[1:]), None)
        own = int(offset.name) if offset is not None and offset.name.isdecimal() else 1
    return own + max(map(_rows_before, node.iter_expressions()), default=0)


def _number_in(limit: exp.Expr | None) -> int:
    text = "" if limit is None else (limit.args.get("count") or limit.expression or exp.null()).name
    return int(text) if text.isdecimal() else 0


def _bound(moment: datetime, reading: Reading) -> str:
    """Return an end of a date as the bound of a period, as precise as the date is written."""
    return moment.strftime(_FORMATS.get(reading.precision, "%Y-%m"))


_FORMATS = {"year": "%Y", "day": "%Y-%m-%d", **dict.fromkeys(("minute", "second"), "%Y-%m-%dT%H:%M:%S")}
"""Precision of a date → its bound; that of a quarter is a month."""
