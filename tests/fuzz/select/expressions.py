"""Evaluate expressions of a pipeline over a frame: arithmetic, conditions, aggregates, other rows."""

import math
import operator
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from tests.fuzz.select import aggregates, pipeline, spelling
from tests.fuzz.select.frame import Frame, Refused, Vector
from tests.fuzz.select.table import DATES, Column
from tests.fuzz.select.times import PARTS

NUMBERS = frozenset(("number", "percent", "empty"))

_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: None if right == 0 else left / right,
}


def evaluate(expression: pipeline.Expression, frame: Frame) -> Vector:
    """Return the values of an expression over all rows.

    Raises:
        Refused: the specification requires an error.
    """
    return _EVALUATE[type(expression)](expression, frame)


def numbers(expression: pipeline.Expression, frame: Frame) -> Vector:
    """Return the values of an expression that must be a number."""
    found = evaluate(expression, frame)
    if found.kind not in NUMBERS:
        raise Refused(f"{found.kind} where a number is needed")
    return found


def condition(expression: pipeline.Expression, frame: Frame) -> list[bool]:
    """Return for each row whether a condition is true; unknown is not true."""
    found = evaluate(expression, frame)
    if found.kind not in ("boolean", "empty"):
        raise Refused(f"{found.kind} where a condition is needed")
    return [value is True for value in found.each(frame.count)]


def _each(function: Callable[..., Any], kind: str, frame: Frame, *vectors: Vector) -> Vector:
    """Apply a function to values of one row each; null where one of them is."""
    if all(vector.is_scalar for vector in vectors):
        values = [tuple(vector.values[0] for vector in vectors)]
    else:
        values = list(zip(*(vector.each(frame.count) for vector in vectors), strict=True))
    found = [None if any(value is None for value in row) else function(*row) for row in values]
    return Vector(kind, found, all(vector.is_scalar for vector in vectors))


def _ref(expression: pipeline.Ref, frame: Frame) -> Vector:
    column = frame.column(expression.name)
    if expression.as_written and any(spelled in expression.name for spelled in _spelled(frame, expression.name)):
        frame.doubts.add("a computed column or its formula")
    return Vector(column.kind, column.values())


def _spelled(frame: Frame, name: str) -> list[str]:
    """Return the other columns as a name inside parentheses would be written."""
    others = [column.name for column in frame.columns if column.name != name]
    return [text for other in others for text in (f"({other}", f"({spelling.name(other)}")]


def _constant(kind: str) -> Callable[[Any, Frame], Vector]:
    return lambda expression, _frame: Vector(kind, [expression.value], True)


def _period(expression: pipeline.Period, _frame: Frame) -> Vector:
    return Vector("period", [expression], True)


def _arithmetic(expression: pipeline.Arithmetic, frame: Frame) -> Vector:
    left, right = evaluate(expression.left, frame), evaluate(expression.right, frame)
    if left.kind in DATES and right.kind in NUMBERS | DATES:
        frame.doubts.add("arithmetic of dates")
    left, right = numbers(expression.left, frame), numbers(expression.right, frame)
    return _each(_ARITHMETIC[expression.operator], "number", frame, left, right)


def _negative(expression: pipeline.Negative, frame: Frame) -> Vector:
    return _each(operator.neg, "number", frame, numbers(expression.operand, frame))


def dates(operand: pipeline.Ref | None, frame: Frame) -> Column:
    """Return a column of dates: the named one, or the date column."""
    column = frame.column(operand.name) if operand else frame.date_column()
    if column is None:
        raise Refused("no date column")
    if column.kind == "empty":
        return column
    if column.kind not in DATES:
        raise Refused(f"{column.kind} where a date is needed")
    if frame.differs_by_day(column):
        frame.doubts.add("the day depends on the offset")
    return column


def _part(expression: pipeline.Part, frame: Frame) -> Vector:
    column = dates(expression.operand, frame)
    if column.kind in ("coarse", "unit"):
        frame.doubts.add("part of a coarse date")
    kind = "text" if expression.unit == "weekday" else "number"
    return _each(PARTS[expression.unit], kind, frame, Vector("date", column.values()))


def _aggregate(expression: pipeline.Aggregate, frame: Frame) -> Vector:
    parts = frame.partitions()
    if not frame.keys:
        return Vector(kind_of_aggregate(expression, frame), summarize(expression, frame, parts).values, True)
    found = summarize(expression, frame, parts)
    values: list[Any] = [None] * frame.count
    for value, rows in zip(found.values, parts, strict=True):
        for row in rows:
            values[row] = value
    return Vector(found.kind, values)


def kind_of_aggregate(expression: pipeline.Aggregate, frame: Frame) -> str:
    """Return the kind of what an aggregate gives."""
    if expression.operand is not None and expression.function in ("max", "min", "first", "last"):
        return evaluate(expression.operand, frame).kind
    return "number"


def summarize(expression: pipeline.Expression, frame: Frame, groups: Sequence[list[int]]) -> Vector:
    """Return the value of an expression of aggregates for each group of rows.

    Raises:
        Refused: a column stands beside an aggregate, or a function does not take the kind of its argument.
    """
    inner = Frame(frame.name, [], len(groups), doubts=frame.doubts, notes=frame.notes)
    if isinstance(expression, pipeline.Aggregate):
        return _of_groups(expression, frame, groups)
    if isinstance(expression, pipeline.Arithmetic):
        left, right = (summarize(side, frame, groups) for side in (expression.left, expression.right))
        if not NUMBERS.issuperset((left.kind, right.kind)):
            if DATES.issuperset((left.kind, right.kind)) or left.kind == right.kind == "boolean":
                frame.doubts.add("a difference of dates or truths")
            raise Refused("arithmetic needs numbers")
        return _each(_ARITHMETIC[expression.operator], "number", inner, left, right)
    if isinstance(expression, pipeline.Negative):
        return _each(operator.neg, "number", inner, summarize(expression.operand, frame, groups))
    if isinstance(expression, pipeline.Number):
        return evaluate(expression, frame)
    raise Refused("a column beside an aggregate")


def _of_groups(expression: pipeline.Aggregate, frame: Frame, groups: Sequence[list[int]]) -> Vector:
    function = expression.function
    if expression.operand is None:
        return Vector("number", [len(rows) for rows in groups])
    operand = evaluate(expression.operand, frame)
    cells = operand.each(frame.count)
    second = expression.second
    if function in aggregates.NUMERIC or function in ("percentile", "corr"):
        if operand.kind not in NUMBERS:
            raise Refused(f"{function} of {operand.kind}")
    elif operand.kind == "mixed" and function != "count":
        if function in ("first", "last"):
            frame.doubts.add("an end of a mixed column")
        raise Refused(f"{function} of mixed")
    if function == "corr" and second is not None:
        others = numbers(second, frame).each(frame.count)
        pairs = [[(cells[row], others[row]) for row in rows] for rows in groups]
        known = [[pair for pair in some if None not in pair] for some in pairs]
        return Vector("number", [aggregates.correlation(some) for some in known])
    if function in ("first", "last"):
        return Vector(operand.kind, [_end(function, rows, cells, frame) for rows in groups])
    values = [[cells[row] for row in rows if cells[row] is not None] for rows in groups]
    if function == "percentile" and isinstance(second, pipeline.Number):
        return Vector("number", [aggregates.percentile(some, second.value) if some else None for some in values])
    if expression.distinct:
        return Vector("number", [len(set(some)) for some in values])
    if operand.kind == "text" and function in ("min", "max"):
        doubt_letter_case(frame, cells)
    return Vector(
        operand.kind if function in ("min", "max") else "number",
        [aggregates.aggregate(function, some) for some in values],
    )


def _end(function: str, rows: list[int], cells: Sequence[Any], frame: Frame) -> Any:
    """Return the value of the oldest or the newest row of a group that has one."""
    if not rows:
        return None
    date = frame.date_column()
    ordered = list(rows) if date is None else frame.by_time(rows, date)
    if not ordered:
        frame.doubts.add("a group without a date")
        return None
    if function == "last":
        ordered.reverse()
    if cells[ordered[0]] is None:
        frame.doubts.add("first or last is null")
    row = next((row for row in ordered if cells[row] is not None), ordered[0])
    if date is not None:
        equal = [other for other in ordered if date.cells[other].value == date.cells[row].value]
        if len({cells[other] for other in equal}) > 1:
            frame.doubts.add("equal dates")
    return cells[row]


def _neighbour(expression: pipeline.Neighbour, frame: Frame) -> Vector:
    function = expression.function
    operand = evaluate(expression.operand, frame)
    if function != "lag" and operand.kind not in NUMBERS:
        raise Refused(f"{function} of {operand.kind}")
    if operand.kind == "mixed":
        frame.doubts.add("lag of a mixed column")
    cells = operand.each(frame.count)
    values: list[Any] = [None] * frame.count
    for rows in frame.partitions():
        ordered = frame.in_time(rows)
        for place in range(expression.distance, len(ordered)):
            row, before = ordered[place], cells[ordered[place - expression.distance]]
            values[row] = neighbour(function, cells[row], before)
    return Vector(operand.kind if function == "lag" else "number", values)


def neighbour(function: str, value: Any, before: Any) -> Any:
    """Return the change of a value against the one before it."""
    if function == "lag":
        return before
    if value is None or before is None:
        return None
    if function == "change":
        return value - before
    return None if before == 0 else (value - before) / abs(before) * 100


def _window(expression: pipeline.Window, frame: Frame) -> Vector:
    is_count = expression.function == "count"
    operand = evaluate(expression.operand, frame)
    if operand.kind == "mixed" and not is_count:
        raise Refused("a window over a mixed column")
    if expression.function not in ("count", "min", "max"):
        operand = numbers(expression.operand, frame)
    cells = operand.each(frame.count)
    values: list[Any] = [None] * frame.count
    for rows in frame.partitions():
        ordered = frame.in_time(rows)
        for place in range(expression.size - 1, len(ordered)):
            some = [cells[row] for row in ordered[place - expression.size + 1 : place + 1]]
            if None not in some:
                if operand.kind == "text":
                    doubt_letter_case(frame, some)
                values[ordered[place]] = aggregates.aggregate(expression.function, some)
            elif is_count:
                frame.doubts.add("a count over nulls")
    kind = operand.kind if expression.function in ("min", "max") else "number"
    return Vector(kind, values)


def _within(value: datetime, period: pipeline.Period) -> bool:
    return (period.start is None or value >= period.start) and (period.end is None or value < period.end)


_AGAINST_PERIOD: dict[str, Callable[[datetime, Any], bool]] = {
    "=": _within,
    "!=": lambda value, period: not _within(value, period),
    "<": lambda value, period: value < period.start,
    "<=": lambda value, period: value < period.end,
    ">": lambda value, period: value >= period.end,
    ">=": lambda value, period: value >= period.start,
}


def _compare(expression: pipeline.Compare, frame: Frame) -> Vector:
    left, right = evaluate(expression.left, frame), evaluate(expression.right, frame)
    return compare(expression.operator, left, right, frame, expression.left)


def compare(sign: str, left: Vector, right: Vector, frame: Frame, of: pipeline.Expression) -> Vector:
    """Return where a comparison is true.

    Raises:
        Refused: the two kinds have no order between them.
    """
    kinds = {left.kind, right.kind}
    if "empty" in kinds:
        frame.doubts.add("a column of nulls")
        return Vector("boolean", [None], True)
    if right.kind == "period":
        return _compare_period(sign, left, right, frame, of)
    if kinds <= NUMBERS:
        doubt_last_digits(frame, left, right)
    if kinds <= NUMBERS or kinds == {"boolean"}:
        return _each(_ORDERED[sign], "boolean", frame, left, right)
    if kinds <= DATES:
        if len(kinds) > 1:
            frame.doubts.add("dates of two precisions")
        return _each(_ORDERED[sign], "boolean", frame, left, right)
    is_equality = sign in ("=", "!=")
    if left.kind in DATES and right.kind == "text":
        frame.doubts.add("a date in quotes")
    if kinds == {"text"} or (right.kind == "text" and left.kind == "mixed" and is_equality):
        left = _shown(of, frame) if left.kind == "mixed" else left
        if not is_equality:
            doubt_letter_case(frame, [*left.values, *right.values])
        return _each(_folded(sign), "boolean", frame, left, right)
    if is_equality or (kinds <= NUMBERS | {"text"} and right.is_scalar and isinstance(right.values[0], str)):
        frame.doubts.add("a number against a text in quotes" if not is_equality else "equality of two kinds")
    raise Refused(f"{left.kind} {sign} {right.kind}")


def doubt_last_digits(frame: Frame, left: Vector, right: Vector) -> None:
    """Note numbers that differ behind the twelfth digit: a shown one may have up to fifteen."""
    for one, other in zip(left.each(frame.count), right.each(frame.count), strict=True):
        if one is None or other is None or not math.isclose(one, other, rel_tol=1e-11):
            continue
        if one != other or f"{one:.12g}" != f"{one:.11g}":
            frame.doubts.add("numbers that differ behind the twelfth digit")


def _compare_period(sign: str, left: Vector, right: Vector, frame: Frame, of: pipeline.Expression) -> Vector:
    if left.kind not in DATES:
        if (left.kind in ("mixed", "text") and sign in ("=", "!=")) or right.values[0].text.startswith("'"):
            frame.doubts.add("a date as text")
        raise Refused(f"a date against {left.kind}")
    if isinstance(of, pipeline.Ref) and frame.differs_by_day(frame.column(of.name)):
        frame.doubts.add("the day depends on the offset")
    if left.kind in ("coarse", "unit"):
        frame.doubts.add("period against a coarse date")
    return _each(_AGAINST_PERIOD[sign], "boolean", frame, left, right)


def _folded(sign: str) -> Callable[[str, str], bool]:
    return lambda left, right: _ORDERED[sign](left.casefold(), right.casefold())


def _shown(expression: pipeline.Expression, frame: Frame) -> Vector:
    """Return the texts of a mixed column."""
    if not isinstance(expression, pipeline.Ref):
        raise Refused("a mixed column in an expression")
    cells = frame.column(expression.name).cells
    return Vector("text", [None if cell.value is None else str(cell.shown) for cell in cells])


def doubt_letter_case(frame: Frame, texts: Sequence[str | None]) -> None:
    """Note that the order of some texts depends on whether letter case counts."""
    known = {text for text in texts if text is not None}
    if sorted(known) != sorted(known, key=str.casefold):
        frame.doubts.add("order of texts of both letter cases")


def _negated(found: Vector, negated: bool) -> Vector:
    if not negated:
        return found
    return Vector("boolean", [None if value is None else not value for value in found.values], found.is_scalar)


def _between(expression: pipeline.Between, frame: Frame) -> Vector:
    operand = evaluate(expression.operand, frame)
    low = compare(">=", operand, evaluate(expression.low, frame), frame, expression.operand)
    high = compare("<=", operand, evaluate(expression.high, frame), frame, expression.operand)
    return _negated(_logic_of("and", [low, high], frame), expression.negated)


def _among(expression: pipeline.Among, frame: Frame) -> Vector:
    operand = evaluate(expression.operand, frame)
    found = [compare("=", operand, evaluate(item, frame), frame, expression.operand) for item in expression.items]
    return _negated(_logic_of("or", found, frame), expression.negated)


def _matches(expression: pipeline.Matches, frame: Frame) -> Vector:
    operand = evaluate(expression.operand, frame)
    if operand.kind == "empty":
        return Vector("boolean", [None], True)
    if operand.kind == "mixed":
        operand = _shown(expression.operand, frame)
    if operand.kind != "text":
        frame.doubts.add("text operator on another kind")
        raise Refused("text operator on another kind")
    pattern = expression.pattern.value.casefold()
    tests: dict[str, Callable[[str], bool]] = {
        "contains": lambda text: pattern in text.casefold(),
        "starts with": lambda text: text.casefold().startswith(pattern),
        "ends with": lambda text: text.casefold().endswith(pattern),
        "like": lambda text: re.fullmatch(_like(pattern), text.casefold(), re.DOTALL) is not None,
    }
    return _negated(_each(tests[expression.way], "boolean", frame, operand), expression.negated)


def _like(pattern: str) -> str:
    return "".join({"%": ".*", "_": "."}.get(letter, re.escape(letter)) for letter in pattern)


def _is_null(expression: pipeline.IsNull, frame: Frame) -> Vector:
    operand = evaluate(expression.operand, frame)
    return Vector("boolean", [(value is None) != expression.negated for value in operand.each(frame.count)])


def _logic_of(word: str, operands: Sequence[Vector], frame: Frame) -> Vector:
    """Combine truths of three values."""
    decisive = word == "or"
    rows = zip(*(operand.each(frame.count) for operand in operands), strict=True)
    return Vector(
        "boolean",
        [decisive if decisive in row else (None if None in row else not decisive) for row in rows],
    )


def _logic(expression: pipeline.Logic, frame: Frame) -> Vector:
    return _logic_of(expression.operator, [evaluate(operand, frame) for operand in expression.operands], frame)


def _not(expression: pipeline.Not, frame: Frame) -> Vector:
    return _negated(evaluate(expression.operand, frame), True)


_EVALUATE: dict[type, Callable[[Any, Frame], Vector]] = {
    pipeline.Ref: _ref,
    pipeline.Number: _constant("number"),
    pipeline.Text: _constant("text"),
    pipeline.Boolean: _constant("boolean"),
    pipeline.Period: _period,
    pipeline.Arithmetic: _arithmetic,
    pipeline.Negative: _negative,
    pipeline.Part: _part,
    pipeline.Aggregate: _aggregate,
    pipeline.Neighbour: _neighbour,
    pipeline.Window: _window,
    pipeline.Compare: _compare,
    pipeline.Between: _between,
    pipeline.Among: _among,
    pipeline.Matches: _matches,
    pipeline.IsNull: _is_null,
    pipeline.Logic: _logic,
    pipeline.Not: _not,
}
