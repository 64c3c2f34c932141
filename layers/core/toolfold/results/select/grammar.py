"""Read the steps of a ``select``. What needs the columns of an answer is read by ``expressions``.

select     = "jmespath:" text | step { ";" step }             a list of texts is steps as well
step       = [ table ":" ] action | [ "from" ] table
action     = columns | condition | period | order | rows | groups | sql
columns    = item { "," item } | "*" [ "except" name { "," name } ]
item       = expression [ "as" name ]
condition  = any boolean of SQL, with "contains", "starts with", "ends with"; text may be without quotes
period     = date | date ".." date | ( "since" | "after" | "before" | "until" ) date
           | ( "last" | "next" ) N unit | ( "this" | "last" | "next" ) unit | "ytd" | "qtd" | "mtd"
order      = "order by" key { "," key } | ( "newest" | "oldest" ) "first"
key        = expression [ "asc" | "desc" ]
rows       = ( "last" | "first" ) N | ( "top" | "bottom" ) N "by" expression
           | "limit" N [ "offset" M ] | "[" [ a ] ":" [ b ] "]" | "distinct" item { "," item }
groups     = item { "," item } "by" group { "," group } | "group by" group { "," group } ":" columns
group      = unit | expression
unit       = "year" | "quarter" | "month" | "week" | "weekday" | "day"
sql        = one SELECT or WITH over "data" and the other tables of the answer
expression = any expression of SQL over columns, with
             "count" | aggregate "(" expression ")" | backward "(" expression ")" | aggregate "over" N
aggregate  = "sum" | "avg" | "min" | "max" | "count" | "median" | "stddev" | "variance" | "first" | "last"
           | "percentile" | "corr"
backward   = "change" | "pct_change" | "lag"
date       = 2025 | 2025-06 | 2025-Q2 | 2025-06-30 | 2025-06-30T16:00
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from toolfold.dates import parse_date
from toolfold.errors import InvalidSelect
from toolfold.results.select.dialect import to_sqlite
from toolfold.results.select.expressions import parse_items, parse_sql, split_outside
from toolfold.results.select.names import invalid
from toolfold.results.select.suggestions import BOUNDS, SIGNS, suggested

MAX_CHARS = 4_000
"""Characters of a ``select``: a page of SQL."""

MAX_STEPS = 40


@dataclass(frozen=True)
class Clause:
    """What a step does.

    Attributes:
        kind: ``items`` (columns, calculations, aggregates or a condition), ``from``, ``period``, ``order``, ``first``,
            ``last``, ``top``, ``bottom``, ``slice``, ``distinct``, ``group``, ``sql`` or ``all``.
        text: the expression in it, or the SQL; of a period between dates a condition on ``date``.
        by: what groups, or what ranks.
        numbers: counts or bounds, as the kind has them.
        unit: of a relative period.
    """

    kind: str
    text: str = ""
    by: str = ""
    numbers: tuple[int | None, ...] = ()
    unit: str = ""

    @property
    def count(self) -> int:
        """The first number; of a relative period below zero where its units are to come."""
        return (self.numbers[0] if self.numbers else 0) or 0


@dataclass(frozen=True)
class Step:
    """One step: its text, where it starts in the ``select``, and its clause; ``table`` is the name before a colon."""

    text: str
    offset: int
    clause: Clause
    table: str = ""


@dataclass(frozen=True)
class Selection:
    """A ``select``.

    Attributes:
        steps: to apply in this order.
        jmespath: an expression in JMESPath, alone.
    """

    steps: tuple[Step, ...] = ()
    jmespath: str = ""

    @property
    def text(self) -> str:
        """The whole, as steps."""
        return f"jmespath: {self.jmespath}" if self.jmespath else "; ".join(step.text for step in self.steps)

    @property
    def has_sql(self) -> bool:
        """Whether a step is a statement of SQL."""
        return any(step.clause.kind == "sql" for step in self.steps)


_UNITS_OF_TIME = "year|quarter|month|week|day|hour|minute"
_UNIT = rf"(?P<unit>{_UNITS_OF_TIME})s?"
_N = r"(?P<n>\d{1,9})"

SYNONYMS: tuple[tuple[str, str], ...] = (
    (r"(?:latest|newest|last|most recent)(?: row| one| value)?", "last 1"),
    (r"(?:oldest|first|earliest)(?: row| one| value)?", "first 1"),
    (r"(?:latest|newest|most recent) (\d+)(?: rows)?", r"last \1"),
    (r"(?:oldest|earliest) (\d+)(?: rows)?", r"first \1"),
    (r"(last|first) (\d+) (?:rows|values|records|entries|data points)", r"\1 \2"),
    (r"last (\d+) (?:trading|business) days", r"last \1 days"),
    (r"(?:head|take) (\d+)", r"limit \1"),
    (r"(\d+) rows", r"limit \1"),
    (r"limit (\d+), (\d+)", r"limit \2 offset \1"),
    (r"(?:past|trailing|previous) (\d+) (\w+)", r"last \1 \2"),
    (r"past (\w+)", r"last 1 \1"),
    (rf"last ({_UNITS_OF_TIME})", r"previous \1"),
    (r"(\d+) ?(?:y|yr|yrs|years?)", r"last \1 years"),
    (r"year to date|ytd", "this year"),
    (r"month to date|mtd", "this month"),
    (r"quarter to date|qtd", "this quarter"),
    (r"(?:in|during|on) (.+)", r"period \1"),
    (r"between (.+) and (.+)", r"period \1 .. \2"),
    (r"from (\S*\d\S*) (?:to|until|through) (\S+)", r"period \1 .. \2"),
    (r"(?:from|starting) (\d\S*)", r"since \1"),
    (r"(?:where|filter|having) (.+)", r"\1"),
    (r"(?:columns?|fields?|show|select(?!.*\bfrom\b))(?: ?[:=] ?| )(.+)", r"\1"),
    (r"(?:sort|sorted|sort by|sorted by|order|ordered by) (?:by )?(.+)", r"order by \1"),
    (r"(?!(?:select|with)\b)((?:\"[^\"]*\"|[^\":])+?) (asc|desc)", r"order by \1 \2"),
    (r"(?:highest|largest|most) (\w+|\"[^\"]+\")", r"top 1 by \1"),
    (r"(?:lowest|smallest|least) (\w+|\"[^\"]+\")", r"bottom 1 by \1"),
    (r"(?:rows? )?count|number of rows|count rows", "count"),
    (r"(?:all(?: columns)?|\*) (?:except|without|but|exclude) \(?([^()]+)\)?", r"* except \1"),
)
"""Other words for a whole step → the step, as regular expressions. Nothing else in the language has two forms."""

_TRIALS: tuple[tuple[str, str], ...] = (
    ("sql", r"(?P<text>select\b.+)"),
    ("sql", r"(?P<text>(?:insert into|update|delete from|drop|create|alter|pragma|attach|explain) .+)"),
    ("all", r"all"),
    ("last", rf"last {_N}"),
    ("first", rf"first {_N}"),
    ("top", rf"top {_N} by (?P<by>.+)"),
    ("bottom", rf"bottom {_N} by (?P<by>.+)"),
    ("slice", rf"limit {_N}(?: offset (?P<m>\d{{1,9}}))?"),
    ("slice", r"\[ ?(?P<a>-?\d{1,9})? ?: ?(?P<b>-?\d{1,9})? ?\]"),
    ("slice", r"\[ ?(?P<index>-?\d{1,9}) ?\]"),
    ("distinct", r"distinct (?P<text>.+)"),
    ("order", r"(?P<by>newest|oldest) first"),
    ("order", r"order by (?P<text>.+)"),
    ("period", rf"last {_N} {_UNIT}"),
    ("period", rf"next (?P<ahead>\d{{1,9}}) {_UNIT}"),
    ("period", rf"(?P<by>this|previous|next) {_UNIT}"),
    ("period", r"since (?P<since>.+)|after (?P<after>.+)|until (?P<until>.+)|before (?P<before>.+)"),
    ("group", r"group by (?P<by>[^:]+): ?(?P<text>.+)"),
    ("from", r"from (?P<text>\"[^\"]+\"|[\w. -]+)"),
    ("period", r"(?:period )?(?P<since>.*?) ?\.\. ?(?P<until>.*)"),
    ("period", r"(?:period )?(?P<since>(?P<until>\w.*))"),
)
"""Kind of a step → how it is written, in the order in which they are tried."""

_CLAUSES = tuple((kind, re.compile(pattern, re.I | re.S)) for kind, pattern in _TRIALS)
_SYNONYMS = tuple((re.compile(pattern, re.I | re.S), template) for pattern, template in SYNONYMS)
_TABLE = re.compile(r"(?P<table>\"[^\"]+\"|[A-Za-z_][\w. -]*?) ?: ?(?P<rest>(?!\d\d\b)[^:].*)", re.S)
_SQL = re.compile(r"select\b.+\bfrom\b|with\b.+\bselect\b", re.I | re.S)
_JMESPATH = re.compile(r"\s*jmespath\s*:(.*)", re.I | re.S)


def parse_select(value: Any) -> Selection | None:
    """Return the steps of a ``select``; None where it is blank. The names in it are looked up later.

    Args:
        value: steps separated by ``;``, or a list of steps.

    Raises:
        InvalidSelect: it is not text, or a step cannot be read.
    """
    if isinstance(value, str) and value.lstrip().startswith("{"):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if isinstance(value, Mapping):
        text = "; ".join(_steps_of(value))
        form = next(filter(_is_readable, (*reversed(suggested(text, kind_of_step) or ()), text)), "")
        raise invalid("an object is not read", f'Write "{form}".' if form else "")
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = ";".join(value)
    if value is None:
        return None
    if not isinstance(value, str):
        raise invalid("it must be text")
    if len(value) > MAX_CHARS:
        raise invalid(f"it has {len(value):,} characters; {MAX_CHARS:,} are the most", "Ask for less in one call.")
    if match := _JMESPATH.fullmatch(value):
        return Selection(jmespath=match[1].strip())
    parts = [(text, offset) for text, offset in split_outside(value, ";") if text.strip()]
    if len(parts) > MAX_STEPS:
        raise invalid(f"it has {len(parts)} steps; {MAX_STEPS} are the most", "Ask for less in one call.")
    steps = tuple(_step(text, offset) for text, offset in parts)
    for step in steps:
        try:
            _check_form(step)
        except InvalidSelect as error:
            if (forms := suggested(value, kind_of_step)) is None:
                continue  # the answer decides
            form = next(filter(_is_readable, forms), "")
            if form and _needs_answer(form):
                continue
            raise (error.changed(next_step=f'Write "{form}".') if form else error) from None
    return Selection(steps) if steps else None


def kind_of_step(text: str) -> str:
    """Return the kind of one step; empty where it cannot be read."""
    with suppress(InvalidSelect):
        step = _step(text, 0)
        _check_form(step)
        return step.clause.kind
    return ""


def _steps_of(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield the members of an object as a guess has them: ``limit 3``, ``volume > 5``."""
    for key, part in value.items():
        if isinstance(part, Mapping):
            for column, bounds in part.items():
                signs = bounds if isinstance(bounds, Mapping) else {"in" if isinstance(bounds, list) else "=": bounds}
                for word, bound in signs.items():
                    sign = SIGNS.get(word.strip("$").lower(), word.strip("$"))
                    yield f"{column} {sign} {f'({_listed(bound)})' if isinstance(bound, list) else bound}"
        elif re.match("where|filter|condition", key):
            yield from map(str, part if isinstance(part, list) else [part])
        else:
            yield f"{key} {_listed(part) if isinstance(part, list) else part}"


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(map(str, values))


def _needs_answer(select: str) -> bool:
    """Return whether a form has to be tried: it names a column of several words, or a function that there is not."""
    clauses = [_step(text, 0).clause for text, _ in split_outside(select, ";")]
    trees = [tree for clause in clauses if clause.kind in ("items", "group") for tree in parse_items(clause.text)]
    try:
        return any(" " in column.name for tree in map(to_sqlite, trees) for column in tree.find_all(exp.Column))
    except InvalidSelect:
        return True


def _is_readable(select: str) -> bool:
    return all(kind_of_step(text) for text, _ in split_outside(select, ";"))


def _check_form(step: Step) -> None:
    """Check that the expressions of a step can be read, before anything is sent."""
    clause = step.clause
    if clause.kind == "sql":
        parse_sql(clause.text, step.offset)
    elif clause.kind in ("items", "group", "distinct") and not clause.text.startswith("* except "):
        parse_items(clause.text, step.offset)


def _step(text: str, offset: int) -> Step:
    offset += len(text) - len(text.lstrip())
    text = text.strip()
    if clause := _clause(text):
        return Step(text, offset, clause)
    match = _TABLE.fullmatch(text)
    if match and not parse_date(match["table"]):
        rest = match["rest"].strip()
        return Step(text, offset, _clause(rest) or _items(rest), match["table"].strip('"'))
    return Step(text, offset, _items(text))


def _clause(text: str) -> Clause | None:
    """Return the clause of a step that has a form of its own; None: it is an expression."""
    if _SQL.match(text):
        return Clause("sql", text=text)
    folded = " ".join(text.split())
    for pattern, template in _SYNONYMS:
        if match := pattern.fullmatch(folded):
            folded = match.expand(template)
            break
    for kind, pattern in _CLAUSES:
        if (match := pattern.fullmatch(folded)) and (clause := _matched(kind, match.groupdict(""))):
            return clause
    return None if folded.startswith("period ") or folded == " ".join(text.split()) else _items(folded)


def _matched(kind: str, found: Mapping[str, str]) -> Clause | None:
    """Return the clause of the groups of a pattern; None: what has to be a date is not a date."""
    count, by, text, unit = (found.get(key, "") for key in ("n", "by", "text", "unit"))
    numbers: tuple[int | None, ...] = (int(count),) if count else ()
    if kind == "slice":
        first, stop = (int(found[key]) if found.get(key) else None for key in ("a", "b"))
        if count:
            first = int(found["m"] or 0)
            stop = first + int(count)
        elif at := found.get("index"):
            first = int(at)
            stop = first + 1 or None
        numbers = (first, stop)
    elif ahead := found.get("ahead"):
        numbers = (-int(ahead),)
    elif kind == "period" and not unit:
        ends = [(sign, found[word]) for word, sign in BOUNDS.items() if found.get(word)]
        if not ends or not all(parse_date(end) for _, end in ends):
            return None
        texts = ((sign, end.replace("'", "''")) for sign, end in ends)
        text = " and ".join(f"date {sign} '{end}'" for sign, end in texts)
    return Clause(kind, text, by.lower() if kind in ("order", "period") else by, numbers, unit.lower())


def _items(text: str) -> Clause:
    """Return columns, calculations or a condition, with what groups them."""
    for word in (r"group(?:ed)?\s+by", "by", "per"):
        parts = [part.strip() for part, _ in split_outside(text, rf"(?<![\w\"'])(?:{word})(?![\w\"'])")]
        if len(parts) == 2 and all(parts) and (word != "per" or re.search(r"\(|\bcount\b", parts[0], re.I)):
            return Clause("group", text=parts[0], by=parts[1])
    return Clause("items", text=text)
