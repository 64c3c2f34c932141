"""The last calls and requests of this process, for the page."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolfold.execution.call_log import CallLog
    from toolfold.protocol.http import LogFields

__all__ = ["MAX_CALLS", "CallFeed"]

MAX_CALLS = 1_000
"""Calls that are kept. A page that is open reads each within a second or two."""


class CallFeed:
    """Keep the last calls and requests in memory. Several threads may add to it."""

    def __init__(self) -> None:
        self.calls: deque[CallLog] = deque(maxlen=MAX_CALLS)
        self.requests: deque[LogFields] = deque(maxlen=MAX_CALLS)

    def record_call(self, call: CallLog) -> None:
        """Add a call of a tool that has ended."""
        self.calls.append(call)

    def record_request(self, fields: LogFields) -> None:
        """Add an answered MCP request, as its log line describes it."""
        self.requests.append(fields)
