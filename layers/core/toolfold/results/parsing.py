"""Parse the text of an upstream as JSON or CSV, within the budget of the call and without the keys of the call.

What is parsed here cannot crash a later step: every number is finite, and every string can be encoded.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.errors import UpstreamError
from toolfold.messages import TRY_AGAIN
from toolfold.redaction import Redactor
from toolfold.results import limits

# The limit of the csv module, 128 KB for a cell, would make a long text an error. The budget is the limit here.
csv.field_size_limit(2**31 - 1)

MAX_SPARSENESS = 4
"""Cells of a table for each given value: a table with more would be mostly empty."""

FREE_CELLS = 10_000
"""Cells that any table may have, however few of them are given."""

_ROWS_AT_ONCE = 4096
_MAX_DIGITS = 4000
"""Python refuses to convert integers of more than 4,300 digits: the time grows with the square of their number."""

_UNREADABLE_CSV = "The service sent CSV that cannot be read."
_SMALL_CHARS = 100_000
"""Length below which a text is not worth being parsed piece by piece."""


def parse_json(body: str, redactor: Redactor, budget: WorkBudget, parse_float: Callable[[str], Any]) -> Any:
    """Parse JSON. NaN and Infinity become null, integers of thousands of digits text.

    The caller may release :func:`toolfold.results.limits.json_size` when it has dropped the result.

    Raises:
        UpstreamError: it is not JSON.
        AnswerTooLarge: it exceeds the budget.
    """
    size = sum(limits.json_size(body))
    budget.reserve(size)
    budget.check_time(2 * len(body))
    if len(body) > _SMALL_CHARS:
        parse_float = _with_checks(parse_float, budget)
    options: dict[str, Any] = {"parse_float": parse_float, "parse_constant": lambda _constant: None}
    try:
        try:
            data = json.loads(body, **options)
        except json.JSONDecodeError:
            raise
        except ValueError:  # an integer of thousands of digits
            data = json.loads(body, parse_int=lambda text: int(text) if len(text) <= _MAX_DIGITS else text, **options)
    except json.JSONDecodeError:
        raise UpstreamError("The service sent JSON that cannot be read.", TRY_AGAIN, retryable=True) from None
    if "\\ud" in body or "\\uD" in body:
        budget.reserve(size)
        data = _map_strings(data, _encodable)
        budget.release(size)
    if redactor.appears_in(body):
        budget.reserve(size)
        data = redactor.redact_value(data)
        budget.release(size)
    return data


def _with_checks(parse: Callable[[str], Any], budget: WorkBudget) -> Callable[[str], Any]:
    """Return ``parse`` with a look at the clock every few thousand numbers."""
    tick = budget.checked(itertools.repeat(None)).__next__

    def parse_and_check(text: str) -> Any:
        tick()
        return parse(text)

    return parse_and_check


def _map_strings(value: Any, function: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return function(value)
    if isinstance(value, list):
        return [_map_strings(item, function) for item in value]
    if isinstance(value, dict):
        return {function(key): _map_strings(item, function) for key, item in value.items()}
    return value


def _encodable(text: str) -> str:
    """Return ``text`` with half characters replaced: JSON can spell one half of a surrogate pair, UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def parse_csv(body: str, redactor: Redactor, budget: WorkBudget) -> tuple[list[str], list[list[str]]]:
    """Parse CSV into a header and columns of equal length. Missing cells are empty, columns without a name numbered.

    The caller may release :func:`toolfold.results.limits.csv_size` when it has dropped the result.

    Raises:
        UpstreamError: it is not CSV.
        AnswerTooLarge: it exceeds the budget, or its rows differ so much in length that a table would be mostly empty.
    """
    budget.reserve(limits.csv_size(body))
    records = read_records(body, budget)
    if redactor.appears_in(body):
        records = ([redactor.redact_text(cell) for cell in record] for record in records)
    header = next(records, None)
    if header is None:
        raise UpstreamError(_UNREADABLE_CSV, TRY_AGAIN, retryable=True)
    columns: list[list[str]] = [[] for _ in header]
    row_count = given = 0
    while rows := list(itertools.islice(records, _ROWS_AT_ONCE)):
        width, shortest = max(map(len, rows)), min(map(len, rows))
        given += sum(map(len, rows)) if width != shortest else width * len(rows)
        width = max(width, len(columns))
        if not is_dense(row_count + len(rows), width, given):
            raise budget.too_large("The service sent CSV whose rows differ too much in length to be a table.")
        columns += [[""] * row_count for _ in range(width - len(columns))]
        if shortest < width:
            rows = [row + [""] * (width - len(row)) for row in rows]
        for column, cells in zip(columns, zip(*rows, strict=True), strict=True):
            column.extend(cells)
        row_count += len(rows)
    header += [f"column {index}" for index in range(len(header) + 1, len(columns) + 1)]
    return header, columns


def read_records(body: str, budget: WorkBudget) -> Iterator[list[str]]:
    """Yield the records of a CSV text that are not empty.

    Raises:
        UpstreamError: it is not CSV.
        AnswerTooLarge: the deadline has passed.
    """
    # A StringIO has four bytes for each character.
    lines = (
        io.StringIO(body, newline="")
        if len(body) <= _SMALL_CHARS
        else io.TextIOWrapper(io.BytesIO(body.encode("utf-8", "replace")), "utf-8", newline="")
    )
    try:
        yield from filter(None, budget.checked(csv.reader(lines)))
    except (csv.Error, ValueError):
        raise UpstreamError(_UNREADABLE_CSV, TRY_AGAIN, retryable=True) from None


def is_dense(rows: int, columns: int, given: int) -> bool:
    """Return whether a table of that size with so many given values is not mostly empty."""
    return rows * columns <= MAX_SPARSENESS * given + FREE_CELLS
