"""Compare the period and the rows that a ``select`` requests with those of an answer, and note the pages that it lacks.

Dates are ISO 8601 texts, so they compare as texts; a part of one (``2024``, ``2024-03``) stands for all of its days.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any

from toolfold.dates import bounds
from toolfold.fuzzy import normalize
from toolfold.models import Requested
from toolfold.results import values
from toolfold.results.tables import Document, Table
from toolfold.text_safety import counted, quoted_name

DAILY_DAYS = 4.0
"""Longest usual distance of daily rows: over a weekend with a holiday."""

_STEP_ROWS = 12
"""Rows from whose dates the usual distance of rows is computed."""

_LATE_STEPS = 4
"""Rows that a series may lack at its end: statistics are published up to three periods late."""

_STEP_NAMES = ((0.9, "shorter than a day"), (5.0, "daily"), (10.0, "weekly"), (45.0, "monthly"), (120.0, "quarterly"))
"""Longest distance in days → what such rows are called. Anything longer is annual."""

_BEGINNING = re.compile(r"inception|birth|founded|ipo", re.I)
"""Names of dates that say nothing about how old the figures beside them are."""

_TOTALS = frozenset(("total", "totalcount", "totalresults", "totalitems", "totalrecords", "totalrows", "count", "hits",
                     "totalelements", "totalhits", "numfound", "recordcount", "recordstotal"))  # fmt: skip
_NEXT = frozenset(("next", "nextpage", "nextpageurl", "nexturl", "nextlink", "nexttoken", "nextcursor", "nextpagetoken",
                   "nextmarker", "nextoffset", "nextcontinuationtoken", "continuationtoken", "continue", "hasmore",
                   "hasnext", "hasnextpage", "morerows", "lastevaluatedkey", "istruncated", "truncated",
                   "exceededtransferlimit", "incompleteresults"))  # fmt: skip
_PAGES = frozenset(("totalpages", "numpages", "nbpages", "lastpage"))
"""Fields of an answer that may be one page of more."""

_MAX_STATED = 200
"""Fields of these words that are looked at: an answer has some ten of them."""

_ABOUT_PAGES = frozenset(
    ("continue", "extra", "info", "links", "meta", "metadata", "page", "pageinfo", "pagination", "paging")
)
"""Objects in which such fields are, however deep. Other fields are in an object that has the rows."""

_UNITS = re.compile(r"\w*currency(?:code)?|units?|uom")
"""Names of columns that say what the numbers beside them are of."""

_OF_OTHERS = re.compile(r"(?:(?:grand|sub)[ -]?)?totals?:?|sum|all", re.I)
_LOOKED_AT = 50
"""Rows at both ends in which cells are looked for that may name the total of others."""

_MAX_DEPTH = 8
"""Names of the path to a field beside the tables."""


@dataclass(frozen=True)
class Coverage:
    """The dates of an answer.

    Attributes:
        first: the oldest.
        last: the newest.
        dates: those of the longest table.
        zone: ``Z`` where they are in UTC, and shown with other offsets.
    """

    first: str
    last: str
    dates: Sequence[str]
    zone: str = ""

    @cached_property
    def step_days(self) -> float:
        """The usual distance of two rows, in days; 0 where it is less than one."""
        return step_days(self.dates)

    @property
    def step_name(self) -> str:
        """What rows at this distance are called: ``monthly``."""
        return next((name for most, name in _STEP_NAMES if self.step_days <= most), "annual")


def coverage_of(document: Document, table_name: str = "") -> Coverage | None:
    """Return the dates of the tables of an answer, or of the one that is named; None where no table has dates."""
    dated = [table for table in document.tables if table_name in ("", table.name) and table.dates]
    if not dated:
        return None
    longest, columns = max(dated, key=lambda table: len(table.dates)), [table.dates for table in dated]
    is_moved = longest.date_index is not None and longest.type_of(longest.date_index).unit == "UTC"
    return Coverage(min(map(min, columns)), max(map(max, columns)), longest.dates, "Z" if is_moved else "")


def step_days(dates: Sequence[str]) -> float:
    """Return the usual distance of the newest of sorted dates in days; 0 where there is one date."""
    newest = sorted(set(dates[:_STEP_ROWS] if dates[0] >= dates[-1] else dates[-_STEP_ROWS:]))
    days = [bounds(text)[0] for text in newest]
    steps = sorted((later - earlier).days for earlier, later in itertools.pairwise(days))
    return float(steps[len(steps) // 2]) if steps else 0.0


def lacks_beginning(requested: Requested, covered: Coverage) -> bool:
    """Return whether rows of the requested period are older than all rows of the answer."""
    low = requested.low or (requested.high if requested.high and requested.high < covered.first else "")
    begins, wanted = bounds(covered.first)[0], bounds(low or covered.first)[0]
    moment = low if len(low) > len("2024-01-01") else str(wanted)
    if not low or moment >= covered.first[: len(moment)]:
        return False
    if wanted == begins:  # times of one day
        return "T" in low and low < covered.first
    if covered.step_days > DAILY_DAYS:
        return (begins - wanted).days >= covered.step_days
    has_weekends = any(bounds(text)[0].weekday() > 4 for text in covered.dates[:_STEP_ROWS])
    days = ((wanted + timedelta(days=number)).weekday() for number in range(min(7, (begins - wanted).days)))
    return has_weekends or any(weekday < 5 for weekday in days)


def lacks_end(requested: Requested, covered: Coverage, today: date) -> bool:
    """Return whether rows of the requested period, up to ``today``, are newer than all rows of the answer."""
    bound = requested.high or requested.low
    wanted = min(bounds(bound)[1], today) if bound else date.min
    return (wanted - bounds(covered.last)[0]).days > _LATE_STEPS * covered.step_days + DAILY_DAYS


def lacked_rows(requested: Requested, covered: Coverage) -> int:
    """Return how many rows are read and are not there, before the period or up to its last date; 0 or less: none."""
    if requested.low:
        return requested.rows_before - sum(day < requested.low for day in covered.dates)
    high = requested.high
    return requested.needed_rows - sum(day[: len(high)] <= high for day in covered.dates)


def is_too_coarse(requested: Requested, covered: Coverage) -> bool:
    """Return whether the period is given in days, and the rows of the answer are too far apart for it."""
    is_of_days = len(requested.low or requested.high) >= len("2024-01-01")
    if not is_of_days or covered.step_days <= DAILY_DAYS:
        return False
    low, high = requested.low or covered.first, requested.high or covered.last
    # A row is for the time until the next one, or since the one before.
    begins, ends = bounds(low)[0], bounds(high)[0]
    # An open period that begins behind the data lacks rows that are still to come.
    beyond = (begins - bounds(covered.last)[0]).days >= (covered.step_days if requested.high else 1)
    if beyond or high < covered.first or low in covered.dates:
        return False
    return (ends - begins).days < 2 * covered.step_days


def has_rows(requested: Requested, covered: Coverage) -> bool:
    """Return whether rows of the answer are in the requested period."""
    high = f"{requested.high}~" if requested.high else "~"  # after every time of that day
    return any(requested.low <= text <= high for text in covered.dates)


def is_late(covered: Coverage, today: date) -> bool:
    """Return whether the newest row is older than rows at this distance usually are."""
    return (today - bounds(covered.last)[0]).days > _LATE_STEPS * max(covered.step_days, 1) + 7


def first_date_field(metadata: Any) -> tuple[str, str] | None:
    """Return the first field of an object that is a date, with its value; that of a beginning is not of the data."""
    fields = metadata.items() if isinstance(metadata, dict) else ()
    dates = ((name, value) for name, value in fields if values.is_date(value))
    return next(((name, value) for name, value in dates if not _BEGINNING.search(name)), None)


def has_dates(document: Document) -> bool:
    """Return whether a date is in the first row of a table, or in a field."""
    rows = (row for table in document.tables for row in table.rows[:1])
    return any(values.is_date(cell) for row in rows for cell in row) or first_date_field(document.metadata) is not None


# Pages


def notes_beside(document: Document, tables: Iterable[Table]) -> Iterator[str]:
    """Yield what the fields and tables beside rows say of them: that the answer is a page, and has errors as well.

    >>> found = Table("", ("n",), [(1,), (2,)])
    >>> [*notes_beside(Document((found,), {"total": 500, "page": 2}), [found])]
    ['These may be 2 of 500 rows (total): the answer may be one page.']
    """
    fields = document.metadata if isinstance(document.metadata, dict) else {}
    errors = fields.get("errors")  # of an answer that has data as well, as those of GraphQL do
    error_count = sum([len(one.rows) for one in document.tables if one.name == "errors"])
    error_count += len(errors) if isinstance(errors, list) else 0
    all_rows = sum([len(one.rows) for one in document.tables])
    stated = list(itertools.islice(_page_fields(document), _MAX_STATED)) if all_rows else []
    for table in tables:
        if table.rows and all_rows:  # else no rows, or one object
            yield from itertools.islice(_page_notes(table, stated, all_rows), 1)
        if error_count and table.name != "errors":
            yield f"The answer reports errors beside these rows ({error_count:,}): select errors."


def _page_notes(table: Table, fields: Sequence[tuple[tuple[str, ...], Any]], all_rows: int) -> Iterator[str]:
    """Yield what fields in the objects that have the rows say of those that the answer may lack."""
    count = len(table.rows)
    for (*inside, last), value in fields:
        word, name = normalize(last.rpartition(".")[2]), quoted_name(last)  # @odata.count
        if not table.name.startswith(".".join(inside)) and _ABOUT_PAGES.isdisjoint(map(normalize, inside)):
            continue
        total = values.parse_number(value) if isinstance(value, str) else value
        if word in _TOTALS and type(total) is int and count < total != all_rows:
            yield f"These may be {count:,} of {total:,} rows ({name}): the answer may be one page."
        elif word in _PAGES and type(total) is int and total > 1:
            yield f"These may be {counted(count, 'row')} of one page of {total:,} ({name})."
        elif word in _NEXT and (word != "next" or value is True or {*"/?"} & {*str(value)}):  # else a date, a title
            yield f"There may be more rows, as {name} states."


def _page_fields(document: Document) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the fields that have a value and may be about pages; _links.next.href is the next one."""
    for path, value in fields_of(document.metadata):
        is_wrapped = path[-1] in ("href", "url", "value") or path[-2:][0] == "LastEvaluatedKey"
        whole = path[:-1] if is_wrapped and len(path) > 1 else path
        if normalize(whole[-1].rpartition(".")[2]) in _TOTALS | _NEXT | _PAGES and value not in (None, "", False, []):
            yield whole, value


def fields_of(metadata: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the fields of an object, and those of the objects in it, with their paths."""
    for key, value in metadata.items() if isinstance(metadata, Mapping) and len(path) < _MAX_DEPTH else ():
        if isinstance(value, Mapping):
            yield from fields_of(value, (*path, str(key)))
        else:
            yield (*path, str(key)), value


def labels_of_rows(table: Table, *, are_of_values: bool) -> Iterator[tuple[int, str]]:
    """Yield columns that may say that rows are not to be taken together, each with the cell of a total, or ``""``.

    ``are_of_values``: of the rows values are taken together, which have units; else they are counted.
    """
    some = [*table.rows[:_LOOKED_AT], *table.rows[-_LOOKED_AT:]]
    for index, name in enumerate(table.columns):
        texts = (row[index] for row in some if isinstance(row[index], str))
        total = next(filter(_OF_OTHERS.fullmatch, texts), "")
        if total or (are_of_values and _UNITS.fullmatch(normalize(name))):
            yield index, total
