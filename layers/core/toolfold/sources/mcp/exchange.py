"""What one request of the SDK's client met on its way: the SDK itself reports every failure as the same error.

The task that makes a request sets :data:`current_exchange`. The transports of this package run in a copy of its
context, and note there what they see.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolfold.network.errors import TransportError

__all__ = ["Exchange", "current_exchange"]


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


current_exchange: ContextVar[Exchange | None] = ContextVar("current_exchange", default=None)
