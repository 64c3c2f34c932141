"""Parse ``select``, one line that says which part of an answer to return; ``evaluator`` applies it.

Parts may come in any order, separated by ``;`` or white space:

=====================================  ==============================================================================
``close,volume``                       these columns (of a single object: these fields); quote names with signs
``last 5`` · ``first 5``               the newest or oldest rows by the date column; without one, as listed
``limit 5``                            the first rows as listed
``top 5 by volume`` · ``bottom …``     the rows with the largest or smallest values, sorted
``2024-01..2024-03`` · ``since 2024``  dates, both ends included, each as exact as it is written; ``until 2024-06-30``
``strike>=200`` · ``type=call|put``    rows where that is true; also ``!= > < <=``, ``~`` for "contains", ``=null``
``max(close), change(close)``          numbers about the rows: min max mean sum count first last change
``from quarterlyReports``              one of several tables
``jmespath: feed[0].title``            a JMESPath expression, alone
=====================================  ==============================================================================

Words that models add are accepted: ``where``, ``and``, ``columns:``, ``avg``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from toolfold.errors import InvalidArguments

MAX_LENGTH = 500
"""Characters of an expression: enough for twenty columns and ten conditions, and a bound on the time to parse it."""

MAX_PARTS = {"condition": 30, "date range": 10, "function": 40}
"""Parts of a kind: each reads all rows."""

FUNCTIONS = {name: name for name in ("min", "max", "mean", "sum", "count", "first", "last", "change")}
FUNCTIONS |= {"avg": "mean", "average": "mean"}

GRAMMAR = (
    'e.g. "close,volume; last 5", "since 2024-01-01", "strike>=200; type=call", "top 5 by volume", '
    '"max(close), change(close)", "from quarterlyReports", "jmespath: feed[0].title"'
)
"""Examples for the model, part of every error."""


@dataclass(frozen=True)
class Name:
    """A column or table as it was written, and the character at which it starts."""

    text: str
    offset: int


@dataclass(frozen=True)
class Condition:
    """A condition on rows; operators are ``= != < <= > >= ~``."""

    column: Name
    operator: str
    value: str


@dataclass(frozen=True)
class RowLimit:
    """A number of rows: ``first`` and ``last`` by date, ``top`` and ``bottom`` ``by`` a column, ``limit`` as listed."""

    which: str
    count: int
    by: Name | None = None


@dataclass(frozen=True)
class Aggregate:
    """A function of a column; ``count`` may have none."""

    function: str
    column: Name | None


@dataclass(frozen=True)
class Selection:
    """What an expression selects. ``dates`` are pairs of a lower and an upper bound, either of which may be empty."""

    columns: tuple[Name, ...] = ()
    conditions: tuple[Condition, ...] = ()
    dates: tuple[tuple[str, str], ...] = ()
    row_limit: RowLimit | None = None
    aggregates: tuple[Aggregate, ...] = ()
    table: Name | None = None
    jmespath: str = ""
    sql: str = ""

    @property
    def names(self) -> tuple[Name, ...]:
        """The columns that a table must have, besides those to return."""
        by = () if self.row_limit is None or self.row_limit.by is None else (self.row_limit.by,)
        over = tuple(aggregate.column for aggregate in self.aggregates if aggregate.column is not None)
        return (*(condition.column for condition in self.conditions), *by, *over)


def invalid_select(problem: str, offset: int | None = None, suggestion: str = "", **details: Any) -> InvalidArguments:
    """Return the error for an expression; ``offset`` is the character, from 0, at which the problem is."""
    position = {} if offset is None else {"position": offset}
    place = "" if offset is None else f" (at character {offset})"
    return InvalidArguments(f"select: {problem}{place}.", suggestion or f"Write {GRAMMAR}.", **position, **details)


# Possessive quantifiers (*+): what they match is never given back, so that no text takes more than linear time.
_NAME = r"""(?:"[^"]++"|'[^']++'|[^\W\d][\w./%]*+|\d++[A-Za-z_][\w./%]*+)"""
_WORD = r"(?:[^;,\s&]|&(?!&))++"
_DATE = r"\d{4}(?:-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?)?)?(?![\w-])"
_OPERATOR = r"(?:>=|<=|!=|<>|==|=|>|<|~)"
_WORDS = "and|where|limit|last|first|newest|latest|oldest|earliest|top|bottom|since|until|from|between"

_JMESPATH = re.compile(r"\s*(?:jmespath\s*[:=]\s*(?P<expression>.+)|\$\.?(?P<dollar>[^$]+))", re.S | re.I)
_SQL = re.compile(r"\W*+(?:sql\s*+:?\s*+)?(?:select|with)\b", re.I)
_SEPARATOR = re.compile(r"(?:[\s;,]|&&|(?:and|where|select)\b(?=\s)|(?:columns?|cols|fields)\s*[:=])*", re.I)
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
        "aggregate": r"""(?P<function>\w++)\s*+\(\s*+(?P<name>"[^"]++"|'[^']++'|[^()"',;]++)?\s*+\)""",
        "condition": rf"(?P<name>{_NAME})\s*+(?P<operator>{_OPERATOR})\s*+"
        rf"""(?:"(?P<double>[^"]*+)"|'(?P<single>[^']*+)'|"""
        rf"(?P<bare>{_WORD}(?:\s++{_WORD})*?)"
        rf"(?=\s*+(?:[;,]|$|&&)|\s++(?:{_WORDS})\b|\s++{_NAME}\s*+{_OPERATOR}))",
        "column": rf"(?P<name>{_NAME}|\*)(?![\w(])",
    }.items()
}
_ROW_LIMIT_SYNONYMS = {"newest": "last", "latest": "last", "oldest": "first", "earliest": "first"}


def parse_select(expression: Any) -> Selection | None:
    """Parse an expression; return None when it selects everything.

    Raises:
        InvalidArguments: it cannot be parsed; says where, and gives examples.
    """
    if isinstance(expression, list) and all(isinstance(part, str) for part in expression):
        expression = "; ".join(expression)
    if expression is None:
        return None
    if not isinstance(expression, str):
        raise invalid_select("must be a text")
    if _SQL.match(expression):
        from toolfold.results.select import sql_query  # imports sqlite3

        if sql_query.is_sql(expression):
            return Selection(sql=expression)
    if len(expression) > MAX_LENGTH:
        raise invalid_select(f"is longer than {MAX_LENGTH} characters")
    if found := _JMESPATH.match(expression):
        return Selection(jmespath=(found["expression"] or found["dollar"]).strip())
    return _Parser(expression).parse()


class _Parser:
    """Parses one expression part by part."""

    def __init__(self, text: str) -> None:
        self._text = text.rstrip()
        self._columns: list[Name] = []
        self._conditions: list[Condition] = []
        self._dates: list[tuple[str, str]] = []
        self._aggregates: list[Aggregate] = []
        self._row_limit: RowLimit | None = None
        self._table: Name | None = None

    def parse(self) -> Selection | None:
        """Return the selection, or None when it selects everything."""
        all_columns, offset = False, self._skip_separator(0)
        while offset < len(self._text):
            kind, match = self._match_part(offset)
            if kind == "column" and match["name"] == "*":
                all_columns = True
            elif kind == "column":
                self._columns.append(_name(match, "name"))
            elif kind == "aggregate":
                self._aggregates.append(self._aggregate(match, offset))
            elif kind == "condition":
                self._conditions.append(_condition(match))
            elif kind in ("take", "top"):
                if self._row_limit is not None:
                    raise invalid_select("only one of last, first, top and bottom can be used", offset)
                self._row_limit = _row_limit(match, kind)
            elif kind == "table":
                self._table = _name(match, "name")
            else:
                self._dates.append(self._date_range(kind, match, offset))
            offset = self._skip_separator(match.end())
        self._check_parts()
        if self._columns and self._aggregates:
            raise invalid_select("columns and functions cannot be mixed; ask for one of them", self._columns[0].offset)
        columns = () if all_columns else tuple(self._columns)
        selection = Selection(
            columns, tuple(self._conditions), tuple(self._dates), self._row_limit, tuple(self._aggregates), self._table
        )
        return None if selection == Selection() else selection

    def _check_parts(self) -> None:
        given: dict[str, Sequence[Any]] = {
            "condition": self._conditions,
            "date range": self._dates,
            "function": self._aggregates,
        }
        for kind, parts in given.items():
            if len(parts) > MAX_PARTS[kind]:
                raise invalid_select(f"has {len(parts)} {kind}s, and at most {MAX_PARTS[kind]} are allowed")

    def _skip_separator(self, offset: int) -> int:
        match = _SEPARATOR.match(self._text, offset)
        return offset if match is None else match.end()

    def _match_part(self, offset: int) -> tuple[str, re.Match[str]]:
        for kind, pattern in _PARTS.items():
            match = pattern.match(self._text, offset)
            if match is not None:
                return kind, match
        raise invalid_select(f"{self._text[offset : offset + 20]!r} cannot be understood", offset)

    def _aggregate(self, match: re.Match[str], offset: int) -> Aggregate:
        function = FUNCTIONS.get(match["function"].lower())
        if function is None:
            names = ", ".join(FUNCTIONS)
            raise invalid_select(f"there is no function {match['function'][:20]}; there are {names}", offset)
        if match["name"] in (None, "*"):
            if function != "count":
                raise invalid_select(f"{function} needs a column, as in {function}(close)", offset)
            return Aggregate(function, None)
        return Aggregate(function, _name(match, "name"))

    def _date_range(self, kind: str, match: re.Match[str], offset: int) -> tuple[str, str]:
        bounds = {"low": "", "high": "", **{name: text or "" for name, text in match.groupdict().items()}}
        if kind == "on":
            bounds["high"] = bounds["low"]
        low, high = (bounds[name].replace(" ", "T") for name in ("low", "high"))
        if not low and not high:
            raise invalid_select("a range of dates needs at least one end, as in 2024-01..2024-03", offset)
        if low and high and low > high and not low.startswith(high):
            raise invalid_select(f"the dates {low}..{high} end before they begin", offset)
        return low, high


def _name(match: re.Match[str], group: str) -> Name:
    return Name(match[group].strip().strip("\"'"), match.start(group))


def _condition(match: re.Match[str]) -> Condition:
    value = next(match[group] for group in ("double", "single", "bare") if match[group] is not None)
    operator = {"==": "=", "<>": "!="}.get(match["operator"], match["operator"])
    return Condition(_name(match, "name"), operator, value.strip())


def _row_limit(match: re.Match[str], kind: str) -> RowLimit:
    count = int(match["count"][:9])
    which = match["which"].lower()
    if kind == "top":
        return RowLimit(which, count, _name(match, "by"))
    return RowLimit(_ROW_LIMIT_SYNONYMS.get(which, which), count)
