"""Write the steps of a ``select`` as common table expressions of SQL, one for each step, over one table.

The columns of SQL are ours: ``c0`` for the first column of the table, ``x1`` for the first computed one, ``_r`` for the
row that the cells are of, and a number for the place of a row. Cells are taken from the answer at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from operator import itemgetter

from sqlglot import exp

from toolfold.dates import parse_date
from toolfold.errors import InvalidSelect
from toolfold.fuzzy import normalize
from toolfold.results.select import dialect, expressions, periods
from toolfold.results.select.dialect import call_of, function_of, is_aggregate, replaced, transformed
from toolfold.results.select.errors import invalid, listed
from toolfold.results.select.expressions import split_items
from toolfold.results.select.grammar import Clause, Step
from toolfold.results.select.kinds import Adapter, argument_of, column_of, is_condition, kind_of, node_of
from toolfold.results.select.names import PARTS_OF_DATES, Column, Names, written_name
from toolfold.results.select.paths import known_names
from toolfold.results.select.rows import Rows
from toolfold.results.tables import Table
from toolfold.results.types import Kind
from toolfold.results.values import unique_names
from toolfold.text_safety import quoted_name

UNITS_OF_GROUPS = ("year", "quarter", "month", "week", "weekday", "day")
_SHOWN_PARTS = {
    "year": "CAST(substr({0}, 1, 4) AS INTEGER)",
    "quarter": "substr({0}, 1, 4) || '-Q' || ((substr({0}, 6, 2) + 2) / 3)",
    "month": "substr({0}, 1, 7)",
    "week": "date_format({0}, '%G-W%V')",
    "weekday": "dayname({0})",
    "day": "substr({0}, 1, 10)",
}
"""Unit of groups → what its groups are called, as SQL of a date in ISO 8601."""
_NEIGHBOURS = frozenset(("change", "pct_change", "lag"))
_AS = re.compile(r"\s+as\s+(?:\w+|\"[^\"]*\")\s*$", re.I)
_ALONE = re.compile(r"(\b\w+\([^()]*\))(?!\s*over\b)", re.I)
"""A function without ``over``."""
_ORDERED = re.compile(r"\border\s+by\b[^()]*(?:\([^()]*\)[^()]*)*$", re.I)
"""``ORDER BY`` of a whole statement, outside parentheses."""
_ROWS_WITH_A_DATE = 20
"""Rows in which a column that has dates has one."""

_MAX_COLUMNS = 250
"""Columns and calculations in one step."""


@dataclass
class Query:
    """The steps over one table, as far as they have been applied.

    Attributes:
        rows: runs SQL over the table.
        names: the columns at this step.
        today: the day of relative dates.
        partition: columns whose values are the calls of a list: what looks at other rows stays among those of one call.
        notes: what the reader must know.
        ctes: the common table expressions.
        place: the column of SQL by which rows are in order.
        is_ordered: whether a step has sorted them.
        is_summary: whether they are one row of functions.
        groups: the kinds of units by which they are grouped; None: they are not.
    """

    rows: Rows
    names: Names
    today: date
    partition: tuple[Column, ...] = ()
    notes: list[str] = field(default_factory=list)
    ctes: list[str] = field(default_factory=list)
    place: str = "_n"
    is_ordered: bool = False
    is_summary: bool = False
    groups: tuple[str, ...] | None = None
    step: Step = Step("", 0, Clause("all"))  # noqa: RUF009 - it is immutable
    before: list[str] = field(default_factory=list)
    _computed: int = 0

    @classmethod
    def of(cls, rows: Rows, today: date, partition: Sequence[str] = (), *, is_object: bool = False) -> Query:
        """Return the query of a whole table; in that of an object no column is a key."""
        table = rows.table
        dated = None if is_object else rows.date_index
        keys = set(table.keys)
        labels = [index for index, name in enumerate(table.columns) if name in partition]
        is_series = not labels or len({tuple(row[index] for index in labels) for row in table.rows}) < len(table.rows)
        columns = [
            Column(
                name,
                f"c{index}",
                index=index,
                is_key=(index == dated and is_series) or name in partition or (name in keys and rows.varies(index)),
            )
            for index, name in enumerate(table.columns)
        ]
        columns = [rows.typed(column) if column.is_key else column for column in columns]
        shown = len(columns) - table.nested
        names = Names(columns[:shown], None if dated is None else columns[dated], nested=columns[shown:])
        parts = tuple(rows.typed(column) for column in columns if column.name in partition)
        return cls(rows, names, today, parts)

    @property
    def is_computed(self) -> bool:
        """Whether rows stand for others: functions of rows, groups or SQL."""
        return self.is_summary or self.groups is not None or "SQL" in self.before

    # Applying steps

    def apply(self, step: Step) -> None:
        """Apply one step.

        Raises:
            InvalidSelect: it does not fit the columns.
        """
        self.step, clause = step, step.clause
        kind = clause.kind
        if self.is_summary and kind in ("period", "first", "last", "top", "bottom", "limit", "slice", "order", "group"):
            earlier = "; ".join([*self.before[:-1], step.text, *self.before[-1:]])
            raise invalid(
                f"{quoted_name(step.text)} comes behind {quoted_name(self.before[-1])}, which leaves one row",
                f"Write {earlier}.",
                offset=step.offset,
                forms=[earlier],
            )
        if kind in ("period", "first", "last", "limit", "all", "slice") and self.names.exact(step.text):
            count = next((f"{kind} {number}" for number in clause.numbers if number is not None), "")
            raise invalid(
                f"{step.text} is a column and a step",
                f'Write "{step.text}" for the column, or {count or "since or until a date"} for the rows.',
                offset=step.offset,
                forms=[f'"{step.text}"'],
            )
        handlers: dict[str, Callable[[Clause], None]] = {
            "items": self._items, "group": self._group, "distinct": self._distinct, "order": self._order,
            "first": self._ends, "last": self._ends, "top": self._top, "bottom": self._top, "limit": self._limit,
            "slice": self._slice, "period": self._period, "all": lambda _clause: None,
        }  # fmt: skip
        handlers[kind](clause)
        self.before.append(step.text)

    def follow(self, query: Query, step: Step) -> None:
        """Take up what is known of the rows that a statement of SQL was run on."""
        text = step.text
        self.notes, self.before = query.notes, [*query.before, text]
        self.is_ordered = _ORDERED.search(text) is not None
        names = {normalize(column.name) for column in self.names.columns}
        before = {normalize(column.name): text for column in query.names.columns}
        self.names.dropped = {name: by for name, by in {**query.names.dropped, **before}.items() if name not in names}
        shown = {column.name for column in self.names.columns}
        self.names.gone = (query.names.gone | {column.name for column in query.names.columns}) - shown
        self.names.columns = [replace(column, written=self._call_in(column.name)) for column in self.names.columns]

    def _call_in(self, name: str) -> str:
        """Return how the name of a column is written where it is a call of a function; empty where it is not."""
        try:
            return _written(self._parsed(name)[0]) if name.endswith(")") else ""
        except InvalidSelect:
            return ""

    def _items(self, clause: Clause) -> None:
        if clause.text.startswith("* except "):
            names = split_items(clause.text.removeprefix("* except "))
            dropped = {self._column(name.strip('"')).sql for name in names}
            self._show([column for column in self.names.columns if column.sql not in dropped])
            return
        trees = self._parsed(clause.text)
        if len(trees) == 1 and is_condition(trees[0]) and not isinstance(trees[0], exp.Alias):
            self._add(tail=f"WHERE {dialect.sql_of(self._row(trees[0]))}")
            return
        if any(is_condition(tree) and not isinstance(tree, exp.Alias) for tree in trees):
            parts = split_items(clause.text)
            raise self._invalid("conditions and columns are steps of their own", forms=["; ".join(parts)])
        summaries = [self._is_summary(tree) for tree in trees]
        if any(summaries) and not all(summaries):
            functions, others = (
                ", ".join(_text(tree) for tree, is_one in zip(trees, summaries, strict=True) if is_one is wanted)
                for wanted in (True, False)
            )
            form = f"{functions} by {others}"
            problem = f"{functions} is one value, and {others} a value for each row"
            raise self._invalid(problem, f"Write {form}.", [form])
        if all(summaries):
            self._summarize(trees, [])
        else:
            self._columns(trees)

    def _columns(self, trees: Sequence[exp.Expr]) -> None:
        if len(trees) > _MAX_COLUMNS:
            raise self._invalid(f"it has {len(trees)} columns; {_MAX_COLUMNS} are the most")
        for tree in trees:
            self._require_one_window(tree)
        chosen: list[Column] = []
        for tree in trees:
            chosen += self.names.columns if isinstance(tree, exp.Star) else [self._computed_column(tree)]
        shown = {column.sql for column in chosen}
        self._show([*(one for one in self.names.columns if one.is_key and one.sql not in shown), *chosen])

    def _computed_column(self, tree: exp.Expr) -> Column:
        """Return a column, or that of a calculation, which is added to the rows."""
        inner = tree.unalias()
        alias, node = tree.alias if inner is not tree else "", self._row(inner)
        found = column_of(node)
        known = (*self.names.columns, *self.names.nested)
        column = next((one for one in known if found is not None and one.sql == found.sql), None)
        if column is not None:
            name = column.name if isinstance(inner.unnest(), exp.Column | exp.Identifier) else _text(inner)
            return replace(self._loaded(column), name=alias or name)
        if not any(node.find_all(exp.Column)):
            raise self._invalid(
                f"{_text(inner)} is no column", f"Columns: {listed(one.name for one in self.names.columns)}."
            )
        unit = "%" if function_of(_normal(inner.copy())) == "pct_change" else ""
        sql = self._add(dialect.sql_of(node))
        looks_back = any(self._is_windowed(one) for one in dialect.to_sqlite(inner.copy()).walk())
        return Column(
            alias or _text(inner), sql, kind_of(node), unit=unit, written=_written(inner), looks_back=looks_back
        )

    def _show(self, columns: Sequence[Column]) -> None:
        """Make these the columns of later steps."""
        kept = {column.sql for column in columns}
        left = [column.name for column in self.names.columns if column.sql not in kept]
        self.names.gone |= set(left)
        self.names.dropped.update(dict.fromkeys(map(normalize, left), self.step.text))
        columns = list({(column.name, column.sql): column for column in columns}.values())
        names = unique_names(column.name for column in columns)
        self.names.columns = [replace(column, name=name) for column, name in zip(columns, names, strict=True)]
        shown = {column.sql: column for column in self.names.columns}
        self.partition = tuple(shown.get(column.sql, column) for column in self.partition)

    # Functions of rows and groups

    def _is_summary(self, tree: exp.Expr) -> bool:
        """Return whether an item is computed from all rows: it has functions of rows, and no columns beside them."""
        tree = _normal(self._with_known(tree.copy()))
        functions = [node for node in tree.walk() if is_aggregate(node)]
        if not functions:
            return False
        is_windowed = any(
            (isinstance(node, exp.Window) or function_of(node) in _NEIGHBOURS) and not _is_inside_aggregate(node)
            for node in tree.walk()
        )
        return not _columns_beside(tree) and not is_windowed

    def _require_one_window(self, tree: exp.Expr) -> None:
        """Refuse ``max(x) - min(x) over 30``, whose first function may be of all rows or of 30, and change over 5."""
        for one in tree.find_all(exp.Window):
            if function_of(one.this) in _NEIGHBOURS and (count := _count_of(one)):
                form = re.sub(r"(\w+)\(([^()]*)\)\s+over\s+\d+", rf"\1(\2, {count})", self.step.text)
                raise self._invalid(f"{_text(one.this)} compares two rows", f"Write {form}.", [form])
        windows = [one for one in tree.find_all(exp.Window) if not isinstance(one.parent, exp.Paren | exp.Alias)]
        beside = [one for one in tree.walk() if is_aggregate(one)]
        if windows and beside and all(column.find_ancestor(exp.Window) for column in _columns_beside(tree)):
            count = _count_of(windows[0])
            problem = f"{_text(beside[0])} is of all rows, and {_text(windows[0].this)} of {count or 'some'}"
            forms = [_ALONE.sub(rf"\1 over {count}", self.step.text)] if count else []
            raise self._invalid(problem, "Write over behind each, or set what has it in parentheses.", forms)

    def _group(self, clause: Clause) -> None:
        if self.groups is not None:
            raise self._invalid("the rows are grouped already", "Group once, by several: by type, month.")
        trees = self._parsed(clause.text)
        self._summarize(trees, split_items(clause.by))

    def _group_key(self, text: str) -> tuple[Column, str]:
        """Return the column of a group, and its unit of time or an empty text."""
        unit = text.lower()
        if unit in UNITS_OF_GROUPS and self.names.exact(text) is None:
            if self.names.date is None:
                raise self._invalid(f"by {unit} needs a column of dates, which there is not")
            sql = self._add(_SHOWN_PARTS[unit].format(self._loaded(self.names.date).sql))
            kind = Kind.INTEGER if unit == "year" else Kind.TEXT
            return Column(text, sql, kind, is_key=True, written=f'"{unit}"'), unit
        trees = self._parsed(text)
        if len(trees) != 1 or self._is_summary(trees[0]):
            raise self._invalid(f"{quoted_name(text)} cannot group rows", "Write by and a column, or by month.")
        column = self._computed_column(trees[0])
        return replace(column, is_key=True, index=None), ""

    def _summarize(self, trees: Sequence[exp.Expr], by: Sequence[str]) -> None:
        """Compute functions of all rows, or of groups."""
        found = [self._group_key(text) for text in by]
        keys = [*(column for column in self.partition if column.sql not in {key.sql for key, _ in found}),
                *(key for key, _ in found)]  # fmt: skip
        outputs: list[tuple[Column, exp.Expr | None]] = []
        parts: list[str] = []
        for tree in trees:
            inner = tree.unalias()
            alias, written = tree.alias if inner is not tree else "", _written(inner)
            if any(written in (key.written, f'"{key.name.lower()}"') for key in keys):
                continue
            node, late = self._of_group(inner, by)
            # Behind "count as n by type", count alone counts the groups.
            written = "" if alias and written == "count(*)" else written
            column = Column(alias or _text(inner), self._new_name(), kind_of(node), written=written)
            for one in late:
                name = self._new_name()
                parts.append(f"{dialect.sql_of(one.expressions[0])} AS {name}")
                one.expressions[0].replace(node_of(Column(name, name, Kind.NUMBER)))
            if not late:
                self._require_grouped(node, keys, inner)
                parts.append(f"{dialect.sql_of(node)} AS {column.sql}")
            outputs.append((column, node if late else None))
        # With one maximum or minimum alone, SQLite returns the row that it is of.
        is_extreme = not by and len(trees) == 1 and isinstance(trees[0].unalias(), exp.Max | exp.Min)
        dated = self.names.date
        dated = dated if is_extreme and dated is not None and dated.index is not None else None
        day = self._loaded(dated).sql if dated is not None else ""
        self.ctes.append(self._grouped(keys, [*parts, day] if day else parts, keeps_row=dated is not None))
        if day:  # a maximum of no values is of no row
            columns = ", ".join(column.sql for column in [*keys, outputs[0][0]])
            dates = ", ".join(f"iif({outputs[0][0].sql} IS NULL, NULL, {one}) AS {one}" for one in ("_r", day))
            self.ctes.append(f"SELECT _p, {dates}, _d, {columns} FROM {self._current}")
        self.place, self.is_ordered = "_p", False
        self.is_summary = not keys
        self.groups = tuple(unit for _, unit in found) if by else None
        shown = [*(replace(key, index=None) for key in keys), *((dated,) if dated else ())]
        self._show([*shown, *(column for column, _ in outputs)])
        self.names.nested = ()
        self._late(outputs, keys, found)
        if by and not any(unit not in ("", "weekday") for _, unit in found):
            self.names.date = None  # groups that are no periods are in the order of the list
        elif self.names.date is not None:
            self.names.date = replace(self.names.date, sql="_d", index=None)
        self.partition = tuple(replace(column, index=None) for column in self.partition)

    def _grouped(self, keys: Sequence[Column], parts: Sequence[str], *, keeps_row: bool) -> str:
        dated = self.names.date
        place, row, day = f"min({self.place})", "NULL", "NULL"
        if keeps_row:
            place, row = self.place, "_r"
        elif dated is not None:
            day = f"max({self._loaded(dated).sql})"
        columns = ", ".join([key.sql for key in keys] + list(parts))
        grouped = f" GROUP BY {', '.join(key.sql for key in keys)}" if keys else ""
        return f"SELECT {place} AS _p, {row} AS _r, {day} AS _d, {columns} FROM {self._current}{grouped}"

    def _of_group(self, tree: exp.Expr, by: Sequence[str]) -> tuple[exp.Expr, list[exp.Expr]]:
        """Return an item with functions of a group's rows, and the functions that look at the group before."""
        node = self._resolved(tree.copy())
        if any(is_aggregate(one) and _is_inside_aggregate(one) for one in node.walk()):
            raise self._invalid(f"{_text(tree)} has a function of all rows inside another")
        late: list[exp.Expr] = []
        for one in reversed(list(node.walk(bfs=False))):
            if self._is_windowed(one):
                if _is_inside_aggregate(one):
                    node = replaced(node, one, self._hoisted(one))
                elif isinstance(one, exp.Window) or not by:
                    raise self._invalid(f"{_text(tree)} is a value for each row", "Write it as a step of its own.")
                else:
                    if not any(is_aggregate(part) for part in one.expressions[0].walk()):
                        one.expressions[0].replace(call_of("last", one.expressions[0].copy()))
                    late.append(one)
        node = self._adapted(node)
        self._complete_ends(node)
        return node, [one for one in node.walk() if function_of(one) in _NEIGHBOURS] if late else []

    def _require_grouped(self, node: exp.Expr, keys: Sequence[Column], tree: exp.Expr) -> None:
        for column in node.find_all(exp.Column):
            if column.name not in {key.sql for key in keys} and not _is_inside_aggregate(column):
                known = column_of(column)
                name = known.name if known is not None else column.name
                last = f"last({written_name(name)})"
                items = [last if item == _text(tree) else item for item in split_items(self.step.clause.text)]
                raise self._invalid(
                    f"{quoted_name(name)} has a value for each row, and a group needs one",
                    f"Write e.g. {last} or avg({written_name(name)}).",
                    [f"{', '.join(items)} by {self.step.clause.by}"],
                )

    def _late(
        self,
        outputs: Sequence[tuple[Column, exp.Expr | None]],
        keys: Sequence[Column],
        found: Sequence[tuple[Column, str]],
    ) -> None:
        """Compute what looks at the group before."""
        pending = [(column.sql, node) for column, node in outputs if node is not None]
        if not pending:
            return
        if not any(unit for _, unit in found):
            raise self._invalid("the group before is known of periods only", "Write by year, by quarter or by month.")
        units = {key.sql for key, unit in found if unit}
        parts = ", ".join(key.sql for key in keys if key.sql not in units)
        window = f"{f'PARTITION BY {parts} ' if parts else ''}ORDER BY _d"
        for sql, given in pending:
            node = given
            for one in [one for one in node.walk() if function_of(one) in _NEIGHBOURS]:
                node = replaced(node, one, self._neighbour(one, window))
            self._add(dialect.sql_of(node), sql)
        self.notes.append("The first group has no group before it, and no change.")

    # Rows

    def _distinct(self, clause: Clause) -> None:
        columns = [self._computed_column(tree) for tree in self._parsed(clause.text)]
        listed_columns = ", ".join(column.sql for column in columns)
        selected = f"SELECT min({self.place}) AS _p, min(_r) AS _r, {listed_columns}"
        self.ctes.append(f"{selected} FROM {self._current} GROUP BY {listed_columns}")
        self.place = "_p"
        kept, dated = {column.sql for column in columns}, self.names.date
        self._show([replace(column, is_key=dated is not None and column.sql == dated.sql) for column in columns])
        self.partition = tuple(column for column in self.partition if column.sql in kept)
        if self.names.date is not None and self.names.date.sql not in kept:
            self.names.date = None

    def _order(self, clause: Clause) -> None:
        if clause.by:
            dated = self._date(f"{clause.by} first")
            self._sort([f"{dated.sql} {'DESC' if clause.by == 'newest' else 'ASC'} NULLS LAST"])
            return
        keys = []
        for text in split_items(clause.text):
            name, _, direction = text.rpartition(" ")
            if not name or direction.upper() not in ("ASC", "DESC"):
                name, direction = text, "ASC"
            keys.append(f"{self._ranked(name.rstrip())} {direction.upper()} NULLS LAST")
        self._sort(keys)

    def _ranked(self, text: str) -> str:
        trees = self._parsed(text)
        if len(trees) != 1:
            raise self._invalid(f"{quoted_name(text)} is no single value", forms=[f"order by {text}"])
        node = self._row(exp.Ordered(this=trees[0]))
        inner = node.this
        if kind_of(inner) is Kind.TEXT and isinstance(inner, exp.Column):
            return f"{dialect.sql_of(inner)} COLLATE NOCASE"
        return dialect.sql_of(inner)

    def _sort(self, keys: Sequence[str]) -> None:
        self.place = self._add(f"row_number() OVER (ORDER BY {', '.join([*keys, self.place])})")
        self.is_ordered = True

    def _top(self, clause: Clause) -> None:
        key = f"{self._ranked(clause.by)} {'DESC' if clause.kind == 'top' else 'ASC'} NULLS LAST"
        (count,) = clause.numbers
        self._add(tail=f"ORDER BY {key}, {self.place} LIMIT {count}")
        self._sort([key])

    def _limit(self, clause: Clause) -> None:
        count, offset = clause.numbers
        self._add(tail=f"ORDER BY {self.place} LIMIT {count} OFFSET {offset}")

    def _slice(self, clause: Clause) -> None:
        start, stop = clause.numbers
        if (start or 0) < 0 or (stop or 0) < 0:
            if not self.is_ordered:
                count = abs(start if start is not None and start < 0 else stop or 0)
                raise self._invalid(
                    "a place counted from the end needs an order", f"Write last {count}.", [f"last {count}"]
                )
            total = self.count()
            start, stop = (None if one is None else max(one + total, 0) if one < 0 else one for one in (start, stop))
        first = start or 0
        count = -1 if stop is None else max(stop - first, 0)
        self._limit(Clause("limit", numbers=(count, first)))

    def _ends(self, clause: Clause) -> None:
        """Choose the first or last rows: by date, or behind an order by place."""
        (count,) = clause.numbers
        is_last, dated = clause.kind == "last", self.names.date
        direction = "DESC" if is_last else "ASC"
        if self.is_ordered or dated is None:
            order = f"{self.place} {direction}"
            if not self.is_ordered and (problem := self._misfit_of_dates()):
                raise self._invalid(f"{clause.kind} goes by date, and {problem}", f"Write limit {count} for a place.")
            if not self.is_ordered:
                end = "end" if is_last else "beginning"
                self._note(f"There is no column of dates: these are from the {end} of the list.")
        else:
            tie = self._tie(is_reversed=is_last)
            order = f"{self._loaded(dated).sql} {direction} NULLS LAST, {tie}"
        if not self.partition:
            self._add(tail=f"ORDER BY {order} LIMIT {count or 0}")
            return
        rank = self._add(f"row_number() OVER ({self._partition_by}ORDER BY {order})")
        self._add(tail=f"WHERE {rank} <= {count or 0}")

    def _period(self, clause: Clause) -> None:
        if self.groups is not None and self.names.date is None:
            raise self._invalid("groups that are not periods have no dates", "Write the period before the groups.")
        dated = self._date(self.step.text)
        if not clause.unit:
            self._add(tail=f"WHERE {dialect.sql_of(self._adapted(periods.comparison(clause, dated)))}")
            return
        count = (clause.numbers[0] if clause.numbers else 0) or 0
        if clause.unit == "day" and 0 < count <= periods.MAX_DATED_ROWS and periods.are_daily(self.rows.dates()):
            rank = self._add(f"dense_rank() OVER ({self._partition_by}ORDER BY substr({dated.sql}, 1, 10) DESC)")
            condition = f"{dated.sql} IS NOT NULL AND {rank} <= {count}"
            note = f"last {count} days: the last {count} dates that have rows."
        else:
            parts = [column.sql for column in self.partition]
            columns = ", ".join([*parts, f"max({dated.sql})"])
            grouped = f" GROUP BY {', '.join(parts)}" if parts else ""
            newest_of = self.rows.run(self.ctes, f"SELECT {columns} FROM {self._current}{grouped}")
            condition, note = periods.relative(clause, dated.sql, parts, newest_of, self.today)
        self._add(tail=f"WHERE {condition}")
        self._note(note)

    # Expressions

    def _parsed(self, text: str) -> list[exp.Expr]:
        """Return the items of a text; each knows how it is written."""
        counted = self.names.exact("count")
        has_count = counted is not None and counted.index is None
        trees = expressions.parse_items(
            text, lambda name: self.names.exact(name) is not None, self.step.offset, has_count=has_count
        )
        texts = split_items(text)
        for tree, written in zip(trees, texts if len(texts) == len(trees) else (), strict=False):
            tree.unalias().meta["text"] = _AS.split(written)[0]
        return trees

    def _row(self, tree: exp.Expr) -> exp.Expr:
        """Return an expression of a row; functions of rows in it are columns that are added first."""
        node = self._resolved(tree.copy())
        node = transformed(node, lambda one: self._hoisted(one) if self._is_windowed(one) or is_aggregate(one) else one)
        return self._adapted(node)

    def _resolved(self, tree: exp.Expr) -> exp.Expr:
        """Return a tree whose columns are those of SQL."""
        tree = _normal(self._with_known(tree))
        for one in list(tree.find_all(exp.Column)):
            if "column" not in one.meta:
                tree = replaced(tree, one, self._column_node(one))
        return tree

    def _with_known(self, tree: exp.Expr) -> exp.Expr:
        """Return a tree with the columns that earlier steps have computed in place of what computed them."""
        for one in list(tree.walk()):
            is_call = isinstance(one.parent, exp.Window) and one.arg_key == "this"
            if one is not tree and (is_call or isinstance(one, exp.Column | exp.Identifier)):
                continue
            written = _written(one)
            known = next((column for column in self.names.columns if column.written == written), None)
            if known is not None:
                tree = replaced(tree, one, node_of(self._loaded(known)))
        return tree

    def _column_node(self, node: exp.Column) -> exp.Expr:
        name = ".".join(part.name for part in node.parts)
        column, part = self.names.find(name), name.lower()
        if column is None and part in PARTS_OF_DATES and self.names.date is not None:
            dated = node_of(self._loaded(self.names.date))
            return call_of("dayname", dated) if part == "weekday" else call_of("date_part", part, dated)
        return node_of(self._loaded(column if column is not None else self._column(name)))

    def _column(self, name: str) -> Column:
        column = self.names.find(name)
        if column is None:
            forms = []
            if step := self.names.dropped.get(normalize(name)):
                at = self.before.index(step)
                if any(is_aggregate(one) for tree in self._parsed(self.step.clause.text) for one in tree.walk()):
                    forms = ["; ".join([*self.before[:at], f"{self.step.text} by {step}", *self.before[at + 1 :]])]
                forms += ["; ".join([*self.before[:at], self.step.text, *self.before[at:]])]
            known = known_names(self.rows.table, [one.name for one in self.names.columns])
            raise self.names.unknown(name, known, offset=self.step.offset, forms=forms)
        return column

    def _loaded(self, column: Column) -> Column:
        """Return a column with its kind, and load it with the table."""
        return self.rows.typed(column) if column.index is not None and column.sql.startswith("c") else column

    def _adapted(self, tree: exp.Expr) -> exp.Expr:
        return Adapter(self.today).adapt(tree)

    def _is_windowed(self, node: exp.Expr) -> bool:
        return isinstance(node, exp.Window) or (
            function_of(node) in _NEIGHBOURS and not isinstance(node.parent, exp.Window)
        )

    def _hoisted(self, node: exp.Expr) -> exp.Expr:
        """Add what looks at other rows as a column, and return that."""
        inner = self._adapted(node.copy())
        kind = kind_of(inner)
        if self._is_windowed(node):
            inner = self._window(inner) if isinstance(inner, exp.Window) else self._neighbour(inner, self._by_time)
            sql = dialect.sql_of(inner)
        else:
            self._complete_ends(inner)
            inner_sql = dialect.sql_of(inner)
            if self.partition:
                parts = ", ".join(column.sql for column in self.partition)
                sql = f"{inner_sql} OVER (PARTITION BY {parts})"
            else:
                sql = f"(SELECT {inner_sql} FROM {self._current})"
        name = self._add(sql)
        return node_of(Column(name, name, kind))

    def _neighbour(self, node: exp.Expr, window: str) -> exp.Expr:
        """Return a value against the one before it in time."""
        argument, *others = node.expressions
        value = dialect.sql_of(argument)
        count = int(others[0].name) if others and isinstance(others[0], exp.Literal) and others[0].is_int else 1
        before = self._add(f"lag({value}, {count}) OVER ({window})")
        text = {
            "lag": before,
            "change": f"({value}) - {before}",
            "pct_change": f"(({value}) - {before}) * 100.0 / nullif(abs({before}), 0)",
        }[function_of(node)]
        return exp.Var(this=f"({text})")

    def _window(self, node: exp.Window) -> exp.Expr:
        """Return ``avg(x) over 20`` by time, null where a row or a value is missing; other windows as written."""
        spec = node.args.get("spec")
        if node.args.get("order") is not None or node.args.get("partition_by") or spec is None:
            return node
        count = _count_of(node)
        function = node.this
        argument = argument_of(function)
        rows = f"({self._by_time} ROWS BETWEEN {count - 1} PRECEDING AND CURRENT ROW)"
        self._complete_ends(function)
        counted = dialect.sql_of(argument) if argument is not None and not isinstance(argument, exp.Star) else "1"
        return exp.Var(
            this=f"(CASE WHEN count({counted}) OVER {rows} = {count} THEN {dialect.sql_of(function)} OVER {rows} END)"
        )

    def _complete_ends(self, tree: exp.Expr) -> None:
        """Give ``first`` and ``last`` the date and the place by which they choose."""
        for one in tree.walk():
            if function_of(one) in ("first", "last") and len(one.expressions) == 1:
                dated = self.names.date
                day = exp.Literal.number(1) if dated is None else node_of(self._loaded(dated))
                place = f"-{self.place}" if self.rows.is_newest_first and dated is not None else self.place
                one.set("expressions", [one.expressions[0], day, exp.Var(this=place)])

    @property
    def _by_time(self) -> str:
        dated = self.names.date
        if dated is None:
            self._note("There is no column of dates: rows are compared in the order of the list.")
            return f"{self._partition_by}ORDER BY {self.place}"
        day = self._loaded(dated).sql
        if not self.partition and (dated.index is None or not self.rows.has_distinct_dates):
            counts = f"SELECT count({day}) - count(DISTINCT {day}) FROM {self._current}"
            ((repeated,),) = self.rows.run(self.ctes, counts)
            if repeated:
                self._note(f"{repeated:,} rows have the same date as another; choose one series to compare its rows.")
        return f"{self._partition_by}ORDER BY {day}, {self._tie(is_reversed=False)}"

    def _tie(self, *, is_reversed: bool) -> str:
        """Return the order of rows of one date: as in time, where the newest are listed first from the last one on."""
        return f"{self.place} {'DESC' if self.rows.is_newest_first != is_reversed else 'ASC'}"

    @property
    def _partition_by(self) -> str:
        return f"PARTITION BY {', '.join(column.sql for column in self.partition)} " if self.partition else ""

    def _date(self, what: str) -> Column:
        if self.names.date is None:
            problem = self._misfit_of_dates() or "there is none here"
            raise self._invalid(
                f"{quoted_name(what)} needs a column of dates, and {problem}",
                f"Columns: {listed(column.name for column in self.names.columns)}.",
            )
        return self._loaded(self.names.date)

    def _misfit_of_dates(self) -> str:
        """Return which column has dates beside something else; empty: there is no such column."""
        for column in self.names.columns:
            if column.index is None:
                continue
            typed = self.rows.table.type_of(column.index)
            some = [row[column.index] for row in self.rows.table.rows[:_ROWS_WITH_A_DATE]]
            if typed.kind is Kind.MIXED and any(
                isinstance(cell, str) and len(cell) > 5 and parse_date(cell) for cell in some
            ):
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

    def _note(self, note: str) -> None:
        if note and note not in self.notes:
            self.notes.append(note)

    def _invalid(self, problem: str, next_step: str = "", forms: Sequence[str] = ()) -> InvalidSelect:
        others = ["; ".join([*self.before, form]) for form in forms]
        return invalid(problem, next_step, offset=self.step.offset, forms=others)

    def count(self) -> int:
        """Return how many rows there are at this step."""
        ((found,),) = self.rows.run(self.ctes, f"SELECT count(*) FROM {self._current}")
        return int(found)

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
                self._note(f"{quoted_name(column.name)} is null where rows before it are missing.")
        return self.rows.shown(columns, computed, found)


def _is_inside_aggregate(node: exp.Expr) -> bool:
    parent = node.parent
    while parent is not None:
        if is_aggregate(parent):
            return True
        parent = parent.parent
    return False


def _columns_beside(tree: exp.Expr) -> list[exp.Column]:
    """Return the columns of an expression that are outside its functions of all rows."""
    inner = {id(column) for one in tree.walk() if is_aggregate(one) for column in one.find_all(exp.Column)}
    return [column for column in tree.find_all(exp.Column) if id(column) not in inner]


def _count_of(window: exp.Window) -> int:
    """Return the rows of ``over 20``; 0 for other windows."""
    spec = window.args.get("spec")
    return 0 if spec is None or not str(spec.args["start"]).isdecimal() else int(spec.args["start"].name) + 1


def _normal(tree: exp.Expr) -> exp.Expr:
    """Return a tree with the functions of SQLite and of ``select``."""
    tree = dialect.to_sqlite(tree)
    for lag in list(tree.find_all(exp.Lag)):
        if not isinstance(lag.parent, exp.Window):
            offset = lag.args.get("offset")
            tree = replaced(tree, lag, call_of("lag", lag.this.copy(), *([] if offset is None else [offset.copy()])))
    for one in tree.walk():
        if function_of(one) in _NEIGHBOURS and not one.expressions:
            name = function_of(one)
            raise invalid(f"{name} needs a column", f"Write {name}(x), with the name of a column.")
        if isinstance(one, exp.Count) and one.this is not None and is_condition(one.this):
            raise invalid(
                f"{_text(one)} counts each row in which the condition has a value, true or false",
                "Write sum, or the condition as a step before count.",
                replaces=[(r"\bcount\((?!\*)", "sum(")],
            )
    return tree


def _written(tree: exp.Expr) -> str:
    """Return an expression in one spelling, to find it again."""
    return str(tree.sql()).lower()


def _text(tree: exp.Expr) -> str:
    """Return an expression as it is written."""
    if text := tree.unalias().meta.get("text"):
        return str(text)
    named = tree.copy()
    for identifier in named.find_all(exp.Identifier):
        if identifier.name.isidentifier():
            identifier.set("quoted", False)
    return str(named.sql(normalize_functions="lower"))
