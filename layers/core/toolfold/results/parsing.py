"""Parse the text of an upstream as JSON or CSV, within the budget of the call and without the keys of the call.

What is parsed here cannot crash a later step: every number is finite, and every string can be encoded.

The parsers of the standard library cannot be interrupted. Counting characters first takes a hundredth of their time,
and bounds what they allocate: ``[{},{},…]`` takes eighty bytes for each three. The constants are sizes of CPython 3.11
to 3.13 on 64 bits (``sys.getsizeof``); ``tests/unit/results/test_bounded_work.py`` compares the bounds with these.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.errors import UpstreamError
from toolfold.messages import TRY_AGAIN
from toolfold.redaction import Redactor
from toolfold.text_safety import encodable

# The limit of the csv module, 128 KB for a cell, would make a long text an error. The budget is the limit here.
csv.field_size_limit(2**31 - 1)

MAX_SPARSENESS = 4
"""Cells of a table for each given value: a table with more would be mostly empty."""

FREE_CELLS = 10_000
"""Cells that any table may have, however few of them are given."""

_OTHER_TABLE = re.compile(r"\n\r?\n([^\d\n]+)\n")
"""A blank line and one without a figure, as the header of a second table of CSV."""

_LINE_CHARS = 2_000
"""Characters at both ends of CSV in which a title and a last line without cells are looked for."""

_ROWS_AT_ONCE = 4096
_MAX_DIGITS = 4000
"""Python refuses to convert integers of more than 4,300 digits: the time grows with the square of their number."""

_OBJECT_BYTES = 165  # with a few members it has 200; together with its members it has fewer than this and theirs
_MEMBER_BYTES = 45  # its place in an object, and the growth of the table of keys
_ARRAY_BYTES = 90
_PLACE_BYTES = 9  # of an item in a list that grows by an eighth at a time
_NUMBER_BYTES = 32
_STRING_BYTES = 60  # without its characters

_UNREADABLE_CSV = "The service sent CSV that cannot be read."


def parse_json(body: str, redactor: Redactor, budget: WorkBudget, parse_float: Callable[[str], Any]) -> Any:
    """Parse JSON. NaN and Infinity become null, integers of thousands of digits text.

    The caller may release :func:`json_size` when it has dropped the result.

    Raises:
        UpstreamError: it is not JSON.
        AnswerTooLarge: it exceeds the budget.
    """
    size = sum(json_size(body))
    budget.reserve(size)
    budget.check_time(2 * len(body))
    tick = budget.checked(itertools.repeat(None)).__next__  # looks at the clock every few thousand numbers

    def parse_number(text: str) -> Any:
        tick()
        return parse_float(text)

    options: dict[str, Any] = {"parse_float": parse_number, "parse_constant": lambda _constant: None}
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
        budget.reserve(size)  # JSON can spell one half of a surrogate pair, UTF-8 cannot
        data = mapped(data, lambda value: encodable(value) if isinstance(value, str) else value, budget)
        budget.release(size)
    if redactor.appears_in(body):
        budget.reserve(size)
        data = redactor.redact_value(data)
        budget.release(size)
    return data


def mapped(value: Any, function: Callable[[Any], Any], budget: WorkBudget) -> Any:
    """Return a JSON value whose keys, texts, numbers and other parts without parts are what ``function`` returns."""
    budget.check_time()
    if isinstance(value, list):
        return [mapped(item, function, budget) for item in value]
    if isinstance(value, dict):
        return {function(key): mapped(item, function, budget) for key, item in value.items()}
    return function(value)


def parse_csv(body: str, redactor: Redactor, budget: WorkBudget) -> tuple[list[str], list[list[str]]]:
    """Parse CSV into a header and columns of equal length. Missing cells are empty, columns without a name numbered.

    The caller may release :func:`csv_size` when it has dropped the result.

    Raises:
        UpstreamError: it is not CSV.
        AnswerTooLarge: it exceeds the budget, or its rows differ so much in length that a table would be mostly empty.
    """
    budget.reserve(csv_size(body))
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
    # A StringIO would have four bytes for each character.
    content = io.BytesIO(body.encode("utf-8", "surrogatepass"))
    lines = io.TextIOWrapper(content, "utf-8", "surrogatepass", newline="")
    try:
        yield from filter(None, budget.checked(csv.reader(lines)))
    except (csv.Error, ValueError):
        raise UpstreamError(_UNREADABLE_CSV, TRY_AGAIN, retryable=True) from None


def notes_on_lines(body: str) -> Iterator[str]:
    """Yield notes on lines of CSV that may not be what they are read as. The time is that of reading it once."""
    filled = [(number, line.strip()) for number, line in enumerate(body[:_LINE_CHARS].split("\n"), 1) if line.strip()]
    for (number, title), (_, header) in itertools.pairwise(filled[:2]):
        if _is_one_cell(title.rstrip(",")) and not header.startswith(",") and "," in header.strip(", "):
            yield f"Line {number:,} may be a title: the header may come behind it."
    if (other := _OTHER_TABLE.search(body)) and not body.count('"', 0, other.start()) % 2:  # in no cell
        line = body.count("\n", 0, other.start(1)) + 1
        yield f"Line {line:,} may begin another table, behind a blank line."
    _, end, last = body[-_LINE_CHARS:].rstrip().rpartition("\n")
    if end and _is_one_cell(last):
        yield f"Line {body.count(chr(10), 0, body.rfind(last)) + 1:,} may be no row, and counts as one."


def _is_one_cell(line: str) -> bool:
    return bool(line) and "," not in line and '"' not in line


def is_dense(rows: int, columns: int, given: int) -> bool:
    """Return whether a table of that size with so many given values is not mostly empty."""
    return rows * columns <= MAX_SPARSENESS * given + FREE_CELLS


class JsonSize(NamedTuple):
    """Upper bounds in bytes: of objects and lists, and of the strings and numbers in them."""

    containers: int
    scalars: int


def json_size(body: str) -> JsonSize:
    """Return how much ``json.loads(body)`` allocates at most. Signs inside strings count as well."""
    objects, arrays, commas, members = (body.count(sign) for sign in "{[,:")
    strings = body.count('"') // 2
    numbers = max(0, commas + objects + arrays + members - strings)
    # An escaped character makes the string that it is in as wide as itself.
    width = 4 if "\\ud" in body or "\\uD" in body else 2 if "\\u" in body else 1
    characters = max(sys.getsizeof(body), width * len(body))
    return JsonSize(
        objects * _OBJECT_BYTES + members * _MEMBER_BYTES + arrays * _ARRAY_BYTES + commas * _PLACE_BYTES,
        numbers * _NUMBER_BYTES + strings * _STRING_BYTES + characters,
    )


def csv_size(body: str) -> int:
    """Return how much the cells of a CSV text take at most, in bytes."""
    cells = body.count(",") + body.count("\n") + body.count("\r") + 1
    return cells * (_STRING_BYTES + _PLACE_BYTES) + sys.getsizeof(body)


def object_size(members: int) -> int:
    """Return how much an object of numbers takes, in bytes."""
    return 80 + members * (_MEMBER_BYTES + _NUMBER_BYTES)


def keys_size(members: int) -> int:
    """Return how much the keys of an object take without their characters, in bytes."""
    return members * _STRING_BYTES


def list_size(items: int) -> int:
    """Return how much a list of numbers takes, in bytes."""
    return _ARRAY_BYTES + items * (_PLACE_BYTES + _NUMBER_BYTES)


def rows_size(rows: int, columns: int) -> int:
    """Return how much the rows of a table take without their cells, in bytes."""
    return rows * (64 + 8 * columns)


def require_parsable_json(body: str) -> None:
    """Check that ``json.loads(body)`` fits the memory of one call.

    Raises:
        AnswerTooLarge: it does not.
    """
    WorkBudget().reserve(sum(json_size(body)))
