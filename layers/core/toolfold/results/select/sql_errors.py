"""Say in one sentence why a statement of SQL cannot be run, and what can."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolfold.errors import InvalidSelect
from toolfold.fuzzy import did_you_mean, normalize
from toolfold.results.tables import Table
from toolfold.text_safety import MAX_NAME_CHARS, quoted_name

EXAMPLE = "SELECT date, close FROM data WHERE close > 200 ORDER BY date DESC LIMIT 5"

_MAX_LISTED = 60
"""Names listed in an error: all of any financial statement."""

_MAX_COMPARED = 2_000
_MISSING_TABLE = re.compile(r"no such table: (?:main\.)?(.*)", re.S)
_MISSING_COLUMN = re.compile(
    r"(?:no such column: \"?(?P<name>.*?)\"?(?: - should this be .*)?"
    r"|cannot join using column (?P<using>.*) - column not present in both tables)",
    re.S,
)
_UNEXPECTED = re.compile(r"near \"(.*)\": syntax error", re.S)
_FUNCTIONS = "avg, count, sum, min, max, median, stddev, percentile(x, 90), first, last, change, pct_change, strftime"

_REASONS: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(pattern, re.S), problem, suggestion)
    for pattern, problem, suggestion in (
        (r".*incomplete input", "the SQL ends too early", ""),
        (r"ambiguous column name: (.*)", "more than one table has a column {}", "Write the table before it: a.{}."),
        (r"wrong number of arguments to function (.*?)\(\)", "{} takes another number of arguments", ""),
        (
            r"misuse of aggregate(?: function|:) (.*?)\(\)",
            "{} of rows cannot be used there",
            "Use HAVING, or a subquery.",
        ),
        (r"misuse of window function (.*?)\(\)", "{} needs OVER", "Write e.g. lag(close) OVER (ORDER BY date)."),
        (r"(?:a GROUP BY clause is required|HAVING clause on).*", "HAVING needs GROUP BY", "Use WHERE, or GROUP BY."),
        (r"aggregate functions are not allowed in the GROUP BY.*", "GROUP BY takes columns, not functions of rows", ""),
        (r"SELECTs to the left and right.*", "the parts of UNION have different numbers of columns", ""),
        (r"sub-select returns (\d+) columns.*", "a subquery there has one column, not {}", ""),
        (r".* ORDER BY term .*", "ORDER BY names no column of the result", "Order by a column or its number."),
        (r".* GROUP BY term .*", "GROUP BY names no column of the result", "Group by a column or its number."),
        (r"too many terms in compound SELECT", "there are more than fifty UNIONs", "Use OR, or IN (…)."),
        (r"(?:Expression tree is too large|parser stack overflow).*", "the SQL is nested too deeply", ""),
        (r"LIKE or GLOB pattern too complex", "a pattern of LIKE has more than 200 characters", ""),
        (r"integer overflow", "a sum is too large for whole numbers", "Write sum(1.0 * volume)."),
        (r"too many references to.*", "a table is read too often", "Read it once, in a WITH."),
        (r"at most 64 tables in a join", "more than 64 tables are joined", ""),
        (r"too many columns.*", "there are too many columns", "Name those that you need."),
        (
            r"(?:malformed JSON|bad JSON path|JSON path error).*",
            "that is no JSON, or no path in it",
            "Paths are '$.a[0]'.",
        ),
        (r"no tables specified", "SELECT * needs a table", "Write SELECT * FROM data."),
        (r"circular reference: (.*)", "{} reads itself", "Write WITH RECURSIVE."),
        (r"You can only execute one statement.*", "only one statement can be run", "Leave out the semicolon."),
        (r".*null character.*|.*surrogates.*", "the SQL has a character that is not text", ""),
        (r"unrecognized token: (.*)", "{} cannot be read", ""),
        (r".*(?:authorized|prohibited).*", "only SELECT over the rows of this answer can be run here", ""),
        (r"Incorrect number of bindings.*", "the SQL has parameters, which have no values here", "Write the values."),
        (r"user-defined (?:function|aggregate).*", "a function cannot be calculated from these values", ""),
        (r".*RIGHT and FULL OUTER JOINs.*", "RIGHT JOIN is not available here", "Write LEFT JOIN."),
    )
)
"""What SQLite returns → problem and suggestion; ``{}`` is the name in it."""


def invalid_sql(problem: str, offset: int | None = None, suggestion: str = "") -> InvalidSelect:
    """Return the error for a statement; ``offset`` is the character, from 0, at which the problem is."""
    offset = None if offset is None or offset < 0 else offset
    place = "" if offset is None else f" (at character {offset})"
    position: dict[str, Any] = {} if offset is None else {"position": offset}
    return InvalidSelect(f"{problem}{place}", suggestion or f"Write e.g. {EXAMPLE}.", **position)


def missing_table(message: str) -> str | None:
    """Return the name of the table that a statement reads in vain, or None for another error."""
    found = _MISSING_TABLE.fullmatch(message)
    return None if found is None else found[1]


def missing_column(message: str) -> str | None:
    """Return the same for a column; it may have its table's name before a point."""
    found = _MISSING_COLUMN.fullmatch(message)
    return None if found is None else found["name"] or found["using"]


def unexpected_word(message: str) -> str | None:
    """Return the word at which a statement cannot be read, or None for another error."""
    found = _UNEXPECTED.fullmatch(message)
    return None if found is None else found[1]


def explain(message: str, statement: str, tables: Sequence[Table], functions: Iterable[str] = ()) -> InvalidSelect:
    """Return the error for what SQLite returned for a statement.

    Args:
        message: what it returned.
        statement: the statement, to say where.
        tables: the tables of the answer.
        functions: the functions that there are.
    """
    if (table := missing_table(message)) is not None:
        listed = _listed(one.name or "data" for one in tables)
        offset = _position(statement, table)
        return invalid_sql(f"there is no table {quoted_name(table)}", offset, f"Tables: {listed}.")
    if (column := missing_column(message)) is not None:
        return no_column(column, _position(statement, column.rpartition(".")[2]), tables)
    if found := re.fullmatch(r"(?:no such function|not authorized to use function): (.*)", message, re.S):
        return _no_function(found[1], _position(statement, found[1]), functions)
    if (word := unexpected_word(message)) is not None:
        return invalid_sql(f"the SQL cannot be read at {quoted_name(word)}", _position(statement, word))
    for pattern, problem, suggestion in _REASONS:
        if found := pattern.fullmatch(message):
            name = quoted_name(found[1]) if pattern.groups and found[1] else "this"
            return invalid_sql(problem.format(name), None, suggestion.format(name))
    return invalid_sql("this SQL cannot be run")


def no_column(
    column: str, offset: int | None, tables: Sequence[Table], metadata: Mapping[str, Any] | None = None
) -> InvalidSelect:
    """Return the error for a column that no table has; ``metadata`` are the fields beside the tables."""
    name = column.rpartition(".")[2] or column
    for field in metadata or ():
        if normalize(field) == normalize(name):
            return invalid_sql(
                f"{quoted_name(field)} is no column but one value for all rows", offset, f'select "{field}" returns it.'
            )
    known = list(dict.fromkeys(other for table in tables for other in table.columns))[:_MAX_COMPARED]
    compared = [other for other in known if len(other) <= MAX_NAME_CHARS]
    closest = did_you_mean(name, compared, shown=quoted_name)
    return invalid_sql(f"there is no column {quoted_name(column)}", offset, f"{closest}Columns: {_listed(known)}.")


def _no_function(name: str, offset: int | None, functions: Iterable[str]) -> InvalidSelect:
    closest = did_you_mean(name, sorted(functions))
    return invalid_sql(f"there is no function {quoted_name(name)}", offset, f"{closest}There are {_FUNCTIONS}, …")


def _position(statement: str, name: str) -> int | None:
    """Return where a name is in a statement, when it is there once."""
    lowered, name = statement.lower(), name.lower()
    return lowered.find(name) if name and lowered.count(name) == 1 else None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(quoted_name(name) for name, _ in zip(names, range(_MAX_LISTED), strict=False))
