"""A ``select`` as a structure: expressions, steps, and pipelines for one or several tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tests.fuzz.select.table import Table

Unit = Literal["day", "week", "month", "quarter", "year"]


@dataclass(frozen=True)
class Ref:
    """A column, by its exact name. ``as_written``: the name of a computed column, which is written without quotes."""

    name: str
    as_written: bool = False


@dataclass(frozen=True)
class Number:
    value: float
    text: str


@dataclass(frozen=True)
class Text:
    """A text; ``text`` is how it is written, with quotes or without."""

    value: str
    text: str


@dataclass(frozen=True)
class Period:
    """A date literal: from ``start``, without ``end``. None: without a bound."""

    start: datetime | None
    end: datetime | None
    text: str


@dataclass(frozen=True)
class Boolean:
    value: bool


@dataclass(frozen=True)
class Arithmetic:
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Negative:
    operand: Expression


@dataclass(frozen=True)
class Part:
    """``year(date)``, ``month(date)``, ``quarter(date)``, ``weekday(date)``; ``operand`` None: the bare word."""

    unit: str
    operand: Ref | None = None


@dataclass(frozen=True)
class Aggregate:
    """``avg(x)``; ``count`` has no operand; ``percentile`` and ``corr`` have a second argument."""

    function: str
    operand: Expression | None = None
    second: Expression | None = None
    distinct: bool = False


@dataclass(frozen=True)
class Neighbour:
    """``change(x)``, ``pct_change(x)``, ``lag(x, n)``."""

    function: str
    operand: Expression
    distance: int = 1


@dataclass(frozen=True)
class Window:
    function: str
    operand: Expression
    size: int


@dataclass(frozen=True)
class Compare:
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Between:
    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False


@dataclass(frozen=True)
class Among:
    operand: Expression
    items: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True)
class Matches:
    """``operand like pattern``; ``way`` is also ``contains``, ``starts with``, ``ends with``."""

    operand: Expression
    way: str
    pattern: Text
    negated: bool = False


@dataclass(frozen=True)
class IsNull:
    operand: Expression
    negated: bool = False


@dataclass(frozen=True)
class Logic:
    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Not:
    operand: Expression


Expression = (
    Ref
    | Number
    | Text
    | Period
    | Boolean
    | Arithmetic
    | Negative
    | Part
    | Aggregate
    | Neighbour
    | Window
    | Compare
    | Between
    | Among
    | Matches
    | IsNull
    | Logic
    | Not
)


@dataclass(frozen=True)
class Item:
    """One column of a list, with its alias or without."""

    expression: Expression
    alias: str = ""


@dataclass(frozen=True)
class Columns:
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Except:
    names: tuple[str, ...]


@dataclass(frozen=True)
class Condition:
    expression: Expression


@dataclass(frozen=True)
class During:
    period: Period


@dataclass(frozen=True)
class Recent:
    """``last N months``: a period that ends at the newest row."""

    count: int
    unit: Unit
    text: str


@dataclass(frozen=True)
class Calendar:
    """``this year`` and ``last year``: of the newest row, and the one before; ``back`` is 0 or 1."""

    back: int
    unit: Unit
    text: str


@dataclass(frozen=True)
class Order:
    """``order by x desc, y``: pairs of an expression and whether it is descending."""

    keys: tuple[tuple[Expression, bool], ...]


@dataclass(frozen=True)
class ByDate:
    newest: bool


@dataclass(frozen=True)
class Ends:
    last: bool
    count: int


@dataclass(frozen=True)
class Top:
    largest: bool
    count: int
    by: Expression


@dataclass(frozen=True)
class Slice:
    """``limit``/``offset`` and ``[a:b]``: by place."""

    start: int | None
    stop: int | None
    brackets: bool = False


@dataclass(frozen=True)
class Summary:
    """Aggregates, alone or by names of columns and units of time."""

    items: tuple[Item, ...]
    by: tuple[Ref | Unit | Literal["weekday"], ...] = ()


@dataclass(frozen=True)
class Distinct:
    names: tuple[str, ...]


@dataclass(frozen=True)
class Sql:
    """``SELECT items FROM data WHERE … GROUP BY … ORDER BY … LIMIT …``.

    ``order``: pairs of the place of an item and whether it is descending.
    """

    items: tuple[Item, ...]
    where: Expression | None = None
    by: tuple[Ref, ...] = ()
    order: tuple[tuple[int, bool], ...] = ()
    limit: int | None = None


Action = (
    Columns
    | Except
    | Condition
    | During
    | Recent
    | Calendar
    | Order
    | ByDate
    | Ends
    | Top
    | Slice
    | Summary
    | Distinct
    | Sql
)


@dataclass(frozen=True)
class Step:
    """An action on a table. ``table``: the name written before it, if any; ``spelling`` chooses among its spellings."""

    action: Action | None
    table: str = ""
    spelling: int = 0


@dataclass(frozen=True)
class Case:
    """Tables and a pipeline.

    Args:
        tables: of the answer.
        steps: of the pipeline.
        first: the table that ``from`` names.
        partition: names of the varied arguments of a list of calls.
        is_list: the steps are a list of texts.
        route: how the answer arrives: ``cells`` as they are, or parsed from ``csv`` or ``json``.
    """

    tables: tuple[Table, ...]
    steps: tuple[Step, ...]
    first: str = ""
    partition: tuple[str, ...] = ()
    is_list: bool = False
    route: str = "cells"
