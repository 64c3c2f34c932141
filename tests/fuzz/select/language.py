"""What a ``select`` is made of: expressions and steps, each with its text and with what it gives, and whole cases."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any, Literal

from tests.fuzz.select.frame import Frame, Refused, Vector
from tests.fuzz.select.table import Table

Unit = Literal["day", "week", "month", "quarter", "year"]
Groups = Sequence[list[int]]
"""The rows of each group."""

_RESERVED = """
    all and any as asc avg before between bottom by case cast columns contains count create cross data date day
    default desc distinct during else end ends except exists filter first following for from full group having head
    highest in inner into interval is isnull join key last latest left like limit lowest max mean median min month
    natural newest next not notnull null of offset oldest on or order outer over partition past per preceding
    quarter range right row rows select set since starts sum table tail then this to top true false union unique
    until update using values week weekday when where window with year ytd mtd qtd index desc current e
    after show sort sorted recent most inf nan change lag corr std stddev variance percentile"""

RESERVED = frozenset(_RESERVED.split())
"""Names that are written in quotes, because they mean something in the language or in SQL."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def written(name: str) -> str:
    """Return the name of a column as it is written: with quotes unless it is a plain word."""
    if _PLAIN.fullmatch(name) and name.lower() not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def _beside(_frame: Frame, _groups: Groups) -> Vector:
    raise Refused("a column beside an aggregate")


@dataclass(frozen=True)
class Period:
    """A date literal or a period: from ``start``, without ``end``. None: without a bound."""

    start: datetime | None
    end: datetime | None
    text: str


@dataclass(frozen=True)
class Expression:
    """An expression.

    Args:
        text: how it is written. It is also the name of the column that it makes.
        values: returns its values over all rows.
        of_groups: returns its value for each group of rows.
        column: the name of the column that it is; empty: it is another expression.
        as_written: the column is a computed one, whose name is written without quotes.
        literal: its value, where it is a literal.
        function: the name of an aggregate, or of a function of the row before.
        operand: the argument of ``function``.
        distance: of a function of a row before, how many rows; 0: it is another function.
        is_compound: it is in parentheses inside another one.
    """

    text: str
    values: Callable[[Frame], Vector] = field(compare=False)
    of_groups: Callable[[Frame, Groups], Vector] = field(default=_beside, compare=False)
    column: str = ""
    as_written: bool = False
    literal: Any = None
    function: str = ""
    operand: Expression | None = None
    distance: int = 0
    is_compound: bool = False

    @property
    def is_aggregate(self) -> bool:
        """Whether it is one function of all rows of a group."""
        return bool(self.function) and not self.distance


@dataclass(frozen=True)
class Item:
    """One column of a list, with its alias or without."""

    expression: Expression
    alias: str = ""

    @property
    def text(self) -> str:
        """How it is written."""
        return self.expression.text + (f" as {written(self.alias)}" if self.alias else "")


@dataclass(frozen=True)
class Action:
    """What a step does.

    Args:
        texts: its spellings, the plain one first.
        change: returns the table after it.
        is_of_rows: a single row of aggregates is not followed by it.
    """

    texts: Sequence[str]
    change: Callable[[Frame], Frame] = field(compare=False)
    is_of_rows: bool = False


@dataclass(frozen=True)
class Step:
    """An action on a table. ``table``: the name written before it, if any; ``spelling`` chooses among its spellings."""

    action: Action | None
    table: str = ""
    spelling: int = 0

    @property
    def text(self) -> str:
        """How it is written. ``spelling`` 0 is the plain spelling."""
        if self.action is None:
            return written(self.table) if self.table else "all"
        text = Random(self.spelling).choice(self.action.texts) if self.spelling else self.action.texts[0]
        return f"{written(self.table)}: {text}" if self.table else text


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

    @property
    def select(self) -> str | list[str]:
        """The ``select``."""
        texts = [f"from {written(self.first)}"] if self.first else []
        texts += [step.text for step in self.steps]
        return texts if self.is_list else "; ".join(texts)
