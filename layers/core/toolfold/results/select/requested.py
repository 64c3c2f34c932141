"""Find out which part of a series a ``select`` requests: its bounds on dates, how many rows, and which end of them.

Names that cannot be found are left to ``engine``: nothing here fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from sqlglot import exp

from toolfold.dates import bounds, parse_date
from toolfold.errors import InvalidArguments
from toolfold.fuzzy import normalize
from toolfold.results.select.coverage import Requested
from toolfold.results.select.dialect import function_of, is_aggregate, to_sqlite
from toolfold.results.select.expressions import parse_items, parse_sql
from toolfold.results.select.grammar import Clause, Selection
from toolfold.results.select.kinds import COMPARISONS, MIRRORED, is_condition
from toolfold.results.select.names import find_table, table_name
from toolfold.results.select.periods import span
from toolfold.results.tables import DATE_NAMES, Document, Table


def requested_of(selection: Selection, document: Document, today: date) -> Requested:
    """Return what a ``select`` requests of the series in a document."""
    if selection.jmespath:
        from toolfold.results.select.jmespath import requested_by_jmespath

        return requested_by_jmespath(selection.jmespath, document)
    reader = _Reader(list(document.tables), today)
    for step in selection.steps:
        if step.table:
            reader.take(step.table)
        reader.read(step.clause)
        if reader.is_done:
            break
    return reader.requested


@dataclass
class _Reader:
    """What the steps so far request. ``is_done``: later steps are about what was computed."""

    tables: list[Table]
    today: date
    requested: Requested = Requested()  # noqa: RUF009 - it is immutable
    table: Table | None = None
    is_done: bool = False

    def __post_init__(self) -> None:
        self._look_at(self.tables[0] if self.tables else None)

    def take(self, name: str) -> None:
        """Continue with another table."""
        self.table = find_table(name, self.tables)
        self._note(table="" if self.table is None else table_name(self.table))
        self._look_at(self.table)

    def read(self, clause: Clause) -> None:
        """Read one step."""
        kind = clause.kind
        if kind == "from":
            self.take(clause.text)
        elif kind == "sql":
            self._read_sql(clause.text)
        elif kind == "period":
            self._read_period(clause)
        elif kind == "order":
            name, _, direction = clause.text.partition(" ")
            self._order(clause.by or name, is_descending="desc" in direction.lower() or clause.by == "newest")
        elif kind in ("last", "first"):
            self._count(clause.numbers[0] or 0, is_oldest_first=kind == "first")
        elif kind in ("limit", "slice"):
            self._count(sum(number or 0 for number in clause.numbers), is_oldest_first=self.ascends)
        elif kind in ("top", "bottom", "distinct"):
            self._summarize()
        elif kind in ("items", "group"):
            self._read_items(clause)

    def _look_at(self, table: Table | None) -> None:
        index = None if table is None else table.date_index
        cells = () if table is None or index is None else table.type_of(index).values
        self.dates = [cell for cell in cells if cell is not None]
        self.date_name = "" if table is None or index is None else normalize(table.columns[index])
        self.ascends = not self.dates or self.dates[0] <= self.dates[-1]

    def _note(self, **changes: Any) -> None:
        self.requested = replace(self.requested, **changes)

    def _summarize(self) -> None:
        self._note(is_summary=self.requested.is_summary or not self.requested.row_count)

    def _count(self, number: int, *, is_oldest_first: bool) -> None:
        if not self.requested.row_count and not self.requested.is_summary:
            self._note(row_count=number, is_oldest_first=is_oldest_first)

    def _order(self, name: str, *, is_descending: bool) -> None:
        if name in ("newest", "oldest") or self._is_date(name):
            self.ascends = not is_descending
        else:
            self._summarize()

    def _is_date(self, name: str) -> bool:
        return normalize(name) in DATE_NAMES or normalize(name) == self.date_name

    def _read_period(self, clause: Clause) -> None:
        low, high = _day(clause.low, self.today, after=clause.is_after), _day(clause.high, self.today, is_high=True)
        if clause.unit and self.dates:
            low, high = (moment[:10] for moment in span(clause, max(self.dates), self.today))
            high = "" if any((number or 0) > 0 for number in clause.numbers) else high  # up to the newest row
        self._narrow(low, high)

    def _narrow(self, low: str, high: str) -> None:
        highs = [one for one in (high, self.requested.high) if one]
        self._note(low=max(low, self.requested.low), high=min(highs, default=""))

    def _read_items(self, clause: Clause) -> None:
        try:
            trees = [to_sqlite(tree) for tree in parse_items(clause.text, lambda _name: False)]
        except InvalidArguments:
            return
        if clause.kind == "items" and len(trees) == 1 and is_condition(trees[0]):
            self._read_condition(trees[0])
            self._note(is_summary=self.requested.is_summary or any(map(is_aggregate, trees[0].walk())))
            return
        for tree in trees:
            self._read_names(tree)
        self.is_done = bool(self.requested.functions) or clause.kind == "group"
        if self.requested.functions - {"last"} or clause.kind == "group":
            self._summarize()

    def _read_names(self, tree: exp.Expr) -> None:
        functions = {function_of(node) for node in tree.walk() if is_aggregate(node)}
        columns = {node.name.lower() for node in tree.find_all(exp.Column)}
        self._note(functions=self.requested.functions | functions, columns=self.requested.columns | columns)

    def _read_condition(self, tree: exp.Expr) -> None:
        """Read bounds on the dates; any other condition filters."""
        for part in tree.flatten() if isinstance(tree, exp.And) else (tree,):
            found = list(self._bounds(part.unnest()))
            if not found:
                self._note(is_filtered=True)
            for low, high in found:
                self._narrow(low, high)

    def _bounds(self, node: exp.Expr) -> Iterator[tuple[str, str]]:
        """Yield the bounds that a condition sets on the dates; nothing for another condition."""
        if isinstance(node, COMPARISONS) and isinstance(node.this, exp.Literal):
            node = MIRRORED[type(node)](this=node.expression, expression=node.this)
        if isinstance(node, exp.NEQ) or not self._has_dates(node.this):
            return
        others = [node.args.get(key) for key in ("low", "high", "expression")] + node.expressions
        days = sorted(
            filter(
                None,
                (_day(one.name.rstrip("%"), self.today) for one in others if isinstance(one, exp.Literal)),
            )
        )
        if not days:
            return
        is_low, is_high = not isinstance(node, exp.LT | exp.LTE), not isinstance(node, exp.GT | exp.GTE)
        yield days[0] if is_low else "", days[-1] if is_high else ""

    def _has_dates(self, node: Any) -> bool:
        """Return whether an expression is the dates, or the years of them."""
        if isinstance(node, exp.Anonymous) and function_of(node) == "date_part":
            unit, *rest = node.expressions
            return unit.name == "year" and self._has_dates(rest[0])
        return isinstance(node, exp.Column) and (self._is_date(node.name) or node.name.lower() == "year")

    def _read_sql(self, text: str) -> None:
        try:
            tree = to_sqlite(parse_sql(text))
        except InvalidArguments:
            return
        self.is_done = True
        for table in tree.find_all(exp.Table):
            if self.table is None and len(self.tables) > 1:
                self.take(table.name)
        for where in tree.find_all(exp.Where):
            self._read_condition(where.this)
        self._read_names(tree)
        is_plain = len(list(tree.find_all(exp.Query))) == 1 and tree.find(exp.Window) is None
        if self.requested.functions or not is_plain or tree.args.get("group") or tree.args.get("distinct"):
            self._summarize()
        order = tree.args.get("order")
        if order is not None:
            self._order(order.expressions[0].this.name, is_descending=bool(order.expressions[0].args.get("desc")))
        counts = []
        for limit in filter(None, map(tree.args.get, ("limit", "offset"))):  # a LIMIT, FETCH or OFFSET
            text = (limit.args.get("count") or limit.expression or exp.null()).name
            counts.append(int(text) if text.isdecimal() else 0)
        if tree.args.get("limit") and counts[0]:
            self._count(sum(counts), is_oldest_first=self.ascends)


def _day(text: str, today: date, *, after: bool = False, is_high: bool = False) -> str:
    """Return a date as the bound of a period, as precise as it is written; empty where it is not a date."""
    readings = parse_date(text, today) if text else []
    if len(readings) != 1:
        return ""
    reading = readings[0]
    if after and not reading.has_time:
        return bounds(reading.high.strftime("%Y-%m-%d"))[0].isoformat()
    if reading.has_time:
        return reading.low.strftime("%Y-%m-%dT%H:%M:%S")
    if reading.precision in ("quarter", "half"):
        return (reading.high if is_high else reading.low).strftime("%Y-%m")
    return reading.low.strftime("%Y-%m-%d")[: {"year": 4, "month": 7}.get(reading.precision, 10)]
