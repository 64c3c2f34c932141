"""One call of a tool, and its answer.

Few large answers are shaped at a time: each may take hundreds of megabytes. Metadata of an answer is for programs: in
the structured content, never in the text that a model reads.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.execution.argument_reader import reader_of
from toolfold.execution.call import NO_USE, UpstreamUse
from toolfold.meta_tools.arguments import OPTIONS, boolean, is_blank, whole_number, wrong_value
from toolfold.meta_tools.detail_levels import properties
from toolfold.results.output import MIN_TOKENS, AnswerStatus, OutputOptions

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.execution.executor import ToolExecutor
    from toolfold.meta_tools.result import MetaRequest
    from toolfold.results.select.grammar import Selection
    from toolfold.results.tables import Document

LARGE_CHARS = 2_000_000
"""Characters of a large answer. A smaller one takes some tens of megabytes and a second at most."""


MAX_RESERVE_S = 1.0
_RESERVED_SHARE = 8
"""Time for what follows the responses: at most that many seconds, and that fraction of what the request has."""


def time_budget(timeout_s: float, deadline: float | None) -> tuple[WorkBudget, float]:
    """Return the budget of a request, and the time at which responses must have arrived: some time before its deadline.

    Without that time in reserve, a small answer that arrives in the last moment, or an expired one that replaces it,
    could not be rendered.
    """
    now = time.monotonic()
    if deadline is None:
        return WorkBudget(now + timeout_s + MAX_RESERVE_S), now + timeout_s
    reserve_s = min(MAX_RESERVE_S, (deadline - now) / _RESERVED_SHARE)
    return WorkBudget(deadline), deadline - reserve_s


class CallOptions(NamedTuple):
    """The options of a TOOL_CALL. ``select`` is None where everything is requested, ``max_tokens`` 0 by default."""

    select: Selection | None
    max_tokens: int
    fresh: bool
    approval_token: str | None


def read_options(arguments: Mapping[str, Any]) -> CallOptions:
    """Return the options of a TOOL_CALL in the documented form.

    Raises:
        InvalidArguments: ``max_tokens`` is not a whole number above 0, ``fresh`` or ``inspect`` neither true nor
            false, ``approval_token`` no text, or ``select`` cannot be parsed.
    """
    given = {name: None if is_blank(arguments.get(name)) else arguments[name] for name in OPTIONS}
    end = ", or leave it out; nothing was sent"
    most = whole_number(given["max_tokens"])
    if given["max_tokens"] is not None and (most is None or most < 1):
        raise wrong_value("TOOL_CALL", arguments, "max_tokens", "a whole number above 0", end=end)
    for name in ("fresh", "inspect"):
        if boolean(given[name]) is None:
            raise wrong_value("TOOL_CALL", arguments, name, "true or false", end=end)
    token = given["approval_token"]
    if not isinstance(token, str | None):
        raise wrong_value("TOOL_CALL", arguments, "approval_token", "the token of APPROVAL_REQUIRED, a text", end=end)
    return CallOptions(parse_select(given["select"]), most or 0, bool(boolean(given["fresh"])), token)


def parse_select(value: Any) -> Selection | None:
    """Return what ``select`` selects; None: everything."""
    if is_blank(value):
        return None
    from toolfold.results.select import grammar  # compiles its expressions when it is imported

    return grammar.parse_select(value)


def may_have_lists(arguments: Mapping[str, Any]) -> bool:
    """Return whether one of ``arguments`` may be several values; see :mod:`toolfold.meta_tools.value_lists`."""
    return any(isinstance(value, list) for value in arguments.values())


def split_format(catalog: Catalog, tool: Tool, arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the arguments to send, and the format parameter of the source where a call gives it, under any name.

    The format is left out where the tool has that one format and no such parameter.
    """
    parameter = catalog.source(tool.source).format_parameter
    requested = arguments.get(parameter) if parameter else None
    if requested is not None:
        is_only = parameter not in properties(tool.parameters) and str(requested).strip().lower() in tool.formats
        # Another one is reported as an unknown argument.
        return {name: one for name, one in arguments.items() if name != parameter or not is_only}, parameter
    reader = reader_of(catalog, tool)
    if not parameter or arguments.keys() <= reader.properties.keys():
        return arguments, ""
    return arguments, parameter if reader.rename(arguments).arguments.get(parameter) is not None else ""


def output_options(
    request: MetaRequest, max_tokens: int, select: Selection | None = None, raw_by: str = ""
) -> OutputOptions:
    """Return how an answer is wanted.

    Args:
        request: of the meta-tool.
        max_tokens: as it was given; 0: what the settings say.
        select: what is selected; None: everything.
        raw_by: the parameter by which the form of the service is requested; empty: it is not.
    """
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


class LargeAnswerTurn:
    """The turn of one call to shape its answers, as a context manager that releases it; small answers need none."""

    def __init__(self, turns: threading.Semaphore, budget: WorkBudget) -> None:
        self._turns, self._budget = turns, budget
        self._chars, self._is_acquired = 0, False

    def __enter__(self) -> LargeAnswerTurn:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def acquire(self, chars: int) -> None:
        """Wait for the turn where the answers of the call are large together.

        Raises:
            AnswerTooLarge: no turn was free before the deadline of the call.
        """
        self._chars += chars
        if self._chars <= LARGE_CHARS or self._is_acquired:
            return
        remaining_s = self._budget.remaining_s
        if not self._turns.acquire(timeout=None if remaining_s == math.inf else remaining_s):
            raise self._budget.too_large(
                "The answer is large, and others were being processed until the end of this call."
            )
        self._is_acquired = True

    def release(self) -> None:
        """Give the turn back: nothing of the answers so far is shaped any more."""
        self._chars = 0
        if self._is_acquired:
            self._is_acquired = False
            self._turns.release()


@dataclass(frozen=True)
class Call:
    """One TOOL_CALL, checked but for the arguments of its tool.

    Attributes:
        catalog: the current catalog.
        executor: performs the call.
        tool: the tool to call.
        credentials: the API keys of the request.
        options: how the result is wanted.
        bypass_cache: whether to ignore what is cached.
        budget: what shaping the answers may cost, for all parts of the call together.
        fetch_deadline: ``time.monotonic()`` at which responses must have arrived.
        turn: the turn for large answers.
        is_part: whether the answer is one of several, of which all together the ``select`` takes a part.
    """

    catalog: Catalog
    executor: ToolExecutor
    tool: Tool
    credentials: RequestCredentials
    options: OutputOptions
    bypass_cache: bool
    budget: WorkBudget
    fetch_deadline: float
    turn: LargeAnswerTurn
    is_part: bool = False


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
    ``reasoning`` how the answer was made.
    """
    tool = call.tool
    others = list(dict.fromkeys([*tool.use_instead.values(), *tool.see_also]))[:_MAX_ALTERNATIVES]
    warnings = list(answer.get("notes", ()))
    if "late" in answer:
        warnings.append(f"The answer has expired; the source could not be reached: {answer['late']}.")
    if "preview" in answer:
        warnings.append(f"Shortened; left out: {answer['preview']['left_out']}.")
    return {
        "elapsed_ms": round(elapsed_s * 1000, 1),
        "upstream_ms": round(use.seconds * 1000, 1),
        "upstream_requests": use.requests,
        "source": tool.source,
        **({"warnings": warnings} if warnings else {}),
        **({"alternatives": others} if others else {}),
        "reasoning": _reasoning(call, answer, use),
    }


def _reasoning(call: Call, answer: Any, use: UpstreamUse) -> str:
    """Return in a sentence where the answer comes from and what was selected of it."""
    if use.requests:
        origin = f"{use.requests} request{'' if use.requests == 1 else 's'} to the source"
    elif answer.get("cached"):
        origin = "the cache"
    else:
        origin = "an equal call that was running"
    form = " in the form of the source" if call.options.raw_by else ""
    part = ", of which a part was selected" if call.options.select is not None else ""
    return f"From {origin}{form}{part}."
