"""A table between two steps, as the reference sees it: its columns, and what earlier steps dropped or left in doubt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from tests.fuzz.select.table import DATES, Column, Table


class Refused(Exception):
    """The specification requires an error."""


@dataclass(frozen=True)
class Vector:
    """The values of an expression: one for each row, or one for all (``is_scalar``)."""

    kind: str
    values: Sequence[Any]
    is_scalar: bool = False

    def each(self, count: int) -> Sequence[Any]:
        """Return one value for each of ``count`` rows."""
        return [self.values[0]] * count if self.is_scalar else self.values


@dataclass
class Frame:
    """A table after some steps.

    Args:
        name: its name in the answer.
        columns: its columns.
        count: its number of rows.
        keys: names of the varied arguments that it still has.
        stays: names of columns that stay with their rows beside the date: varied arguments, and what groups.
        is_ordered: ``order by`` or ``top`` came before, so that ``last N`` goes by place.
        is_summary: aggregates without ``by`` came before.
        dropped: names of columns that an earlier step left out.
        holds_date: the date stays with its rows: not where each call of a list has one row.
        hidden: the date column, where ``* except`` dropped it: rows are still in time.
        doubts: why the specification leaves this result open; shared by the whole pipeline.
        notes: why the result must carry a note; shared by the whole pipeline.
    """

    name: str
    columns: list[Column]
    count: int
    keys: tuple[str, ...] = ()
    stays: tuple[str, ...] = ()
    is_ordered: bool = False
    is_summary: bool = False
    dropped: frozenset[str] = frozenset()
    holds_date: bool = True
    hidden: Column | None = None
    doubts: set[str] = field(default_factory=set)
    notes: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, table: Table) -> Frame:
        columns = table.typed()
        stays = tuple(
            one.name
            for one in columns
            if one.name in table.keys and (len(set(one.values())) > 1 or one.cells[1:] == ())
        )
        frame = cls(table.name, columns, len(table.rows), table.keys, stays)
        calls = {tuple(one.cells[row].value for one in columns if one.name in table.keys) for row in range(frame.count)}
        frame.holds_date = not table.keys or len(calls) < frame.count
        if any(one.kind in ("text", "boolean") and any(cell.shown == "-" for cell in one.cells) for one in columns):
            frame.doubts.add("a dash among texts")
        frame.doubt_if(not table.rows, "no rows, no kinds")
        return frame

    def doubt_if(self, is_open: object, why: str) -> None:
        """Note why the specification leaves the result open, if it does."""
        if is_open:
            self.doubts.add(why)

    def column(self, name: str) -> Column:
        """Return a column by its exact name.

        Raises:
            Refused: the table does not have it.
        """
        for column in self.columns:
            if column.name == name:
                self.doubt_if(column.kind == "empty", "a column of nulls")
                return column
        raise Refused("dropped column" if name in self.dropped else "unknown column")

    def date_column(self) -> Column | None:
        """Return the first column of dates; where a step dropped it, that one."""
        dates = [column for column in self.columns if column.kind in DATES]
        self.doubt_if(len(dates) > 1, "two columns of dates")
        return dates[0] if dates else self.hidden

    def take(self, indexes: Iterable[int]) -> Frame:
        """Return some of the rows, in the given order."""
        chosen = list(indexes)
        columns = [replace(column, cells=tuple(column.cells[i] for i in chosen)) for column in self.columns]
        hidden = self.hidden and replace(self.hidden, cells=tuple(self.hidden.cells[i] for i in chosen))
        return replace(self, columns=columns, count=len(chosen), hidden=hidden)

    def partitions(self) -> list[list[int]]:
        """Return the rows of each call of a list of calls; all rows where there is one call."""
        names = {column.name for column in self.columns}
        if not self.keys:
            return [list(range(self.count))]
        if not names.issuperset(self.keys):
            self.doubts.add("a varied argument was dropped")
            return [list(range(self.count))]
        return self.groups([[cell.value for cell in self.column(key).cells] for key in self.keys])

    def groups(self, keys: Sequence[Sequence[Any]]) -> list[list[int]]:
        """Return the rows of each combination of keys, in the order in which they first occur."""
        found: dict[Any, list[int]] = {}
        for index in range(self.count):
            found.setdefault(tuple(key[index] for key in keys), []).append(index)
        return list(found.values())

    def by_time(self, rows: Sequence[int], date: Column) -> list[int]:
        """Return the rows that have a date, oldest first.

        Equal dates are in the order of the table; in a table that begins with its newest row, in the reverse order.
        """
        dated = [row for row in rows if date.cells[row].value is not None]
        if dated and date.cells[dated[0]].value > date.cells[dated[-1]].value:
            dated.reverse()
        return sorted(dated, key=lambda row: date.cells[row].value)

    def in_time(self, rows: Sequence[int]) -> list[int]:
        """Return the rows in time, for what looks at other rows: without a date column, in their order."""
        date = self.date_column()
        if date is None:
            self.notes.add("no date column")
            self.doubts.add("neighbours without a date")
            return list(rows)
        times = [date.cells[row].value for row in rows]
        self.doubt_if(None in times, "a row without a date")
        self.doubt_if(len(set(times)) < len(times), "equal dates")
        undated = [row for row in rows if date.cells[row].value is None]
        return undated + self.by_time(rows, date)

    def differs_by_day(self, column: Column) -> bool:
        """Return whether the day of a time depends on the offset: the specification does not say which is meant."""
        return any(
            cell.value is not None
            and isinstance(cell.shown, str)
            and _local(cell.shown) not in (None, cell.value.date())
            for cell in column.cells
        )


def _local(shown: str) -> Any:
    try:
        local = datetime.fromisoformat(shown.replace("Z", "+00:00"))
    except ValueError:
        return None
    return local.date() if local.tzinfo else None
