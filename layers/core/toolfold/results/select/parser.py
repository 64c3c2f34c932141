"""``select``: what part of an answer is wanted, in one line. This file reads it, ``evaluate`` does it.

Parts stand in any order, apart by ``;`` or white space:

=====================================  ==============================================================================
``close,volume``                       these columns (of a single object: these fields); quote what is no plain word
``last 5`` · ``first 5``               the newest or oldest rows by the date column; without one, as they are listed
``limit 5``                            the first rows as they are listed
``top 5 by volume`` · ``bottom …``     the rows with the largest or smallest values, sorted
``2024-01..2024-03`` · ``since 2024``  dates, both ends included, each as exact as it is written; ``until 2024-06-30``
``strike>=200`` · ``type=call|put``    rows where that holds; also ``!= > < <=``, ``~`` for "contains", ``=null``
``max(close), change(close)``          numbers about the rows: min max mean sum count first last change
``from quarterlyReports``              one of several tables
``jmespath: feed[0].title``            a JMESPath expression, alone
=====================================  ==============================================================================

Words are taken as models write them: ``where``, ``and``, ``columns:``, ``avg`` mean what they say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from toolfold.errors import InvalidArguments

LONGEST = 500
"""Characters of an expression: twenty columns and ten conditions, and a bound for what must be read."""

FUNCTIONS = {name: name for name in ("min", "max", "mean", "sum", "count", "first", "last", "change")}
FUNCTIONS |= {"avg": "mean", "average": "mean"}

GRAMMAR = (
    'e.g. "close,volume; last 5", "since 2024-01-01", "strike>=200; type=call", "top 5 by volume", '
    '"max(close), change(close)", "from quarterlyReports", "jmespath: feed[0].title"'
)
"""For the model whose expression was not understood."""


@dataclass(frozen=True)
class Name:
    """A column or table as it was written, and at which character."""

    text: str
    at: int


@dataclass(frozen=True)
class Condition:
    """``column operator value``; operators are ``= != < <= > >= ~``."""

    column: Name
    operator: str
    value: str


@dataclass(frozen=True)
class RowLimit:
    """So many rows: ``first`` and ``last`` by date, ``top`` and ``bottom`` ``by`` a column, ``limit`` as listed."""

    which: str
    count: int
    by: Name | None = None


@dataclass(frozen=True)
class Aggregate:
    """A function over a column; ``count`` may have none."""

    function: str
    column: Name | None


@dataclass(frozen=True)
class Selection:
    """What an expression asks for. ``dates`` are pairs of lower and upper bound, either may be empty."""

    columns: tuple[Name, ...] = ()
    conditions: tuple[Condition, ...] = ()
    dates: tuple[tuple[str, str], ...] = ()
    take: RowLimit | None = None
    aggregates: tuple[Aggregate, ...] = ()
    table: Name | None = None
    path: str = ""

    @property
    def names(self) -> tuple[Name, ...]:
        """Every column that a table must have."""
        by = () if self.take is None or self.take.by is None else (self.take.by,)
        over = tuple(aggregate.column for aggregate in self.aggregates if aggregate.column is not None)
        return (*(condition.column for condition in self.conditions), *by, *over)


def refused(problem: str, at: int | None = None, suggestion: str = "", **details: Any) -> InvalidArguments:
    """The error of an expression that cannot be followed; ``at`` is the character where it goes wrong, from 0."""
    where = {} if at is None else {"position": at}
    place = "" if at is None else f" (at character {at})"
    return InvalidArguments(f"select: {problem}{place}.", suggestion or f"Write {GRAMMAR}.", **where, **details)


_NAME = r"""(?:"[^"]+"|'[^']+'|[^\W\d][\w./%]*|\d+[A-Za-z_][\w./%]*)"""
_DATE = r"\d{4}(?:-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?)?)?(?![\w-])"
_OPERATOR = r"(?:>=|<=|!=|<>|==|=|>|<|~)"
_WORDS = "and|where|limit|last|first|newest|latest|oldest|earliest|top|bottom|since|until|from|between"

_PATH = re.compile(r"\s*(?:jmespath\s*[:=]\s*(?P<expression>.+)|\$\.?(?P<dollar>[^$]+))", re.S | re.I)
_BETWEEN_PARTS = re.compile(r"(?:[\s;,]|&&|(?:and|where|select)\b(?=\s)|(?:columns?|cols|fields)\s*[:=])*", re.I)
_PARTS = {
    kind: re.compile(pattern, re.I)
    for kind, pattern in {
        "span": rf"(?P<low>{_DATE})?\s*\.\.\s*(?P<high>{_DATE})?",
        "between": rf"(?:(?:between|from)\s+)?(?P<low>{_DATE})\s+(?:and|to|until)\s+(?P<high>{_DATE})",
        "since": rf"(?:since|from)\s+(?P<low>{_DATE})",
        "until": rf"until\s+(?P<high>{_DATE})",
        "on": rf"(?:(?:on|in|during)\s+)?(?P<low>{_DATE})",
        "take": r"(?P<which>last|newest|latest|first|oldest|earliest|limit)\s*(?P<count>\d+)(?:\s+rows?)?(?!\w)",
        "top": rf"(?P<which>top|bottom)\s*(?P<count>\d+)\s+by\s+(?P<by>{_NAME})",
        "table": rf"from\s+(?P<name>{_NAME})",
        "aggregate": r"""(?P<function>\w+)\s*\(\s*(?P<name>"[^"]+"|'[^']+'|[^()"',;]+?)?\s*\)""",
        "condition": rf"(?P<name>{_NAME})\s*(?P<operator>{_OPERATOR})\s*"
        rf"""(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|"""
        rf"(?P<bare>[^;,\s](?:[^;,])*?)(?=\s*(?:[;,]|$|&&)|\s+(?:{_WORDS})\b|\s+{_NAME}\s*{_OPERATOR}))",
        "column": rf"(?P<name>{_NAME}|\*)(?![\w(])",
    }.items()
}
_TAKES = {"newest": "last", "latest": "last", "oldest": "first", "earliest": "first"}


def parse_select(expression: Any) -> Selection | None:
    """The selection that ``expression`` asks for; None when it asks for everything.

    Raises:
        InvalidArguments: it cannot be read; says where, and what can be written.
    """
    if isinstance(expression, list) and all(isinstance(part, str) for part in expression):
        expression = "; ".join(expression)
    if expression is None:
        return None
    if not isinstance(expression, str):
        raise refused("must be a text")
    if len(expression) > LONGEST:
        raise refused(f"is longer than {LONGEST} characters")
    if found := _PATH.match(expression):
        return Selection(path=(found["expression"] or found["dollar"]).strip())
    return _Reader(expression).parse()


class _Reader:
    """Reads one expression part by part."""

    def __init__(self, text: str) -> None:
        self._text = text.rstrip()
        self._columns: list[Name] = []
        self._conditions: list[Condition] = []
        self._dates: list[tuple[str, str]] = []
        self._aggregates: list[Aggregate] = []
        self._take: RowLimit | None = None
        self._table: Name | None = None

    def parse(self) -> Selection | None:
        everything, at = False, self._next(0)
        while at < len(self._text):
            kind, found = self._part(at)
            if kind == "column":
                everything = everything or found["name"] == "*"
                self._columns += [] if found["name"] == "*" else [_name(found, "name")]
            elif kind == "aggregate":
                self._aggregates.append(self._aggregate(found, at))
            elif kind == "condition":
                self._conditions.append(_condition(found))
            elif kind in ("take", "top"):
                if self._take is not None:
                    raise refused("only one of last, first, top and bottom can be asked for", at)
                self._take = _take(found, kind)
            elif kind == "table":
                self._table = _name(found, "name")
            else:
                self._dates.append(self._span(kind, found, at))
            at = self._next(found.end())
        if self._columns and self._aggregates:
            raise refused("columns and functions cannot be mixed; ask for one of them", self._columns[0].at)
        columns = () if everything else tuple(self._columns)
        selection = Selection(
            columns, tuple(self._conditions), tuple(self._dates), self._take, tuple(self._aggregates), self._table
        )
        return None if selection == Selection() else selection

    def _next(self, at: int) -> int:
        between = _BETWEEN_PARTS.match(self._text, at)
        return at if between is None else between.end()

    def _part(self, at: int) -> tuple[str, re.Match[str]]:
        for kind, pattern in _PARTS.items():
            found = pattern.match(self._text, at)
            if found is not None:
                return kind, found
        raise refused(f"{self._text[at : at + 20]!r} cannot be understood", at)

    def _aggregate(self, found: re.Match[str], at: int) -> Aggregate:
        function = FUNCTIONS.get(found["function"].lower())
        if function is None:
            raise refused(f"there is no function {found['function'][:20]}; there are {', '.join(FUNCTIONS)}", at)
        if found["name"] in (None, "*"):
            if function != "count":
                raise refused(f"{function} needs a column, as in {function}(close)", at)
            return Aggregate(function, None)
        return Aggregate(function, _name(found, "name"))

    def _span(self, kind: str, found: re.Match[str], at: int) -> tuple[str, str]:
        bounds = {"low": "", "high": "", **{name: text or "" for name, text in found.groupdict().items()}}
        if kind == "on":
            bounds["high"] = bounds["low"]
        low, high = (bounds[name].replace(" ", "T") for name in ("low", "high"))
        if not low and not high:
            raise refused("a range of dates needs at least one end, as in 2024-01..2024-03", at)
        if low and high and low > high and not low.startswith(high):
            raise refused(f"the dates {low}..{high} end before they begin", at)
        return low, high


def _name(found: re.Match[str], group: str) -> Name:
    return Name(found[group].strip("\"'"), found.start(group))


def _condition(found: re.Match[str]) -> Condition:
    value = next(found[group] for group in ("double", "single", "bare") if found[group] is not None)
    operator = {"==": "=", "<>": "!="}.get(found["operator"], found["operator"])
    return Condition(_name(found, "name"), operator, value.strip())


def _take(found: re.Match[str], kind: str) -> RowLimit:
    count = int(found["count"][:9])
    if kind == "top":
        return RowLimit(found["which"].lower(), count, _name(found, "by"))
    which = found["which"].lower()
    return RowLimit(_TAKES.get(which, which), count)
