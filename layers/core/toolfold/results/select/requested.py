"""Find out which part of a series a ``select`` requests: its bounds on dates, how many rows, and which end of them.

Names that cannot be found are left to ``engine``: nothing here fails.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from sqlglot import exp

from toolfold.dates import bounds, parse_date
from toolfold.errors import InvalidArguments
from toolfold.fuzzy import normalize
from toolfold.results.select import jmespath
from toolfold.results.select.coverage import Requested, counted_days, first_counted_day, span
from toolfold.results.select.dialect import function_of, is_aggregate, to_sqlite
from toolfold.results.select.expressions import parse_items, parse_sql
from toolfold.results.select.grammar import Clause, Selection
from toolfold.results.select.kinds import COMPARISONS, MIRRORED, is_condition
from toolfold.results.select.names import PARTS_OF_DATES, find_table, table_name
from toolfold.results.select.view import NEIGHBOURS, count_of
from toolfold.results.tables import DATE_NAMES, Document, Table


def requested_of(selection: Selection, document: Document, today: date) -> Requested:
    """Return what a ``select`` requests of the series in a document."""
    reader = _Reader(list(document.tables), today)
    if selection.jmespath:
        reader.read_jmespath(selection.jmespath)
    for step in selection.steps:
        if step.table:
            reader.take(step.table)
        with suppress(InvalidArguments):
            reader.read(step.clause)
    return reader.requested


@dataclass
class _Reader:
    """What the steps so far request.

    ``is_done``: later steps are about what was computed; ``has_groups``: periods are still about the dates of the rows.
    """

    tables: list[Table]
    today: date
    requested: Requested = Requested()  # noqa: RUF009 - it is immutable
    table: Table | None = None
    is_done: bool = False
    has_groups: bool = False

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
        if self.is_done:
            is_filtered = self.requested.is_filtered
            if self.has_groups and kind == "period":
                self._read_period(clause)
            elif self.has_groups and kind == "items":
                self._read_condition(to_sqlite(parse_items(clause.text)[0]))
                self._note(is_filtered=is_filtered)  # a condition on the groups
        elif kind == "from":
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
        elif kind == "slice":
            self._slice(*clause.numbers)
        elif kind in ("top", "bottom", "distinct"):
            self._summarize()
        elif kind in ("items", "group"):
            self._read_items(clause)

    def _read_period(self, clause: Clause) -> None:
        if not clause.unit:
            self._read_condition(parse_items(clause.text)[0])
        elif count := counted_days(clause, self.dates, self.today):
            self._narrow(first_counted_day(count, self.dates), "")
        elif self.dates:
            low, high = (moment[:10] for moment in span(clause, max(self.dates), self.today))
            is_open = any((number or 0) > 0 for number in clause.numbers)  # up to the newest row
            self._narrow(low, "" if is_open else high)

    def _look_at(self, table: Table | None) -> None:
        index = None if table is None else table.date_index
        self.dates = [] if table is None else table.dates
        self.date_name = "" if table is None or index is None else normalize(table.columns[index])
        self.ascends = table is None or not table.is_newest_first

    def _note(self, **changes: Any) -> None:
        self.requested = replace(self.requested, **changes)

    def _summarize(self) -> None:
        self._note(is_summary=self.requested.is_summary or not self.requested.row_count)

    def _count(self, number: int, *, is_oldest_first: bool) -> None:
        if not self.requested.row_count and not self.requested.is_summary:
            self._note(row_count=number, is_oldest_first=is_oldest_first)

    def _slice(self, start: int | None, stop: int | None) -> None:
        """Read how many rows there must be for a slice, from the end for a place below zero."""
        first = start or 0
        count = -first if first < 0 else max(stop, 0) if stop is not None else first and first + 1
        self._count(count, is_oldest_first=count > 0 and (first < 0) != self.ascends)

    def _order(self, name: str, *, is_descending: bool) -> None:
        if name in ("newest", "oldest") or self._is_date(name):
            self.ascends = not is_descending
        else:
            self._summarize()

    def _is_date(self, name: str) -> bool:
        return normalize(name) in DATE_NAMES or normalize(name) == self.date_name

    def _narrow(self, low: str, high: str) -> None:
        highs = [one for one in (high, self.requested.high) if one]
        self._note(low=max(low, self.requested.low), high=min(highs, default=""))

    def _read_items(self, clause: Clause) -> None:
        trees = [to_sqlite(tree) for tree in parse_items(clause.text)]
        self._look_back(*trees)
        if clause.kind == "items" and len(trees) == 1 and is_condition(trees[0]):
            self._read_condition(trees[0])
            self._note(is_summary=self.requested.is_summary or any(map(is_aggregate, trees[0].walk())))
            return
        for tree in trees:
            self._read_names(tree)
        self.is_done = bool(self.requested.functions) or clause.kind == "group"
        self.has_groups = clause.kind == "group" and clause.by.strip().lower() in PARTS_OF_DATES - {"weekday"}
        if self.requested.functions - {"last"} or clause.kind == "group":
            self._summarize()

    def _look_back(self, *trees: exp.Expr) -> None:
        """Read which rows before it a row needs, unless earlier steps have chosen the rows there are."""
        if not self.requested.row_count and not self.requested.low:
            self._note(rows_before=self.requested.rows_before + max(map(_rows_before, trees), default=0))

    def _read_names(self, tree: exp.Expr) -> None:
        functions = {function_of(node) for node in tree.walk() if is_aggregate(node)}
        columns = {node.name.lower() for node in tree.find_all(exp.Column)}
        self._note(functions=self.requested.functions | functions, columns=self.requested.columns | columns)

    def _read_condition(self, tree: exp.Expr) -> None:
        """Read bounds on the dates; any other condition filters."""
        for part in tree.flatten() if isinstance(tree, exp.And) else (tree,):
            if (bounded := self._bounds(part.unnest())) is None:
                self._note(is_filtered=True)
            else:
                self._narrow(*bounded)

    def _bounds(self, node: exp.Expr) -> tuple[str, str] | None:
        """Return the bounds that a condition sets on the dates, of alternatives those of all; None: it is another."""
        if isinstance(node, exp.Or):
            sides = [self._bounds(side.unnest()) for side in node.flatten()]
            lows, highs = ([side[end] for side in sides if side is not None] for end in (0, 1))
            low, high = min(lows, default=""), "" if "" in highs else max(highs, default="")
            return None if None in sides or not (low or high) else (low, high)
        if isinstance(node, COMPARISONS) and isinstance(node.this, exp.Literal):
            node = MIRRORED[type(node)](this=node.expression, expression=node.this)
        if isinstance(node, exp.NEQ) or not self._has_dates(node.this):
            return None
        others = [node.args.get(key) for key in ("low", "high", "expression")] + node.expressions
        texts = [one.name.rstrip("%") for one in others if isinstance(one, exp.Literal)]
        lows = sorted(filter(None, (_day(text, self.today, after=isinstance(node, exp.GT)) for text in texts)))
        highs = sorted(filter(None, (_day(text, self.today, is_high=not isinstance(node, exp.LT)) for text in texts)))
        if not lows:
            return None
        is_low, is_high = not isinstance(node, exp.LT | exp.LTE), not isinstance(node, exp.GT | exp.GTE)
        return lows[0] if is_low else "", highs[-1] if is_high else ""

    def _has_dates(self, node: Any) -> bool:
        """Return whether an expression is the dates, or the years of them."""
        if isinstance(node, exp.Anonymous) and function_of(node) == "date_part":
            unit, *rest = node.expressions
            return unit.name == "year" and self._has_dates(rest[0])
        return isinstance(node, exp.Column) and (self._is_date(node.name) or node.name.lower() == "year")

    def _read_sql(self, text: str) -> None:
        tree = to_sqlite(parse_sql(text))
        self.is_done = True
        self._look_back(tree)
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
        count, offset = (_number_in(tree.args.get(key)) for key in ("limit", "offset"))
        if count:
            self._slice(offset, offset + count)

    def read_jmespath(self, expression: str) -> None:
        """Read an expression: the fields that it names, and whether it depends on rows that are not there.

        It may, unless it only names fields and places from the first row on.

        Raises:
            InvalidSelect: it is not JMESPath.
        """
        nodes = list(jmespath.nodes_of(jmespath.parse(expression)))
        fields = [node["value"] for node in nodes if node["type"] == "field"]
        names = {normalize(table.name.rpartition(".")[2]) for table in self.tables}
        for name in [field for field in fields if normalize(field) in names - {""}][:1]:
            self.take(name)
        places = [place for node in nodes if node["type"] in ("index", "slice")
                  for place in node["children"] or (node["value"],) if place is not None]  # fmt: skip
        functions = _SUMMARIES.intersection(map(jmespath.kind_of, nodes))
        self._note(
            functions=frozenset(name.replace("length", "count") for name in functions),
            columns=frozenset(map(str.lower, fields)),
            is_summary=bool(functions) or any(not 0 <= place <= len(self.dates) for place in places),
            is_filtered=any(node["type"] == "filter_projection" for node in nodes),
        )


_SUMMARIES = frozenset(("avg", "length", "max", "max_by", "min", "min_by", "reverse", "sort", "sort_by", "sum"))
"""Functions of JMESPath whose value depends on how many rows there are."""


def _rows_before(node: exp.Expr) -> int:
    """Return how many rows before its own an expression reads: 199 for ``avg(x) over 200``, 12 for ``lag(x, 12)``."""
    own = 0
    if isinstance(node, exp.Window):
        own = max(count_of(node) - 1, 0)
    elif function_of(node) in NEIGHBOURS:
        offset = node.args.get("offset") if isinstance(node, exp.Lag) else next(iter(node.expressions[1:]), None)
        own = int(offset.name) if offset is not None and offset.name.isdecimal() else 1
    return own + max(map(_rows_before, node.iter_expressions()), default=0)


def _number_in(limit: exp.Expr | None) -> int:
    text = "" if limit is None else (limit.args.get("count") or limit.expression or exp.null()).name
    return int(text) if text.isdecimal() else 0


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
