"""From a call that has to be made to the upstream's data: the turn of its key, the request, and another try.

HTTP clients have retries of their own; they know no deadline, sleep unseen, and take an empty answer for an answer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolfold.errors import CallError, RateLimited
from toolfold.sources.errors import Retryable
from toolfold.sources.http_api import faults

if TYPE_CHECKING:
    from toolfold.catalog.model import Source, Tool
    from toolfold.execution.call_log import CallLog
    from toolfold.execution.rate_limiter import RateLimiter
    from toolfold.models import ResultKind, UpstreamResponse
    from toolfold.settings import Settings

    Backend = Callable[["Source", "Tool", Mapping[str, Any], str, "Settings", float], "UpstreamResponse"]


@dataclass(frozen=True)
class Request:
    """One call to be made. ``key`` is the API key itself, ``key_id`` its hash; ``deadline`` is monotonic."""

    source: Source
    tool: Tool
    arguments: Mapping[str, Any]
    key: str
    key_id: str
    deadline: float


def _of_the_kernel() -> float:
    """From 0 to 1. Not from ``random``, whose state copies of one snapshot share: they would pause alike."""
    return os.urandom(1)[0] / 255


class RetryingClient:
    """Makes requests through ``backend``, each when ``limits`` lets it. Clocks can be replaced."""

    def __init__(
        self,
        backend: Backend,
        limits: RateLimiter,
        settings: Settings,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = _of_the_kernel,
    ) -> None:
        self._backend, self._limits, self._settings = backend, limits, settings
        self._monotonic, self._sleep, self._jitter = monotonic, sleep, jitter

    def fetch(self, request: Request, story: CallLog) -> tuple[ResultKind, str]:
        """The kind and the text of the upstream's data, by one request or a few.

        Repeated is what may pass by itself: no connection, a connection that broke, 502, 503, 504, an empty answer,
        and "too fast" once. Everything else would only fail again.

        Raises:
            CallError: what the last request met.
        """
        slowed, attempt = False, 0
        while True:
            story.refused = True
            story.waited_s += self._limits.admit(request.source.title, request.key_id, request.deadline)
            story.refused = False
            try:
                return self._once(request, story)
            except RateLimited as error:
                refusal = self._limits.learn(request.key_id, error)
                pause = float(refusal.details.get("retry_after_s", self._settings.max_queue_wait_s + 1))
                if slowed or not self._may_wait(pause, request.deadline):
                    raise refusal from None
                slowed = True
            except CallError as error:
                if not isinstance(error, Retryable) or attempt >= self._settings.retries:
                    raise
                pause = self._pause(error, attempt)
                if not self._may_wait(pause, request.deadline):
                    raise
                attempt += 1
            self._sleep(pause)
            story.waited_s += pause

    def _once(self, request: Request, story: CallLog) -> tuple[ResultKind, str]:
        story.requests += 1
        started = self._monotonic()
        try:
            reply = self._backend(
                request.source, request.tool, request.arguments, request.key, self._settings, request.deadline
            )
        finally:
            story.upstream_s += self._monotonic() - started
        return faults.parse_response(request.source, request.tool, request.arguments, reply, request.key)

    def _pause(self, error: Retryable, attempt: int) -> float:
        # Between half and all of it, so that those who failed together do not come back together.
        backoff = self._settings.retry_backoff_s * 2.0**attempt * (0.5 + self._jitter() / 2)
        return max(backoff, error.pause_s or 0.0)

    def _may_wait(self, pause: float, deadline: float) -> bool:
        return pause <= self._settings.max_queue_wait_s and self._monotonic() + pause < deadline
