"""What a ``select`` says, before the names in it are looked up: the parser returns it, the evaluator takes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from toolfold.errors import InvalidSelect

EXAMPLES = (
    '"close; last 30 days", "2024-01..2024-03", "type=call and strike>=200", "top 5 by volume", '
    '"max(close), sum(volume) by year", "high-low as spread; [0:5]", "from holdings; first 5", "SELECT … FROM data", '
    '"jmespath: feed[0].title"'
)
"""Examples of every kind, in one line: for the description of the parameter, and part of errors."""


@dataclass(frozen=True)
class Name:
    """The name of a column or table as it was written, possibly of several words, and where it starts."""

    text: str
    offset: int


# Expressions


@dataclass(frozen=True)
class Number:
    """A number; ``text`` is how it was written, with ``%`` where it is a percentage."""

    value: int | float
    text: str
    offset: int


@dataclass(frozen=True)
class Column:
    """A column, by a name of one or more words."""

    name: Name


@dataclass(frozen=True)
class Arithmetic:
    """Two values with ``+``, ``-``, ``*`` or ``/`` between them."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Call:
    """A function of rows (``max``) or of a value (``round``); ``text`` is how the call was written."""

    function: str
    arguments: tuple[Expression, ...]
    text: str
    offset: int
    distinct: bool = False


Expression: TypeAlias = Number | Column | Arithmetic | Call


# Conditions


@dataclass(frozen=True)
class Operand:
    """The right side of a comparison.

    Attributes:
        text: as it was written; a text column is compared with it.
        offset: where it starts.
        expression: the same as numbers and columns, where it can be read so.
    """

    text: str
    offset: int
    expression: Expression | None = None


@dataclass(frozen=True)
class Comparison:
    """A comparison: ``= != < <= > >= contains starts ends like between``, with one of ``operands``."""

    left: Expression
    operator: str
    operands: tuple[Operand, ...]


@dataclass(frozen=True)
class IsNull:
    """Whether a cell has no value."""

    left: Expression


@dataclass(frozen=True)
class Period:
    """A period of dates, in the first column of dates or in the one that is named.

    Attributes:
        text: as it was written.
        offset: where it starts.
        low: first date, ISO 8601, as precise as it was written; ``""``: none.
        high: last date; ``""``: none.
        after: ``low`` itself is outside.
        before: ``high`` itself is outside.
        relative: ``last``, ``next``, ``previous``, ``this``: a period that depends on the newest row, ``first``: on the
            oldest; ``""``: not.
        count: how many units of a relative period.
        unit: ``minute``, ``hour``, ``day``, ``week``, ``month``, ``quarter``, ``year`` or ``decade``.
    """

    text: str
    offset: int
    low: str = ""
    high: str = ""
    after: bool = False
    before: bool = False
    relative: str = ""
    count: int = 1
    unit: str = ""


@dataclass(frozen=True)
class Not:
    """The opposite of a condition."""

    condition: Condition


@dataclass(frozen=True)
class All:
    """All of the conditions."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class AnyOf:
    """At least one of the conditions."""

    conditions: tuple[Condition, ...]


Condition: TypeAlias = Comparison | IsNull | Period | Not | All | AnyOf


# The whole


@dataclass(frozen=True)
class Item:
    """What to return for every row, or of all rows; ``text`` is how it was written."""

    expression: Expression
    text: str
    alias: str = ""


@dataclass(frozen=True)
class Order:
    """What to sort by; ``excludes``: written as ``-name``, which may also mean "without this column"."""

    expression: Expression
    descending: bool = False
    excludes: bool = False


@dataclass(frozen=True)
class RowLimit:
    """How many rows, and which.

    Attributes:
        which: ``first``/``last`` (by date), ``oldest``/``newest``, ``head``/``tail`` (as listed), ``top``/``bottom``.
        count: how many.
        offset: where it is written.
        of: the words after ``top 5``: a column or a table.
    """

    which: str
    count: int
    offset: int
    of: Name | None = None


@dataclass(frozen=True)
class Slice:
    """Rows by their position as listed, as in Python: ``[0:5]``, ``[-1]``."""

    start: int | None
    stop: int | None

    @property
    def needed_rows(self) -> tuple[int, bool]:
        """How many rows there must be for it, and whether they are counted from the end of the list."""
        if self.start is not None and self.start < 0:
            return -self.start, True
        if self.stop is not None:
            return max(self.stop, 0), False
        return (self.start + 1 if self.start else 0), False


@dataclass(frozen=True)
class Selection:
    """What an expression selects.

    Attributes:
        items: columns, calculations and functions to return; none: all columns.
        condition: what must be true of a row.
        groups: columns and units of time by which functions are grouped.
        having: what must be true of a group.
        order: what to sort by.
        row_limit: how many rows.
        rows: rows by their position.
        skip: rows to leave out before those.
        distinct: whether equal rows are returned once.
        excluded: columns to leave out.
        exactly: whether no column is added to those that are listed.
        table: one of several tables.
        jmespath: a JMESPath expression, alone.
        sql: a SQL statement, alone.
    """

    items: tuple[Item, ...] = ()
    condition: Condition | None = None
    groups: tuple[Item, ...] = ()
    having: tuple[Condition, ...] = ()
    order: tuple[Order, ...] = ()
    row_limit: RowLimit | None = None
    rows: Slice | None = None
    skip: int = 0
    distinct: bool = False
    excluded: tuple[Name, ...] = ()
    exactly: bool = False
    table: Name | None = None
    jmespath: str = ""
    sql: str = ""


def invalid_select(problem: str, offset: int | None = None, suggestion: str = "", **details: Any) -> InvalidSelect:
    """Return the error for an expression; ``offset`` is the character, from 0, at which the problem is."""
    position = {} if offset is None else {"position": offset}
    place = "" if offset is None else f" (at character {offset})"
    return InvalidSelect(f"{problem}{place}", suggestion or f"Write e.g. {EXAMPLES}.", **position, **details)


def parts_of(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all that it is made of."""
    pending: list[Expression] = [expression]
    while pending:
        part = pending.pop()
        yield part
        if isinstance(part, Arithmetic):
            pending += (part.right, part.left)
        elif isinstance(part, Call):
            pending += reversed(part.arguments)


def top_conditions(condition: Condition | None) -> tuple[Condition, ...]:
    """Return the conditions that must all be true."""
    if condition is None:
        return ()
    return condition.conditions if isinstance(condition, All) else (condition,)


def without_columns(selection: Selection, names: frozenset[str]) -> Selection:
    """Return the selection without these columns among what is returned and what groups.

    Args:
        selection: what is selected of each of several answers.
        names: columns that those answers get when they are put together, in lower case.
    """

    def others(items: tuple[Item, ...]) -> tuple[Item, ...]:
        return tuple(
            item
            for item in items
            if not (isinstance(item.expression, Column) and item.expression.name.text.lower() in names)
        )

    items = others(selection.items)
    if selection.items and not items:
        return selection
    return replace(selection, items=items, groups=others(selection.groups))
