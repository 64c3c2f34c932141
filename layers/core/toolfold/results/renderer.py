"""The steps that both forms of an answer share: parse and select, save the full text, preview, check the size."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from toolfold.budget import WorkBudget
from toolfold.results import preview, tokens
from toolfold.results.limits import Allowance, Limits, Truncation
from toolfold.results.preview import PreviewNotice

if TYPE_CHECKING:
    from toolfold.results.select.parser import Selection

T = TypeVar("T")

_MAX_RESPONSE_CHARS = 5_500_000
"""A Lambda function returns at most 6 MB (6,291,556 bytes, lambda/latest/dg/gettingstarted-limits.html)."""

_SAFE_TEXT_CHARS = 100_000
"""Length of a text below which the response, which has it twice and escaped twice, is far below that limit."""

_PREVIEW_S = 1.0
"""Time that saving the full text leaves for making the preview."""

_MAX_REQUEST_SHARE = 5
"""An example of a smaller request that costs more than this fraction of the budget is replaced by words."""

_COUNTED_CHARS = 1_000_000
"""Length above which the attempts at a preview count their values: below, each attempt is fast in any case."""


@dataclass(frozen=True)
class OutputOptions:
    """How the result of a call is wanted.

    Attributes:
        raw_by: name of the argument that requests the upstream's own form; empty: toolfold's own form.
        select: the part to return.
        max_tokens: budget of the text.
        requested_tokens: the budget that was requested, where it is outside of what is allowed; else 0.
        save_answer: saves a text over the budget (see ``offload.AnswerStore.save``); None: it is not saved.
        whole: whether nothing is left out and nothing escaped, for a person and for files. The text is then the
            upstream's own, where that is requested, or empty.
        ask_less: how to ask for less; empty: with ``select``.
    """

    raw_by: str = ""
    select: Selection | None = None
    max_tokens: int = 8000
    requested_tokens: int = 0
    save_answer: Callable[[str, str, float], dict[str, Any]] | None = None
    whole: bool = False
    ask_less: str = ""

    @property
    def limit_note(self) -> str:
        """A sentence about a budget that is not the requested one; empty: it is."""
        if not self.requested_tokens:
            return ""
        bound = "at most" if self.requested_tokens > self.max_tokens else "at least"
        return f"max_tokens is {bound} {self.max_tokens:,} here."


@dataclass(frozen=True)
class RenderedResult:
    """The result of a call.

    Attributes:
        structured: ``result``, ``cached``, ``age_s``, ``late`` where the answer has expired, ``notes`` where there are
            some, and ``preview`` where the result is shortened.
        text: the result for a model.
    """

    structured: Mapping[str, Any]
    text: str


@dataclass(frozen=True)
class AnswerStatus:
    """Where an answer comes from.

    Attributes:
        cached: whether from a cache.
        age_s: seconds since it was fetched.
        stale_reason: code of the error because of which an expired answer is returned.
    """

    cached: bool = False
    age_s: int = 0
    stale_reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return ``{"cached", "age_s"}``, and ``late`` where the answer has expired."""
        late = {"late": self.stale_reason} if self.stale_reason else {}
        return {"cached": self.cached, "age_s": self.age_s, **late}


@dataclass(frozen=True)
class Renderer:
    """What rendering an answer needs in either form.

    Attributes:
        options: how it is wanted.
        status: where it comes from.
        budget: what it may cost.
        size: bytes of the text that it is made of.
    """

    options: OutputOptions
    status: AnswerStatus
    budget: WorkBudget
    size: int

    def prepare_text(self) -> None:
        """Reserve what the text takes; it is written in one step."""
        self.budget.reserve(2 * self.size)
        self.budget.check_time(3 * self.size)

    def fits(self, text: str, data: Callable[[], Any]) -> bool:
        """Return whether a text is within the limit of tokens, and its response within that of Lambda."""
        return tokens.fits(text, self.options.max_tokens) and _fits_lambda(text, data)

    def notice(self, full_text: str, suffix: str, smaller_requests: Sequence[str], prefix: str = "") -> PreviewNotice:
        """Save the full text, and return the notice of a preview of it.

        Args:
            full_text: the text that is too long.
            suffix: the extension of the file that it is saved in.
            smaller_requests: examples, of which as many are shown as fit.
            prefix: words before them.
        """
        max_tokens = self.options.max_tokens
        smaller_request = self.options.ask_less or "a shorter period, or select with jmespath: and an expression"
        for count in range(0 if self.options.ask_less else len(smaller_requests), 0, -1):
            text = prefix + " or ".join(smaller_requests[:count])
            if tokens.fits(text, max_tokens // _MAX_REQUEST_SHARE):
                smaller_request = text
                break
        saved = self._offload(full_text, suffix)
        limit = self.options.limit_note
        return PreviewNotice(tokens.estimate(full_text), saved, smaller_request, max_tokens, limit)

    def preview(
        self,
        full_chars: int,
        max_rows: int,
        shorten: Callable[[Limits, Allowance], T],
        to_text: Callable[[T], str],
        to_structured: Callable[[T], Any],
    ) -> T | None:
        """Return the longest part of the answer that fits, or None when not even a few values do.

        Args:
            full_chars: length of the full text.
            max_rows: rows of the full answer.
            shorten: returns a part of the answer.
            to_text: renders a part as text.
            to_structured: renders a part as data.
        """
        return preview.largest_fitting(
            max_rows,
            lambda limits: shorten(limits, Allowance(self.options.max_tokens if full_chars > _COUNTED_CHARS else None)),
            lambda part: self.fits(to_text(part), lambda: to_structured(part)),
            self.budget,
        )

    def _offload(self, text: str, suffix: str) -> dict[str, Any]:
        """Save the full text where the options say; return where it is, or ``{}``."""
        options, size = self.options, 2 * sys.getsizeof(text)
        if options.save_answer is None or not self.budget.has(size):
            return {}
        return options.save_answer(text, suffix, self.budget.remaining_s - _PREVIEW_S)


def everything_left_out(row_count: int) -> Truncation:
    """Return the truncation of an answer of which not even a few values fit."""
    truncation = Truncation(0, row_count)
    truncation.record("everything, because its parts are too long")
    return truncation


def _fits_lambda(text: str, data: Callable[[], Any]) -> bool:
    """Return whether a Lambda function can return the answer: JSON in the string of a body, in JSON."""
    if len(text) < _SAFE_TEXT_CHARS:
        return True
    if 2 * len(text) > _MAX_RESPONSE_CHARS:
        return False
    body = json.dumps({"content": text, "structuredContent": data()})
    return len(json.dumps(body)) <= _MAX_RESPONSE_CHARS
