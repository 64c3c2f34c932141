"""Say that the rows of an answer are one page of more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolfold.fuzzy import normalize
from toolfold.text_safety import quoted_name

__all__ = ["page_note"]

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
