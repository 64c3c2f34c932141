"""Render an answer in the upstream's own form: its JSON or CSV with its keys unchanged.

Shorten a CSV text in the upstream's own form: its header, and the first and last of its records.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.errors import InvalidArguments
from toolfold.redaction import Redactor
from toolfold.results import parsing, preview, render, tables, values
from toolfold.results.limits import VALUES_PER_TOKEN, Allowance, Limits, TooLong, Truncation, first_part
from toolfold.results.preview import smaller_requests
from toolfold.results.renderer import RenderedResult, Renderer, everything_left_out
from toolfold.results.tables import Document
from toolfold.text_safety import escape_unsafe

if TYPE_CHECKING:
    from toolfold.results.select.parser import Selection


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


_EXAMPLE_LIMITS = Limits(rows=20, chars=100, items=3)
"""Part of a raw answer from which the columns for an example are taken."""
_EXAMPLE_TOKENS = 20_000


@dataclass(frozen=True)
class RawRenderer(Renderer):
    """Renders an answer in the upstream's own form.

    Attributes:
        body: its text.
        kind: ``json`` or ``csv``.
        answer: what the catalog says about the tool's answers.
        redactor: replaces the keys of the call.
    """

    body: str
    kind: str
    answer: Mapping[str, Any]
    redactor: Redactor

    def render(self) -> RenderedResult:
        """Render the answer in the upstream's own form."""
        selection = self.options.select
        if selection is not None and not (selection.jmespath and self.kind == "json"):
            raise self._unusable_select()
        return self._render_csv() if self.kind == "csv" else self._render_json(selection)

    def _render_csv(self) -> RenderedResult:
        if self.options.whole:
            # As sent, to the byte; written again only where it has a key of the call.
            body = self._raw_csv() + "\n" if self.redactor.appears_in(self.body) else self.body
            return RenderedResult({"result": body, **self.status.as_dict()}, body)
        data = self._raw_csv()
        text = render.csv_to_text(data, self.budget)
        if self.fits(text, lambda: data):
            return RenderedResult({"result": data, **self.status.as_dict()}, text)
        lines = csv_lines(data, self.options.max_tokens, self.budget)
        beginning = "\n".join([lines.header, *lines.first[: _EXAMPLE_LIMITS.rows]])
        examples = smaller_requests(tables.parse_tables(beginning, "csv", {}, self.budget))
        notice = self.notice(text, "csv", examples, self._prefix)

        def to_text(shortened: tuple[str, Truncation]) -> str:
            part, truncation = shortened
            return f"{notice.line(truncation)}\n{render.csv_to_text(part, self.budget)}"

        part, truncation = self.preview(
            len(text),
            lines.total,
            lambda limits, allowance: truncate_csv(lines, limits, allowance),
            to_text,
            lambda shortened: shortened[0],
        ) or ("", everything_left_out(lines.total))
        structured = {"result": part, "preview": notice.data(truncation), **self.status.as_dict()}
        return RenderedResult(structured, to_text((part, truncation)))

    def _render_json(self, selection: Selection | None) -> RenderedResult:
        data: Any = parsing.parse_json(self.body, self.redactor, self.budget, values.parse_float)
        if selection is not None:
            from toolfold.results.select import jmespath

            data = jmespath.search(selection.jmespath, data, self.budget)
        self.prepare_text()
        if self.options.whole:
            is_as_sent = selection is None and not self.redactor.appears_in(self.body)
            text = self.body if is_as_sent else render.dumps_compact(data)
            return RenderedResult({"result": data, **self.status.as_dict()}, text)
        text = render.value_to_text(data)
        if self.fits(text, lambda: data):
            return RenderedResult({"result": data, **self.status.as_dict()}, text)
        notice = self.notice(text, "json", smaller_requests(self._beginning(data)), self._prefix)
        full_chars = len(text)
        del text

        def to_text(shortened: tuple[Any, Truncation]) -> str:
            part, truncation = shortened
            return escape_unsafe(render.dumps_compact({"preview": notice.data(truncation), "result": part}))

        part, truncation = self.preview(
            full_chars,
            preview.count_items(data),
            lambda limits, allowance: preview.truncate(data, limits, allowance),
            to_text,
            lambda shortened: shortened[0],
        ) or (None, everything_left_out(preview.count_items(data)))
        structured = {"result": part, "preview": notice.data(truncation), **self.status.as_dict()}
        return RenderedResult(structured, to_text((part, truncation)))

    def _raw_csv(self) -> str:
        """Return the upstream's CSV with plain line feeds; written again only where it has a key of the call."""
        if not self.redactor.appears_in(self.body):
            return self.body.replace("\r\n", "\n").strip("\n")
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        for record in parsing.read_records(self.body, self.budget):
            writer.writerow(map(self.redactor.redact_text, record))
        return buffer.getvalue().strip("\n")

    def _unusable_select(self) -> InvalidArguments:
        from toolfold.results.select.parser import invalid_select

        raw_by = self.options.raw_by
        return invalid_select(
            "works on toolfold's own form" if self.kind == "json" else "does not work on the upstream's CSV",
            None,
            f"Leave out {raw_by}; with {raw_by}=json only jmespath: and an expression can be used.",
        )

    def _beginning(self, data: Any) -> Document:
        """Return the beginning of a raw answer in toolfold's own form."""
        try:
            part, _ = preview.truncate(data, _EXAMPLE_LIMITS, Allowance(_EXAMPLE_TOKENS))
        except TooLong:
            return Document()
        return tables.from_json(tables.typed_json(part, self.answer, self.budget), self.answer, self.budget)

    @property
    def _prefix(self) -> str:
        """Words before the examples of a smaller request, which are for toolfold's own form."""
        return f"leave out {self.options.raw_by} and add "
