"""Failures after which a retry may help.

::

    CallError
    ├── UpstreamError
    │   └── ConnectionFailed (Retryable)   no connection, a connection that broke, or a response that says "not now"
    └── UpstreamTimeout
        └── ConnectTimeout (Retryable)     no connection in time
"""

from __future__ import annotations

from toolfold.errors import UpstreamError, UpstreamTimeout


class Retryable:
    """Mark an error after which a retry may help.

    Attributes:
        retry_after_s: seconds to wait where the upstream named them.
    """

    retry_after_s: float | None = None


class ConnectionFailed(Retryable, UpstreamError):
    """No connection, a connection that broke, or a response that says "not now"."""


class ConnectTimeout(Retryable, UpstreamTimeout):
    """No connection in time."""
