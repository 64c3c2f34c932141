"""Apply the steps of a pipeline to a frame."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from tests.fuzz.select import aggregates, pipeline
from tests.fuzz.select.expressions import (
    NUMBERS,
    condition,
    dates,
    doubt_letter_case,
    evaluate,
    neighbour,
    summarize,
)
from tests.fuzz.select.frame import Frame, Refused, Vector
from tests.fuzz.select.spelling import spell
from tests.fuzz.select.table import DATES, Cell, Column
from tests.fuzz.select.times import UNITS, floor, shift

COMPUTED = object()
"""What a computed cell has for the text that the answer shows."""

FIRST_IS_NULL = "the first row or group has nothing before it"

_OF_PLACE = (pipeline.Ends, pipeline.Slice, pipeline.Top, pipeline.Order, pipeline.ByDate)
_OF_ROWS = (*_OF_PLACE, pipeline.During, pipeline.Recent, pipeline.Calendar)
"""What a single row of aggregates is not followed by."""

_DISTINCT_DOUBTS = {"unit": "different periods", "mixed": "different values of a mixed column"}
"""Kind of a column → why its distinct values are left open."""

MAX_LISTED_DAYS = 10
"""Days up to which ``last N days`` of daily data are the last dates that have rows."""


def apply(action: pipeline.Action | None, frame: Frame) -> Frame:
    """Return the table after one step.

    Raises:
        Refused: the specification requires an error.
    """
    frame.notes.discard(FIRST_IS_NULL)
    if action is None:
        return frame
    if frame.is_summary:
        if isinstance(action, _OF_ROWS):
            if frame.keys:
                frame.doubts.add("a step after a summary")
            raise Refused("a step of rows after a summary")
        frame.doubts.add("a step after a summary")
    if isinstance(action, pipeline.Columns):
        return _columns(action, frame)
    if isinstance(action, pipeline.Summary):
        return _grouped(action, frame) if action.by else _summary(action, frame)
    if isinstance(action, pipeline.Sql):
        return _sql(action, frame)
    if isinstance(action, pipeline.Except):
        for name in action.names:
            frame.column(name)
        kept = [column for column in frame.columns if column.name not in action.names]
        without = _without(frame, kept)
        lost = frame.date_column()
        return replace(without, hidden=lost) if without.date_column() is None else without
    if isinstance(action, pipeline.Distinct):
        columns = [frame.column(name) for name in action.names]
        frame.doubts.update(_DISTINCT_DOUBTS[column.kind] for column in columns if column.kind in _DISTINCT_DOUBTS)
        rows = [group[0] for group in frame.groups([column.values() for column in columns])]
        return _without(frame, columns).take(rows)
    if isinstance(action, pipeline.Top | pipeline.Order | pipeline.ByDate):
        return _ordered(action, frame)
    return frame.take(_ROWS[type(action)](action, frame))


def _without(frame: Frame, columns: list[Column]) -> Frame:
    kept = {column.name for column in columns}
    dropped = frame.dropped | {column.name for column in frame.columns} - kept
    keys = tuple(key for key in frame.keys if key in kept)
    stay_names = tuple(key for key in frame.stays if key in kept)
    if keys != frame.keys:
        frame.doubts.add("a varied argument was dropped")
    return replace(frame, columns=columns, dropped=dropped, keys=keys, stays=stay_names)


def _computed(name: str, found: Vector, count: int, *names: str) -> Column:
    """Return a column of new values, with 12 digits."""
    kind = "number" if found.kind == "percent" else found.kind
    cells = [Cell(COMPUTED, aggregates.rounded(value), kind) for value in found.each(count)]
    return Column(name, kind, tuple(cells), names)


def _columns(action: pipeline.Columns, frame: Frame) -> Frame:
    listed = {item.expression.name for item in action.items if isinstance(item.expression, pipeline.Ref)}
    columns: list[Column] = []
    renamed: dict[str, str] = {}
    for item in action.items:
        if isinstance(item.expression, pipeline.Ref):
            column = frame.column(item.expression.name)
            renamed[column.name] = item.alias or column.name
            columns.append(replace(column, name=item.alias or column.name))
        else:
            found = evaluate(item.expression, frame)
            if isinstance(item.expression, pipeline.Neighbour) and frame.count:
                frame.notes.add(FIRST_IS_NULL)
            columns.append(_computed(item.alias or spell(item.expression), found, frame.count))
    date = frame.date_column()
    stay_names = {*frame.stays, *([date.name] if date and frame.holds_date else [])} - listed
    kept = [column for column in frame.columns if column.name in stay_names]
    after = _without(frame, [column for column in frame.columns if column.name in stay_names | listed])
    keys = tuple(renamed.get(key, key) for key in after.keys)
    stay = tuple(renamed.get(key, key) for key in after.stays)
    gone = after.dropped | {old for old, new in renamed.items() if old != new}
    return replace(after, columns=[*kept, *columns], keys=keys, stays=stay, dropped=gone)


def _summary(action: pipeline.Summary, frame: Frame) -> Frame:
    """Return the row of aggregates alone; a row for each call of a list of calls."""
    parts = frame.partitions()
    if frame.keys and not frame.count:
        frame.doubts.add("no rows, no calls")
    first = [replace(frame.column(key), cells=tuple(frame.column(key).cells[rows[0]] for rows in parts if rows))
             for key in frame.keys]  # fmt: skip
    columns = [_item(item, frame, parts) for item in action.items]
    only = action.items[0].expression
    if len(columns) == 1 and isinstance(only, pipeline.Aggregate) and only.function in ("max", "min"):
        date = frame.date_column()
        if frame.is_ordered and frame.keys:
            frame.doubts.add("the order of calls by their extremes")
        if date is not None and date.kind == "unit":
            frame.doubts.add("the period of an extreme")
        if date is not None:
            columns.insert(0, _dates_of(only, frame, parts, date))
    kept = () if not frame.keys else frame.keys
    return replace(frame, columns=[*first, *columns], count=len(parts), keys=kept, is_summary=True, hidden=None,
                   dropped=frame.dropped | {column.name for column in frame.columns})  # fmt: skip


def _item(item: pipeline.Item, frame: Frame, groups: Sequence[list[int]]) -> Column:
    found = summarize(item.expression, frame, groups)
    if found.kind in DATES:
        frame.doubts.add("a computed date may be the date column")
    return _computed(item.alias or spell(item.expression), found, len(groups))


def _dates_of(only: pipeline.Aggregate, frame: Frame, parts: Sequence[list[int]], date: Column) -> Column:
    """Return the date of the row of each extreme."""
    assert only.operand is not None
    values = evaluate(only.operand, frame).each(frame.count)
    if isinstance(only.operand, pipeline.Ref) and only.operand.name == date.name:
        frame.doubts.add("the date of an extreme date")
    cells = []
    extremes = summarize(only, frame, parts).values
    for rows, extreme in zip(parts, extremes, strict=True):
        found = [date.cells[row] for row in rows if extreme is not None and values[row] == extreme]
        if len({cell.value for cell in found}) > 1:
            frame.doubts.add("several rows have the extreme")
        cells.append(found[0] if found else Cell(None, None, "null"))
    return replace(date, cells=tuple(cells))


def _grouped(action: pipeline.Summary, frame: Frame) -> Frame:
    columns, keys, times = [], [], None
    named = {column.name for column in frame.columns}
    calls = tuple(pipeline.Ref(key) for key in frame.keys if pipeline.Ref(key) not in action.by)
    for by in (*calls, *action.by):
        if isinstance(by, pipeline.Ref) or by in named:
            column = frame.column(by.name if isinstance(by, pipeline.Ref) else by)
            if column.kind == "mixed":
                frame.doubts.add("groups of a mixed column")
            columns.append(column)
            keys.append(column.values())
            continue
        times = dates(None, frame)
        if times.kind in ("coarse", "unit"):
            frame.doubts.add("units of coarse dates")
        name = UNITS[by]
        keys.append([None if value is None else name(value) for value in times.values()])
        columns.append(_unit_column(by, keys[-1], times))
    if frame.keys:
        frame.doubts.add("groups over a list of calls")
    if any(None in key for key in keys):
        frame.doubts.add("a group of nulls")
    groups = frame.groups(keys)
    firsts = [[column.cells[rows[0]] for rows in groups] for column in columns]
    shown = [
        replace(column, cells=tuple(cells) if column.kind == "unit" else _values_alone(cells))
        for column, cells in zip(columns, firsts, strict=True)
    ]
    changes = [isinstance(item.expression, pipeline.Neighbour) for item in action.items]
    items = [
        _change(item, frame, groups, shown, action.by) if change else _item(item, frame, groups)
        for item, change in zip(action.items, changes, strict=True)
    ]
    return Frame(frame.name, [*shown, *items], len(groups), frame.keys, doubts=frame.doubts, notes=frame.notes,
                 stays=tuple(column.name for column in shown), dropped=frame.dropped | named)  # fmt: skip


def _unit_column(unit: str, names: Sequence[Any], times: Column) -> Column:
    """Return a column of groups of time; its values are when they begin, those of weekdays their names."""
    if unit == "weekday":
        return Column(unit, "text", tuple(Cell(name, name, "text") for name in names))
    begins = [None if cell.value is None else floor(cell.value, unit) for cell in times.cells]
    return Column(unit, "unit", tuple(Cell(name, at, "unit") for name, at in zip(names, begins, strict=True)))


def _change(
    item: pipeline.Item, frame: Frame, groups: Sequence[list[int]], shown: list[Column], by: Sequence[Any]
) -> Column:
    """Return the last value of each group against that of the group before it in time."""
    expression = item.expression
    assert isinstance(expression, pipeline.Neighbour)
    last = summarize(pipeline.Aggregate("last", expression.operand), frame, groups)
    if expression.function != "lag" and last.kind not in NUMBERS:
        raise Refused(f"{expression.function} of {last.kind}")
    if len(by) > 1 or shown[0].kind != "unit":
        frame.doubts.add("change by what is not one unit of time")
    order = sorted(
        range(len(groups)),
        key=lambda group: (shown[0].cells[group].value is not None, str(shown[0].cells[group].value)),
    )
    values: list[Any] = [None] * len(groups)
    for place in range(expression.distance, len(order)):
        before = last.values[order[place - expression.distance]]
        values[order[place]] = neighbour(expression.function, last.values[order[place]], before)
    if groups:
        frame.notes.add(FIRST_IS_NULL)
    return _computed(item.alias or spell(expression), Vector("number", values), len(groups))


def _sql(action: pipeline.Sql, frame: Frame) -> Frame:
    """Return what a statement selects: its columns alone, over all calls of a list."""
    whole = replace(frame, keys=())
    if action.where is not None:
        whole = whole.take(_condition(pipeline.Condition(action.where), whole))
    groups: list[list[int]] | None = None
    if action.by:
        keys = [whole.column(by.name).values() for by in action.by]
        if any(None in key for key in keys):
            frame.doubts.add("a group of nulls")
        groups = whole.groups(keys)
    elif any(isinstance(item.expression, pipeline.Aggregate) for item in action.items):
        groups = [list(range(whole.count))]
    columns = [_sql_item(item, whole, groups) for item in action.items]
    count = whole.count if groups is None else len(groups)
    result = Frame(frame.name, columns, count, doubts=frame.doubts, notes=frame.notes)
    if any(place > len(columns) for place, _ in action.order):
        raise Refused("order by a column that is not there")
    for place, down in reversed(action.order):
        result = _sql_order(result, columns[place - 1], down)
    if action.limit is not None:
        result = result.take(range(result.count)[: action.limit])
    if any(column.kind == "unit" for column in result.columns):
        frame.doubts.add("a period that SQL has returned")
    if any(set(column.values()) <= {None} for column in result.columns):
        frame.doubts.add("no rows, no kinds")
    if any(column.kind == "mixed" for column in result.columns):
        frame.doubts.add("a mixed column that SQL has returned")
    dropped = frame.dropped | {column.name for column in frame.columns} - {column.name for column in columns}
    return replace(result, is_ordered=bool(action.order), dropped=dropped)


def _sql_item(item: pipeline.Item, frame: Frame, groups: Sequence[list[int]] | None) -> Column:
    if isinstance(item.expression, pipeline.Ref):
        column = frame.column(item.expression.name)
        if groups and not all(groups):
            raise Refused("a column beside an aggregate")
        cells = column.cells if groups is None else [column.cells[rows[0]] for rows in groups]
        return replace(column, name=item.alias or column.name, cells=_values_alone(cells))
    if groups is not None:
        return _item(item, frame, groups)
    return _computed(item.alias or spell(item.expression), evaluate(item.expression, frame), frame.count)


def _values_alone(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Return cells of which only the value counts: a statement of SQL and groups may show it otherwise."""
    return tuple(replace(cell, shown=COMPUTED) for cell in cells)


def _sql_order(frame: Frame, column: Column, descending: bool) -> Frame:
    if column.kind == "unit":
        frame.doubts.add("a period that SQL has returned")
    if column.kind == "mixed":
        raise Refused("order by a mixed column")
    values = column.values()
    if column.kind == "text":
        doubt_letter_case(frame, values)
    if None in values:
        frame.doubts.add("SQL order of nulls")
    if len(set(values)) < len(values):
        frame.doubts.add("SQL order of equal values")
    known = sorted((row for row in range(frame.count) if values[row] is not None), key=lambda row: values[row],
                   reverse=descending)  # fmt: skip
    return frame.take([*known, *(row for row in range(frame.count) if values[row] is None)])


def _ordered(action: pipeline.Top | pipeline.Order | pipeline.ByDate, frame: Frame) -> Frame:
    """Return the rows sorted, equal ones in their order, nulls last."""
    if isinstance(action, pipeline.ByDate):
        date = dates(None, frame)
        if date.kind == "unit" and len(set(date.values())) < frame.count:
            frame.doubts.add("the order of groups of one period")
        keys = [(Vector(date.kind, date.values()), action.newest)]
    elif isinstance(action, pipeline.Top):
        keys = [(evaluate(action.by, frame), action.largest)]
    else:
        keys = [(evaluate(expression, frame), descending) for expression, descending in action.keys]
    rows = list(range(frame.count))
    for found, descending in reversed(keys):
        if found.kind == "mixed":
            raise Refused("order by a mixed column")
        values = found.each(frame.count)
        if found.kind == "text":
            doubt_letter_case(frame, values)
        with_value = [row for row in rows if values[row] is not None]
        nulls = [row for row in rows if values[row] is None]
        # A sort with reverse=True keeps equal rows in their order.
        rows = sorted(with_value, key=lambda row: values[row], reverse=descending) + nulls
    if isinstance(action, pipeline.Top):
        rows = rows[: action.count]
    return replace(frame.take(rows), is_ordered=True)


def _condition(action: pipeline.Condition, frame: Frame) -> list[int]:
    return [row for row, is_true in enumerate(condition(action.expression, frame)) if is_true]


def _during(action: pipeline.During, frame: Frame) -> list[int]:
    return _between(frame, dates(None, frame), action.period.start, action.period.end)


def _between(frame: Frame, date: Column, start: datetime | None, end: datetime | None) -> list[int]:
    if date.kind in ("coarse", "unit") and not _aligned(date, start, end):
        frame.doubts.add("period against a coarse date")
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
    if len(ends) > 1:
        frame.doubts.add("periods of a list of calls that end apart")
    if date.kind in ("coarse", "unit"):
        frame.doubts.add("relative period of coarse dates")
    return max(known, default=None)


def _recent(action: pipeline.Recent, frame: Frame) -> list[int]:
    date = dates(None, frame)
    newest = _newest(frame, date)
    if newest is None:
        return []
    start = shift(newest, -action.count, action.unit)
    plain = [row for row, value in enumerate(date.values()) if value is not None and value > start]
    if action.unit != "day" or action.count > MAX_LISTED_DAYS:
        return plain
    days = sorted({value.date() for value in date.values() if value is not None})[-action.count :]
    listed = [row for row, value in enumerate(date.values()) if value is not None and value.date() in days]
    if listed != plain:
        frame.doubts.add("the last days of daily data")
    return listed


def _calendar(action: pipeline.Calendar, frame: Frame) -> list[int]:
    date = dates(None, frame)
    newest = _newest(frame, date)
    if newest is None:
        return []
    start = floor(newest, action.unit)
    start = shift(start, -action.back, action.unit)
    return _between(frame, date, start, shift(start, 1, action.unit))


def _ends(action: pipeline.Ends, frame: Frame) -> list[int]:
    date = None if frame.is_ordered else frame.date_column()
    by_place = frame.is_ordered
    if by_place and frame.keys:
        frame.doubts.add("last of an ordered list of calls")
    if not by_place and date is None:
        if frame.dropped:
            frame.doubts.add("the date column may have been dropped")
        frame.notes.add("no date column")
    chosen: list[int] = []
    for rows in frame.partitions() if not by_place else [list(range(frame.count))]:
        if by_place or date is None:
            chosen += _cut(rows, action)
            continue
        ordered = frame.by_time(rows, date)
        some = _cut(ordered, action)
        if len(ordered) < min(action.count, len(rows)):
            frame.doubts.add("a row without a date")
        others = {date.cells[row].value for row in set(ordered) - set(some)}
        if others & {date.cells[row].value for row in some}:
            frame.doubts.add("equal dates")
        chosen += some
    return sorted(chosen)


def _cut(rows: list[int], action: pipeline.Ends) -> list[int]:
    return rows[max(0, len(rows) - action.count) :] if action.last else rows[: action.count]


def _slice(action: pipeline.Slice, frame: Frame) -> Iterable[int]:
    if not frame.is_ordered and any(bound is not None and bound < 0 for bound in (action.start, action.stop)):
        raise Refused("a negative index without an order")
    return range(frame.count)[action.start : action.stop]


_ROWS: dict[type, Callable[[Any, Frame], Iterable[int]]] = {
    pipeline.Condition: _condition,
    pipeline.During: _during,
    pipeline.Recent: _recent,
    pipeline.Calendar: _calendar,
    pipeline.Ends: _ends,
    pipeline.Slice: _slice,
}
