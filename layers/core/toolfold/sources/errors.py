"""Failures of a request: those after which a retry may help, and those before it was sent.

::

    CallError
    ├── UpstreamError
    │   ├── ConnectionFailed (Retryable)           a connection that broke, or a response that says "not now"
    │   │   └── NotConnected (NotSent)             no connection
    │   └── ConnectionNotPossible (NotSent)        no connection, and a retry cannot help
    └── UpstreamTimeout
        └── ConnectTimeout (Retryable, NotSent)    no connection in time
"""

from __future__ import annotations

from toolfold.errors import UpstreamError, UpstreamTimeout


class Retryable:
    """Mark an error after which a retry may help.

    Attributes:
        retry_after_s: seconds to wait where the upstream named them.
    """

    retry_after_s: float | None = None


class NotSent:
    """Mark an error of a request that was not sent, for a reason that is the same for every caller.

    The upstream has received nothing of the caller's, so no caller can cause such an error. What comes after a request
    was sent may depend on its key and its arguments.
    """


class ConnectionFailed(Retryable, UpstreamError):
    """No connection, a connection that broke, or a response that says "not now"."""


class NotConnected(NotSent, ConnectionFailed):
    """No connection: DNS, TCP, TLS or the proxy failed."""


class ConnectionNotPossible(NotSent, UpstreamError):
    """No connection until the operator changes a setting: an address, a proxy or a file of certificates."""


class ConnectTimeout(NotSent, Retryable, UpstreamTimeout):
    """No connection in the time that a connection may take."""
