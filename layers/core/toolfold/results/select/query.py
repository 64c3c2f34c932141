"""Apply the steps of a ``select`` to the rows of one table, each as a common table expression of SQL."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from toolfold.fuzzy import normalize
from toolfold.results.select import coverage, dialect
from toolfold.results.select.adapter import require_flat
from toolfold.results.select.dialect import NEIGHBOURS, function_of, is_aggregate, is_condition, kind_of, replaced
from toolfold.results.select.expressions import split_items
from toolfold.results.select.grammar import Clause, Step
from toolfold.results.select.names import Column, invalid, listed, written_name
from toolfold.results.select.row_steps import RowSteps
from toolfold.results.select.view import is_inside_aggregate, normal, text_of, written_form
from toolfold.results.types import Kind
from toolfold.results.values import unique_names
from toolfold.text_safety import quoted_name

_SHOWN_PARTS = {
    "year": "CAST(substr({0}, 1, 4) AS INTEGER)",
    "quarter": "substr({0}, 1, 4) || '-Q' || ((substr({0}, 6, 2) + 2) / 3)",
    "month": "substr({0}, 1, 7)",
    "week": "date_format({0}, '%G-W%V')",
    "weekday": "dayname({0})",
    "day": "substr({0}, 1, 10)",
}
"""Unit of groups → what its groups are called, as SQL of a date in ISO 8601."""

_ORDERED = re.compile(r"\border\s+by\b[^()]*(?:\([^()]*\)[^()]*)*$", re.I)
"""``ORDER BY`` of a whole statement, outside parentheses."""

_MOST_LABELS = 3
"""Columns that are looked at for a note on rows that are taken together: each takes a statement."""

_MAX_COLUMNS = 250
"""Columns and calculations in one step."""


class Query(RowSteps):
    """The steps over one table, as far as they have been applied."""

    def apply(self, step: Step) -> None:
        """Apply one step.

        Raises:
            InvalidSelect: it does not fit the columns.
        """
        self.step, clause = step, step.clause
        kind = clause.kind
        if self.is_summary and kind in ("period", "first", "last", "top", "bottom", "slice", "order", "group"):
            text = quoted_name(step.text)
            problem = f"{text} comes behind {quoted_name(self.before[-1])}, which leaves one row"
            raise invalid(problem, f"Leave {text} out.", offset=step.offset)
        if kind in ("period", "first", "last", "all", "slice") and step.text in self.names:
            count = f"{kind} {clause.count}" if kind in ("first", "last") else ""
            form = f'"{step.text}"'
            next_step = f"Write {form} for the column, or {count or 'since or until a date'} for the rows."
            raise invalid(f"{step.text} is a column and a step", next_step, offset=step.offset, forms=[form])
        handlers: dict[str, Callable[[Clause], None]] = {
            "items": self._items, "group": self._group, "distinct": self._distinct, "order": self._order,
            "first": self._ends, "last": self._ends, "top": self._top, "bottom": self._top,
            "slice": self._slice, "period": self._period, "all": lambda _clause: None,
        }  # fmt: skip
        handlers[kind](clause)
        self.before.append(step.text)

    def follow(self, query: Query, step: Step) -> None:
        """Take up what is known of the rows that a statement of SQL was run on."""
        text = step.text
        self.names.notes, self.absent, self.request = query.names.notes, query.absent, query.request
        self.before = [*query.before, text]
        self.is_ordered = _ORDERED.search(text) is not None
        shown = {column.name for column in self.names.columns}
        before = {column.name: text for column in query.names.columns}
        self.names.dropped = {name: by for name, by in {**query.names.dropped, **before}.items() if name not in shown}

    def _items(self, clause: Clause) -> None:
        if clause.text.startswith("* except "):
            names = split_items(clause.text.removeprefix("* except "))
            dropped = {self._column(name.strip('"')).sql for name in names}
            self._show([column for column in self.names.columns if column.sql not in dropped])
            return
        trees = self._parsed(clause.text)
        if len(trees) == 1 and is_condition(trees[0]) and not isinstance(trees[0], exp.Alias):
            self.request.condition(trees[0])
            self._add(tail=f"WHERE {dialect.sql_of(self._row(trees[0]))}")
            return
        if any(is_condition(tree) and not isinstance(tree, exp.Alias) for tree in trees):
            parts = split_items(clause.text)
            raise self._invalid("conditions and columns are steps of their own", forms=["; ".join(parts)])
        self.request.columns(trees)
        summaries = [self._is_summary(tree) for tree in trees]
        if any(summaries) and not all(summaries):
            functions, others = (
                ", ".join(text_of(tree) for tree, is_one in zip(trees, summaries, strict=True) if is_one is wanted)
                for wanted in (True, False)
            )
            dated = self.names.date
            is_day = dated is not None and self.names.find(others) == dated and len(trees) == 2
            is_day = is_day and any(isinstance(tree, exp.Max | exp.Min) for tree in trees)  # these have the date
            form = functions if is_day else f"{functions} by {others}"
            raise self._invalid(f"{functions} is one value, and {others} a value for each row", forms=[form])
        if all(summaries):
            if clause.text.lower() in ("count", "count(*)"):
                chosen = [column.name for column in self.names.columns if not column.is_key]
                before = self.before[-1].removeprefix("where ") if self.before else ""
                if len(chosen) == 1 and normalize(before) == normalize(chosen[0]):
                    self.names.note(f"{quoted_name(chosen[0])} is a column, which chooses no rows: all are counted.")
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
        found = dialect.column_of(node)
        known = (*self.names.columns, *self.names.nested)
        column = next((one for one in known if found is not None and one.sql == found.sql), None)
        if column is not None:
            name = column.name if isinstance(inner.unnest(), exp.Column | exp.Identifier) else text_of(inner)
            return replace(self.loaded(column), name=alias or name)
        if not any(node.find_all(exp.Column)):
            columns = listed(one.name for one in self.names.columns)
            raise self._invalid(f"{text_of(inner)} is no column", f"Columns: {columns}.")
        unit = "%" if function_of(normal(inner.copy())) == "pct_change" else ""
        sql = self._add(dialect.sql_of(node))
        looks_back = any(self._is_windowed(one) for one in dialect.to_sqlite(inner.copy()).walk())
        name, written = alias or text_of(inner), written_form(inner)
        return Column(name, sql, kind_of(node), unit=unit, written=written, looks_back=looks_back)

    def _show(self, columns: Sequence[Column]) -> None:
        """Make these the columns of later steps."""
        shown, dated = {column.name for column in columns}, self.names.date
        # A column that has another name now is left out by its former one, but for "date": the column of dates.
        kept = {column.sql for column in columns if dated is not None and column.sql == dated.sql}
        left = [one.name for one in self.names.columns if one.name not in shown and one.sql not in kept]
        bases = {normalize(name) for name in left}
        lost = [one for one in self.names.nested if normalize(one.name.partition(".")[0]) in bases]
        left += [one.name for one in lost if one.name not in shown]
        self.names.nested = [one for one in self.names.nested if one not in lost]
        self.names.dropped.update(dict.fromkeys(left, self.step.text))
        columns = list({(column.name, column.sql): column for column in columns}.values())
        names = unique_names(column.name for column in columns)
        self.names.columns = [replace(column, name=name) for column, name in zip(columns, names, strict=True)]
        loaded = {column.sql: column for column in self.names.columns}
        self.partition = tuple(loaded.get(column.sql, column) for column in self.partition)

    # Functions of rows and groups

    def _require_one_window(self, tree: exp.Expr) -> None:
        """Refuse ``max(x) - min(x) over 30``, whose first function may be of all rows or of 30, and change over 5."""
        windows = list(tree.find_all(exp.Window))
        for one in windows:
            if function_of(one.this) in NEIGHBOURS and (count := dialect.count_of(one)):
                raise self._invalid(
                    f"{text_of(one.this)} compares two rows", f"Write {function_of(one.this)}(x, {count})."
                )
        open_ones = [one for one in windows if not isinstance(one.parent, exp.Paren | exp.Alias)]
        beside = [one for one in tree.walk() if is_aggregate(one)]
        outside = [one for one in tree.find_all(exp.Column) if not is_inside_aggregate(one)]
        if open_ones and beside and all(column.find_ancestor(exp.Window) for column in outside):
            count = dialect.count_of(open_ones[0])
            problem = f"{text_of(beside[0])} is of all rows, and {text_of(open_ones[0].this)} of {count or 'some'}"
            raise self._invalid(problem, "Write over behind each, or set what has it in parentheses.")

    def _group(self, clause: Clause) -> None:
        if self.groups is not None:
            raise self._invalid("the rows are grouped already", "Group once, by several: by type, month.")
        trees = self._parsed(clause.text)
        self.request.columns(trees, clause.by)
        self._summarize(trees, split_items(clause.by))

    def _group_key(self, text: str) -> tuple[Column, str]:
        """Return the column of a group, and its unit of time or an empty text."""
        unit = text.lower()
        if unit in _SHOWN_PARTS and text not in self.names and not self.names.step_without(text):
            dated = self._date(f"by {unit}")
            self.names.note(dated.zone_note)
            sql = self._add(_SHOWN_PARTS[unit].format(dated.sql))
            kind = Kind.INTEGER if unit == "year" else Kind.TEXT
            return Column(text, sql, kind, is_key=True, written=f'"{unit}"'), unit
        trees = self._parsed(text)
        if len(trees) != 1 or self._is_summary(trees[0]):
            raise self._invalid(f"{quoted_name(text)} cannot group rows", "Write by and a column, or by month.")
        if isinstance(trees[0], exp.Alias):  # in "sum(volume) by month as total", the name is meant for the sum
            raise self._invalid(f"{quoted_name(f'as {trees[0].alias}')} comes behind by", "Write as before by.")
        column = self._computed_column(trees[0])
        require_flat(dialect.node_of(column))
        return replace(column, is_key=True), ""

    def _summarize(self, trees: Sequence[exp.Expr], by: Sequence[str]) -> None:
        found = [self._group_key(text) for text in by]
        keys = [*(column for column in self.partition if column.sql not in {key.sql for key, _ in found}),
                *(key for key, _ in found)]  # fmt: skip
        self._note_mixed_rows(", ".join(key.sql for key in keys) or "NULL")
        outputs: list[Column] = []
        parts: list[str] = []
        later: dict[str, exp.Expr] = {}
        for tree in trees:
            inner = tree.unalias()
            alias, written = tree.alias if inner is not tree else "", written_form(inner)
            if any(written in (key.written, f'"{key.name.lower()}"') for key in keys):
                continue
            node = self._of_group(inner, by)
            # Behind "count as n by type", count alone counts the groups.
            written = "" if alias and written == "count(*)" else written
            column = Column(alias or text_of(inner), self._new_name(), kind_of(node), written=written)
            outputs.append(column)
            for one in [one for one in node.walk() if function_of(one) in NEIGHBOURS]:
                name = self._new_name()
                parts.append(f"{dialect.sql_of(one.expressions[0])} AS {name}")
                one.expressions[0].replace(dialect.node_of(Column(name, name, Kind.NUMBER)))
                later[column.sql] = node
            if column.sql not in later:
                self._require_grouped(node, keys)
                parts.append(f"{dialect.sql_of(node)} AS {column.sql}")
        # With one maximum or minimum alone, SQLite returns the row that it is of.
        is_extreme = not by and len(trees) == 1 and isinstance(trees[0].unalias(), exp.Max | exp.Min)
        dated = self.names.date
        dated = dated if is_extreme and dated is not None and dated.index is not None else None
        day = self.loaded(dated).sql if dated is not None else ""
        self.ctes.append(self._grouped(keys, [*parts, day] if day else parts, keeps_row=dated is not None))
        if day:  # a maximum of no values is of no row
            columns = ", ".join(column.sql for column in [*keys, outputs[0]])
            dates = ", ".join(f"iif({outputs[0].sql} IS NULL, NULL, {one}) AS {one}" for one in ("_r", day))
            self.ctes.append(f"SELECT _p, {dates}, _d, {columns} FROM {self._current}")
        self.place, self.is_ordered = "_p", False
        self.is_summary = not keys
        self.groups = tuple(unit for _, unit in found) if by else None
        self._show([*keys, *((dated,) if dated else ()), *outputs])
        self.names.nested = ()
        if later:
            self._compare_groups(later, keys, {key.sql for key, unit in found if unit})
        if by and not any(unit not in ("", "weekday") for _, unit in found):
            self.names.date = None  # groups that are no periods are in the order of the list
        elif self.names.date is not None:
            self.names.date = replace(self.names.date, sql="_d", index=None)
        self.partition = tuple(replace(column, index=None) for column in self.partition)

    def _note_mixed_rows(self, keys: str) -> None:
        """Note that functions are of rows that differ in their unit, or of one that may be the total of others."""
        functions = self.request.found.functions
        if not functions or self.is_summary or any(" GROUP BY " in cte for cte in self.ctes):
            return
        are_of_values = bool(functions & (dialect.OF_NUMBERS | dialect.OF_ORDERED))
        labels = coverage.labels_of_rows(self.rows.table, are_of_values=are_of_values)
        for index, total in itertools.islice(labels, _MOST_LABELS):
            name = quoted_name(self.rows.table.columns[index])
            cell = self.rows.typed(Column(name, f"c{index}", index=index)).sql
            having = f"min({cell}) != max({cell})" + f" AND max({cell} = '{total}')" * bool(total)
            statement = f"SELECT min({cell}), max({cell}) FROM {self._current} GROUP BY {keys} HAVING {having} LIMIT 1"
            for ends in self.rows.run(self.ctes, statement):
                differ = f"Rows that are taken together differ in {name}: {listed(map(str, ends))}."
                of_others = f"A row has {quoted_name(total)} as {name}: it may be the total of others."
                self.names.note(of_others if total else differ)

    def _grouped(self, keys: Sequence[Column], parts: Sequence[str], *, keeps_row: bool) -> str:
        dated = self.names.date
        # A cell of a key is shown as the first row of the group has it.
        place, row, day = f"min({self.place})", "min(_r)" if keys else "NULL", "NULL"
        if keeps_row:
            place, row = self.place, "_r"
        elif dated is not None:
            day = f"max({self.loaded(dated).sql})"
        columns = ", ".join([*(key.sql for key in keys), *parts])
        grouped = f" GROUP BY {', '.join(key.sql for key in keys)}" if keys else ""
        return f"SELECT {place} AS _p, {row} AS _r, {day} AS _d, {columns} FROM {self._current}{grouped}"

    def _of_group(self, tree: exp.Expr, by: Sequence[str]) -> exp.Expr:
        """Return an item with functions of a group's rows; change and lag outside of these stay."""
        node = self._resolved(tree.copy())
        if any(is_aggregate(one) and is_inside_aggregate(one) for one in node.walk()):
            raise self._invalid(f"{text_of(tree)} has a function of all rows inside another")
        for one in [one for one in reversed(list(node.walk(bfs=False))) if self._is_windowed(one)]:
            if is_inside_aggregate(one):
                node = replaced(node, one, self._hoisted(one))
            elif isinstance(one, exp.Window) or not by:
                raise self._invalid(f"{text_of(tree)} is a value for each row", "Write it as a step of its own.")
            elif not any(is_aggregate(part) for part in one.expressions[0].walk()):
                one.expressions[0].replace(dialect.call_of("last", one.expressions[0].copy()))
        node = self._adapted(node)
        self._complete_ends(node)
        return node

    def _require_grouped(self, node: exp.Expr, keys: Sequence[Column]) -> None:
        for column in node.find_all(exp.Column):
            if column.name not in {key.sql for key in keys} and not is_inside_aggregate(column):
                known = dialect.column_of(column)
                name = known.name if known is not None else column.name
                problem = f"{quoted_name(name)} has a value for each row, and a group needs one"
                raise self._invalid(problem, f"Write e.g. last({written_name(name)}) or avg({written_name(name)}).")

    def _compare_groups(self, later: Mapping[str, exp.Expr], keys: Sequence[Column], units: Collection[str]) -> None:
        """Compute what looks at the group before; ``units`` are the keys that are periods."""
        if not units:
            raise self._invalid("the group before is known of periods only", "Write by year, by quarter or by month.")
        parts = ", ".join(key.sql for key in keys if key.sql not in units)
        window = f"{f'PARTITION BY {parts} ' if parts else ''}ORDER BY _d"
        for name, given in later.items():
            node = given
            for one in [one for one in node.walk() if function_of(one) in NEIGHBOURS]:
                node = replaced(node, one, self._neighbour(one, window))
            self._add(dialect.sql_of(node), name)
        self.names.note("The first group has no group before it, and no change.")

    # Rows

    def _distinct(self, clause: Clause) -> None:
        self.request.summary()
        columns = [self._computed_column(tree) for tree in self._parsed(clause.text)]
        for column in columns:
            require_flat(dialect.node_of(column))
        self.ctes.append(self._grouped(columns, (), keeps_row=False))
        self.place = "_p"
        kept, dated = {column.sql for column in columns}, self.names.date
        self._show([replace(column, is_key=dated is not None and column.sql == dated.sql) for column in columns])
        self.partition = tuple(column for column in self.partition if column.sql in kept)
        if self.names.date is not None and self.names.date.sql not in kept:
            self.names.date = None
