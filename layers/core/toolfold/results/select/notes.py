"""Say which step no row meets, and that the rows of an answer are one page of more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from toolfold.fuzzy import normalize
from toolfold.results.select.expressions import names_in
from toolfold.results.types import Kind
from toolfold.text_safety import quoted_name

if TYPE_CHECKING:
    from toolfold.results.select.names import Column
    from toolfold.results.select.query import Query

_MAX_VALUES = 8
_MAX_VALUE_CHARS = 30
_MAX_COLUMNS = 3


def why_empty(query: Query) -> str:
    """Return a sentence about the first step after which there are no rows."""
    rows, last = query.rows, len(query.ctes)
    for place in range(last):
        ((count,),) = rows.run(query.ctes[: place + 1], f"SELECT count(*) FROM s{place}")  # noqa: S608
        if not count:
            break
    else:
        return ""
    source = f"s{place - 1}" if place else "t"
    ctes = query.ctes[:place]
    ((before,),) = rows.run(ctes, f"SELECT count(*) FROM {source}")  # noqa: S608
    condition = query.ctes[place]
    words = names_in(condition)
    columns = [*(column for column in query.names.columns if column.index is None), *rows.loaded]
    named = [column for column in columns if column.sql in words][:_MAX_COLUMNS]
    described = [_described(query, column, ctes, source) for column in named]
    return f"0 of {before:,} rows match: {'; '.join(filter(None, described)) or 'no row is left'}."


def _described(query: Query, column: Column, ctes: list[str], source: str) -> str:
    """Return what a column has, in words."""
    name = quoted_name(column.name)
    if column.kind in (Kind.TEXT, Kind.MIXED, Kind.BOOLEAN, Kind.ANY):
        statement = f"SELECT DISTINCT {column.sql} FROM {source} WHERE {column.sql} IS NOT NULL LIMIT {_MAX_VALUES + 1}"  # noqa: S608
        values = [str(value)[:_MAX_VALUE_CHARS] for (value,) in query.rows.run(ctes, statement)]
        if not values:
            return f"{name} has no values"
        more = " and others" if len(values) > _MAX_VALUES else ""
        return f"{name} has {', '.join(map(quoted_name, sorted(values[:_MAX_VALUES])))}{more}"
    ((low, high),) = query.rows.run(ctes, f"SELECT min({column.sql}), max({column.sql}) FROM {source}")  # noqa: S608
    return f"{name} has no values" if low is None else f"{name} is from {low} to {high}"


_TOTALS = frozenset(("total", "totalcount", "totalresults", "totalitems", "totalrecords", "totalrows", "count", "hits"))
_NEXT = frozenset(("next", "nextpage", "nexturl", "nextlink", "nexttoken", "nextcursor", "nextpagetoken", "hasmore"))


def page_note(metadata: Any, row_count: int) -> str:
    """Return a sentence on the rows that the answer lacks, by its fields beside the rows; empty: it lacks none.

    >>> page_note({"total": 500, "next": "/2"}, 2)
    'These are 2 of 500 rows (total): the answer is one page.'
    """
    if not row_count:
        return ""
    fields = [(key, value) for key, value in _fields(metadata) if value not in (None, "", False)]
    for key, value in fields:
        if normalize(key) in _TOTALS and type(value) is int and value > row_count:
            return f"These are {row_count:,} of {value:,} rows ({quoted_name(key)}): the answer is one page."
    following = next((key for key, value in fields if normalize(key) in _NEXT), None)
    if following is None:
        return ""
    return f"These are {row_count:,} rows of one page: {quoted_name(following)} names a next one."


def _fields(metadata: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of an object, and those of the objects in it."""
    if isinstance(metadata, Mapping):
        for key, value in metadata.items():
            if isinstance(value, Mapping):
                yield from ((str(inner), item) for inner, item in value.items())
            else:
                yield str(key), value
