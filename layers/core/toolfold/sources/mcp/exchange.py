"""What a request or a connection met on its way: the SDK's client itself reports every failure as the same error.

The task that makes a request sets :data:`current_exchange`. The transports of this package run in a copy of its
context, and note there what they see.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from toolfold.network.errors import ResponseTooLarge, TransportError

__all__ = ["MAX_BLOCKS", "MAX_CONTAINERS", "Exchange", "PartLimit", "StreamState", "TooManyParts", "current_exchange"]

MAX_BLOCKS = 50_000
"""Content blocks of one message, counted as members called ``type``. The SDK makes an object of 2 KB of each, in a
parser that nothing can interrupt: 25 MB of them take 1.4 GB."""

MAX_CONTAINERS = 500_000
"""Objects and lists of one message; 25 MB of rows have half as many."""


class TooManyParts(ResponseTooLarge):
    """A message has so many small parts that they take far more memory than its bytes."""


class PartLimit:
    """Counts the parts of one message."""

    def __init__(self) -> None:
        self._blocks, self._containers = MAX_BLOCKS, MAX_CONTAINERS

    def is_exceeded_by(self, data: bytes) -> bool:
        """Count the next bytes of the message, and return whether it has too many parts."""
        self._blocks -= data.count(b'"type"')
        self._containers -= data.count(b"{") + data.count(b"[")
        return min(self._blocks, self._containers) < 0


@dataclass
class Exchange:
    """One request and its response.

    Attributes:
        fault: why there is no complete response; None: there is one, or the transport is stdio.
        status: HTTP status of the response; 0: none arrived, or the transport is stdio.
        retry_after_s: seconds that ``Retry-After`` names.
        location: where a redirect leads, without its query; empty: the response is not one.
        has_session: whether the request named a session of an earlier response.
    """

    fault: TransportError | None = None
    status: int = 0
    retry_after_s: int | None = None
    location: str = ""
    has_session: bool = False


@dataclass
class StreamState:
    """What is known of the stream that a child or a server sends its messages on.

    Attributes:
        fault: why it cannot be read any further; None: it can.
        is_ended: whether it has ended.
        stray_lines: lines of a child's stdout that are not JSON.
    """

    fault: TransportError | None = None
    is_ended: bool = False
    stray_lines: int = 0


current_exchange: ContextVar[Exchange | None] = ContextVar("current_exchange", default=None)
