"""Render an answer in the upstream's own form: its JSON or CSV with its keys unchanged."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolfold.errors import InvalidArguments
from toolfold.redaction import Redactor
from toolfold.results import parsing, preview, preview_csv, render, tables, values
from toolfold.results.limits import Allowance, Limits, TooLong, Truncation
from toolfold.results.preview_notice import smaller_requests
from toolfold.results.renderer import RenderedResult, Renderer, everything_left_out
from toolfold.results.tables import Document
from toolfold.text_safety import escape_unsafe

if TYPE_CHECKING:
    from toolfold.results.select.parser import Selection

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
        lines = preview_csv.csv_lines(data, self.options.max_tokens, self.budget)
        beginning = "\n".join([lines.header, *lines.first[: _EXAMPLE_LIMITS.rows]])
        examples = smaller_requests(tables.parse_tables(beginning, "csv", {}, self.budget))
        notice = self.notice(text, "csv", examples, self._prefix)

        def to_text(shortened: tuple[str, Truncation]) -> str:
            part, truncation = shortened
            return f"{notice.line(truncation)}\n{render.csv_to_text(part, self.budget)}"

        part, truncation = self.preview(
            len(text),
            lines.total,
            lambda limits, allowance: preview_csv.truncate_csv(lines, limits, allowance),
            to_text,
            lambda shortened: shortened[0],
        ) or ("", everything_left_out(lines.total))
        structured = {"result": part, "preview": notice.data(truncation), **self.status.as_dict()}
        return RenderedResult(structured, to_text((part, truncation)))

    def _render_json(self, selection: Selection | None) -> RenderedResult:
        data: Any = parsing.parse_json(self.body, self.redactor, self.budget, values.parse_float)
        if selection is not None:
            from toolfold.results.select import jmespath_query

            data = jmespath_query.search(selection.jmespath, data, self.budget)
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
