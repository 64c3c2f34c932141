"""Read an expression of a step: split it outside quotes, then a lexer for dates and amounts, then sqlglot."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Container
from typing import NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.parser import Parser

from toolfold.dates import parse_date
from toolfold.results.select.names import invalid
from toolfold.results.types import is_code, number_of
from toolfold.results.values import sql_identifier
from toolfold.text_safety import quoted_name

logging.getLogger("sqlglot").setLevel(logging.CRITICAL + 1)  # it quotes what it cannot read

_TOKEN = re.compile(
    r"""\s*+(?:(?P<string>'(?:[^']|'')*')
    |(?P<quoted>"(?:[^"]|"")*"|`[^`]*`)
    |(?P<date>(?<![\w.:])(?:
        \d{4}-\d\d-\d\d(?:(?:T|[ ](?=\d\d:))\d\d(?::?\d\d(?::?\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?)?
        |\d{4}-\d\d|\d{4}-?[Qq][1-4]|[Qq][1-4][- ]?\d{4}|\d\d?/\d\d?/\d{4}
        |(?<!\[)\d\d?(?::\d\d){1,2}|\d+(?:\.\d+){2,})(?![\w/:]))
    |(?P<amount>\$?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?:%(?![\w("'])|[kKMBT]\b|bn\b)?(?!\w))
    |(?P<word>@?\w+)
    |(?P<sign><=|>=|<>|!==?|===?|::|[-+*/%(),<>=.\[\]\u2212≥≤≠])
    |(?P<end>\Z))""",
    re.X,
)
_ONLY_IN_OVER = frozenset(
    ("partition", "by", "order", "asc", "desc", "rows", "range", "preceding", "following", "current", "row",
     "unbounded", "nulls")
)  # fmt: skip
_ONLY_IN_CASE = frozenset(("when", "then", "else", "end"))
_KEYWORDS = _ONLY_IN_OVER | _ONLY_IN_CASE | frozenset(
    ("and", "or", "not", "in", "like", "ilike", "between", "is", "null", "as", "case", "distinct", "true", "false",
     "escape")
)  # fmt: skip
_ALWAYS_KEYWORDS = frozenset(("and", "or", "not", "in", "like", "ilike", "between", "is", "null", "as"))
"""Words that are never names without quotes: a condition cannot be read without them."""

_ORDERS = frozenset(("<", "<=", ">", ">="))
_COMPARISONS = _ORDERS | {"=", "!=", "<>"}
_BEFORE_ONE_AMOUNT = _COMPARISONS | {"between", "and"}
"""Behind these a comma between digits separates thousands, in parentheses as well."""

_TEXT_ENDS = {
    is_in_case: re.compile(rf"(?<!\s)\s++(?:{words})\b|[;),]|&&|\|\|", re.I)
    for is_in_case, words in ((False, "and|or"), (True, "and|or|when|then|else|end"))
}
_ENDS_OF_NAMES = frozenset(("over", "contains", "starts", "ends"))
_PATTERNS = {"contains": "%{}%", "starts with": "{}%", "ends with": "%{}"}
_SIGNS = {"\u2212": "-", "==": "=", "===": "=", "!==": "!=", "≥": ">=", "≤": "<=", "≠": "!="}

_MAX_NODES = 1_500
"""Parts of the expressions of a step: 250 columns with a calculation each. Some rules look at a tree for each part."""

MAX_DEPTH = 20
"""Parentheses inside each other. sqlglot takes exponential time for some that are nested deeper."""

_MAX_TYPES = 5
"""Calls inside each other whose names are types as well: sqlglot reads what is in ``date(…)`` twice."""

_MAX_HEIGHT = 150
"""Nodes of a tree below each other: ``a + b + c`` are two. That of SQLite is set to as many."""

YEARS = range(1900, 2101)
"""Whole numbers that may be years, as the name of a column or as its values."""

_DIALECTS = ("", "sqlite", "tsql", "mysql", "duckdb")

_QUOTED = r"'(?:[^']|'')*+'|\"(?:[^\"]|\"\")*+\"|`[^`]*+`|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/"

_BRACKETS = re.compile(r"\b(\w++)\s*+[(\[]|[()\[\]]")


class _Token(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def stop(self) -> int:
        return self.start + len(self.text)


def parse_items(text: str, offset: int = 0, columns: Container[str] = (), *, has_count: bool = False) -> list[exp.Expr]:
    """Return the expressions of a step, with quoted names.

    Args:
        text: columns, calculations, functions or one condition.
        offset: where the text starts in the ``select``.
        columns: the names of columns.
        has_count: whether an earlier step has counted, so that ``count`` is its column.

    Raises:
        InvalidSelect: it cannot be read.
    """
    if problem := nesting_problem(text, MAX_DEPTH):
        raise invalid(problem, offset=offset)
    sql = _Lexer(text, columns, offset, has_count=has_count).sql()
    try:
        tree = sqlglot.parse_one(f"SELECT {sql}")
    except (SqlglotError, RecursionError, ValueError):
        raise unreadable(text, offset) from None
    if not isinstance(tree, exp.Select) or {key for key, value in tree.args.items() if value} != {"expressions"}:
        raise unreadable(text, offset)
    _check_size(tree, offset)
    return list(tree.expressions)


def parse_sql(text: str, offset: int = 0) -> exp.Expr:
    """Return a statement of SQL in any dialect that can be read.

    Raises:
        InvalidSelect: it cannot be read, or is not one SELECT.
    """
    if problem := nesting_problem(text, MAX_DEPTH):
        raise invalid(problem, offset=offset)
    for dialect in ("tsql", *_DIALECTS) if _TOP.match(text) else _DIALECTS:
        try:
            trees = sqlglot.parse(text, read=dialect or None)
        except (SqlglotError, RecursionError, ValueError) as error:
            word = next((str(one.get("highlight") or "") for one in getattr(error, "errors", ())), "")
            problem = problem or (f" at {quoted_name(word)}" if word else "")
            continue
        statements = [tree for tree in trees if tree is not None]
        if len(statements) != 1 or not isinstance(statements[0], exp.Query):
            raise invalid("only one SELECT over the rows of this answer can be run here", offset=offset)
        _check_size(statements[0], offset)
        return statements[0]
    raise invalid(f"the SQL cannot be read{problem}", _SQL_EXAMPLE, offset=offset)


_TOP = re.compile(r"\s*select\s+(?:distinct\s+)?top\b", re.I)
"""What only one dialect reads; others take it for a function or a name."""

_SQL_EXAMPLE = "Write e.g. SELECT date, close FROM data WHERE close > 200 ORDER BY date DESC LIMIT 5."


def names_in(text: str) -> set[str]:
    """Return the words and quoted names of a text, for what it may read."""
    return {match[0].strip('"`') for match in re.finditer(r"\"(?:[^\"]|\"\")*\"|`[^`]*`|\w+", text)}


def split_outside(text: str, separator: str) -> list[tuple[str, int]]:
    """Return the parts of a text, and their offsets, between separators (an expression) outside quotes and brackets."""
    parts, start, depth = [], 0, 0
    pattern = rf"{_QUOTED}|(?P<separator>{separator})|(?P<bracket>[()\[\]{{}}])"
    for match in re.finditer(pattern, text, re.I):
        if match["bracket"]:
            depth += 1 if match[0] in "([{" else -1
        elif match["separator"] and depth <= 0:
            parts.append((text[start : match.start()], start))
            start = match.end()
    return [*parts, (text[start:], start)]


def split_items(text: str) -> list[str]:
    """Return the items of a text between commas."""
    return [item.strip() for item, _ in split_outside(text, ",")]


def unreadable(text: str, offset: int = 0) -> Exception:
    """Return the error for a step that is not in the grammar."""
    return invalid(f"{quoted_name(text)} cannot be read", offset=offset)


def column_and_number(text: str) -> Exception:
    """Return the error for a number that is the name of a column as well."""
    problem, next_step = f"{text} is a column and a number", f'Write "{text}" for the column.'
    replaces = [(rf"(?<![\w\"]){text}(?![\w\"])", written) for written in (f'"{text}"', f"{text}.0")]
    return invalid(problem, next_step, replaces=replaces, is_choice=True)


def nesting_problem(sql: str, max_depth: int) -> str:
    """Return why the brackets of a statement take sqlglot too long; empty: they do not."""
    opened, types = list[bool](), 0
    for found in _BRACKETS.finditer(re.sub(_QUOTED, " ", sql)):
        if found[0] not in (")", "]"):
            opened.append((found[1] or "").upper() in _type_names())
            types += opened[-1]
        elif opened:
            types -= opened.pop()
        if types > _MAX_TYPES:
            return "it has too many calls such as date(…) inside each other"
        if len(opened) > max_depth:
            return f"more than {max_depth} parentheses are inside each other"
    return ""


@functools.cache
def _type_names() -> frozenset[str]:
    """Return the words that are types in a dialect."""
    dialects = [sqlglot.Dialect.get_or_raise(name) for name in (*_DIALECTS, "postgres")]
    kinds = [pair for one in dialects for pair in one.tokenizer_class.KEYWORDS.items()]
    return frozenset(words.split()[-1] for words, kind in kinds if kind in Parser.TYPE_TOKENS)


def _check_size(tree: exp.Expr, offset: int) -> None:
    """Refuse a tree that SQLite would refuse, before it is copied and changed many times."""
    level, height, count = [tree], 0, 1
    while level := [child for node in level for child in node.iter_expressions()]:
        height, count = height + 1, count + len(level)
        if height > _MAX_HEIGHT or count > _MAX_NODES:
            problem = "it has too many names, values and operators"
            raise invalid(problem, "Write fewer, or several steps.", offset=offset)


class _Lexer:
    """Write an expression as SQL: names quoted, dates and text as strings, amounts as numbers."""

    def __init__(self, text: str, columns: Container[str], offset: int, *, has_count: bool) -> None:
        self._text, self._columns, self._offset, self._has_count = text, columns, offset, has_count
        self._parts: list[str] = []
        self._depth = self._over_depth = 0
        self._lists: list[int] = []

    def sql(self) -> str:
        """Return the SQL."""
        place = 0
        while (token := self._next(place)).text:
            if token.kind == "word":
                place = self._word(token)
            elif token.kind == "sign":
                place = self._sign(token)
            else:
                self._value(_literal(token.kind, token.text), token)
                place = token.stop
        if self._depth:
            raise invalid("a parenthesis is not closed", offset=self._offset)
        return " ".join(self._parts)

    def _next(self, place: int) -> _Token:
        """Return the token from a place on; one without text at the end."""
        match = _TOKEN.match(self._text, place)
        if match is None:
            place = len(self._text) - len(self._text[place:].lstrip())
            raise unreadable(self._text[place:], self._offset + place)
        kind = str(match.lastgroup)
        text, start = match[kind], match.start(kind)
        is_compared = bool(self._parts) and self._parts[-1] in _BEFORE_ONE_AMOUNT
        if kind == "amount" and "," in text and not is_compared and (self._depth or not self._parts):
            text = text.split(",")[0]
        if kind == "amount" and text in self._columns and (not text.isdecimal() or int(text) in YEARS):
            kind = "word"
            if text.isdecimal() and is_compared:
                raise column_and_number(text)
        return _Token(kind, text, start)

    def _sign(self, token: _Token) -> int:
        sign = _SIGNS.get(token.text, token.text)
        self._depth += (sign == "(") - (sign == ")")
        self._lists = [depth for depth in self._lists if depth <= self._depth]
        if self._over_depth > self._depth:
            self._over_depth = 0
        self._parts.append(sign)
        if sign in _COMPARISONS:
            return self._right_side(sign, token.stop)
        if sign in ("(", ",") and self._depth in self._lists:
            return self._right_side("=", token.stop)
        return token.stop

    def _word(self, token: _Token) -> int:
        lowered, following = token.text.lower(), self._next(token.stop)
        if lowered == "over" and following.text:
            if following.kind == "amount" and following.text.isdecimal() and 1 < int(following.text) <= 10_000:
                self._parts.append(f"OVER (ROWS BETWEEN {int(following.text) - 1} PRECEDING AND CURRENT ROW)")
                return following.stop
            self._over_depth = self._depth + 1
            self._parts.append("OVER")
            return token.stop
        if lowered in ("starts", "ends") and following.text.lower() == "with":
            return self._pattern(f"{lowered} with", following.stop)
        if lowered == "contains" and self._parts and following.text != "(":
            return self._pattern(lowered, token.stop)
        if self._is_keyword(token.text):
            return self._keyword(lowered, token, following)
        if following.text == "(":
            self._value(token.text, token)
            return token.stop
        if lowered == "count" and not self._has_count and self._parts[-1:] != ["."]:
            if token.text in self._columns:
                replaces = [(r"\bcount\b", form) for form in ('"count"', "count(*)")]
                raise invalid("count is a column and a function", 'Write "count" or count(*).',
                              offset=self._offset + token.start, replaces=replaces, is_choice=True)  # fmt: skip
            self._value("COUNT(*)", token)
            return token.stop
        return self._name(token)

    def _is_keyword(self, word: str) -> bool:
        lowered = word.lower()
        is_known = lowered in _KEYWORDS and (lowered not in _ONLY_IN_OVER or bool(self._over_depth))
        is_known = is_known and (lowered not in _ONLY_IN_CASE or "case" in self._parts)
        return is_known and (lowered in _ALWAYS_KEYWORDS or word not in self._columns)

    def _keyword(self, keyword: str, token: _Token, following: _Token) -> int:
        if keyword in ("null", "true", "false", "case"):
            self._value(keyword, token)
            return token.stop
        self._parts.append(keyword)
        if keyword == "in":
            self._lists.append(self._depth + 1)
        if keyword == "as":
            if following.kind not in ("word", "quoted"):
                raise invalid("as needs a name", offset=self._offset + token.stop)
            is_type = self._depth > 0  # in a CAST
            self._parts.append(following.text if is_type else sql_identifier(following.text.strip('"`')))
            return following.stop
        return self._right_side(keyword, token.stop) if keyword in ("like", "ilike") else token.stop

    def _name(self, token: _Token) -> int:
        """Write a name, which goes on up to a keyword or a function."""
        name, place = token.text, token.stop
        ends = _ENDS_OF_NAMES | (_KEYWORDS if self._over_depth else _KEYWORDS - _ONLY_IN_OVER)
        while (following := self._next(place)).kind == "word" and following.text.lower() not in ends:
            if self._next(following.stop).text == "(":
                break
            name, place = f"{name} {following.text}", following.stop
        self._value(sql_identifier(name), token)
        return place

    def _pattern(self, operator: str, place: int) -> int:
        value, stop = self._right_text(place)
        if value is None:
            following = self._next(place)
            if following.kind not in ("string", "amount", "date"):
                raise invalid(f"{operator} needs a text", offset=self._offset + place)
            value, stop = following.text, following.stop
            value = value[1:-1].replace("''", "'") if following.kind == "string" else value
        escaped = re.sub(r"([%_\\])", r"\\\1", value).replace("'", "''")
        self._parts.append(f"LIKE '{_PATTERNS[operator].format(escaped)}' ESCAPE '\\'")
        return stop

    def _right_side(self, operator: str, place: int) -> int:
        """Write what a column is compared with, where it is text without quotes."""
        value, stop = self._right_text(place)
        if value is None or (operator in _ORDERS and not parse_date(value)):
            return place
        words = re.split(r"[\s<>=!]+", value)  # of a URL with ?a=1 none is a column
        is_comparison = not {"<", ">", "="}.isdisjoint(value) and any(word in self._columns for word in words)
        if is_comparison and not self._text[place:].lstrip().startswith('"'):
            raise unreadable(value, self._offset + place)  # all rows may be unlike a text
        self._parts.append("'" + value.replace("'", "''") + "'")
        return stop

    def _right_text(self, place: int) -> tuple[str | None, int]:
        """Return the text that begins at a place, without quotes or in those of a name that no column has, and its end.

        None where another value begins.
        """
        first = self._next(place)
        if first.kind == "quoted":
            value = first.text[1:-1].replace('""', '"')
            return (None, place) if first.text[0] == "`" or value in self._columns else (value, first.stop)
        if first.kind not in ("word", "sign") or first.text in ("(", "-", "+", "["):
            return None, place
        end = _TEXT_ENDS["case" in self._parts].search(self._text, first.start)
        stop = len(self._text) if end is None else end.start()
        text = self._text[first.start : stop].strip()
        is_call = self._text[first.stop :].lstrip().startswith("(")
        is_word = first.text.lower() in ("null", "true", "false", "not", "case")
        is_column = first.text in self._columns or text in self._columns
        return (None, place) if not text or is_call or is_word or is_column else (text, stop)

    def _value(self, sql: str, token: _Token) -> None:
        """Write a value; refuse two with nothing between them, which SQL reads as a value and its name."""
        before = self._parts[-1] if self._parts else ""
        if before and (before[-1] in "\"')" or (before[-1].isalnum() and before not in _KEYWORDS)):
            problem = f"{quoted_name(token.text)} does not follow from what is before it"
            raise invalid(problem, offset=self._offset + token.start)
        self._parts.append(sql)


def _literal(kind: str, text: str) -> str:
    if kind == "quoted":
        return sql_identifier(text[1:-1].replace('""', '"'))
    if kind == "string":
        return text
    if kind == "date" or is_code(text):
        return f"'{text}'"
    number = number_of(text)
    if number is None:
        raise invalid(f"{quoted_name(text)} is not a number that can be calculated with")
    if text.endswith("%"):
        return f"_percent({number})"
    is_plain = text[-1].isdecimal() and text.replace(".", "").isdecimal()
    return text if is_plain else repr(number)  # 1.10 may be compared with a text
