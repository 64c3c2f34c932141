"""Answer a ``select`` that is SQL: ``SELECT max(close) FROM data``.

A statement is rewritten until SQLite accepts it: first what other dialects write otherwise (``sql_dialect``), then the
names that SQLite does not find (``sql_names``). Rows are returned as the statement says, without further columns.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.results import limits, values
from toolfold.results.select import sql_dialect, sql_errors, sql_names, sql_values
from toolfold.results.select.empty_notes import empty_note
from toolfold.results.select.sql_engine import DEFAULT_NAME, SqlTables
from toolfold.results.select.sql_errors import invalid_sql
from toolfold.results.select.sql_guard import ALLOWED_FUNCTIONS, quoted
from toolfold.results.select.sql_tokens import Token, arguments, at, parse, tokenize, top_level, untokenize
from toolfold.results.tables import Document, Table, unique_names

MAX_LENGTH = 4_000
"""Characters of a statement: several common table expressions."""

_MAX_REPAIRS = 40
"""Names that are replaced in a statement."""

_DATE = r"['\"]?\d{4}(?:-\d\d){0,2}['\"]?(?![\w])"
_BEFORE = r"\s*+(?:```+\s*+(?:sql\b)?\s*+)?(?:sql\s*+:\s*+)?[\s(]*+"
_SQL = re.compile(
    rf"{_BEFORE}(?:select\b[^;]*?\bfrom\s+(?!{_DATE})[\w\"'`\[(]|with\s+(?:recursive\s+)?\S[^;]*?\bas\s*(?:\w+\s*){{0,2}}\()",
    re.I,
)
_DECORATION = re.compile(r"\s*+(?:```+\s*+(?:sql\b)?)?\s*+(?:sql\s*+:)?(?P<statement>.*?)(?:```\s*)?\Z", re.I | re.S)

_NEWEST = {"last": "DESC", "newest": "DESC", "latest": "DESC", "first": "ASC", "oldest": "ASC"}
_AFTER_FROM = ("where", "group", "having", "window", "order", "limit", "union", "intersect", "except")
_AFTER_LIST = ("from", "limit", *_AFTER_FROM)
_MAX_SAFE_DIGITS = 15

_LAG_NOTE = (
    "lag and lead read only the rows that WHERE keeps; for the others SELECT * FROM (SELECT date, lag(close) OVER "
    "(ORDER BY date) AS before FROM data) WHERE …."
)


def is_sql(text: str) -> bool:
    """Return whether a ``select`` is a statement of SQL: SELECT with FROM and a table, or WITH."""
    return _SQL.match(text[:MAX_LENGTH]) is not None


def evaluate(text: str, document: Document, budget: WorkBudget) -> Document:
    """Return the result of a statement over the tables of a document as one table.

    Raises:
        InvalidArguments: it is not SQL that can be run here.
        AnswerTooLarge: it would take more time or memory than there is.
    """
    if len(text) > MAX_LENGTH:
        raise invalid_sql(f"the SQL is longer than {MAX_LENGTH} characters", None, "Ask for less in one statement.")
    if "\0" in text or not _is_encodable(text):
        raise invalid_sql("the SQL has a character that is not text")
    tables = _tables_of(document)
    names = sql_names.Names(tables, budget)
    written = parse_statement(text)
    tokens = sql_values.resolve(_add_tail(sql_dialect.rewrite(written), names), names)
    with SqlTables(tables, budget) as sql:
        tokens = _repair(tokens, text, sql, names, document)
        columns, rows = sql.query(untokenize(tokens))
    columns = _as_written(columns, written)
    notes = (*_empty_notes(tokens, columns, rows, names, budget), *_window_notes(written, rows))
    return Document((_result(columns, rows, names, budget),), notes=notes)


def _empty_notes(
    tokens: Sequence[Token],
    columns: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
    names: sql_names.Names,
    budget: WorkBudget,
) -> tuple[str, ...]:
    """Return the note for a statement that finds no rows, a count of 0, or only nulls."""
    counts = [index for index, column in enumerate(columns) if column.lower().startswith("count")]
    if not rows or (len(rows) == 1 and counts and not rows[0][counts[0]]):
        what = "0 rows match"
    elif len(rows) == 1 and set(rows[0]) == {None} and any(token.word == "where" for token in tokens):
        what = "No values match"
    else:
        return ()
    table = names.tables[0]
    for one in names.tables:
        if any(token.name.lower() == (one.name or DEFAULT_NAME).lower() for token in tokens):
            table = one
    conditions = next((index for index, token in enumerate(tokens) if token.word in ("where", "having")), len(tokens))
    mentioned = [names.column(token.name) for token in tokens[conditions:] if token.is_name]
    return (empty_note(table, [name for name in mentioned if name is not None], budget, what),)


def _window_notes(tokens: Sequence[Token], rows: Sequence[tuple[Any, ...]]) -> tuple[str, ...]:
    """Return the note for a row before the first or after the last one that WHERE keeps, which is null."""
    words = {token.word for _, token in top_level(tokens)}
    has_nulls = any(cell is None for row in rows for cell in row)
    if has_nulls and "where" in words and not words.isdisjoint(("lag", "lead")):
        return (_LAG_NOTE,)
    return ()


def _as_written(columns: Sequence[str], tokens: Sequence[Token]) -> list[str]:
    """Return the names of the result's columns: for an expression without AS its text before it was rewritten."""
    start = next((index for index, token in top_level(tokens) if token.word == "select"), len(tokens))
    place = {index: token.word for index, token in top_level(tokens)}
    stop = next((index for index in range(start + 1, len(tokens)) if place.get(index) in _AFTER_LIST), len(tokens))
    listed = arguments(tokens[start + 1 : stop])
    if len(listed) != len(columns) or any(part and part[-1].text == "*" for part in listed):
        return list(columns)
    return [
        untokenize(part)
        if len(part) > 1
        and (part[-1].text == ")" or column.startswith(("date_minus(", "date_add(")))
        and not any(token.word == "as" for _, token in top_level(part))
        else column
        for column, part in zip(columns, listed, strict=True)
    ]


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _tables_of(document: Document) -> Sequence[Table]:
    """Return the tables of a document; the fields of an answer without rows are one row."""
    if document.tables:
        return document.tables
    if isinstance(document.metadata, dict) and document.metadata:
        return [Table("", tuple(document.metadata), [tuple(document.metadata.values())])]
    raise invalid_sql("this answer has no rows", None, "Leave select out, or use jmespath: and an expression.")


def parse_statement(text: str) -> list[Token]:
    """Return the tokens of a statement without what is around it.

    Raises:
        InvalidArguments: it is not one statement that selects.
    """
    found = _DECORATION.fullmatch(text)
    statement = text if found is None else found["statement"]
    tokens = tokenize(statement)
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    for index, token in top_level(tokens):
        if token.text == ";" and _tail_of(tokens[index + 1 :]) is None:
            raise invalid_sql("only one statement can be run", token.offset, "Leave out what follows the semicolon.")
    if at(tokens, 0).word not in ("select", "with", "(", "values"):
        raise invalid_sql("only SELECT can be run here")
    return [token for token in tokens if token.text != ";"]


# What is missing, or written in the other grammar


def _tail_of(tokens: Sequence[Token]) -> tuple[str, str] | None:
    """Return the words of ``last 5`` or ``last 5 rows``, or None for other tokens."""
    words = [token.word for token in tokens]
    if len(words) == 3 and words[2] in ("row", "rows"):
        words.pop()
    is_tail = len(words) == 2 and words[0] in (*_NEWEST, "limit") and words[1].isdecimal() and words[1].isascii()
    return (words[0], words[1]) if is_tail else None


def _add_tail(tokens: list[Token], names: sql_names.Names) -> list[Token]:
    """Write ``… last 5`` as ORDER BY and LIMIT."""
    for length in (2, 3):
        tail = _tail_of(tokens[-length:]) if len(tokens) > length else None
        if tail is None or tail[0] == "limit":
            continue
        rest = tokens[:-length]
        if at(rest, len(rest) - 1).text == ",":
            rest = rest[:-1]
        is_ordered = any(token.word == "order" for _, token in top_level(rest)) or not names.date_column
        order = "" if is_ordered else f"ORDER BY {quoted(str(names.date_column))} {_NEWEST[tail[0]]} "
        return [*rest, *parse(f"{order}LIMIT {tail[1]}")]
    return tokens


def _with_from(tokens: list[Token]) -> list[Token] | None:
    """Return a statement that reads the table, or None when it reads one already."""
    if any(token.word == "from" for token in tokens) or at(tokens, 0).word != "select":
        return None
    place = next((index for index, token in top_level(tokens) if token.word in _AFTER_FROM), len(tokens))
    return [*tokens[:place], *parse(f"FROM {DEFAULT_NAME}"), *tokens[place:]]


def _repair(tokens: list[Token], text: str, sql: SqlTables, names: sql_names.Names, document: Document) -> list[Token]:
    """Replace what SQLite does not find by what it may mean, until a statement can be run.

    Raises:
        InvalidArguments: it means nothing; names what is nearest.
    """
    for _ in range(_MAX_REPAIRS):
        problem = sql.problem(untokenize(tokens))
        if not problem:
            return tokens
        repaired = _repaired(tokens, problem, names)
        if repaired is None or repaired == tokens:
            raise _error(tokens, problem, text, names, document)
        tokens = repaired
    raise _error(tokens, problem, text, names, document)


def _repaired(tokens: list[Token], problem: str, names: sql_names.Names) -> list[Token] | None:
    missing = sql_errors.missing_column(problem)
    if missing is not None or "no tables" in problem:
        with_from = _with_from(tokens)
        if with_from is not None:
            return with_from
    if missing is not None:
        return sql_names.replace_column(tokens, missing, names)
    word = sql_errors.unexpected_word(problem)
    return None if word is None else sql_names.quote_keyword(tokens, word, names)


def _error(
    tokens: Sequence[Token], problem: str, statement: str, names: sql_names.Names, document: Document
) -> Exception:
    missing = sql_errors.missing_column(problem)
    if missing is not None:
        name = missing.rpartition(".")[2]
        offset = next((token.offset for token in tokens if token.name.lower() == name.lower()), -1)
        metadata = document.metadata if isinstance(document.metadata, dict) else {}
        return sql_errors.no_column(missing, offset, names.tables, metadata)
    return sql_errors.explain(problem, statement, names.tables, ALLOWED_FUNCTIONS)


# The result


def _result(
    columns: Sequence[str], rows: Sequence[tuple[Any, ...]], names: sql_names.Names, budget: WorkBudget
) -> Table:
    """Return rows of SQLite as a table: booleans, lists and whole numbers as they were in the answer."""
    budget.reserve(limits.rows_size(len(rows), len(columns)))
    cells = [
        _result_cells(column, [row[index] for row in budget.checked(rows)], names, budget)
        for index, column in enumerate(columns)
    ]
    return Table("", unique_names(columns), list(zip(*cells, strict=True)))


def _result_cells(name: str, cells: list[Any], names: sql_names.Names, budget: WorkBudget) -> list[Any]:
    kinds = set(map(type, cells))
    original = names.kinds(name) if any(name in table.columns for table in names.tables) else frozenset()
    if original == {"bool"} and kinds <= {int, type(None)}:
        return [None if cell is None else bool(cell) for cell in cells]
    if str in kinds and original & {"list", "dict"}:
        return [_parsed(cell, budget) for cell in budget.checked(cells)]
    if float not in kinds and int not in kinds and bytes not in kinds:
        return cells
    is_computed = not original
    return [_number(cell, is_computed) for cell in budget.checked(cells)]


def _parsed(cell: Any, budget: WorkBudget) -> Any:
    """Return the list or object that a cell was, or the cell."""
    if not isinstance(cell, str) or cell[:1] not in ("[", "{"):
        return cell
    size = limits.json_size(cell)
    budget.reserve(size.containers + size.scalars)
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell


def _number(cell: Any, is_computed: bool) -> Any:
    """Return a number without the last digits of binary fractions, which no price has."""
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    if isinstance(cell, float):
        if not math.isfinite(cell):
            return None
        if is_computed:
            digits = min(_MAX_SAFE_DIGITS, max(12, len(str(int(abs(cell)))) + 2))
            cell = float(f"{cell:.{digits}g}")
    return values.lossless(cell)


__all__ = ["MAX_LENGTH", "evaluate", "is_sql", "parse_statement"]
