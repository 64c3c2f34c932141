"""Find out which part of a series a statement of SQL requests: its bounds on dates, and how many rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolfold.budget import WorkBudget
from toolfold.errors import CallError
from toolfold.results import values
from toolfold.results.coverage import Requested
from toolfold.results.select import sql_dialect, sql_names, sql_query, sql_values
from toolfold.results.select.sql_engine import SqlTables
from toolfold.results.select.sql_tokens import Token, arguments, at, closing, top_level, untokenize
from toolfold.results.tables import Document

_SUMMARIES = frozenset(
    (
        *("avg", "max", "min", "sum", "total", "count", "median", "stddev", "variance", "percentile", "corr", "first"),
        *("change", "pct_change", "stddev_pop", "stddev_samp", "var_pop", "var_samp", "mean", "average"),
        *("group_concat", "string_agg"),
    )
)
"""Functions whose value depends on how many rows there are."""

_CONSTANT = frozenset(("date", "strftime", "date_add", "date_minus", "date_trunc", "(", ")", ",", "-", "+"))
"""What may be in a call that is calculated here; a query in it could take long."""

_LOW, _HIGH = (">", ">="), ("<", "<=")
_COMPARISONS = frozenset(("<", ">", "<=", ">=", "=", "==", "!=", "<>", "like", "glob", "between", "in", "is", "exists"))
_REVERSED = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "=": "=", "==": "="}


def requested_by_sql(text: str, document: Document) -> Requested:
    """Return what a statement requests of the series in a document; nothing of one that cannot be run."""
    names = sql_names.Names(document.tables, WorkBudget())
    try:
        tokens = sql_dialect.rewrite(sql_query.parse_statement(text))
        tokens = sql_values.resolve(tokens, names)
    except CallError:
        return Requested()
    bounds = list(_bounds(tokens, names))
    lows, highs = [low for low, _ in bounds if low], [high for _, high in bounds if high]
    functions = frozenset(_called(tokens)) & _SUMMARIES
    where = next((index for index, token in enumerate(tokens) if token.word in ("where", "having")), len(tokens))
    is_ordered, row_count, is_oldest_first = _rows(tokens, names)
    words = {token.word for token in tokens}
    return Requested(
        min(lows, default=""),
        max(highs, default=""),
        row_count=row_count,
        is_oldest_first=is_oldest_first,
        is_summary=bool(functions) or is_ordered or not words.isdisjoint(("group", "distinct", "over")),
        is_filtered=sum(token.word in _COMPARISONS for token in tokens[where:]) > len(bounds),
        functions=functions,
        columns=frozenset(token.name.lower() for token in tokens if token.is_name),
    )


def _called(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the functions that are called."""
    for index, token in enumerate(tokens):
        if token.kind == "name" and at(tokens, index + 1).text == "(":
            yield token.word


def _bounds(tokens: Sequence[Token], names: sql_names.Names) -> Iterator[tuple[str, str]]:
    for index, token in enumerate(tokens):
        operator = token.word
        if _is_date(at(tokens, index - 1), names):
            value = _date_at(tokens, index + 1)
        elif operator in _REVERSED and _is_date(_column_at(tokens, index + 1), names):
            operator, value = _REVERSED[operator], _date_at(tokens, index - 1)
        else:
            continue
        if operator == "in" and at(tokens, index + 1).text == "(":
            listed = [
                _date_at([*part], 0) for part in arguments(tokens[index + 2 : closing(tokens, index + 1)]) if part
            ]
            if listed and all(listed):
                yield min(listed), max(listed)
        elif value and operator in _LOW:
            yield value, ""
        elif value and operator in _HIGH:
            yield "", value
        elif value and operator == "between":
            stop = next((stop for stop in range(index, len(tokens)) if tokens[stop].word == "and"), len(tokens))
            yield value, _date_at(tokens, stop + 1)
        elif value and operator in ("=", "==", "like"):
            yield value, value


def _column_at(tokens: Sequence[Token], index: int) -> Token:
    """Return the token that names a column: ``date``, or in ``t.date`` the last."""
    return at(tokens, index + 2) if at(tokens, index + 1).text == "." else at(tokens, index)


def _is_date(token: Token, names: sql_names.Names) -> bool:
    return token.is_name and names.date_column is not None and names.column(token.name) == names.date_column


def _date_at(tokens: Sequence[Token], index: int) -> str:
    """Return the date that is at a place, or that a function without columns calculates there; else an empty text."""
    token = at(tokens, index)
    if token.kind in ("string", "number"):
        text = token.name.rstrip("%~")
        return text if values.is_date(text) or sql_names.is_partial_date(text) else ""
    if token.kind != "name" or at(tokens, index + 1).text != "(":
        return ""
    call = tokens[index : closing(tokens, index + 1) + 1]
    if not all(one.kind in ("string", "number") or one.word in _CONSTANT for one in call):
        return ""
    try:
        with SqlTables((), WorkBudget()) as sql:
            ((found,),) = sql.query(f"SELECT {untokenize(call)}")[1]
    except CallError:
        return ""
    return found if values.is_date(found) else ""


def _rows(tokens: Sequence[Token], names: sql_names.Names) -> tuple[bool, int, bool]:
    """Return whether rows are ordered by anything but dates, how many are requested, and whether they are the oldest.

    Without ORDER BY, rows are as listed.
    """
    places = {token.word: index for index, token in top_level(tokens)}
    order, limit = places.get("order"), places.get("limit")
    newest_first = _is_newest_first(names)
    if order is not None:
        last = order + 2 if at(tokens, order + 3).text != "." else order + 4
        if not _is_date(at(tokens, last), names):
            return True, 0, False
        newest_first = at(tokens, last + 1).word == "desc"
    is_ordered_inside = sum(token.word == "order" for token in tokens) > (order is not None)
    count = 0 if limit is None else sum(_numbers(tokens[limit + 1 :]))
    return is_ordered_inside, count, bool(count) and not newest_first


def _numbers(tokens: Sequence[Token]) -> Iterator[int]:
    """Yield the numbers of ``LIMIT 5 OFFSET 200``."""
    for token in tokens:
        if token.kind == "number" and token.text.isdecimal():
            yield int(token.text[:9])


def _is_newest_first(names: sql_names.Names) -> bool:
    column = names.date_column
    table = next((one for one in names.tables if column in one.columns and one.rows), None)
    if column is None or table is None:
        return False
    index = table.columns.index(column)
    return str(table.rows[0][index] or "") > str(table.rows[-1][index] or "")
