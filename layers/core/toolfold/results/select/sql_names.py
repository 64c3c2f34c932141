"""Find the columns and tables that the names in a statement of SQL mean, and write texts so that dates compare.

Models guess names (``Adjusted Close``, ``4. close``, ``timestamp``), put texts in double quotes,
and dates without quotes. SQLite would take ``"clsoe"`` as a text and ``2026-01-05`` as 2020, without a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.errors import InvalidArguments
from toolfold.fuzzy import closest_matches, normalize
from toolfold.results import values
from toolfold.results.select import sql_errors
from toolfold.results.select.sql_guard import quoted
from toolfold.results.select.sql_tokens import Token, at, operand_start, parse
from toolfold.results.tables import DATE_NAMES, Table, as_number, date_column
from toolfold.text_safety import quoted_name

_ORDINAL = re.compile(r"\s*\d+(?:\.\d+)*[.:)]\s*")
_PARTIAL_DATE = re.compile(r"(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2])(?:-[0-3]\d)?)?")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)Z?")
_MIDNIGHT = re.compile(r"00:00(?::00(?:\.0+)?)?")
_SLASHED = re.compile(r"(?P<year>(?:19|20)\d\d)[/.](?P<month>\d{1,2})[/.](?P<day>\d{1,2})")
_COMPACT = re.compile(r"(?P<year>(?:19|20)\d\d)(?P<month>0[1-9]|1[0-2])(?P<day>[0-3]\d)")
_OTHER_DATE = re.compile(
    r"\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}|\d{1,2}[ -][a-z]{3,9}[ -,]\s*\d{4}|[a-z]{3,9}\.? \d{1,2},? \d{4}", re.I
)
_MONTH = re.compile(r"0[1-9]|1[0-2]")
_DAY = re.compile(r"0[1-9]|[12]\d|3[01]")

_COMPARISONS = frozenset(("=", "==", "!=", "<>", "<", ">", "<=", ">="))
_BEFORE_TEXT = _COMPARISONS | {"like", "glob", "then", "else", "||", "between", "is", "escape"}
_TEXT_FUNCTIONS = frozenset(
    """strftime date_format to_char date datetime date_trunc date_part replace instr coalesce ifnull concat group_concat
    in json_extract nullif like""".split()  # noqa: SIM905 - a list of words
)
"""Functions in which a text in double quotes is no misspelt column."""

_BY_DATE = frozenset(("first", "last", "change", "pct_change"))
_END_OF_DAY = "~"
"""Sorts after everything that may follow a date: ``<= '2026-01~'`` includes all of January."""


class Names:
    """The names that a statement may use.

    Args:
        tables: the tables of the answer.
        budget: what the call may cost.
    """

    def __init__(self, tables: Sequence[Table], budget: WorkBudget) -> None:
        self.tables, self._budget = tables, budget
        self._kinds: dict[str, frozenset[str]] = {}

    @cached_property
    def columns(self) -> Mapping[str, str]:
        """Name in lower case → name."""
        return {name.lower(): name for table in reversed(self.tables) for name in reversed(table.columns)}

    @cached_property
    def _normalized(self) -> Mapping[str, str]:
        return {normalize(name): name for name in reversed(list(self.columns.values())) if normalize(name)}

    @cached_property
    def date_column(self) -> str | None:
        """The column of dates of the first table that has one."""
        for table in self.tables:
            self._budget.check_time()
            if (index := date_column(table)) is not None:
                return table.columns[index]
        return None

    def column(self, name: str) -> str | None:
        """Return the column that a name means, or None."""
        stripped = _ORDINAL.sub("", name, count=1)
        for spelling in (name, stripped):
            found = self.columns.get(spelling.lower()) or self._normalized.get(normalize(spelling) or "\0")
            if found is not None:
                return found
        return self.date_column if normalize(stripped) in DATE_NAMES else None

    def kinds(self, name: str) -> frozenset[str]:
        """Return what the cells of a column are: names of types, or ``date`` and ``time`` for texts of those."""
        if name not in self._kinds:
            self._kinds[name] = frozenset(
                _kind(cell)
                for table in self.tables
                if name in table.columns
                for cell in self._budget.checked(table.column(name))
            ) - {"NoneType"}
        return self._kinds[name]


def _kind(cell: Any) -> str:
    if isinstance(cell, str) and values.is_date(cell):
        return "time" if "T" in cell else "date"
    return type(cell).__name__


def resolve(tokens: list[Token], names: Names) -> list[Token]:
    """Return the tokens with tables by their names, texts as texts, and dates as they are in the answer.

    What calculates with dates is written by ``sql_values``, which calls this.

    Raises:
        InvalidArguments: a name in double quotes is not a column, or a date cannot be compared as it is written.
    """
    tokens = _unquoted_dates(tokens)
    tokens = _ordinals(tokens, names)
    tokens = _table_paths(tokens, names)
    tokens = _double_quotes(tokens, names)
    tokens = _literals(tokens, names)
    return _by_date(tokens, names)


def replace_column(tokens: Sequence[Token], missing: str, names: Names) -> list[Token] | None:
    """Return the tokens with the column that a missing name means, or None when there is no such column."""
    name = missing.rpartition(".")[2]
    for spelling in (missing, name):
        found = names.column(spelling)
        if found is not None and found.lower() != spelling.lower():
            return [
                token._replace(kind="quoted", text=quoted(found))
                if token.name.lower() == spelling.lower() and at(tokens, index + 1).text != "("  # date('now')
                else token
                for index, token in enumerate(tokens)
            ]
    for index, token in enumerate(tokens):
        if token.name.lower() != name.lower():
            continue
        for stop in range(min(len(tokens), index + 4), index + 1, -1):
            words = tokens[index:stop]
            found = names.column(" ".join(word.name for word in words)) if all(word.is_name for word in words) else None
            if found is not None:
                return [*tokens[:index], token._replace(kind="quoted", text=quoted(found)), *tokens[stop:]]
    return None


def quote_keyword(tokens: Sequence[Token], word: str, names: Names) -> list[Token] | None:
    """Return the tokens with a column quoted that has the name of a keyword, or None when no column has that name."""
    column = names.column(word)
    if column is None or normalize(column) != normalize(word):
        return None
    changed = [
        token._replace(kind="quoted", text=quoted(column))
        if token.kind == "name" and token.word == word.lower() and at(tokens, index + 1).word != "by"
        else token
        for index, token in enumerate(tokens)
    ]
    return None if changed == list(tokens) else changed


def _unquoted_dates(tokens: Sequence[Token]) -> list[Token]:
    """Put quotes around ``2026-01-05``."""
    result: list[Token] = []
    index = 0
    while index < len(tokens):
        parts = [tokens[index].text]
        stop = index + 1
        for pattern in (_MONTH, _DAY):
            sign, number = at(tokens, stop), at(tokens, stop + 1)
            if sign.text == "-" and not sign.space and not number.space and pattern.fullmatch(number.text):
                parts.append(number.text)
                stop += 2
            else:
                break
        if len(parts) > 1 and tokens[index].kind == "number" and _PARTIAL_DATE.fullmatch("-".join(parts)):
            result.append(tokens[index]._replace(kind="string", text=f"'{'-'.join(parts)}'"))
            index = stop
        else:
            result.append(tokens[index])
            index += 1
    return result


def _ordinals(tokens: Sequence[Token], names: Names) -> list[Token]:
    """Read ``4. close`` and ``52WeekHigh`` as names."""
    result: list[Token] = []
    for token in tokens:
        previous = result[-1] if result else None
        if token.kind == "name" and token.text[0].isdigit() and (column := names.column(token.text)) is not None:
            token = token._replace(kind="quoted", text=quoted(column))  # noqa: PLW2901 - the token is replaced in place
        elif (
            token.is_name
            and previous is not None
            and previous.kind == "number"
            and previous.text.endswith(".")
            and names.column(token.name) is not None
        ):
            token = token._replace(space=previous.space)  # noqa: PLW2901 - the token is replaced in place
            result.pop()
        elif token.is_name and previous is not None and previous.text == "." and _is_digit(at(result, len(result) - 2)):
            token = token._replace(space=result[-2].space)  # noqa: PLW2901 - the token is replaced in place
            del result[-2:]
        result.append(token)
    return result


def _is_digit(token: Token) -> bool:
    return token.kind == "number" and token.text.isdigit()


def _table_paths(tokens: Sequence[Token], names: Names) -> list[Token]:
    """Write ``income.quarterlyReports`` after FROM and JOIN as one name."""
    result: list[Token] = []
    index, in_from, depth, from_depth = 0, False, 0, 0
    while index < len(tokens):
        token = tokens[index]
        depth += (token.text == "(") - (token.text == ")")
        if token.word in ("from", "join"):
            in_from, from_depth = True, depth
        elif token.word in ("where", "group", "order", "limit", "on", "union", "select", "having", "set", "using"):
            in_from = False
        result.append(token)
        index += 1
        is_place = token.word in ("from", "join") or (token.text == "," and in_from and depth == from_depth)
        if not is_place or at(tokens, index + 1).text != "." or (at(tokens, index).kind not in ("name", "quoted")):
            continue
        stop = index + 1
        while at(tokens, stop).text == "." and at(tokens, stop + 1).kind in ("name", "quoted", "number"):
            stop += 2
        path = ".".join(part.name for part in tokens[index:stop:2])
        result.append(Token("quoted", quoted(path), tokens[index].offset, tokens[index].space))
        index = stop
    return result


def _double_quotes(tokens: Sequence[Token], names: Names) -> list[Token]:
    """Decide what is in double quotes: a column, another name, or a text."""
    aliases = _aliases(tokens)
    result: list[Token] = []
    openings: list[str] = []
    for index, token in enumerate(tokens):
        previous = at(tokens, index - 1)
        if token.text == "(":
            openings.append(previous.word)
        elif token.text == ")" and openings:
            openings.pop()
        if token.kind == "quoted" and token.text[0] == '"' and token.name.lower() not in aliases:
            function = openings[-1] if openings else ""
            token = _quoted_token(token, previous, at(tokens, index + 1), function, names)  # noqa: PLW2901
        result.append(token)
    return result


def _quoted_token(token: Token, previous: Token, following: Token, function: str, names: Names) -> Token:
    if following.text == "." or previous.word in ("as", "from", "join"):
        return token
    column = names.column(token.name)
    if column is not None:
        return token._replace(text=quoted(column))
    if previous.text == "." or previous.is_name or previous.kind in ("string", "number") or previous.text == ")":
        return token  # an alias
    is_text = previous.word in _BEFORE_TEXT or (previous.word == "and" and _PARTIAL_DATE.fullmatch(token.name))
    if is_text or (previous.text in ("(", ",") and function in _TEXT_FUNCTIONS):
        return token._replace(kind="string", text="'" + token.name.replace("'", "''") + "'")
    raise sql_errors.no_column(token.name, token.offset, names.tables)


def _aliases(tokens: Sequence[Token]) -> set[str]:
    """Return the names that a statement gives, in lower case."""
    given = set()
    for index, token in enumerate(tokens):
        previous, following = at(tokens, index - 1), at(tokens, index + 1)
        is_expression = following.word == "as" and at(tokens, index + 2).text == "("
        is_alias = token.is_name and (previous.is_name or previous.text == ")")
        if previous.word == "as" or is_expression or is_alias:
            given.add(token.name.lower())
    return given


def is_partial_date(text: str) -> bool:
    """Return whether a text is a year, a month or a day."""
    return _PARTIAL_DATE.fullmatch(text) is not None


def _literals(tokens: Sequence[Token], names: Names) -> list[Token]:
    """Write the texts that are compared with dates and booleans as these are in the answer."""
    result: list[Token] = []
    for token in tokens:
        if token.kind in ("string", "number") and result and result[-1].word in (*_COMPARISONS, "and", "between"):
            _literal(token, result, names)
        else:
            result.append(token)
    return result


def _literal(token: Token, result: list[Token], names: Names) -> None:
    """Append a literal after an operator to the tokens before it, of which the operator may change.

    ``date = '2026-01'`` becomes LIKE, and ``<= '2026-01'`` includes that month: texts compare sign by sign.
    """
    operator, text = result[-1].word, token.name
    left = operand_start(result, len(result) - 2)
    between = operator == "and" and at(result, left - 1).word == "between"
    operand = at(result, left - 2 if between else len(result) - 2)
    column = names.column(operand.name) if operand.is_name else None
    kinds = frozenset[str]() if column is None else names.kinds(column)
    is_date = bool(kinds) and kinds <= {"date", "time"}
    if token.kind == "string" and operator != "and" and kinds and kinds <= {"int", "float"} and not _is_number(text):
        raise _not_a_number(str(column), token, names)
    if kinds == {"bool"} and text.lower() in ("true", "false"):
        result.append(token._replace(kind="name", text=text.upper()))
        return
    text = _iso_date(text, token) if is_date else text
    if time := _TIME.fullmatch(text):
        is_midnight = is_date and "time" not in kinds and _MIDNIGHT.fullmatch(time[2])
        text = time[1] if is_midnight else f"{time[1]}T{time[2]}"
    is_day = len(text) == len("2026-01-05")
    if _PARTIAL_DATE.fullmatch(text) and (is_date or "-" in text):
        if operator in ("=", "==") and is_date and not (is_day and "time" not in kinds):
            result[-1] = result[-1]._replace(text="LIKE", kind="name", space=" ")
            text += "%"
        elif operator == "<=" or between or (operator == ">" and not is_day):
            text += _END_OF_DAY
    if text != token.name:
        token = token._replace(kind="string", text=f"'{text}'", space=token.space or " ")
    result.append(token)


def _is_number(text: str) -> bool:
    return as_number(text.strip()) is not None


def _not_a_number(column: str, token: Token, names: Names) -> InvalidArguments:
    if closest_matches(token.name, names.columns.values()):
        return sql_errors.no_column(token.name, token.offset, names.tables)
    return sql_errors.invalid_sql(
        f"{quoted_name(column)} holds numbers, and {quoted_name(token.name)} is not a number", token.offset
    )


def _iso_date(text: str, token: Token) -> str:
    found = _SLASHED.fullmatch(text) or _COMPACT.fullmatch(text)
    if found:
        return f"{found['year']}-{int(found['month']):02d}-{int(found['day']):02d}"
    if token.kind == "string" and _OTHER_DATE.fullmatch(text.strip()):
        raise sql_errors.invalid_sql(
            f"the date {text[:40]!r} cannot be compared", token.offset, "Write dates as '2026-01-05'."
        )
    return text


def _by_date(tokens: Sequence[Token], names: Names) -> list[Token]:
    """Give ``first(x)``, ``last(x)``, ``change(x)`` and ``pct_change(x)`` the column of dates that they need."""
    result: list[Token] = []
    openings: list[tuple[bool, bool]] = []  # of each parenthesis: whether it needs a date, and whether it has one
    for token in tokens:
        previous = result[-1] if result else None
        if token.text == "(" and token.kind == "sign":
            openings.append((previous is not None and previous.kind == "name" and previous.word in _BY_DATE, False))
        elif token.text == "," and openings:
            openings[-1] = (openings[-1][0], True)
        elif token.text == ")" and token.kind == "sign" and openings:
            needs_date, has_date = openings.pop()
            if needs_date and not has_date and names.date_column is not None:
                result.extend(parse(f", {quoted(names.date_column)}", ""))
        result.append(token)
    return result
