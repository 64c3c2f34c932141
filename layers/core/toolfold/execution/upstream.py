"""One source as the executor uses it: its adapter, and what protects the source and its callers from failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolfold.errors import CallCancelled, CallError, UpstreamError, UpstreamTimeout
from toolfold.execution.circuit_breaker import CircuitBreaker, CircuitBreakers
from toolfold.messages import WAIT_OR_TELL
from toolfold.sources.errors import NotSent

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source
    from toolfold.execution.call_log import CallLog
    from toolfold.execution.clock import Clock
    from toolfold.execution.retry import Request, RetryingClient
    from toolfold.models import ParsedResponse
    from toolfold.settings import Settings
    from toolfold.sources.base import SourceAdapter


class Upstream:
    """Send the calls of one source, unless a circuit breaker is open. Safe to use from many threads.

    Attributes:
        source: the source.
        adapter: reaches it.
        breaker: counts failures that are the same for every caller.
        call_breakers: count the others, for each call and API key.
    """

    def __init__(
        self, source: Source, adapter: SourceAdapter, client: RetryingClient, settings: Settings, clock: Clock
    ) -> None:
        self.source, self.adapter, self._client = source, adapter, client
        limits = settings.breaker_failures, settings.breaker_cooldown_s, clock.monotonic
        self.breaker, self.call_breakers = CircuitBreaker(*limits), CircuitBreakers(*limits)

    def varies_by_key(self, request: Request, now: float) -> bool:
        """Return whether another API key may be given another response to a call."""
        quick = getattr(self.adapter, "varies_by_key", None)
        if quick is not None:
            return bool(quick(request.tool, request.arguments))
        return self.adapter.cache_policy(request.tool, request.arguments, now).varies_by_key

    def fetch(self, request: Request, key: str, log: CallLog) -> ParsedResponse:
        """Send a call and return the upstream's data.

        Args:
            request: the call.
            key: the cache key of the call, for its API key alone.
            log: of the call.

        Raises:
            CallError: the outcome of the last request, or the circuit breaker is open.
        """
        self.adapter.check_call(request.tool, request.arguments, request.credentials)
        self._check_breakers(key, log)
        try:
            found = self._client.fetch(request, log)
        except CallError as error:
            self._record_failure(key, error, log)
            self._log_state(key, log)
            raise
        self.breaker.record_success()
        self.call_breakers.record_success(key)
        return found

    def _check_breakers(self, key: str, log: CallLog) -> None:
        self._log_state(key, log)
        source_wait_s, call_wait_s = self.breaker.wait_s, self.call_breakers.get(key).wait_s
        if source_wait_s or call_wait_s:
            paused = "calls to it are" if source_wait_s else "this call is"
            raise UpstreamError(
                f"{self.source.title} keeps failing, so {paused} paused.",
                WAIT_OR_TELL.for_model,
                retry_after_s=round(max(source_wait_s, call_wait_s)),
                retryable=True,
            )

    def _record_failure(self, key: str, error: CallError, log: CallLog) -> None:
        if isinstance(error, CallCancelled):
            return  # it says nothing about the source
        if isinstance(error, NotSent):
            self.breaker.record_failure()
        elif not log.was_refused:
            if not isinstance(error, UpstreamTimeout):  # which may have come before there was a connection
                self.breaker.record_success()
            if isinstance(error, UpstreamError | UpstreamTimeout) and error.details.get("retryable"):
                self.call_breakers.record_failure(key)
            else:
                self.call_breakers.record_success(key)

    def _log_state(self, key: str, log: CallLog) -> None:
        state = self.breaker.state
        log.circuit_breaker = state if state != "closed" else self.call_breakers.get(key).state
