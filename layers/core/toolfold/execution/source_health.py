"""Store which sources failed last, for lists of tools, which state it. Each process finds out for itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from cachetools import LRUCache

from toolfold.errors import CallError, SourceChanged, UpstreamTimeout
from toolfold.sources.base import ConnectionFailed, NotSent

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool

KEPT_S = 300.0
"""Seconds for which a failure is mentioned: a source that is not called any more may work again."""

_MAX_FAILURES = 1_000
"""Failures that are stored: of sources, and of tools that have changed."""


class Trouble(NamedTuple):
    """What is wrong with a source.

    Attributes:
        state: ``unreachable``: nothing could be sent; ``failing``: the connection broke, or the source says "not now";
            ``slow``: there was no answer in time; ``changed``: a tool is not what its description says.
        tool: the tool that was called.
        at: when, by the clock.
    """

    state: Literal["unreachable", "failing", "slow", "changed"]
    tool: str
    at: float


class SourceHealth:
    """The last failure of each source that is not of its caller's making. Safe to use from many threads."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures: LRUCache[tuple[str, str], Trouble] = LRUCache(_MAX_FAILURES)
        self._lock = threading.Lock()

    def record_failure(self, tool: Tool, error: CallError) -> None:
        """Report that a call of ``tool`` failed. What the caller or the tool alone can cause does not count."""
        state = _state_of(error)
        if state is not None:
            key = tool.source, tool.name if state == "changed" else ""
            with self._lock:
                self._failures[key] = Trouble(state, tool.name, self._clock())

    def record_success(self, tool: Tool) -> None:
        """Report that the source of ``tool`` has answered a call."""
        with self._lock:
            for name in ("", tool.name):
                self._failures.pop((tool.source, name), None)

    def troubles(self) -> Mapping[str, Trouble]:
        """Return id of a source → what is wrong with it, for those whose last call failed not long ago."""
        now = self._clock()
        with self._lock:
            recent = [(key, one) for key, one in self._failures.items() if 0 <= now - one.at <= KEPT_S]
        # What holds for all tools of a source comes before what holds for one.
        return {source: one for (source, _), one in sorted(recent, key=lambda item: item[0][1] == "")}


def _state_of(error: CallError) -> Literal["unreachable", "failing", "slow", "changed"] | None:
    if isinstance(error, SourceChanged):
        return "changed"
    if isinstance(error, NotSent):
        return "unreachable"
    if isinstance(error, ConnectionFailed):
        return "failing"
    return "slow" if isinstance(error, UpstreamTimeout) else None
