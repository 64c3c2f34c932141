"""Decide whether a statement only reads, before a database sees it: by its tokens, and by its syntax tree.

Everything is refused that is not known to be harmless: a statement that sqlglot cannot read, a node that is not
listed here, a function that is not in :mod:`.functions`, a table that the source does not have. Not listed are
statements that change something (also inside ``WITH``), ``SELECT INTO``, ``FOR UPDATE``, hints, and everything that
sqlglot reads as a command without understanding it. The guard is the first layer; those behind it do not rely on it.
"""

from __future__ import annotations

from collections.abc import Iterator
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

_MAX_CHARS = 60


class TableReference(NamedTuple):
    """A table as a statement names it, in lower case where the database reads it so."""

    catalog: str
    schema: str
    name: str
    offset: int | None

    def __str__(self) -> str:
        return ".".join(part for part in self[:3] if part)


def table_references(tree: exp.Expr, dialect: str) -> Iterator[TableReference]:
    """Yield the tables that ``tree`` reads."""
    for node in tree.find_all(exp.Table):
        if isinstance(node.this, exp.Func):
            continue  # it returns rows; its name is checked as that of every function
        if not isinstance(node.this, exp.Identifier):
            yield TableReference("", "", node.sql()[:_MAX_CHARS], None)
            continue
        name = _folded(node.this, dialect)
        schema, catalog = node.args.get("db"), node.args.get("catalog")
        if not schema and _is_common_table(node, name, dialect):
            continue
        yield TableReference(
            _folded(catalog, dialect) if catalog else "",
            _folded(schema, dialect) if schema else "",
            name,
            node.this.meta.get("start"),
        )


def find_table(reference: TableReference, schema: DatabaseSchema) -> Table | None:
    """Return the table of the source that the database reads for ``reference``; None where it has no such table."""
    if reference.catalog:
        return None
    if not schema.search_path:  # SQLite: names of any case
        if reference.schema not in ("", "main"):
            return None
        return next((table for table in schema.tables if _lower(table.name) == reference.name), None)
    tables = {(table.schema, table.name): table for table in schema.tables}
    if reference.schema:
        return tables.get((reference.schema, reference.name))
    if reference.name.startswith("pg_"):  # found in pg_catalog first
        return None
    for one in schema.search_path:
        if (one, reference.name) in schema.left_out:
            return None
        if (one, reference.name) in tables:
            return tables[one, reference.name]
    return None


def _folded(identifier: exp.Expr, dialect: str) -> str:
    is_exact = dialect == "postgresql" and bool(identifier.args.get("quoted"))
    return identifier.name if is_exact else _lower(identifier.name)


def _lower(name: str) -> str:
    """Return ``name`` with the letters of ASCII in lower case, and no others: as both databases read it."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def _is_common_table(node: exp.Table, name: str, dialect: str) -> bool:
    """Return whether ``name`` is, at ``node``, a common table expression that an enclosing query defines.

    Without ``RECURSIVE``, PostgreSQL knows the earlier ones of the same WITH alone: in ``WITH a AS (SELECT * FROM a)``
    the inner ``a`` is a table.
    """
    child: exp.Expr = node
    parent = node.parent
    while parent is not None:
        clause = parent.args.get("with_") or parent.args.get("with")
        if isinstance(parent, exp.With):
            is_recursive = bool(parent.args.get("recursive")) or dialect == "sqlite"
            known = parent.expressions if is_recursive else parent.expressions[: _index(parent.expressions, child)]
            if any(_cte_name(one, dialect) == name for one in known):
                return True
            # The query that has this WITH does not see more of it from in here.
            child, parent = parent.parent or parent, (parent.parent.parent if parent.parent else None)
            continue
        if isinstance(clause, exp.With) and any(_cte_name(one, dialect) == name for one in clause.expressions):
            return True
        child, parent = parent, parent.parent
    return False


def _index(expressions: list[exp.Expr], child: exp.Expr) -> int:
    return next((index for index, one in enumerate(expressions) if one is child), 0)


def _cte_name(expression: exp.Expr, dialect: str) -> str:
    alias = expression.args.get("alias")
    identifier = alias.this if isinstance(alias, exp.TableAlias) else None
    return _folded(identifier, dialect) if isinstance(identifier, exp.Identifier) else ""


_ALLOWED: tuple[type[exp.Expr], ...] = tuple(
    getattr(exp, name)
    for line in (
        # queries
        "Select Union Intersect Except Subquery With CTE From Join Where Group Having Order Ordered Limit Offset Fetch",
        "LimitOptions Distinct Values Tuple Table TableAlias TableSample Lateral Unnest Window WindowSpec Cube Rollup",
        "GroupingSets",
        # names and values
        "Column Identifier Alias Aliases Star Literal Null Boolean Paren Var Placeholder Parameter HexString BitString",
        "ByteString RawString National UnicodeString Interval IntervalSpan DataType DataTypeParam ColumnDef Dot Kwarg",
        # operators
        "In Between Like ILike SimilarTo Escape Is Not Any All Case If Bracket Slice Array Filter WithinGroup",
        "IgnoreNulls RespectNulls AtTimeZone Collate Variadic Operator Distance Opclass JSONPath",
    )
    for name in line.split()
    if hasattr(exp, name)  # versions of sqlglot differ in a few
)

_ALLOWED_BASES = (exp.Binary, exp.Unary, exp.Predicate, exp.Func, exp.JSONPathPart)
"""Operators, and functions: whether a function may be called is decided by the name that is written."""

_REFUSED_FUNCTIONS: tuple[type[exp.Expr], ...] = tuple(
    getattr(exp, name)
    for name in ("CurrentUser", "CurrentRole", "SessionUser", "CurrentCatalog", "CurrentSchema", "ConnectByRoot")
    if hasattr(exp, name)
)
"""Functions that are called without parentheses, and say something about the role or the server."""

_NAMES: dict[str, str] = {
    "Into": "SELECT INTO creates a table",
    "Lock": "FOR UPDATE and FOR SHARE lock rows",
    "Insert": "INSERT changes data",
    "Update": "UPDATE changes data",
    "Delete": "DELETE changes data",
    "Merge": "MERGE changes data",
    "Hint": "a hint",
}


def is_allowed(node: exp.Expr) -> bool:
    """Return whether a statement may have ``node``."""
    return isinstance(node, _ALLOWED + _ALLOWED_BASES) and not isinstance(node, _REFUSED_FUNCTIONS)


def refused_syntax(node: exp.Expr) -> str:
    """Return what is refused, for an error."""
    name = type(node).__name__
    return _NAMES.get(name) or f"{node.key.upper()} is not available"


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
