"""Apply the steps that order and choose rows: by place, by rank, by date, and the periods that end at the newest row.

Dates are ISO 8601 texts, so they compare as texts. A period that ends at the newest row, or today, is written as a
condition on the dates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

from sqlglot import exp

from toolfold.dates import bounds, first_day, moved
from toolfold.results.select import dialect
from toolfold.results.select.coverage import DAILY_DAYS, step_days
from toolfold.results.select.dialect import is_aggregate, kind_of, node_of
from toolfold.results.select.expressions import split_items
from toolfold.results.select.grammar import Clause
from toolfold.results.select.names import listed
from toolfold.results.select.view import View, is_inside_aggregate, normal, text_of
from toolfold.results.types import Kind
from toolfold.text_safety import quoted_name

_MAX_DATED_ROWS = 10
"""Days of ``last 5 days`` up to which daily rows are counted, as the market or the source has them."""

_LONG_AGO_DAYS = 4
"""Before the first of too few days: over any weekend."""

_STEPS = {"previous": -1, "this": 0, "next": 1}


class RowSteps(View):
    """The steps that order and choose rows."""

    def _is_summary(self, tree: exp.Expr) -> bool:
        """Return whether an item is computed from all rows: it has functions of rows, and no columns beside them."""
        nodes = list(normal(self._with_known(tree.copy())).walk())
        outside = [node for node in nodes if not is_aggregate(node) and not is_inside_aggregate(node)]
        is_of_rows = any(isinstance(node, exp.Column) or self._is_windowed(node) for node in outside)
        return any(map(is_aggregate, nodes)) and not is_of_rows

    def _order(self, clause: Clause) -> None:
        if clause.by:
            self.request.order("date", is_descending=clause.by == "newest")
            direction = "DESC" if clause.by == "newest" else "ASC"
            dated = self._date(f"{clause.by} first")
            self._sort([f"{dated.sql} {direction} NULLS LAST"])
            return
        keys: list[str] = []
        for text in split_items(clause.text):
            name, _, direction = text.rpartition(" ")
            if not name or direction.upper() not in ("ASC", "DESC"):
                name, direction = text, "ASC"
            if not keys:
                self.request.order(name.rstrip(), is_descending=direction.upper() == "DESC")
            keys.append(f"{self._ranked(name.rstrip())} {direction.upper()} NULLS LAST")
        self._sort(keys)

    def _ranked(self, text: str) -> str:
        trees = self._parsed(text)
        if len(trees) != 1:
            raise self._invalid(f"{quoted_name(text)} is no single value", forms=[f"order by {text}"])
        node = self._row(exp.Ordered(this=trees[0]))
        inner = node.this
        if inner.find(exp.Column) is None or (self._is_summary(trees[0]) and not self.partition):
            columns = listed(one.name for one in self.names.columns)
            raise self._invalid(f"{text_of(trees[0])} is the same for all rows, which it cannot sort",
                                f"Name a column: {columns}.")  # fmt: skip
        collation = " COLLATE NOCASE" if kind_of(inner) is Kind.TEXT and isinstance(inner, exp.Column) else ""
        return f"{dialect.sql_of(inner)}{collation}"

    def _sort(self, keys: Sequence[str]) -> None:
        self.place = self._add(f"row_number() OVER (ORDER BY {', '.join([*keys, self.place])})")
        self.is_ordered = True

    def _top(self, clause: Clause) -> None:
        self.request.summary()
        key = f"{self._ranked(clause.by)} {'DESC' if clause.kind == 'top' else 'ASC'} NULLS LAST"
        self._add(tail=f"ORDER BY {key}, {self.place} LIMIT {clause.count}")
        self._sort([key])

    def _slice(self, clause: Clause) -> None:
        start, stop = clause.numbers
        self.request.slice(start, stop)
        if (start or 0) < 0 or (stop or 0) < 0:
            if not self.is_ordered:
                count = abs(start if start is not None and start < 0 else stop or 0)
                form = f"last {count}"
                raise self._invalid("a place counted from the end needs an order", f"Write {form}.", [form])
            ((total,),) = self.rows.run(self.ctes, f"SELECT count(*) FROM {self._current}")
            start, stop = (None if one is None else max(one + total, 0) if one < 0 else one for one in (start, stop))
        first = start or 0
        count = -1 if stop is None else max(stop - first, 0)
        self._add(tail=f"ORDER BY {self.place} LIMIT {count} OFFSET {first}")

    def _ends(self, clause: Clause) -> None:
        """Choose the first or last rows: by date, or behind an order by place."""
        is_last, count, dated = clause.kind == "last", clause.count, self.names.date
        self.request.rows(count, is_oldest_first=is_last != (self.request.ascends or not self.is_ordered))
        direction = "DESC" if is_last else "ASC"
        if self.is_ordered or dated is None:
            order = f"{self.place} {direction}"
            if not self.is_ordered and (problem := self._misfit_of_dates()):
                raise self._invalid(f"{clause.kind} goes by date, and {problem}", f"Write limit {count} for a place.")
            if not self.is_ordered and self.rows.table.rows:
                end = "end" if is_last else "beginning"
                self.names.note(f"There is no column of dates: these are from the {end} of the list.")
        else:
            tie = self._tie(is_reversed=is_last)
            order = f"{self.loaded(dated).sql} {direction} NULLS LAST, {tie}"
        rank = self._add(f"row_number() OVER ({self._partition_by}ORDER BY {order})")
        self._add(tail=f"WHERE {rank} <= {count}")

    def _period(self, clause: Clause) -> None:
        if self.groups is not None and self.names.date is None:
            raise self._invalid("groups that are not periods have no dates", "Write the period before the groups.")
        dated = self._date(self.step.text)
        if not clause.unit:
            (tree,) = self._parsed(clause.text)
            self.request.condition(tree)
            for column in list(tree.find_all(exp.Column)):
                column.replace(node_of(dated if dated.kind.is_date else replace(dated, kind=Kind.DATE)))
            self._add(tail=f"WHERE {dialect.sql_of(self._adapted(tree))}")
            return
        if first := _first_counted_day(clause, self.rows.table.dates, self.today):
            rank = self._add(f"dense_rank() OVER ({self._partition_by}ORDER BY substr({dated.sql}, 1, 10) DESC)")
            count, condition = clause.count, f"{dated.sql} IS NOT NULL AND {rank} <= {clause.count}"
            note = f"last {count} days: the last {count} dates that have rows." if count > 1 else ""
            self.request.narrow(first, "")
        else:
            parts = [column.sql for column in self.partition]
            columns = ", ".join([*parts, f"max({dated.sql})"])
            grouped = f" GROUP BY {', '.join(parts)}" if parts else ""
            newest_of = self.rows.run(self.ctes, f"SELECT {columns} FROM {self._current}{grouped}")
            spans = {tuple(key): _span(clause, newest, self.today) for *key, newest in newest_of if newest is not None}
            for low, high in spans.values():
                self.request.narrow(low[:10], "" if clause.count > 0 else high[:10])  # or up to the newest row
            condition, note = _relative(clause, dated.sql, parts, spans)
        self._add(tail=f"WHERE {condition}")
        self.names.note(note)


def _relative(
    clause: Clause, dated: str, parts: Sequence[str], spans: Mapping[tuple[Any, ...], tuple[str, str]]
) -> tuple[str, str]:
    """Return the condition in SQL of a relative period on the column ``dated``, and a note on its dates.

    ``spans``: values of the columns ``parts``, which have dates of their own → the first and last moment of these.
    """
    conditions = []
    for key, (low, high) in spans.items():
        same = "".join(f"{part} IS {exp.convert(value).sql()} AND " for part, value in zip(parts, key, strict=True))
        conditions.append(f"({same}{dated} >= {exp.convert(low).sql()} AND {dated} <= {exp.convert(high).sql()})")
    units = f"{abs(clause.count)} {clause.unit}{'s' if abs(clause.count) != 1 else ''}"
    words = f"{clause.by} {clause.unit}" if clause.by else f"{'last' if clause.count > 0 else 'next'} {units}"
    dates = {f"{low} to {high[:10] if 'T23:59:59' in high else high}" for low, high in spans.values()}
    note = f"{words}: {next(iter(dates))}." if len(dates) == 1 else ""
    return " OR ".join(conditions) or "0", note


def _span(clause: Clause, newest: str, today: date) -> tuple[str, str]:
    """Return the first and the last moment of a relative period, which ends at the newest row, or today."""
    last, count, day = min(bounds(newest)[0], today), clause.count, timedelta(days=1)
    if clause.by:
        unit = "day" if clause.unit in ("hour", "minute") else clause.unit
        low = _moved(first_day(today if clause.by == "next" else last, unit), _STEPS[clause.by], unit)
        high = _moved(low, 1, unit) - day
    elif clause.unit in ("hour", "minute"):
        first = _moved(datetime.fromisoformat(newest), -count, clause.unit) + timedelta(seconds=1)
        return first.isoformat(), newest
    elif count < 0:
        low, high = today + day, _moved(today, -count, clause.unit)
    else:
        low, high = _moved(last, -count, clause.unit) + day, last
    return low.isoformat(), f"{high}T23:59:59.999999"


def _first_counted_day(clause: Clause, dates: Iterable[str], today: date) -> str:
    """Return the first of ``last 5 days`` where those are the days that have rows; empty: another period.

    Where fewer days have rows, it is a day before all of them.
    """
    if clause.unit != "day" or not 0 < clause.count <= _MAX_DATED_ROWS:
        return ""
    known = sorted(set(dates))
    if len(known) < 2 or step_days(known) > DAILY_DAYS or known[-1] > f"{today}~":
        return ""
    days = sorted({text[:10] for text in known})
    has_all = clause.count <= len(days)
    return days[-clause.count] if has_all else _moved(bounds(days[0])[0], -_LONG_AGO_DAYS, "day").isoformat()


def _moved(day: date, count: int, unit: str) -> date:
    try:
        return moved(day, count, unit)
    except (ValueError, OverflowError):
        return date.max if count > 0 else date(1, 1, 1)
