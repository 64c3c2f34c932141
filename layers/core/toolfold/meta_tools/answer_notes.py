"""Notes on an answer that may be mistaken for another: of another symbol, of another day, out of date, with a split."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from toolfold.fuzzy import normalize
from toolfold.meta_tools.detail_levels import properties
from toolfold.results.columns import DATE_NAMES
from toolfold.results.coverage import Requested, coverage_of, first_date_field, has_dates, is_late
from toolfold.results.tables import Document
from toolfold.text_safety import quoted_name

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool

_MAX_LISTED = 10
"""Values that one note lists."""

_LIVE = ("realtime", "intraday")
"""Freshness classes of tools whose date field is the day of a quote."""

_MAX_QUOTE_DAYS = 7
"""Age of a quote that is usual: over a week of holidays."""

_DATE_IN_ARGUMENT = re.compile(r"(?:19|20)\d\d-?(?:[01Q]\d)?")
"""The beginning of an argument that names a day, a month, a quarter or a year."""

_MAX_MESSAGE_CHARS = 2000
"""Characters of an answer that may be a message. Data in an unknown form are longer, and show what they are."""

_PRICES = frozenset({"open", "high", "low", "close"})

_OF_ONE_ROW = frozenset({"count", "first", "last"})
"""Functions whose value no split changes."""

_SPLITS = ((1.5, 0.03), *((factor, 0.06) for factor in (2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 25, 50)))
"""Usual factors of splits → how far prices of the same day may be from them. Prices fall by a third without a split,
too, so that factor must fit better."""
_LEAST_SPLIT = 1.45
"""Prices nearer to each other than this factor are not compared with those of splits."""


def notes_on(
    tool: Tool,
    arguments: Mapping[str, Any],
    requested: Requested | None,
    whole: Document,
    selected: Document,
    today: date | None,
) -> tuple[str, ...]:
    """Return notes on an answer; none on an ordinary one.

    Args:
        tool: the tool that was called.
        arguments: its validated arguments.
        requested: what is requested of it; None: everything.
        whole: the whole answer.
        selected: what is selected of it.
        today: the day in UTC; None: the data end on another day.
    """
    notes = [*_other_values(tool, arguments, whole)]
    if requested is None:
        notes += _default_limit(tool, arguments, whole)
    if today is not None and not any(map(_names_a_date, arguments.values())):
        notes += _out_of_date(tool, whole, today)
    if requested is not None:
        notes += _date_left_out(whole, selected)
        if "adjusted_by" in tool.hints:
            notes += _jumps(tool, requested, whole)
    return tuple(notes)


def note_on_missing_data(tool: Tool, source: Source, body: str, document: Document) -> str:
    """Return the note on a short answer in JSON without rows and without the member that has the tool's data.

    A service that reports failures with status 200 may do so in words that no fault of its source has.
    """
    members = [path.partition(".")[0].partition("{")[0] for path in tool.answer["rows"]]
    has_known_form = all(members) if members else tool.answer["csv"] is not None
    if not source.unknown_notice or not has_known_form or body[:1] != "{" or len(body) > _MAX_MESSAGE_CHARS:
        return ""
    if document.tables or any(f'"{member}' in body for member in members):
        return ""
    return f"This is not the usual form of {tool.name}: it may be a message of {source.title} instead of data."


def _other_values(tool: Tool, arguments: Mapping[str, Any], document: Document) -> Iterator[str]:
    """Yield what was requested and is not what the answer is for."""
    for parameter, field in tool.hints.get("repeated_as", {}).items():
        requested, found = arguments.get(parameter), _values_of(document, field)
        if requested is None or not found:
            continue
        separator = tool.call.get("lists", {}).get(parameter, {}).get("separator")
        wanted = [part.strip() for part in str(requested).split(separator)] if separator else [str(requested)]
        known = {text.lower() for text in found}
        missing = [quoted_name(text) for text in wanted if text.lower() not in known]
        if missing and not separator:
            yield f"Asked for {parameter} {missing[0]}; the answer is for {quoted_name(found[0])}."
        elif missing:
            more = f" and {len(missing) - _MAX_LISTED} more" if len(missing) > _MAX_LISTED else ""
            yield f"Nothing for {parameter} {', '.join(missing[:_MAX_LISTED])}{more}."


def _values_of(document: Document, field: str) -> list[str]:
    """Return the different texts of a field, or else of a column."""
    metadata = document.metadata if isinstance(document.metadata, dict) else {}
    for name, value in metadata.items():
        if name.lower() == field:
            return [value] if isinstance(value, str) else []
    for table in document.tables:
        for index, name in enumerate(table.columns):
            if name.lower() == field:
                return list({row[index]: None for row in table.rows if isinstance(row[index], str)})
    return []


def _default_limit(tool: Tool, arguments: Mapping[str, Any], document: Document) -> Iterator[str]:
    """Yield that a period has more rows than the default number of them, which the tool returned."""
    if not any(map(_names_a_date, arguments.values())):
        return
    for name, most in tool.hints.get("complete", {}).items():
        default = properties(tool.parameters).get(name, {}).get("default")
        if type(default) is int and name not in arguments and any(len(t.rows) == default for t in document.tables):
            yield f"There may be more: {default} rows are the default; {name} {most} is the most."


def _names_a_date(argument: Any) -> bool:
    texts = argument if isinstance(argument, list) else [argument]
    return any(isinstance(text, str) and _DATE_IN_ARGUMENT.match(text) is not None for text in texts)


def _out_of_date(tool: Tool, document: Document, today: date) -> Iterator[str]:
    """Yield that the newest row or the day of a quote is older than it usually is."""
    series = [table for table in document.tables if table.columns and normalize(table.columns[0]) in DATE_NAMES]
    covered = coverage_of(Document(tuple(series)))
    if covered is not None and is_late(covered, today):
        yield f"The newest row is of {covered.last}; nothing newer was returned."
    field = None if document.tables or tool.freshness not in _LIVE else first_date_field(document.metadata)
    if field is not None and (today - date.fromisoformat(field[1][:10])).days > _MAX_QUOTE_DAYS:
        yield f"These figures are old: {quoted_name(field[0])} is {quoted_name(field[1])}."


def _date_left_out(whole: Document, selected: Document) -> Iterator[str]:
    """Yield the day of an answer that is of one day, where the selection leaves it out."""
    field = first_date_field(whole.metadata)
    if field is not None and coverage_of(whole) is None and not has_dates(selected):
        yield f"{quoted_name(field[0])} is {quoted_name(field[1])}."


def _jumps(tool: Tool, requested: Requested, document: Document) -> Iterator[str]:
    """Yield that prices jump as after a split, between two rows of the period that is selected."""
    if requested.columns and requested.columns.isdisjoint(_PRICES):
        return
    if requested.functions and requested.functions <= _OF_ONE_ROW:
        return
    for table in document.tables[:1]:
        names = [name.lower() for name in table.columns]
        if not names or "close" not in names:
            return
        column, rows = names.index("close"), _rows_of(requested, table.rows)
        cells = [row[column] for row in rows]
        if not all(type(cell) in (int, float) and cell > 0 for cell in cells):
            return
        for index, (before, after) in enumerate(itertools.pairwise(cells), 1):
            if not before < _LEAST_SPLIT * after < _LEAST_SPLIT**2 * before and _is_split(before, after):
                day = rows[index][0]
                verb = "falls" if after < before else "rises"
                adjusted = tool.hints["adjusted_by"]
                yield f"close {verb} from {before} to {after} by {day}, as by a split; {adjusted} corrects that."
                return


def _rows_of(requested: Requested, rows: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    """Return the rows of the period that is requested, oldest first; the newest ones of a number of rows."""
    if not all(isinstance(row[0], str) for row in rows):
        return ()
    ordered = rows[::-1] if len(rows) > 1 and rows[0][0] > rows[-1][0] else rows
    if requested.has_period:
        low, high = requested.low, f"{requested.high}~" if requested.high else "~"  # after every time of that day
        ordered = [row for row in ordered if low <= row[0] <= high]
    if not requested.row_count:
        return ordered
    return ordered[: requested.row_count] if requested.is_oldest_first else ordered[-requested.row_count :]


def _is_split(before: float, after: float) -> bool:
    ratio = max(before, after) / min(before, after)
    return any(abs(ratio / factor - 1) < spread for factor, spread in _SPLITS)
