"""Decide whether a statement only reads, before a database sees it: by its tokens, and by its syntax tree.

Everything is refused that is not known to be harmless: a statement that sqlglot cannot read, a node that is not
listed here, a function that is not in :mod:`.functions`, a table that the source does not have. Not listed are
statements that change something (also inside ``WITH``), ``SELECT INTO``, ``FOR UPDATE``, hints, and everything that
sqlglot reads as a command without understanding it. The guard is the first layer; those behind it do not rely on it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import Dialect, Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError, TokenError

from toolfold.results.select.expressions import nesting_problem
from toolfold.results.values import sql_identifier
from toolfold.sources.sql.errors import DatabaseFailure, FailureKind
from toolfold.sources.sql.functions import (
    EXTENSION_TYPES,
    POSTGRESQL_FUNCTIONS,
    SESSION_WORDS,
    SQLITE_FUNCTIONS,
    TYPES,
    WORDS_BEFORE_PARENTHESES,
)
from toolfold.sources.sql.schema import MAX_NAME_BYTES, DatabaseSchema, Table
from toolfold.text_safety import quoted_name


def _kinds(*lines: str) -> tuple[type[exp.Expr], ...]:
    """Return the nodes with these names; versions of sqlglot differ in a few."""
    return tuple(getattr(exp, name) for line in lines for name in line.split() if hasattr(exp, name))


_ALLOWED = _kinds(
    # operators, and functions: whether a function may be called is decided by the name that is written
    "Binary Unary Predicate Func JSONPathPart",
    # queries
    "Select Union Intersect Except Subquery With CTE From Join Where Group Having Order Ordered Limit Offset Fetch",
    "LimitOptions Distinct Values Tuple Table TableAlias TableSample Lateral Unnest Window WindowSpec Cube Rollup",
    "GroupingSets",
    # names and values
    "Column Identifier Alias Aliases Star Literal Null Boolean Paren Var Placeholder Parameter HexString BitString",
    "ByteString RawString National UnicodeString Interval IntervalSpan DataType DataTypeParam ColumnDef Dot Kwarg",
    # operators
    "In Between Like ILike SimilarTo Escape Is Not Any All Case If Bracket Slice Array Filter WithinGroup",
    "IgnoreNulls RespectNulls AtTimeZone Collate Variadic Distance Opclass JSONPath JSONKeyValue",
)

_REFUSED = _kinds("ConnectByRoot Operator")
"""A function that is called without parentheses; operators by name."""

_DOLLAR_QUOTE = re.compile(r"(?<![\w$])\$(?:[^\W\d]\w*)?\$")
"""How a text in dollars begins. sqlglot takes the ``$1||$`` of ``$1||$2`` for it too, and does not see what follows."""

_COMMENT = re.compile(r"--[^\r\n]*|/\*.*?\*/", re.DOTALL)

MAX_STATEMENT_CHARS = 20_000
_MAX_TOKENS = 5_000
_MAX_DEPTH = 40
"""Parentheses inside each other. sqlglot takes exponential time for some that are nested deeper."""

_BEGINNINGS = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "("})

_SQLGLOT_NAMES = {"sqlite": "sqlite", "postgresql": "postgres"}
_QUOTED = {TokenType.IDENTIFIER} | {one for one in TokenType if one.name == "STRING" or one.name.endswith("_STRING")}
_IDENTIFIERS = ("OID", "REGCONFIG")
"""Types of objects by number, without the name of one."""

_FUNCTIONS = {"sqlite": SQLITE_FUNCTIONS, "postgresql": POSTGRESQL_FUNCTIONS}


_MAX_CHARS = 60
_SOURCES = (exp.Table, exp.Subquery, exp.Lateral, exp.Unnest, exp.Values, exp.CTE)


def check_statement(
    statement: str, dialect: str, schema: DatabaseSchema, params: Sequence[Any] | Mapping[str, Any] = ()
) -> str:
    """Return ``statement`` as the database receives it, when it is one that only reads tables of ``schema``.

    ``params`` has the values of its parameters.
    """
    tokens = _tokenize(statement, dialect)
    _check_words(statement, tokens, dialect)
    text = statement[: tokens[-1].end + 1]
    tree = _parse(text, tokens, dialect)
    _check_functions(tokens, tree, dialect)
    _check_parameters(tokens, tree, dialect, params)
    if dialect == "postgresql":
        _check_types(tokens, tree, schema)
    for node in tree.walk():
        if not isinstance(node, _ALLOWED) or isinstance(node, _REFUSED):
            raise _refused(f"{node.key.upper()} is not available")
        # Not that of ``pg_catalog.lower(x)``, of a type, or of ``(x).*``, which calls no function.
        is_name = isinstance(node.parent, exp.DataType) or isinstance(node.expression, exp.Func | exp.Star)
        if isinstance(node, exp.Dot) and not is_name:
            problem = "a field of a value is not available; name a column of a table"
            raise DatabaseFailure(FailureKind.STATEMENT, problem)
        if isinstance(node, exp.In) and node.args.get("field") is not None:
            raise _refused("IN takes a list or a SELECT in parentheses")  # in SQLite a name there is a table
    references = _References(tree, dialect, schema)
    try:
        references.check_tables()
        references.check_columns(_FUNCTIONS[dialect])
    except RecursionError:
        raise _refused("it is nested too deeply") from None
    return _in_backticks(text, tokens) if dialect == "sqlite" else text


def _in_backticks(statement: str, tokens: list[Token]) -> str:
    """Return ``statement`` with its names in backticks: in double quotes SQLite takes an unknown name for text."""
    pieces, end = list[str](), 0
    for token in tokens:
        if token.token_type is TokenType.IDENTIFIER and statement[token.start] == '"':
            pieces += [statement[end : token.start], sql_identifier(token.text, "`")]
            end = token.end + 1
    return "".join([*pieces, statement[end:]])


def _read(text: str, dialect: str) -> list[Token]:
    return Dialect.get_or_raise(_SQLGLOT_NAMES[dialect]).tokenize(text)


def _tokenize(statement: str, dialect: str) -> list[Token]:
    if len(statement) > MAX_STATEMENT_CHARS:
        raise _refused(f"it has {len(statement):,} characters; {MAX_STATEMENT_CHARS:,} are allowed")
    if "\0" in statement:
        raise _refused("it has a null character")
    try:
        tokens = _read(statement, dialect)
    except TokenError:
        space = "; a space is needed after a parameter such as $1" if "$" in statement else ""
        problem = f"a text, a quoted name or a comment is not closed{space}"
        raise DatabaseFailure(FailureKind.SYNTAX, problem) from None
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise DatabaseFailure(FailureKind.SYNTAX, "it is empty")
    if len(tokens) > _MAX_TOKENS:
        raise _refused(f"it has more than {_MAX_TOKENS:,} words and signs")
    beginning = tokens[0].text.upper()
    if beginning not in _BEGINNINGS:
        raise _refused(f"it begins with {beginning[:40]!r}, and only SELECT, WITH and VALUES can be run")
    if problem := nesting_problem(statement, _MAX_DEPTH):
        raise _refused(problem)
    depth = 0
    for token in tokens:
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        if depth > _MAX_DEPTH:
            raise _refused(f"more than {_MAX_DEPTH} parentheses are nested")
        if token.token_type is TokenType.SEMICOLON:
            raise _refused("only one statement can be run")
    return tokens


def _check_words(statement: str, tokens: list[Token], dialect: str) -> None:
    """Refuse what the database reads in another way than sqlglot, and functions without parentheses."""
    for before, token in zip((tokens[0], *tokens), tokens, strict=False):
        if token.token_type is TokenType.HEREDOC_STRING and not _DOLLAR_QUOTE.match(statement, token.start):
            raise _refused("a space is needed after a parameter such as $1")
        if not _COMMENT.sub("", statement[before.end + 1 : token.start]).isascii():
            # Both databases read it as a letter of a name, which may go on with what sqlglot takes for a text.
            raise _refused(f"white space that SQL does not have is behind {before.text[:40]!r}; write a space")
        if dialect == "sqlite":
            continue
        if statement[max(0, token.start - 2) : token.start + 1].lower() == 'u&"':
            raise _refused('a name in U&"" is not available; write it in quotes alone')
        is_name = token.token_type in _QUOTED or before.token_type in (TokenType.DOT, TokenType.ALIAS)
        if not is_name and (word := token.text.lower()) in SESSION_WORDS:
            problem = f'{word} is a function that is not available; a table or column of this name is "{word}"'
            raise DatabaseFailure(FailureKind.STATEMENT, problem)


def _parse(statement: str, tokens: list[Token], dialect: str) -> exp.Expr:
    try:
        trees = Dialect.get_or_raise(_SQLGLOT_NAMES[dialect]).parser().parse(tokens, statement)
    except ParseError as error:
        word = str(error.errors[0].get("highlight") or "")[:40] if error.errors else ""
        detail = f"the error is at or near {word!r}" if word else "it ends too early"
        raise DatabaseFailure(FailureKind.SYNTAX, detail) from None
    except SqlglotError:
        raise DatabaseFailure(FailureKind.SYNTAX, "it is not SQL of this database") from None
    except RecursionError:
        raise _refused("it is nested too deeply") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Query | exp.Values):
        raise _refused("only SELECT, WITH and VALUES can be run")
    return trees[0]


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
            raise DatabaseFailure(FailureKind.NO_FUNCTION, name)
        if tokens[index - 1].token_type is TokenType.DOT and tokens[index - 2].text.lower() != "pg_catalog":
            raise DatabaseFailure(FailureKind.STATEMENT, "functions are called without a schema")


def _check_parameters(
    tokens: list[Token], tree: exp.Expr, dialect: str, params: Sequence[Any] | Mapping[str, Any]
) -> None:
    """Refuse parameters that are not written as the database reads them, and a list as one value of ``IN``."""
    marks = [*tree.find_all(exp.Placeholder, exp.Parameter)]
    is_list = not isinstance(params, Mapping)
    if dialect == "postgresql":
        is_right = is_list and all(isinstance(mark, exp.Parameter) for mark in marks)
        form = "parameters are written as $1, $2, and params is a list of their values"
    else:  # it reads $1 and @x as parameters as well, for which Python has no list of values
        others = [token for token in tokens if token.text[:1] in ("$", "@") and token.token_type not in _QUOTED]
        is_right = not others and (not marks or is_list == (not any(mark.this for mark in marks)))
        form = "parameters are written as ?, with a list as params, or as :name, with an object"
    if not is_right:
        raise DatabaseFailure(FailureKind.STATEMENT, form)
    values = params.values() if isinstance(params, Mapping) else params
    has_list = any(isinstance(value, list) for value in values)
    if has_list and any(mark.parent.args.get("expressions") for mark in marks if isinstance(mark.parent, exp.In)):
        instead = {"sqlite": "IN (SELECT value FROM json_each(?))", "postgresql": "= ANY($1), or <> ALL($1)"}
        problem = f"a list is no value of IN (…); write {instead[dialect]}"
        raise DatabaseFailure(FailureKind.STATEMENT, problem)


def _check_types(tokens: list[Token], tree: exp.Expr, schema: DatabaseSchema) -> None:
    """Refuse each type of PostgreSQL that is not of the list: that of a table, or of an object identifier.

    sqlglot reads ``string``, which PostgreSQL has not, as ``text``: it may be the name of a table.
    """
    names = {table.name for table in schema.tables} | {name for _, name in schema.left_out}
    written = {token.text.lower() for token in tokens if token.text.isidentifier()} - TYPES
    of_tables = {_read(name, "postgresql")[0].token_type.name for name in map(str.lower, names) if name in written}
    for node in tree.find_all(exp.DataType):
        kind = node.args.get("kind")
        if isinstance(kind, exp.Expr):  # a type that sqlglot does not know
            name = kind.sql().lower()
            is_allowed = name in TYPES or (name in EXTENSION_TYPES and name not in names)
        else:
            name = str(getattr(node.this, "name", node.this))
            is_allowed = name in _IDENTIFIERS if type(node) is not exp.DataType else name not in of_tables
        if not is_allowed:
            raise DatabaseFailure(FailureKind.STATEMENT, f"the type {quoted_name(name)} is not available")


def _find_table(path: tuple[str, ...], schema: DatabaseSchema) -> Table | None:
    """Return the table that the database reads for a name, perhaps with a schema; None where the source has none."""
    *before, name = path
    if not schema.search_path:  # SQLite: names of any case
        is_main = before in ([], ["main"])
        return next((table for table in schema.tables if is_main and _lower(table.name) == name), None)
    tables = {(table.schema, table.name): table for table in schema.tables}
    if len(before) == 1:
        return tables.get((before[0], name))
    if before or name.startswith("pg_"):  # found in pg_catalog first
        return None
    readable = (one for one in schema.search_path if (one, name) in schema.left_out or (one, name) in tables)
    return tables.get((next(readable, ""), name))


class _References:
    """The names in one statement of a dialect over the tables of ``schema``.

    In PostgreSQL ``c.poke`` is the function call ``poke(c)`` where the table ``c`` has no column ``poke``. So a name
    behind a dot must not be that of such a function, unless it is a column of all that the statement calls ``c``.
    """

    def __init__(self, tree: exp.Expr, dialect: str, schema: DatabaseSchema) -> None:
        self._tree, self._dialect, self._schema = tree, dialect, schema
        self._withs: dict[int, dict[str, int]] = {}
        self._columns: defaultdict[str, list[frozenset[str]]] = defaultdict(list)

    def check_tables(self) -> None:
        """Refuse a table that the source does not have, and note the columns of the others."""
        for node in self._tree.find_all(*_SOURCES):
            table = None
            # What returns rows is a function, whose name is checked as that of every other one.
            if isinstance(node, exp.Table) and not isinstance(node.this, exp.Func) and not self._is_common(node):
                parts = node.parts if isinstance(node.this, exp.Identifier) else []
                table = _find_table(tuple(map(self._folded, parts)), self._schema) if parts else None
                if table is None:
                    name = ".".join(map(self._folded, parts)) or node.sql()[:_MAX_CHARS]
                    raise DatabaseFailure(FailureKind.NO_TABLE, name)
            alias = node.args.get("alias")
            renamed = alias.columns if isinstance(alias, exp.TableAlias) else ()
            columns = table.columns if table and not renamed else ()
            name = alias.this if isinstance(alias, exp.TableAlias) and alias.this else node.this
            if isinstance(name, exp.Identifier):
                self._columns[self._folded(name)].append(frozenset(column.name for column in columns))

    def check_columns(self, allowed: frozenset[str]) -> None:
        """Refuse a name with a table before it that is that of a function, but for those that are ``allowed``."""
        for column in self._tree.find_all(exp.Column):
            qualifier = column.args.get("table")
            if qualifier is None or isinstance(column.this, exp.Star):
                continue
            name, table = self._folded(column.this), self._columns[self._folded(qualifier)]
            if name in self._schema.functions - allowed and not (table and all(name in columns for columns in table)):
                alone = quoted_name(column.name)
                problem = f"{alone} is a function as well, which a name before it would call; write {alone} alone"
                raise DatabaseFailure(FailureKind.STATEMENT, problem)

    def _folded(self, identifier: exp.Expr) -> str:
        is_exact = self._dialect == "postgresql" and bool(identifier.args.get("quoted"))
        name = identifier.name if is_exact else _lower(identifier.name)
        return name.encode()[:MAX_NAME_BYTES].decode(errors="ignore") if self._dialect == "postgresql" else name

    def _is_common(self, node: exp.Table) -> bool:
        """Return whether ``node`` reads a common table expression.

        Without ``RECURSIVE``, PostgreSQL knows the earlier ones of the same WITH alone: in
        ``WITH a AS (SELECT * FROM a)`` the inner ``a`` is a table.
        """
        if not isinstance(node.this, exp.Identifier) or node.args.get("db"):
            return False
        name = self._folded(node.this)
        child: exp.Expr = node
        while (parent := child.parent) is not None:
            is_inside = isinstance(parent, exp.With)
            clause = parent if is_inside else parent.args.get("with_")
            if isinstance(clause, exp.With):
                place = self._common_tables(clause).get(name)
                sees_all = not is_inside or self._dialect == "sqlite" or bool(clause.args.get("recursive"))
                if place is not None and (sees_all or place < (child.index or 0)):
                    return True
            # The query that has this WITH does not see more of it from in here.
            child = parent.parent or parent if is_inside else parent
        return False

    def _common_tables(self, clause: exp.With) -> dict[str, int]:
        """Return the places of the common table expressions of a WITH by name; of equal names the first."""
        if id(clause) not in self._withs:
            named = [self._folded(one.args["alias"].this) for one in clause.expressions if isinstance(one, exp.CTE)]
            self._withs[id(clause)] = {name: place for place, name in reversed([*enumerate(named)])}
        return self._withs[id(clause)]


def _lower(name: str) -> str:
    """Return ``name`` with the letters of ASCII in lower case, and no others: as both databases read it."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def _refused(problem: str) -> DatabaseFailure:
    return DatabaseFailure(FailureKind.NOT_ALLOWED, problem)
