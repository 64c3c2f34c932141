"""Failures that another try may well mend."""

from __future__ import annotations

from toolfold.errors import UpstreamError, UpstreamTimeout


class Retryable:
    """What such errors have in common. ``pause_s`` is how long the upstream asked to be left alone, where it did."""

    pause_s: float | None = None


class ConnectionFailed(Retryable, UpstreamError):
    """No connection, a connection that broke, or an answer that says "not now"."""


class ConnectTimeout(Retryable, UpstreamTimeout):
    """No connection was made in time."""
