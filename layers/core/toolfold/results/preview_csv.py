"""Shorten a CSV text in the upstream's own form: its header, and the first and last of its records."""

from __future__ import annotations

import csv
import io
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.results import parsing
from toolfold.results.limits import VALUES_PER_TOKEN, Allowance, Limits, Truncation, first_part


class CsvLines(NamedTuple):
    """The records of a CSV text that a preview may show.

    Attributes:
        header: the first record.
        first: the next ones.
        last: the last ones that are not among ``first``.
        total: number of all records after the header.
    """

    header: str
    first: list[str]
    last: list[str]
    total: int


def csv_lines(body: str, max_tokens: int, budget: WorkBudget) -> CsvLines:
    """Return the records of a CSV text. A line break inside quotes does not end a record."""
    records: Iterable[Any]
    to_line: Callable[[Any], str]
    if '"' in body:
        records, to_line = parsing.read_records(body, budget), _csv_line
    else:
        records, to_line = filter(None, budget.checked(_split_lines(body))), str
    remaining = iter(records)
    header = next(remaining, "")
    most = VALUES_PER_TOKEN * max_tokens
    first = list(itertools.islice(remaining, most))
    last: deque[Any] = deque(maxlen=most)
    left = 0
    for record in remaining:
        last.append(record)
        left += 1
    return CsvLines(to_line(header), list(map(to_line, first)), list(map(to_line, last)), len(first) + left)


def _split_lines(body: str) -> Iterable[str]:
    start = 0
    while (end := body.find("\n", start)) >= 0:
        yield body[start:end]
        start = end + 1
    yield body[start:]


def _csv_line(record: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(record)  # quotes the cells that hold one of the two
    return line.getvalue()[:-2]


def truncate_csv(lines: CsvLines, limits: Limits, allowance: Allowance) -> tuple[str, Truncation]:
    """Return a CSV text with its header and the first and last of its rows, and what that leaves out.

    Raises:
        TooLong: it has more than ``allowance``.
    """
    count = min(limits.rows, lines.total)
    allowance.take(count)
    first = lines.total if count == lines.total else first_part(count)
    shown = [*lines.first, *lines.last] if count == lines.total else lines.first[:first]
    if count < lines.total:
        available = [*lines.first, *lines.last]
        shown += available[len(available) - (count - first) :] if count > first else []
    for line in (lines.header, *shown):
        allowance.take_text(line)
    truncation = Truncation()
    truncation.record_rows(len(shown), lines.total, limits.rows)
    return "\n".join([lines.header, *shown]), truncation
