"""One call of a tool, its answer, and what the calls of one request share.

Metadata of an answer is for programs: in the structured content, never in the text that a model reads.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.execution.call import NO_USE, UpstreamUse
from toolfold.meta_tools.arguments import OPTIONS, is_blank, read_value
from toolfold.results.output import MIN_TOKENS, AnswerStatus, OutputOptions

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.execution.call import CallResult
    from toolfold.meta_tools.result import MetaRequest
    from toolfold.results.select.grammar import Selection
    from toolfold.results.tables import Document

LARGE_CHARS = 2_000_000
"""Characters of a large answer. A smaller one takes some tens of megabytes and a second at most."""

MAX_RESERVE_S = 1.0
_RESERVED_SHARE = 8
"""Time for what follows the responses: at most that many seconds, and that fraction of what the request has. Without
it a small answer that arrives in the last moment, or an expired one that replaces it, could not be rendered."""

_MIN_SHAPING_S = 0.25
"""Time in which a response that has arrived may be shaped, however late it is: part of the transport's own reserve."""


class Call(NamedTuple):
    """A TOOL_CALL that was read, but for the arguments of its tool. Equal calls of one catalog share it.

    Attributes:
        given: the arguments of TOOL_CALL, in the documented form.
        tool: the tool to call.
        sent: the arguments of the tool; a list among them may stand for several calls.
        options: how the answer is wanted.
        fresh: whether to ignore what is cached.
        approval_token: of an approval that was given.
        is_part: whether the answer is one of several, of which all together the ``select`` takes a part.
    """

    given: Mapping[str, Any]
    tool: Tool
    sent: Mapping[str, Any]
    options: OutputOptions
    fresh: bool = False
    approval_token: str | None = None
    is_part: bool = False


class CallSession:
    """What the calls of one request share: a deadline, the memory of one call, and the turn for large answers.

    A context manager, used by one thread. Few large answers are shaped at a time: each may take hundreds of megabytes.

    Attributes:
        budget: what shaping the answers may cost.
        end: ``time.monotonic()`` at which responses must have arrived.
    """

    def __init__(self, request: MetaRequest) -> None:
        self.request, self.catalog, self.executor = request, request.catalog, request.executor
        now, timeout_s = time.monotonic(), request.executor.settings.timeout_s
        deadline = now + timeout_s + MAX_RESERVE_S if request.deadline is None else request.deadline
        self.budget = WorkBudget(deadline)
        self.end = deadline - min(MAX_RESERVE_S, (deadline - now) / _RESERVED_SHARE)
        if request.deadline is None:
            self.end = now + timeout_s
        self._chars, self._has_turn = 0, False

    def __enter__(self) -> CallSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.release_turn()

    def begin_shaping(self, tool: Tool, response: CallResult) -> None:
        """Begin to make the answer of a response, when its turn has come.

        Raises:
            AnswerTooLarge: no turn was free before the deadline.
        """
        self.budget.deadline = max(self.budget.deadline, time.monotonic() + _MIN_SHAPING_S)
        self.budget.suggestion = self.executor.smaller_response_hint(self.catalog, tool)
        self.take_turn(len(response.body))

    def take_turn(self, chars: int) -> None:
        """Wait for the turn, where the answers are large together.

        Raises:
            AnswerTooLarge: no turn was free before the deadline.
        """
        self._chars += chars
        if self._chars <= LARGE_CHARS or self._has_turn:
            return
        remaining_s = self.budget.remaining_s
        if not self.request.turns.acquire(timeout=None if remaining_s == math.inf else remaining_s):
            raise self.budget.too_large(
                "The answer is large, and others were being processed until the end of this call."
            )
        self._has_turn = True

    def release_turn(self) -> None:
        """Give the turn back: nothing of the answers so far is shaped any more."""
        self._chars = 0
        if self._has_turn:
            self._has_turn = False
            self.request.turns.release()


def read_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a TOOL_CALL in the documented form, ``select`` as a selection; None: not given.

    Raises:
        InvalidArguments: an option does not take its value.
    """
    options = {name: read_value("TOOL_CALL", arguments, name) for name in OPTIONS if name != "select"}
    return {**options, "select": parse_select(arguments.get("select"))}


def parse_select(value: Any) -> Selection | None:
    """Return what ``select`` selects; None: everything."""
    if is_blank(value):
        return None
    from toolfold.results.select import grammar  # compiles its expressions when it is imported

    return grammar.parse_select(value)


def output_options(
    request: MetaRequest, max_tokens: int | None, select: Selection | None = None, raw_by: str = ""
) -> OutputOptions:
    """Return how an answer is wanted: ``max_tokens`` as given, ``raw_by`` the parameter for the form of the service."""
    settings = request.executor.settings
    requested = max_tokens or settings.max_tokens
    most = max(MIN_TOKENS, min(requested, settings.max_tokens_ceiling))
    return OutputOptions(
        raw_by=raw_by,
        select=select,
        max_tokens=most,
        requested_tokens=requested if max_tokens and requested != most else 0,
        save_answer=request.executor.save_answer if settings.offload not in ("", "off") else None,
        whole=request.whole,
    )


@dataclass(frozen=True)
class Answer:
    """The answer to a call, selected but not rendered.

    Attributes:
        document: tables and metadata.
        status: whether it was cached, and since when.
        size: bytes of the text it was made of.
        blocks: further content blocks of MCP.
        use: what it cost at the upstream.
    """

    document: Document
    status: AnswerStatus
    size: int
    blocks: Sequence[Mapping[str, Any]] = ()
    use: UpstreamUse = NO_USE


def answer_of(document: Document, answers: Sequence[Answer]) -> Answer:
    """Return ``document``, which was made of ``answers``, as an answer: as old as the oldest of them."""
    status = AnswerStatus(
        cached=bool(answers) and all(answer.status.cached for answer in answers),
        age_s=max((answer.status.age_s for answer in answers), default=0),
        stale_reason=next((answer.status.stale_reason for answer in answers if answer.status.stale_reason), ""),
    )
    blocks = [block for answer in answers for block in answer.blocks]
    size = sum(answer.size for answer in answers)
    return Answer(document, status, size, blocks, sum((answer.use for answer in answers), NO_USE))


_MAX_ALTERNATIVES = 3
"""Similar tools that are named: those that the catalog lists first."""


def metadata(call: Call, answer: Any, use: UpstreamUse, elapsed_s: float) -> dict[str, Any]:
    """Return the metadata of an answer: times, requests, ``source``, ``reasoning``, ``warnings`` and ``alternatives``.

    ``warnings`` are the notes of the answer and that it is a preview or has expired, ``alternatives`` similar tools,
    ``reasoning`` where the answer comes from.
    """
    tool = call.tool
    others = list(dict.fromkeys([*tool.use_instead.values(), *tool.see_also]))[:_MAX_ALTERNATIVES]
    warnings = list(answer.get("notes", ()))
    if "late" in answer:
        warnings.append(f"The answer has expired; the source could not be reached: {answer['late']}.")
    if "preview" in answer:
        warnings.append(f"Shortened; left out: {answer['preview']['left_out']}.")
    origin = "the cache" if answer.get("cached") else "an equal call that was running"
    if use.requests:
        origin = f"{use.requests} request{'' if use.requests == 1 else 's'} to the source"
    form = " in the form of the source" if call.options.raw_by else ""
    part = ", of which a part was selected" if call.options.select is not None else ""
    return {
        "elapsed_ms": round(elapsed_s * 1000, 1),
        "upstream_ms": round(use.seconds * 1000, 1),
        "upstream_requests": use.requests,
        "source": tool.source,
        **({"warnings": warnings} if warnings else {}),
        **({"alternatives": others} if others else {}),
        "reasoning": f"From {origin}{form}{part}.",
    }
