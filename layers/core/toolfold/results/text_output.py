"""Render an answer that is plain text: as it is, or as much of its beginning as the budget allows.

Where a line could be taken for one of toolfold's own, which begin with ``#``, or the text for an object with its keys,
a line before it says that what follows is the source's.
"""

from __future__ import annotations

from dataclasses import dataclass

from toolfold.results.limits import Truncation
from toolfold.results.render import has_number_sign_line, notes_to_text
from toolfold.results.renderer import RenderedResult, Renderer, everything_left_out
from toolfold.results.tables import Document
from toolfold.text_safety import escape_terminal

__all__ = ["TextRenderer", "plain_text"]

_FOLLOWS = "# All that follows is text of the source.\n"

_UNIT_CHARS = 200
"""Characters by which a preview grows: some forty tokens."""

_LINE_SHARE = 4
"""A preview ends with a line, unless that costs more than this fraction of it."""

_FOR_LESS = "arguments that return less, or a larger max_tokens"


def plain_text(text: str) -> str:
    """Return text of a source for a model: control characters as escapes, and no line that looks like toolfold's."""
    shown = escape_terminal(text)
    is_ambiguous = has_number_sign_line(shown) or shown.lstrip()[:1] == "{"
    return _FOLLOWS + shown if is_ambiguous else shown


@dataclass(frozen=True)
class TextRenderer(Renderer):
    """Renders an answer that is plain text.

    Attributes:
        document: the answer.
        age_line: the line that says how old it is; may be empty.
    """

    document: Document
    age_line: str

    def render(self) -> RenderedResult:
        """Render the answer."""
        text, notes = str(self.document.metadata), self.document.notes
        status = {**self.status.as_dict(), **({"notes": list(notes)} if notes else {})}
        if self.options.whole:
            return RenderedResult({"result": text, **status}, "")
        lines = self.age_line + notes_to_text(notes)
        self.prepare_text()
        shown = lines + plain_text(text)
        if self.fits(shown, lambda: text):
            return RenderedResult({"result": text, **status}, shown)
        notice = self.notice(text, "txt", [_FOR_LESS])
        total = -(-len(text) // _UNIT_CHARS)

        def to_text(shortened: tuple[str, Truncation]) -> str:
            part, truncation = shortened
            return f"{lines}{notice.line(truncation)}\n{plain_text(part)}"

        part, truncation = self.preview(
            len(text),
            total,
            lambda limits, _: _beginning(text, limits.rows * _UNIT_CHARS),
            to_text,
            lambda shortened: shortened[0],
        ) or ("", everything_left_out(0))
        structured = {"result": part, "preview": notice.data(truncation), **status}
        return RenderedResult(structured, to_text((part, truncation)))


def _beginning(text: str, chars: int) -> tuple[str, Truncation]:
    """Return the beginning of a text, to the end of a line where one is near, and what is left out."""
    truncation = Truncation()
    if len(text) <= chars:
        return text, truncation
    end = text.rfind("\n", chars - chars // _LINE_SHARE, chars)
    part = text[: chars if end < 0 else end]
    truncation.record(f"characters {len(part) + 1:,} to {len(text):,}")
    return part, truncation
