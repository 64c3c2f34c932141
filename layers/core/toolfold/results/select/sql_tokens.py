"""Divide a statement of SQL into tokens, and put it together again.

Space and comments belong to the token after them. Everything is linear in the length of the statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from toolfold.results.select.sql_errors import invalid_sql

_TOKEN = re.compile(
    r"""(?P<space>(?:\s|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+)(?:
    (?P<string>'(?:[^']|'')*+')
    |(?P<quoted>"(?:[^"]|"")*+"|`[^`]*+`|\[[^\[\]]*+\])
    |(?P<number>(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?(?!\w))
    |(?P<name>\w[\w$]*+)
    |(?P<sign>::|<=>|<=|>=|<>|!=|==|\|\||&&|->>|->|!?~\*?|[^'"`\s])
    )""",
    re.X,
)
_UNCLOSED = "'\"`"

KEYWORDS = frozenset(
    """all and as asc between by case collate cross current_date current_time current_timestamp desc distinct else end
    escape except exists filter following from full glob group having in inner intersect is isnull join left like limit
    natural not notnull null offset on or order outer over partition preceding range recursive right row rows select
    set then union unbounded using values when where window with ilike qualify fetch interval true false""".split()  # noqa: SIM905 - a list of words
)
"""Words that are no names of columns, functions or tables where they stand unquoted."""


class Token(NamedTuple):
    """A token: its kind (``string quoted number name sign``), its text, where it starts, and the space before it."""

    kind: str
    text: str
    offset: int
    space: str = " "

    @property
    def word(self) -> str:
        """The text in lower case; empty for texts and quoted names."""
        return "" if self.kind in ("string", "quoted") else self.text.lower()

    @property
    def name(self) -> str:
        """The text without its quotes."""
        if self.kind in ("string", "quoted"):
            return self.text[1:-1].replace(self.text[-1] * 2, self.text[-1])
        return self.text

    @property
    def is_name(self) -> bool:
        """Whether it may be the name of a column or table."""
        return self.kind == "quoted" or (self.kind == "name" and self.word not in KEYWORDS)


END = Token("sign", "", -1)
"""What is before the first token, and after the last one."""


def tokenize(statement: str) -> list[Token]:
    """Return the tokens of a statement.

    Raises:
        InvalidArguments: a quote is not closed.
    """
    tokens, offset = [], 0
    while offset < len(statement):
        match = _TOKEN.match(statement, offset)
        if match is None or match.lastgroup is None:
            rest = statement[offset:].lstrip()
            if rest[:1] and rest[0] in _UNCLOSED:
                raise invalid_sql(f"the quote {rest[0]} is not closed", len(statement) - len(rest), "Close the quote.")
            break  # space and comments
        tokens.append(Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup), match["space"]))
        offset = match.end()
    return tokens


def untokenize(tokens: Iterable[Token]) -> str:
    """Return the statement that consists of tokens; comments are left out."""
    return "".join(
        (token.space if token.space.isspace() or not token.space else " ") + token.text for token in tokens
    ).strip()


def at(tokens: Sequence[Token], index: int) -> Token:
    """Return a token, or :data:`END`."""
    return tokens[index] if 0 <= index < len(tokens) else END


def parse(text: str, space: str = " ") -> list[Token]:
    """Return the tokens of a part that is put into a statement."""
    first, *rest = [token._replace(offset=-1) for token in tokenize(text)]
    return [first._replace(space=space), *rest]


def closing(tokens: Sequence[Token], opening: int) -> int:
    """Return the index of the parenthesis that closes the one at ``opening``, or the number of tokens."""
    depth = 0
    for index in range(opening, len(tokens)):
        depth += (tokens[index].text == "(") - (tokens[index].text == ")")
        if not depth:
            return index
    return len(tokens)


def operand_start(tokens: Sequence[Token], last: int) -> int:
    """Return the index at which the operand that ends at ``last`` starts: ``x``, ``t.x``, ``(…)``, ``f(…)``."""
    index = last
    if at(tokens, index).text == ")":
        depth = 0
        while index > 0:
            depth += (tokens[index].text == ")") - (tokens[index].text == "(")
            if not depth:
                break
            index -= 1
        if at(tokens, index - 1).kind == "name" and at(tokens, index - 1).word not in KEYWORDS:
            index -= 1
    while at(tokens, index - 1).text == "." and index >= 2:
        index -= 2
    return max(0, index)


def arguments(tokens: Sequence[Token]) -> list[list[Token]]:
    """Divide what is between the parentheses of a function at its commas."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts if parts != [[]] else []


def top_level(tokens: Sequence[Token]) -> Iterator[tuple[int, Token]]:
    """Yield the tokens outside parentheses with their indexes."""
    depth = 0
    for index, token in enumerate(tokens):
        depth -= token.text == ")"
        if not depth and token.text != ")":
            yield index, token
        depth += token.text == "("
