"""One call of a tool, and its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.execution.result import NO_USE, UpstreamUse

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.execution.executor import ToolExecutor
    from toolfold.meta_tools.large_answers import LargeAnswerTurn
    from toolfold.results.output import AnswerStatus, OutputOptions
    from toolfold.results.tables import Document

__all__ = ["Answer", "Call", "CallBase"]


class CallBase(NamedTuple):
    """What a call shares with others of the same request.

    Attributes:
        catalog: the current catalog.
        executor: performs calls.
        credentials: the API keys of the request.
        budget: what shaping the answers may cost.
        fetch_deadline: ``time.monotonic()`` at which responses must have arrived; None: by the time-outs alone.
        turn: the turn for large answers.
        whole: whether the answer is for a person or a file, and complete.
    """

    catalog: Catalog
    executor: ToolExecutor
    credentials: RequestCredentials
    budget: WorkBudget
    fetch_deadline: float | None
    turn: LargeAnswerTurn
    whole: bool = False


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
        fetch_deadline: ``time.monotonic()`` at which responses must have arrived; None: by the time-outs alone.
        turn: the turn for large answers.
    """

    catalog: Catalog
    executor: ToolExecutor
    tool: Tool
    credentials: RequestCredentials
    options: OutputOptions
    bypass_cache: bool
    budget: WorkBudget
    fetch_deadline: float | None
    turn: LargeAnswerTurn


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
