"""Find out which part of a series a statement of SQL requests: its bounds on dates, and how many rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from toolfold.budget import WorkBudget
from toolfold.errors import CallError
from toolfold.results import values
from toolfold.results.select import sql_dialect, sql_names, sql_query
from toolfold.results.select.sql_engine import SqlTables
from toolfold.results.select.sql_tokens import Token, at, closing, top_level, untokenize
from toolfold.results.tables import Document

_SUMMARIES = frozenset(
    (
        *("avg", "max", "min", "sum", "total", "count", "median", "stddev", "variance", "percentile", "corr", "first"),
        *("last", "change", "pct_change", "stddev_pop", "stddev_samp", "var_pop", "var_samp", "mean", "average"),
    )
)
_CONSTANT = frozenset(("date", "strftime", "date_add", "date_trunc", "(", ")", ",", "-", "+"))
"""What may be in a call that is calculated here; a query in it could take long."""

_LOW, _HIGH = (">", ">="), ("<", "<=")


class RequestedPeriod(NamedTuple):
    """Bounds on dates (empty: none), the number of newest or oldest rows (0: all), and whether rows are summarised."""

    low: str = ""
    high: str = ""
    row_count: int = 0
    is_oldest_first: bool = False
    is_summary: bool = False


def requested_period(text: str, document: Document) -> RequestedPeriod:
    """Return what a statement requests of the series in a document; nothing of one that cannot be run."""
    names = sql_names.Names(document.tables, WorkBudget())
    try:
        tokens = sql_dialect.rewrite(sql_query.parse_statement(text))
        tokens = sql_names.resolve(tokens, names)
    except CallError:
        return RequestedPeriod()
    bounds = list(_bounds(tokens, names))
    lows, highs = [low for low, _ in bounds if low], [high for _, high in bounds if high]
    count, is_oldest_first = _row_count(tokens, names)
    is_summary = any(
        token.kind == "name" and token.word in _SUMMARIES and at(tokens, index + 1).text == "("
        for index, token in enumerate(tokens)
    )
    return RequestedPeriod(min(lows, default=""), max(highs, default=""), count, is_oldest_first, is_summary)


def _bounds(tokens: Sequence[Token], names: sql_names.Names) -> Iterator[tuple[str, str]]:
    for index, token in enumerate(tokens):
        operand = at(tokens, index - 1)
        if token.word not in (*_LOW, *_HIGH, "=", "==", "like", "between") or not _is_date(operand, names):
            continue
        value = _date_at(tokens, index + 1)
        if value and token.word in _LOW:
            yield value, ""
        elif value and token.word in _HIGH:
            yield "", value
        elif value and token.word == "between":
            stop = next((stop for stop in range(index, len(tokens)) if tokens[stop].word == "and"), len(tokens))
            yield value, _date_at(tokens, stop + 1)
        elif value:
            yield value, value


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


def _row_count(tokens: Sequence[Token], names: sql_names.Names) -> tuple[int, bool]:
    """Return the LIMIT of a statement that is ordered by date, and whether the oldest rows come first."""
    places = {token.word: index for index, token in top_level(tokens)}
    order, limit = places.get("order"), places.get("limit")
    if order is None or limit is None or not _is_date(at(tokens, order + 2), names):
        return 0, False
    count = at(tokens, limit + 1).text
    is_newest = at(tokens, order + 3).word == "desc"
    return (int(count[:9]) if count.isascii() and count.isdecimal() else 0), not is_newest
