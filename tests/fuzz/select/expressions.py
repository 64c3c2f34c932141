"""Make expressions: arithmetic, conditions, aggregates, other rows. What each gives is evaluated in plain Python."""

import math
import operator
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from tests.fuzz.select import aggregates
from tests.fuzz.select.frame import Frame, Refused, Vector
from tests.fuzz.select.language import Expression, Groups, Period, written
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


def _inside(expression: Expression) -> str:
    return f"({expression.text})" if expression.is_compound else expression.text


def _as_numbers(found: Vector) -> Vector:
    if found.kind not in NUMBERS:
        raise Refused(f"{found.kind} where a number is needed")
    return found


def _each(function: Callable[..., Any], kind: str, frame: Frame, *vectors: Vector) -> Vector:
    """Apply a function to values of one row each; null where one of them is."""
    if all(vector.is_scalar for vector in vectors):
        values = [tuple(vector.values[0] for vector in vectors)]
    else:
        values = list(zip(*(vector.each(frame.count) for vector in vectors), strict=True))
    found = [None if any(value is None for value in row) else function(*row) for row in values]
    return Vector(kind, found, all(vector.is_scalar for vector in vectors))


def _inner(frame: Frame, groups: Groups) -> Frame:
    return Frame(frame.name, [], len(groups), doubts=frame.doubts, notes=frame.notes)


# Columns and literals


def ref(name: str, *, as_written: bool = False) -> Expression:
    """Return a column, by its exact name; ``as_written``: that of a computed one, which is written without quotes."""

    def values(frame: Frame) -> Vector:
        column = frame.column(name)
        others = [one.name for one in frame.columns if one.name != name]
        spelled = [text for other in others for text in (f"({other}", f"({written(other)}")]
        frame.doubt_if(as_written and any(text in name for text in spelled), "a computed column or its formula")
        return Vector(column.kind, column.values())

    return Expression(name if as_written else written(name), values, column=name, as_written=as_written)


def number(value: float, text: str = "") -> Expression:
    """Return a number."""
    found = Vector("number", [value], True)
    return Expression(text or repr(value), lambda _frame: found, lambda _frame, _groups: found, literal=value)


def text(value: str, spelled: str = "") -> Expression:
    """Return a text; by default in quotes."""
    quoted = "'" + value.replace("'", "''") + "'"
    return Expression(spelled or quoted, lambda _frame: Vector("text", [value], True), literal=value)


def boolean(value: bool) -> Expression:
    return Expression(str(value).lower(), lambda _frame: Vector("boolean", [value], True), literal=value)


def date(period: Period) -> Expression:
    return Expression(period.text, lambda _frame: Vector("period", [period], True), literal=period)


# Arithmetic


def arithmetic(sign: str, left: Expression, right: Expression) -> Expression:
    """Return ``left + right`` and the like."""

    def values(frame: Frame) -> Vector:
        one, other = left.values(frame), right.values(frame)
        frame.doubt_if(one.kind in DATES and other.kind in NUMBERS | DATES, "arithmetic of dates")
        return _each(_ARITHMETIC[sign], "number", frame, _as_numbers(one), _as_numbers(other))

    def of_groups(frame: Frame, groups: Groups) -> Vector:
        one, other = (side.of_groups(frame, groups) for side in (left, right))
        if not NUMBERS.issuperset((one.kind, other.kind)):
            if DATES.issuperset((one.kind, other.kind)) or one.kind == other.kind == "boolean":
                frame.doubts.add("a difference of dates or truths")
            raise Refused("arithmetic needs numbers")
        return _each(_ARITHMETIC[sign], "number", _inner(frame, groups), one, other)

    return Expression(f"{_inside(left)} {sign} {_inside(right)}", values, of_groups, is_compound=True)


def negative(operand: Expression) -> Expression:
    return Expression(
        f"-{_inside(operand)}",
        lambda frame: _each(operator.neg, "number", frame, _as_numbers(operand.values(frame))),
        lambda frame, groups: _each(operator.neg, "number", _inner(frame, groups), operand.of_groups(frame, groups)),
        is_compound=True,
    )


def dates(operand: Expression | None, frame: Frame) -> Column:
    """Return a column of dates: the named one, or the date column."""
    column = frame.column(operand.column) if operand else frame.date_column()
    if column is None:
        raise Refused("no date column")
    if column.kind == "empty":
        return column
    if column.kind not in DATES:
        raise Refused(f"{column.kind} where a date is needed")
    frame.doubt_if(frame.differs_by_day(column), "the day depends on the offset")
    return column


def part(unit: str, operand: Expression | None = None) -> Expression:
    """Return ``year(date)``, ``month(date)``, ``quarter(date)``, ``weekday(date)``; without ``operand`` the word."""

    def values(frame: Frame) -> Vector:
        column = dates(operand, frame)
        frame.doubt_if(column.kind in ("coarse", "unit"), "part of a coarse date")
        kind = "text" if unit == "weekday" else "number"
        return _each(PARTS[unit], kind, frame, Vector("date", column.values()))

    return Expression(f"{unit}({operand.text})" if operand else unit, values)


# Functions of rows


def aggregate(
    function: str, operand: Expression | None = None, second: Expression | None = None, *, distinct: bool = False
) -> Expression:
    """Return ``avg(x)``; ``count`` has no operand; ``percentile`` and ``corr`` have a second argument."""

    def of_groups(frame: Frame, groups: Groups) -> Vector:
        if operand is None:
            return Vector("number", [len(rows) for rows in groups])
        found = operand.values(frame)
        cells = found.each(frame.count)
        if function in aggregates.NUMERIC or function in ("percentile", "corr"):
            if found.kind not in NUMBERS:
                raise Refused(f"{function} of {found.kind}")
        elif found.kind == "mixed" and function != "count":
            frame.doubt_if(function in ("first", "last"), "an end of a mixed column")
            raise Refused(f"{function} of mixed")
        if function == "corr" and second is not None:
            others = _as_numbers(second.values(frame)).each(frame.count)
            pairs = [[(cells[row], others[row]) for row in rows] for rows in groups]
            known = [[pair for pair in some if None not in pair] for some in pairs]
            return Vector("number", [aggregates.correlation(some) for some in known])
        if function in ("first", "last"):
            return Vector(found.kind, [_end(function, rows, cells, frame) for rows in groups])
        values = [[cells[row] for row in rows if cells[row] is not None] for rows in groups]
        if function == "percentile" and second is not None:
            return Vector("number", [aggregates.percentile(some, second.literal) if some else None for some in values])
        if distinct:
            return Vector("number", [len(set(some)) for some in values])
        is_extreme = function in ("min", "max")
        if found.kind == "text" and is_extreme:
            doubt_letter_case(frame, cells)
        return Vector(found.kind if is_extreme else "number", [aggregates.aggregate(function, some) for some in values])

    def values(frame: Frame) -> Vector:
        parts = frame.partitions()
        found = of_groups(frame, parts)
        if not frame.keys:
            return Vector(found.kind, found.values, True)
        cells: list[Any] = [None] * frame.count
        for value, rows in zip(found.values, parts, strict=True):
            for row in rows:
                cells[row] = value
        return Vector(found.kind, cells)

    arguments = [*([operand.text] if operand else []), *([second.text] if second else [])]
    inside = f"({'distinct ' * distinct}{', '.join(arguments)})" if operand else ""
    return Expression(f"{function}{inside}", values, of_groups, function=function, operand=operand)


def _end(function: str, rows: list[int], cells: Sequence[Any], frame: Frame) -> Any:
    """Return the value of the oldest or the newest row of a group that has one."""
    if not rows:
        return None
    column = frame.date_column()
    ordered = list(rows) if column is None else frame.by_time(rows, column)
    if not ordered:
        frame.doubts.add("a group without a date")
        return None
    if function == "last":
        ordered.reverse()
    frame.doubt_if(cells[ordered[0]] is None, "first or last is null")
    row = next((row for row in ordered if cells[row] is not None), ordered[0])
    if column is not None:
        equal = [other for other in ordered if column.cells[other].value == column.cells[row].value]
        frame.doubt_if(len({cells[other] for other in equal}) > 1, "equal dates")
    return cells[row]


def neighbour(function: str, operand: Expression, distance: int = 1) -> Expression:
    """Return ``change(x)``, ``pct_change(x)``, ``lag(x, n)``."""

    def values(frame: Frame) -> Vector:
        found = operand.values(frame)
        if function != "lag" and found.kind not in NUMBERS:
            raise Refused(f"{function} of {found.kind}")
        frame.doubt_if(found.kind == "mixed", "lag of a mixed column")
        cells = found.each(frame.count)
        changes: list[Any] = [None] * frame.count
        for rows in frame.partitions():
            ordered = frame.in_time(rows)
            for place in range(distance, len(ordered)):
                row, before = ordered[place], cells[ordered[place - distance]]
                changes[row] = changed(function, cells[row], before)
        return Vector(found.kind if function == "lag" else "number", changes)

    spelled = f"{function}({operand.text}{f', {distance}' if distance != 1 else ''})"
    return Expression(spelled, values, function=function, operand=operand, distance=distance)


def changed(function: str, value: Any, before: Any) -> Any:
    """Return the change of a value against the one before it."""
    if function == "lag":
        return before
    if value is None or before is None:
        return None
    if function == "change":
        return value - before
    return None if before == 0 else (value - before) / abs(before) * 100


def window(function: str, operand: Expression, size: int) -> Expression:
    is_count = function == "count"

    def values(frame: Frame) -> Vector:
        found = operand.values(frame)
        if found.kind == "mixed" and not is_count:
            raise Refused("a window over a mixed column")
        if function not in ("count", "min", "max"):
            found = _as_numbers(found)
        cells = found.each(frame.count)
        results: list[Any] = [None] * frame.count
        for rows in frame.partitions():
            ordered = frame.in_time(rows)
            for place in range(size - 1, len(ordered)):
                some = [cells[row] for row in ordered[place - size + 1 : place + 1]]
                if None not in some:
                    if found.kind == "text":
                        doubt_letter_case(frame, some)
                    results[ordered[place]] = aggregates.aggregate(function, some)
                elif is_count:
                    frame.doubts.add("a count over nulls")
        return Vector(found.kind if function in ("min", "max") else "number", results)

    return Expression(f"{function}({operand.text}) over {size}", values)


# Conditions


def truths(condition: Expression, frame: Frame) -> list[bool]:
    """Return for each row whether a condition is true; unknown is not true."""
    found = condition.values(frame)
    if found.kind not in ("boolean", "empty"):
        raise Refused(f"{found.kind} where a condition is needed")
    return [value is True for value in found.each(frame.count)]


def _within(value: datetime, period: Period) -> bool:
    return (period.start is None or value >= period.start) and (period.end is None or value < period.end)


_AGAINST_PERIOD: dict[str, Callable[[datetime, Any], bool]] = {
    "=": _within,
    "!=": lambda value, period: not _within(value, period),
    "<": lambda value, period: value < period.start,
    "<=": lambda value, period: value < period.end,
    ">": lambda value, period: value >= period.end,
    ">=": lambda value, period: value >= period.start,
}


def compare(sign: str, left: Expression, right: Expression) -> Expression:
    return Expression(
        f"{_inside(left)} {sign} {_inside(right)}",
        lambda frame: _compared(sign, left.values(frame), right.values(frame), frame, left),
    )


def _compared(sign: str, left: Vector, right: Vector, frame: Frame, of: Expression) -> Vector:
    """Return where a comparison is true.

    Raises:
        Refused: the two kinds have no order between them.
    """
    kinds = {left.kind, right.kind}
    if "empty" in kinds:
        frame.doubts.add("a column of nulls")
        return Vector("boolean", [None], True)
    if right.kind == "period":
        return _compared_with_period(sign, left, right, frame, of)
    if kinds <= NUMBERS:
        _doubt_last_digits(frame, left, right)
    if kinds <= NUMBERS or kinds == {"boolean"}:
        return _each(_ORDERED[sign], "boolean", frame, left, right)
    if kinds <= DATES:
        frame.doubt_if(len(kinds) > 1, "dates of two precisions")
        return _each(_ORDERED[sign], "boolean", frame, left, right)
    is_equality = sign in ("=", "!=")
    frame.doubt_if(left.kind in DATES and right.kind == "text", "a date in quotes")
    if kinds == {"text"} or (right.kind == "text" and left.kind == "mixed" and is_equality):
        left = _shown(of, frame) if left.kind == "mixed" else left
        if not is_equality:
            doubt_letter_case(frame, [*left.values, *right.values])
        return _each(lambda one, other: _ORDERED[sign](one.casefold(), other.casefold()), "boolean", frame, left, right)
    if is_equality or (kinds <= NUMBERS | {"text"} and right.is_scalar and isinstance(right.values[0], str)):
        frame.doubts.add("a number against a text in quotes" if not is_equality else "equality of two kinds")
    raise Refused(f"{left.kind} {sign} {right.kind}")


def _doubt_last_digits(frame: Frame, left: Vector, right: Vector) -> None:
    """Note numbers that differ behind the twelfth digit: a shown one may have up to fifteen."""
    for one, other in zip(left.each(frame.count), right.each(frame.count), strict=True):
        if one is None or other is None or not math.isclose(one, other, rel_tol=1e-11):
            continue
        frame.doubt_if(one != other or f"{one:.12g}" != f"{one:.11g}", "numbers that differ behind the twelfth digit")


def _compared_with_period(sign: str, left: Vector, right: Vector, frame: Frame, of: Expression) -> Vector:
    if left.kind not in DATES:
        if (left.kind in ("mixed", "text") and sign in ("=", "!=")) or right.values[0].text.startswith("'"):
            frame.doubts.add("a date as text")
        raise Refused(f"a date against {left.kind}")
    frame.doubt_if(of.column and frame.differs_by_day(frame.column(of.column)), "the day depends on the offset")
    frame.doubt_if(left.kind in ("coarse", "unit"), "period against a coarse date")
    return _each(_AGAINST_PERIOD[sign], "boolean", frame, left, right)


def _shown(expression: Expression, frame: Frame) -> Vector:
    """Return the texts of a mixed column."""
    if not expression.column:
        raise Refused("a mixed column in an expression")
    cells = frame.column(expression.column).cells
    return Vector("text", [None if cell.value is None else str(cell.shown) for cell in cells])


def doubt_letter_case(frame: Frame, texts: Sequence[str | None]) -> None:
    """Note that the order of some texts depends on whether letter case counts."""
    known = {text for text in texts if text is not None}
    frame.doubt_if(sorted(known) != sorted(known, key=str.casefold), "order of texts of both letter cases")


def _negated(found: Vector, is_negated: bool) -> Vector:
    if not is_negated:
        return found
    return Vector("boolean", [None if value is None else not value for value in found.values], found.is_scalar)


def between(operand: Expression, low: Expression, high: Expression, *, negated: bool = False) -> Expression:
    def values(frame: Frame) -> Vector:
        found = operand.values(frame)
        ends = [_compared(sign, found, end.values(frame), frame, operand) for sign, end in ((">=", low), ("<=", high))]
        return _negated(_combined("and", ends, frame), negated)

    word = "not between" if negated else "between"
    return Expression(f"{_inside(operand)} {word} {low.text} and {high.text}", values)


def among(operand: Expression, items: Sequence[Expression], *, negated: bool = False) -> Expression:
    def values(frame: Frame) -> Vector:
        found = operand.values(frame)
        equal = [_compared("=", found, item.values(frame), frame, operand) for item in items]
        return _negated(_combined("or", equal, frame), negated)

    word = "not in" if negated else "in"
    return Expression(f"{_inside(operand)} {word} ({', '.join(item.text for item in items)})", values)


def matches(operand: Expression, way: str, pattern: Expression, *, negated: bool = False) -> Expression:
    """Return ``operand like pattern``; ``way`` is also ``contains``, ``starts with``, ``ends with``."""
    folded = pattern.literal.casefold()
    like = "".join({"%": ".*", "_": "."}.get(letter, re.escape(letter)) for letter in folded)
    tests: dict[str, Callable[[str], bool]] = {
        "contains": lambda one: folded in one.casefold(),
        "starts with": lambda one: one.casefold().startswith(folded),
        "ends with": lambda one: one.casefold().endswith(folded),
        "like": lambda one: re.fullmatch(like, one.casefold(), re.DOTALL) is not None,
    }

    def values(frame: Frame) -> Vector:
        found = operand.values(frame)
        if found.kind == "empty":
            return Vector("boolean", [None], True)
        if found.kind == "mixed":
            found = _shown(operand, frame)
        if found.kind != "text":
            frame.doubts.add("text operator on another kind")
            raise Refused("text operator on another kind")
        return _negated(_each(tests[way], "boolean", frame, found), negated)

    return Expression(f"{_inside(operand)} {f'not {way}' if negated else way} {pattern.text}", values)


def is_null(operand: Expression, *, negated: bool = False) -> Expression:
    def values(frame: Frame) -> Vector:
        return Vector("boolean", [(cell is None) != negated for cell in operand.values(frame).each(frame.count)])

    return Expression(f"{_inside(operand)} is {'not ' * negated}null", values)


def _combined(word: str, operands: Sequence[Vector], frame: Frame) -> Vector:
    """Combine truths of three values."""
    decisive = word == "or"
    rows = zip(*(operand.each(frame.count) for operand in operands), strict=True)
    return Vector(
        "boolean",
        [decisive if decisive in row else (None if None in row else not decisive) for row in rows],
    )


def logic(word: str, operands: Sequence[Expression]) -> Expression:
    """Return operands with ``and`` or ``or`` between them."""
    return Expression(
        f" {word} ".join(map(_inside, operands)),
        lambda frame: _combined(word, [operand.values(frame) for operand in operands], frame),
        is_compound=True,
    )


def negation(operand: Expression) -> Expression:
    return Expression(f"not ({operand.text})", lambda frame: _negated(operand.values(frame), True))
