"""What a request or a connection met on its way: the SDK's client itself reports every failure as the same error.

The task that makes a request sets :data:`current_exchange`. The transports of this package run in a copy of its
context, and note there what they see.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolfold.network.errors import TransportError

__all__ = ["Exchange", "StreamState", "current_exchange"]


@dataclass
class Exchange:
    """One request and its response.

    Attributes:
        fault: why there is no complete response; None: there is one, or the transport is stdio.
        status: HTTP status of the response; 0: none arrived, or the transport is stdio.
        retry_after_s: seconds that ``Retry-After`` names.
        has_session: whether the request named a session of an earlier response.
    """

    fault: TransportError | None = None
    status: int = 0
    retry_after_s: int | None = None
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
