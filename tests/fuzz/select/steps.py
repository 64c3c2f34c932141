"""Make the steps of a pipeline. What each returns is evaluated in plain Python."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from tests.fuzz.select import aggregates
from tests.fuzz.select.expressions import NUMBERS, aggregate, changed, dates, doubt_letter_case, ref, truths
from tests.fuzz.select.frame import Frame, Refused, Vector
from tests.fuzz.select.language import Action, Expression, Groups, Item, Period, Unit, written
from tests.fuzz.select.table import DATES, Cell, Column
from tests.fuzz.select.times import UNITS, WEEKDAYS, floor, shift

COMPUTED = object()
"""What a computed cell has for the text that the answer shows."""

FIRST_IS_NULL = "the first row or group has nothing before it"

_DISTINCT_DOUBTS = {"unit": "different periods", "mixed": "different values of a mixed column"}
"""Kind of a column → why its distinct values are left open."""

MAX_LISTED_DAYS = 10
"""Days up to which ``last N days`` of daily data are the last dates that have rows."""


def apply(action: Action | None, frame: Frame) -> Frame:
    """Return the table after one step.

    Raises:
        Refused: the specification requires an error.
    """
    frame.notes.discard(FIRST_IS_NULL)
    if action is None:
        return frame
    if frame.is_summary:
        if action.is_of_rows:
            frame.doubt_if(frame.keys, "a step after a summary")
            raise Refused("a step of rows after a summary")
        frame.doubts.add("a step after a summary")
    return action.change(frame)


# Columns


def _without(frame: Frame, columns: list[Column]) -> Frame:
    kept = {column.name for column in columns}
    dropped = frame.dropped | {column.name for column in frame.columns} - kept
    keys = tuple(key for key in frame.keys if key in kept)
    stay_names = tuple(key for key in frame.stays if key in kept)
    frame.doubt_if(keys != frame.keys, "a varied argument was dropped")
    return replace(frame, columns=columns, dropped=dropped, keys=keys, stays=stay_names)


def _computed(name: str, found: Vector, count: int) -> Column:
    """Return a column of new values, with 12 digits."""
    kind = "number" if found.kind == "percent" else found.kind
    cells = [Cell(COMPUTED, aggregates.rounded(value), kind) for value in found.each(count)]
    return Column(name, kind, tuple(cells))


def columns(items: Sequence[Item]) -> Action:
    text = ", ".join(item.text for item in items)

    def change(frame: Frame) -> Frame:
        listed = {item.expression.column for item in items} - {""}
        chosen: list[Column] = []
        renamed: dict[str, str] = {}
        for item in items:
            if name := item.expression.column:
                renamed[name] = item.alias or name
                chosen.append(replace(frame.column(name), name=item.alias or name))
            else:
                found = item.expression.values(frame)
                if item.expression.distance and frame.count:
                    frame.notes.add(FIRST_IS_NULL)
                chosen.append(_computed(item.alias or item.expression.text, found, frame.count))
        date = frame.date_column()
        stay_names = {*frame.stays, *([date.name] if date and frame.holds_date else [])} - listed
        kept = [column for column in frame.columns if column.name in stay_names]
        after = _without(frame, [column for column in frame.columns if column.name in stay_names | listed])
        keys = tuple(renamed.get(key, key) for key in after.keys)
        stay = tuple(renamed.get(key, key) for key in after.stays)
        gone = after.dropped | {old for old, new in renamed.items() if old != new}
        return replace(after, columns=[*kept, *chosen], keys=keys, stays=stay, dropped=gone)

    return Action((text, text, text, f"columns: {text}", f"show {text}", f"select {text}"), change)


def all_except(names: Sequence[str]) -> Action:
    def change(frame: Frame) -> Frame:
        for name in names:
            frame.column(name)
        without = _without(frame, [column for column in frame.columns if column.name not in names])
        return replace(without, hidden=frame.date_column()) if without.date_column() is None else without

    return Action((f"* except {', '.join(map(written, names))}",), change)


def distinct(names: Sequence[str]) -> Action:
    def change(frame: Frame) -> Frame:
        found = [frame.column(name) for name in names]
        frame.doubts.update(_DISTINCT_DOUBTS[column.kind] for column in found if column.kind in _DISTINCT_DOUBTS)
        rows = [group[0] for group in frame.groups([column.values() for column in found])]
        return _without(frame, found).take(rows)

    return Action((f"distinct {', '.join(map(written, names))}",), change)


# Functions of rows and groups


def summary(items: Sequence[Item], by: Sequence[Expression | Unit | str] = ()) -> Action:
    """Return aggregates, alone or by columns and units of time."""
    text = ", ".join(item.text for item in items)
    if not by:
        return Action((text,), lambda frame: _summary(items, frame))
    keys = ", ".join(one if isinstance(one, str) else one.text for one in by)
    texts = (f"{text} by {keys}", f"{text} by {keys}", f"{text} per {keys}", f"{text} group by {keys}")
    return Action(texts, lambda frame: _grouped(items, by, frame))


def _summary(items: Sequence[Item], frame: Frame) -> Frame:
    """Return the row of aggregates alone; a row for each call of a list of calls."""
    parts = frame.partitions()
    frame.doubt_if(frame.keys and not frame.count, "no rows, no calls")
    first = [replace(frame.column(key), cells=tuple(frame.column(key).cells[rows[0]] for rows in parts if rows))
             for key in frame.keys]  # fmt: skip
    found = [_item(item, frame, parts) for item in items]
    only = items[0].expression
    if len(found) == 1 and only.is_aggregate and only.function in ("max", "min"):
        date = frame.date_column()
        frame.doubt_if(frame.is_ordered and frame.keys, "the order of calls by their extremes")
        frame.doubt_if(date is not None and date.kind == "unit", "the period of an extreme")
        if date is not None:
            found.insert(0, _dates_of(only, frame, parts, date))
    return replace(frame, columns=[*first, *found], count=len(parts), is_summary=True, hidden=None,
                   dropped=frame.dropped | {column.name for column in frame.columns})  # fmt: skip


def _item(item: Item, frame: Frame, groups: Groups) -> Column:
    found = item.expression.of_groups(frame, groups)
    frame.doubt_if(found.kind in DATES, "a computed date may be the date column")
    return _computed(item.alias or item.expression.text, found, len(groups))


def _dates_of(only: Expression, frame: Frame, parts: Groups, date: Column) -> Column:
    """Return the date of the row of each extreme."""
    values = only.operand.values(frame).each(frame.count)
    frame.doubt_if(only.operand.column == date.name, "the date of an extreme date")
    cells = []
    for rows, extreme in zip(parts, only.of_groups(frame, parts).values, strict=True):
        found = [date.cells[row] for row in rows if extreme is not None and values[row] == extreme]
        frame.doubt_if(len({cell.value for cell in found}) > 1, "several rows have the extreme")
        cells.append(found[0] if found else Cell(None, None, "null"))
    return replace(date, cells=tuple(cells))


def _grouped(items: Sequence[Item], by: Sequence[Expression | str], frame: Frame) -> Frame:
    found, keys = [], []
    named = {column.name for column in frame.columns}
    calls = tuple(ref(key) for key in frame.keys if ref(key) not in by)
    for one in (*calls, *by):
        name = one if isinstance(one, str) else one.column
        if not isinstance(one, str) or name in named:
            column = frame.column(name)
            frame.doubt_if(column.kind == "mixed", "groups of a mixed column")
            found.append(column)
            keys.append(column.values())
            continue
        times = dates(None, frame)
        frame.doubt_if(times.kind in ("coarse", "unit"), "units of coarse dates")
        keys.append([None if value is None else UNITS[name](value) for value in times.values()])
        found.append(_unit_column(name, keys[-1], times))
    frame.doubt_if(frame.keys, "groups over a list of calls")
    frame.doubt_if(any(None in key for key in keys), "a group of nulls")
    groups = frame.groups(keys)
    firsts = [[column.cells[rows[0]] for rows in groups] for column in found]
    shown = [
        replace(column, cells=tuple(cells) if column.kind == "unit" else _values_alone(cells))
        for column, cells in zip(found, firsts, strict=True)
    ]
    made = [
        _change(item, frame, groups, shown, by) if item.expression.distance else _item(item, frame, groups)
        for item in items
    ]
    return Frame(frame.name, [*shown, *made], len(groups), frame.keys, doubts=frame.doubts, notes=frame.notes,
                 stays=tuple(column.name for column in shown), dropped=frame.dropped | named)  # fmt: skip


def _unit_column(unit: str, names: Sequence[Any], times: Column) -> Column:
    """Return a column of groups of time; its values are when they begin, those of weekdays their names."""
    if unit == "weekday":
        return Column(unit, "text", tuple(Cell(name, name, "text") for name in names))
    begins = [None if cell.value is None else floor(cell.value, unit) for cell in times.cells]
    return Column(unit, "unit", tuple(Cell(name, at, "unit") for name, at in zip(names, begins, strict=True)))


def _change(item: Item, frame: Frame, groups: Groups, shown: list[Column], by: Sequence[Any]) -> Column:
    """Return the last value of each group against that of the group before it in time."""
    expression = item.expression
    last = aggregate("last", expression.operand).of_groups(frame, groups)
    if expression.function != "lag" and last.kind not in NUMBERS:
        raise Refused(f"{expression.function} of {last.kind}")
    frame.doubt_if(len(by) > 1 or shown[0].kind != "unit", "change by what is not one unit of time")
    order = sorted(
        range(len(groups)),
        key=lambda group: (shown[0].cells[group].value is not None, str(shown[0].cells[group].value)),
    )
    values: list[Any] = [None] * len(groups)
    for place in range(expression.distance, len(order)):
        before = last.values[order[place - expression.distance]]
        values[order[place]] = changed(expression.function, last.values[order[place]], before)
    if groups:
        frame.notes.add(FIRST_IS_NULL)
    return _computed(item.alias or expression.text, Vector("number", values), len(groups))


# SQL


def sql(
    items: Sequence[Item],
    where: Expression | None = None,
    by: Sequence[Expression] = (),
    order: Sequence[tuple[int, bool]] = (),
    limit: int | None = None,
) -> Action:
    """Return a SELECT. ``order``: pairs of the place of an item and whether it is descending."""

    def change(frame: Frame) -> Frame:
        """Return what the statement selects: its columns alone, over all calls of a list."""
        whole = replace(frame, keys=())
        if where is not None:
            whole = whole.take(_true_rows(where, whole))
        groups: list[list[int]] | None = None
        if by:
            keys = [whole.column(one.column).values() for one in by]
            frame.doubt_if(any(None in key for key in keys), "a group of nulls")
            groups = whole.groups(keys)
        elif any(item.expression.is_aggregate for item in items):
            groups = [list(range(whole.count))]
        found = [_sql_item(item, whole, groups) for item in items]
        count = whole.count if groups is None else len(groups)
        result = Frame(frame.name, found, count, doubts=frame.doubts, notes=frame.notes)
        if any(place > len(found) for place, _ in order):
            raise Refused("order by a column that is not there")
        for place, is_descending in reversed(order):
            result = _sql_order(result, found[place - 1], is_descending)
        if limit is not None:
            result = result.take(range(result.count)[:limit])
        frame.doubt_if(any(column.kind == "unit" for column in result.columns), "a period that SQL has returned")
        frame.doubt_if(any(set(column.values()) <= {None} for column in result.columns), "no rows, no kinds")
        frame.doubt_if(any(column.kind == "mixed" for column in result.columns), "a mixed column that SQL has returned")
        dropped = frame.dropped | {column.name for column in frame.columns} - {column.name for column in found}
        return replace(result, is_ordered=bool(order), dropped=dropped)

    text = f"SELECT {', '.join(map(_sql_text, items))} FROM data"
    text += f" WHERE {where.text}" if where is not None else ""
    text += f" GROUP BY {', '.join(one.text for one in by)}" if by else ""
    keys = [f"{place} DESC" if is_descending else str(place) for place, is_descending in order]
    text += f" ORDER BY {', '.join(keys)}" if keys else ""
    text += f" LIMIT {limit}" if limit is not None else ""
    return Action((text,), change)


def _sql_text(item: Item) -> str:
    text = "count(*)" if item.expression.text == "count" else item.expression.text
    return text + (f" AS {written(item.alias)}" if item.alias else "")


def _sql_item(item: Item, frame: Frame, groups: Groups | None) -> Column:
    if name := item.expression.column:
        column = frame.column(name)
        if groups and not all(groups):
            raise Refused("a column beside an aggregate")
        cells = column.cells if groups is None else [column.cells[rows[0]] for rows in groups]
        return replace(column, name=item.alias or column.name, cells=_values_alone(cells))
    if groups is not None:
        return _item(item, frame, groups)
    return _computed(item.alias or item.expression.text, item.expression.values(frame), frame.count)


def _values_alone(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Return cells of which only the value counts: a statement of SQL and groups may show it otherwise."""
    return tuple(replace(cell, shown=COMPUTED) for cell in cells)


def _sql_order(frame: Frame, column: Column, is_descending: bool) -> Frame:
    frame.doubt_if(column.kind == "unit", "a period that SQL has returned")
    values = column.values()
    rows = _sorted(range(frame.count), Vector(column.kind, values), frame, is_descending)
    frame.doubt_if(None in values, "SQL order of nulls")
    frame.doubt_if(len(set(values)) < len(values), "SQL order of equal values")
    return frame.take(rows)


# Rows


def _sorted(rows: Iterable[int], by: Vector, frame: Frame, is_descending: bool) -> list[int]:
    """Return rows sorted, equal ones in their order, nulls last."""
    if by.kind == "mixed":
        raise Refused("order by a mixed column")
    values = by.each(frame.count)
    if by.kind == "text":
        doubt_letter_case(frame, values)
        frame.doubt_if(not set(WEEKDAYS).isdisjoint(values), "days of the week are in the order of the calendar")
    rows = list(rows)
    # A sort with reverse=True keeps equal rows in their order.
    known = sorted((row for row in rows if values[row] is not None), key=lambda row: values[row], reverse=is_descending)
    return [*known, *(row for row in rows if values[row] is None)]


def _ordered(frame: Frame, keys: Sequence[tuple[Vector, bool]], count: int | None = None) -> Frame:
    rows = list(range(frame.count))
    for found, is_descending in reversed(keys):
        rows = _sorted(rows, found, frame, is_descending)
    return replace(frame.take(rows[:count]), is_ordered=True)


def order_by(keys: Sequence[tuple[Expression, bool]]) -> Action:
    """Return ``order by x desc, y``: pairs of an expression and whether it is descending."""
    text = ", ".join(key.text + " desc" * is_descending for key, is_descending in keys)
    return Action(
        (f"order by {text}", f"sort by {text}", f"sorted by {text}"),
        lambda frame: _ordered(frame, [(key.values(frame), is_descending) for key, is_descending in keys]),
        is_of_rows=True,
    )


def by_date(newest: bool) -> Action:
    def change(frame: Frame) -> Frame:
        date = dates(None, frame)
        if date.kind == "unit" and len(set(date.values())) < frame.count:
            frame.doubts.add("the order of groups of one period")
        return _ordered(frame, [(Vector(date.kind, date.values()), newest)])

    return Action(("newest first" if newest else "oldest first",), change, is_of_rows=True)


def top(largest: bool, count: int, by: Expression) -> Action:
    texts = [f"{'top' if largest else 'bottom'} {count} by {by.text}"]
    if count == 1 and by.column:
        texts.append(f"{'highest' if largest else 'lowest'} {by.text}")
    return Action(texts, lambda frame: _ordered(frame, [(by.values(frame), largest)], count), is_of_rows=True)


def _of_rows(texts: Sequence[str], choose: Callable[[Frame], Iterable[int]]) -> Action:
    return Action(texts, lambda frame: frame.take(choose(frame)), is_of_rows=True)


def condition(expression: Expression) -> Action:
    text = expression.text
    texts = (text, text, text, f"where {text}", f"filter {text}")
    return Action(texts, lambda frame: frame.take(_true_rows(expression, frame)))


def _true_rows(expression: Expression, frame: Frame) -> list[int]:
    return [row for row, is_true in enumerate(truths(expression, frame)) if is_true]


def during(period: Period) -> Action:
    return _of_rows((period.text,), lambda frame: _between(frame, dates(None, frame), period.start, period.end))


def _between(frame: Frame, date: Column, start: datetime | None, end: datetime | None) -> list[int]:
    frame.doubt_if(date.kind in ("coarse", "unit") and not _aligned(date, start, end), "period against a coarse date")
    return [
        row
        for row, value in enumerate(date.values())
        if value is not None and (start is None or value >= start) and (end is None or value < end)
    ]


def _aligned(date: Column, start: datetime | None, end: datetime | None) -> bool:
    """Return whether a period consists of whole quarters, so that it splits no month and no quarter."""
    return date.kind == "coarse" and all(bound is None or floor(bound, "quarter") == bound for bound in (start, end))


def _newest(frame: Frame, date: Column) -> datetime | None:
    known = [value for value in date.values() if value is not None]
    parts = [[date.cells[row].value for row in rows] for rows in frame.partitions()]
    ends = {max(some, default=None) for part in parts if (some := [value for value in part if value is not None])}
    frame.doubt_if(len(ends) > 1, "periods of a list of calls that end apart")
    frame.doubt_if(date.kind in ("coarse", "unit"), "relative period of coarse dates")
    return max(known, default=None)


def recent(count: int, unit: Unit, text: str) -> Action:
    """Return ``last N months``: a period that ends at the newest row."""

    def choose(frame: Frame) -> list[int]:
        date = dates(None, frame)
        newest = _newest(frame, date)
        if newest is None:
            return []
        start = shift(newest, -count, unit)
        plain = [row for row, value in enumerate(date.values()) if value is not None and value > start]
        if unit != "day" or count > MAX_LISTED_DAYS:
            return plain
        days = sorted({value.date() for value in date.values() if value is not None})[-count:]
        listed = [row for row, value in enumerate(date.values()) if value is not None and value.date() in days]
        frame.doubt_if(listed != plain, "the last days of daily data")
        return listed

    return _of_rows((text,), choose)


def calendar(back: int, unit: Unit, text: str) -> Action:
    """Return ``this year`` or ``last year``: of the newest row, or ``back`` 1 before."""

    def choose(frame: Frame) -> list[int]:
        date = dates(None, frame)
        newest = _newest(frame, date)
        if newest is None:
            return []
        start = shift(floor(newest, unit), -back, unit)
        return _between(frame, date, start, shift(start, 1, unit))

    return _of_rows((text,), choose)


def ends(last: bool, count: int) -> Action:
    texts: Sequence[str] = (f"{'last' if last else 'first'} {count}",)
    if count == 1:
        texts = ("last 1", "latest", "newest") if last else ("first 1", "oldest")

    def cut(rows: list[int]) -> list[int]:
        return rows[max(0, len(rows) - count) :] if last else rows[:count]

    def choose(frame: Frame) -> list[int]:
        date = None if frame.is_ordered else frame.date_column()
        frame.doubt_if(frame.is_ordered and frame.keys, "last of an ordered list of calls")
        if not frame.is_ordered and date is None:
            frame.doubt_if(frame.dropped, "the date column may have been dropped")
            frame.notes.add("no date column")
        chosen: list[int] = []
        for rows in [list(range(frame.count))] if frame.is_ordered else frame.partitions():
            if date is None:
                chosen += cut(rows)
                continue
            ordered = frame.by_time(rows, date)
            some = cut(ordered)
            frame.doubt_if(len(ordered) < min(count, len(rows)), "a row without a date")
            others = {date.cells[row].value for row in set(ordered) - set(some)}
            frame.doubt_if(others & {date.cells[row].value for row in some}, "equal dates")
            chosen += some
        return sorted(chosen)

    return _of_rows(texts, choose)


def part_of(start: int | None, stop: int | None, brackets: bool = False) -> Action:
    """Return ``limit`` and ``offset``, or ``[a:b]``: by place."""
    texts = [f"[{'' if start is None else start}:{'' if stop is None else stop}]"]
    if not brackets and stop is not None:
        texts = [f"limit {stop - start} offset {start}", *texts] if start else [
            f"limit {stop}", f"head {stop}", *texts]  # fmt: skip

    def choose(frame: Frame) -> Iterable[int]:
        if not frame.is_ordered and any(bound is not None and bound < 0 for bound in (start, stop)):
            raise Refused("a negative index without an order")
        return range(frame.count)[start:stop]

    return _of_rows(texts, choose)
