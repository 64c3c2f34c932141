"""What a transport knows of the call that it runs: its deadline and trace, its cancellation, where its progress goes.

A transport puts a :class:`ClientCall` around a call (:func:`running`); a source adapter that waits for a server reads
it (:func:`current`). Threads that work for the same call take it over with ``contextvars.copy_context``.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, NamedTuple


class Clock(NamedTuple):
    """Three clocks that belong together.

    Attributes:
        now: the time of day, in seconds since 1970.
        monotonic: for deadlines.
        sleep: waits for some seconds.
    """

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def iso_time(seconds: float, *, has_ms: bool = False) -> str:
    """Return a time since 1970 as ISO 8601, in UTC.

    >>> iso_time(1.5), iso_time(1.5, has_ms=True)
    ('1970-01-01T00:00:01Z', '1970-01-01T00:00:01.500Z')
    """
    text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{text}.{int(seconds % 1 * 1000):03}Z" if has_ms else f"{text}Z"


SendProgress = Callable[[float, float | None, str], None]
"""Sends progress, total and message to the client."""

MAX_MESSAGE_CHARS = 300
"""Characters of a progress message that are passed on: it is text of a server, for one line of a window."""

MIN_INTERVAL_S = 0.1
"""Seconds between two notifications of one call. A server may send thousands."""


class ClientCall:
    """One call of a client, from its arrival to its answer. Safe to use from many threads.

    Args:
        send_progress: sends progress to the client; None: it has not requested it.
    """

    __slots__ = ("_callbacks", "_last", "_lock", "_send_progress", "_sent_at", "is_cancelled")

    def __init__(self, send_progress: SendProgress | None = None) -> None:
        self._send_progress = send_progress
        self._callbacks: list[Callable[[], object]] = []
        self._lock = threading.Lock()
        self._last, self._sent_at = -math.inf, -math.inf
        self.is_cancelled = False

    def cancel(self) -> None:
        """End the call: call what waits for a source, so that it stops."""
        with self._lock:
            self.is_cancelled = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    @contextmanager
    def on_cancel(self, callback: Callable[[], object]) -> Iterator[None]:
        """Call ``callback`` once if the call is cancelled inside the ``with`` statement, or was before."""
        with self._lock:
            is_late = self.is_cancelled
            if not is_late:
                self._callbacks.append(callback)
        if is_late:
            callback()
        try:
            yield
        finally:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

    def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Pass on the progress of a source. It must increase with each notification, says the specification."""
        now = time.monotonic()
        with self._lock:
            is_due = now - self._sent_at >= MIN_INTERVAL_S and math.isfinite(progress) and progress > self._last
            if self._send_progress is None or self.is_cancelled or not is_due:
                return
            self._last, self._sent_at = progress, now
        total = total if total is not None and math.isfinite(total) else None
        self._send_progress(progress, total, (message or "")[:MAX_MESSAGE_CHARS])


_current: ContextVar[ClientCall | None] = ContextVar("client_call", default=None)


def current() -> ClientCall:
    """Return the context of the call that this thread works for; a new one where the transport made none."""
    return _current.get() or ClientCall()


_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_TRACESTATE = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,511}")
_trace: ContextVar[Mapping[str, str]] = ContextVar("trace", default=MappingProxyType({}))


def trace_context() -> Mapping[str, str]:
    """Return ``traceparent`` and ``tracestate`` of the call that this thread works for; empty without them."""
    return _trace.get()


_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)


def deadline() -> float:
    """Return when the answer of this thread's request must be there, by the monotonic clock; infinite: it may wait."""
    return _deadline.get()


@contextmanager
def serving(deadline: float | None, traceparent: Any = None, tracestate: Any = None) -> Iterator[str]:
    """Serve a request of a client inside the ``with`` statement; yield the id of its trace, empty without one.

    Args:
        deadline: when its answer must be there, by the monotonic clock; None: it may wait.
        traceparent: of the W3C's Trace Context, as ``tracestate``. Both are passed on to sources. What is not of that
            form is treated as absent, says the specification.
        tracestate: see above.
    """
    is_known = isinstance(traceparent, str) and _TRACEPARENT.fullmatch(traceparent) is not None
    context = {"traceparent": traceparent} if is_known else {}
    if context and isinstance(tracestate, str) and _TRACESTATE.fullmatch(tracestate):
        context["tracestate"] = tracestate
    trace, due = _trace.set(context), _deadline.set(math.inf if deadline is None else deadline)
    try:
        yield traceparent.split("-")[1] if is_known else ""
    finally:
        _trace.reset(trace)
        _deadline.reset(due)


@contextmanager
def running(context: ClientCall) -> Iterator[None]:
    """Make ``context`` the one of what runs inside the ``with`` statement."""
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)
