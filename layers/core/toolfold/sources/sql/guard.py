"""Decide whether a statement only reads, before a database sees it: by its tokens, and by its syntax tree.

Everything is refused that is not known to be harmless: a statement that sqlglot cannot read, a node that is not in
:mod:`.syntax`, a function that is not in :mod:`.functions`, a table that the source does not have. The guard is the
first layer; those behind it do not rely on it.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import Dialect, Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError, TokenError

from toolfold.sources.sql.errors import DatabaseFailure, FailureKind
from toolfold.sources.sql.functions import (
    LENGTH_LIMITED,
    MAX_LITERAL_LENGTH,
    POSTGRESQL_FUNCTIONS,
    SQLITE_FUNCTIONS,
    WORDS_BEFORE_PARENTHESES,
)
from toolfold.sources.sql.schema import DatabaseSchema, Table
from toolfold.sources.sql.syntax import is_allowed, refused_syntax
from toolfold.sources.sql.table_references import find_table, table_references

__all__ = ["GuardedStatement", "check_statement"]

MAX_STATEMENT_CHARS = 20_000
_MAX_TOKENS = 5_000
_MAX_DEPTH = 40
"""Parentheses inside each other. sqlglot takes exponential time for some that are nested deeper."""

_BEGINNINGS = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "("})

_SQLGLOT_NAMES = {"sqlite": "sqlite", "postgresql": "postgres"}
_FUNCTIONS = {"sqlite": SQLITE_FUNCTIONS, "postgresql": POSTGRESQL_FUNCTIONS}


class GuardedStatement(NamedTuple):
    """A statement that only reads.

    Attributes:
        text: the statement without a semicolon at its end.
        tables: the tables that it reads.
    """

    text: str
    tables: tuple[Table, ...]


def check_statement(statement: str, dialect: str, schema: DatabaseSchema) -> GuardedStatement:
    """Return ``statement`` when it is one statement that only reads tables of ``schema``.

    Args:
        statement: SQL.
        dialect: ``sqlite`` or ``postgresql``.
        schema: the tables of the source.

    Raises:
        DatabaseFailure: it is refused.
    """
    tokens = _tokenize(statement, dialect)
    text = statement[: tokens[-1].end + 1]
    tree = _parse(text, tokens, dialect)
    _check_functions(tokens, tree, dialect)
    for node in tree.walk():
        if not is_allowed(node):
            raise _refused(refused_syntax(node), _offset(node))
        if isinstance(node, exp.In) and node.args.get("field") is not None:
            raise _refused("IN takes a list or a SELECT in parentheses")  # in SQLite a name there is a table
        _check_length(node)
    return GuardedStatement(text, tuple(_check_tables(tree, dialect, schema)))


def _tokenize(statement: str, dialect: str) -> list[Token]:
    if len(statement) > MAX_STATEMENT_CHARS:
        raise _refused(f"it has {len(statement):,} characters; {MAX_STATEMENT_CHARS:,} are allowed")
    if "\0" in statement:
        raise _refused("it has a null character", statement.index("\0"))
    try:
        tokens = Dialect.get_or_raise(_SQLGLOT_NAMES[dialect]).tokenize(statement)
    except TokenError:
        raise DatabaseFailure(FailureKind.SYNTAX, "a text, a quoted name or a comment is not closed") from None
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise DatabaseFailure(FailureKind.SYNTAX, "it is empty")
    if len(tokens) > _MAX_TOKENS:
        raise _refused(f"it has more than {_MAX_TOKENS:,} words and signs")
    beginning = tokens[0].text.upper()
    if beginning not in _BEGINNINGS:
        raise _refused(f"it begins with {beginning[:40]!r}, and only SELECT, WITH and VALUES can be run", 0)
    depth = 0
    for token in tokens:
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        if depth > _MAX_DEPTH:
            raise _refused(f"more than {_MAX_DEPTH} parentheses are nested", token.start)
        if token.token_type is TokenType.SEMICOLON:
            raise _refused("only one statement can be run", token.start)
    return tokens


def _parse(statement: str, tokens: list[Token], dialect: str) -> exp.Expr:
    try:
        trees = Dialect.get_or_raise(_SQLGLOT_NAMES[dialect]).parser().parse(tokens, statement)
    except ParseError as error:
        raise _unreadable(error, statement) from None
    except SqlglotError:
        raise DatabaseFailure(FailureKind.SYNTAX) from None
    except RecursionError:
        raise _refused("it is nested too deeply") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Query | exp.Values):
        raise _refused("only SELECT, WITH and VALUES can be run", 0)
    return trees[0]


def _unreadable(error: ParseError, statement: str) -> DatabaseFailure:
    first = error.errors[0] if error.errors else {}
    line, column = first.get("line"), first.get("col")
    word = str(first.get("highlight") or "")[:40]
    offset = None
    if isinstance(line, int) and isinstance(column, int):
        lines = statement.split("\n")
        offset = sum(len(one) + 1 for one in lines[: line - 1]) + max(0, column - len(word))
    detail = f"the error is at or near {word!r}" if word else "it ends too early"
    return DatabaseFailure(FailureKind.SYNTAX, detail, offset)


def _check_functions(tokens: list[Token], tree: exp.Expr, dialect: str) -> None:
    """Refuse each word before a parenthesis that is neither a function of the list, nor grammar, nor an alias."""
    functions = _FUNCTIONS[dialect]
    aliases = {
        alias.this.meta.get("start")
        for alias in tree.find_all(exp.TableAlias)
        if isinstance(alias.this, exp.Identifier)
    } - {None}
    for index, token in enumerate(tokens[:-1]):
        if tokens[index + 1].token_type is not TokenType.L_PAREN:
            continue
        name = token.text.lower()
        is_quoted = token.token_type is TokenType.IDENTIFIER
        if not is_quoted and not name.isidentifier():
            continue  # an operator
        if token.token_type in (TokenType.STRING, TokenType.NUMBER):
            continue
        if token.start in aliases or (name in WORDS_BEFORE_PARENTHESES and not is_quoted):
            continue
        if name not in functions:
            raise DatabaseFailure(FailureKind.NO_FUNCTION, name, token.start)
        if tokens[index - 1].token_type is TokenType.DOT and tokens[index - 2].text.lower() != "pg_catalog":
            raise DatabaseFailure(FailureKind.STATEMENT, "functions are called without a schema", token.start)


def _check_length(node: exp.Expr) -> None:
    if isinstance(node, exp.Pad):
        length = node.expression
    elif isinstance(node, exp.Anonymous) and node.name.lower() in LENGTH_LIMITED and len(node.expressions) > 1:
        length = node.expressions[1]
    else:
        return
    if not (isinstance(length, exp.Literal) and length.name.isdigit() and int(length.name) <= MAX_LITERAL_LENGTH):
        raise _refused(f"the length of lpad and rpad is a number up to {MAX_LITERAL_LENGTH:,}")


def _check_tables(tree: exp.Expr, dialect: str, schema: DatabaseSchema) -> list[Table]:
    tables = []
    for reference in table_references(tree, dialect):
        table = find_table(reference, schema)
        if table is None:
            raise DatabaseFailure(FailureKind.NO_TABLE, str(reference), reference.offset)
        tables.append(table)
    return tables


def _offset(node: exp.Expr) -> int | None:
    start = node.meta.get("start")
    return start if isinstance(start, int) else None


def _refused(problem: str, offset: int | None = None) -> DatabaseFailure:
    return DatabaseFailure(FailureKind.NOT_ALLOWED, problem, offset)
