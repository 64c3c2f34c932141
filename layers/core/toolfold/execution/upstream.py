"""Send a call to its source: wait for the turn of its API key, send, parse, and retry what may succeed then.

Ours, because the retries of HTTP libraries know no total deadline, sleep where it cannot be seen, and cannot tell an
empty or refusing response of status 200 from data.

What keeps failing is not called for a while: a circuit breaker lets calls to it fail at once. Ours too, because the one
in Powertools keeps its state in DynamoDB, which a laptop does not have. Here the state belongs to the process: each
Lambda environment finds out for itself, after a few failures. Each source has a breaker, which counts failures that no
caller can cause: those before anything was sent. What fails after a request was sent may depend on its API key and its
arguments, and counts against the same call with the same key.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from cachetools import LRUCache

from toolfold.errors import CallCancelled, CallError, RateLimited, UpstreamError, UpstreamTimeout
from toolfold.messages import WAIT_OR_TELL
from toolfold.network.errors import NotSent
from toolfold.redaction import MIN_KEY_CHARS, Redactor
from toolfold.sources.base import Retryable
from toolfold.wording import mapped

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source
    from toolfold.client_call import Clock
    from toolfold.execution.call import CallContext
    from toolfold.execution.limits import RateLimiter
    from toolfold.models import ParsedResponse
    from toolfold.settings import Settings
    from toolfold.sources.base import SourceAdapter


_MAX_CALLS = 10_000
"""Calls whose failures are kept. One that is dropped costs another request."""

OF_SOURCE = ""
"""The key of the breaker of all calls of a source; those of single calls have cache keys."""


class Circuit(NamedTuple):
    """A circuit breaker at one moment, and the seconds until a call may be made.

    ``half-open``: calls pass, and the first result counts. They do not wait for a trial, which may be slow.
    """

    state: Literal["closed", "open", "half-open"] = "closed"
    wait_s: float = 0.0


class CircuitBreakers:
    """The circuit breakers of what failed last, by key. Safe to use from many threads.

    Args:
        max_failures: failures in a row that open one. Any success closes it.
        cooldown_s: seconds for which it stays open.
        clock: a monotonic clock.
    """

    def __init__(self, max_failures: int, cooldown_s: float, clock: Callable[[], float]) -> None:
        self._max_failures, self._cooldown_s, self._clock = max_failures, cooldown_s, clock
        self._failed: LRUCache[str, tuple[int, float]] = LRUCache(_MAX_CALLS)
        self._lock = threading.Lock()

    def find(self, key: str) -> Circuit:
        """Return the circuit breaker of ``key``; a closed one where nothing has failed."""
        with self._lock:
            failures, open_until = self._failed.get(key, (0, 0.0))
        if failures < self._max_failures:
            return Circuit()
        left_s = open_until - self._clock()
        # At most the cooldown: the clock of an environment that was suspended may return to an earlier time.
        return Circuit("open", max(1.0, left_s)) if 0 < left_s <= self._cooldown_s else Circuit("half-open")

    def record_success(self, *keys: str) -> None:
        """Report that a call succeeded."""
        with self._lock:
            for key in keys:
                self._failed.pop(key, None)

    def record_failure(self, key: str) -> None:
        """Report that a call failed."""
        with self._lock:
            failures, _ = self._failed.get(key, (0, 0.0))
            self._failed[key] = failures + 1, self._clock() + self._cooldown_s


class Upstream:
    """Send the calls of one source, as its limiter and its circuit breakers allow. Safe to use from many threads.

    ``breakers`` count failures that are the same for every caller as those of the source, and the others for each call
    and API key.
    """

    def __init__(
        self, source: Source, adapter: SourceAdapter, limiter: RateLimiter, settings: Settings, clock: Clock
    ) -> None:
        self.source, self.adapter, self.endpoint = source, adapter, adapter.endpoint
        self._limiter, self._settings, self._clock = limiter, settings, clock
        self.breakers = CircuitBreakers(settings.breaker_failures, settings.breaker_cooldown_s, clock.monotonic)

    def fetch(self, call: CallContext) -> ParsedResponse:
        """Send a call and return the upstream's data.

        Raises:
            CallError: the outcome of the last request, or the circuit breaker is open.
        """
        self.adapter.check_call(call.tool, call.arguments, call.source_credentials)
        of_source, of_call = self._circuits(call)
        if of_source.wait_s or of_call.wait_s:
            paused = "calls to it are" if of_source.wait_s else "this call is"
            raise UpstreamError(
                f"{self.source.title} keeps failing, so {paused} paused.",
                WAIT_OR_TELL,
                retry_after_s=round(max(of_source.wait_s, of_call.wait_s)),
                retryable=True,
            )
        try:
            found = self._fetch(call)
        except CallError as error:
            self._record_failure(call, error)
            self._circuits(call)
            raise
        self.breakers.record_success(OF_SOURCE, call.own_key)
        return found

    def _circuits(self, call: CallContext) -> tuple[Circuit, Circuit]:
        """Return the breakers of the source and of the call, and log the first that is not closed."""
        of_source, of_call = self.breakers.find(OF_SOURCE), self.breakers.find(call.own_key)
        call.log.circuit_breaker = of_call.state if of_source.state == "closed" else of_source.state
        return of_source, of_call

    def _record_failure(self, call: CallContext, error: CallError) -> None:
        if isinstance(error, CallCancelled):
            return  # it says nothing about the source
        if isinstance(error, NotSent):
            self.breakers.record_failure(OF_SOURCE)
        elif not call.log.was_refused:
            if not isinstance(error, UpstreamTimeout):  # which may have come before there was a connection
                self.breakers.record_success(OF_SOURCE)
            if isinstance(error, UpstreamError | UpstreamTimeout) and error.details.get("retryable"):
                self.breakers.record_failure(call.own_key)
            else:
                self.breakers.record_success(call.own_key)

    def _fetch(self, call: CallContext) -> ParsedResponse:
        """Return the upstream's data, or raise the outcome of the last request, without the keys of the call.

        Retried are: no connection, a broken connection, status 408, 425 and 502 to 504, an empty response; and once a
        refusal because requests came too fast. Everything else would fail again. Only a tool that reads is sent more
        than once: after a broken connection it is unknown whether a write took effect.
        """
        log, is_read = call.log, call.tool.effect == "read"
        was_slowed, attempt = False, 0
        while True:
            log.was_refused = True
            try:
                log.wait_s += self._limiter.acquire(call.key_id, call.ends_at)
            finally:
                log.quota_used_percent = self._limiter.quota_used_percent(call.key_id)
            log.was_refused = False
            try:
                return self._send(call)
            except RateLimited as error:
                refusal = self._limiter.record_refusal(call.key_id, error)
                pause_s = float(refusal.details.get("retry_after_s", self._settings.max_queue_wait_s + 1))
                if not is_read or was_slowed or not self._may_wait(pause_s, call.ends_at):
                    raise refusal from None
                was_slowed = True
            except CallError as error:
                if not is_read or not isinstance(error, Retryable) or attempt >= self._settings.retries:
                    raise
                # Half of it is random, so that calls that failed together are not retried together. It is not from the
                # module random, whose state all copies of one snapshot share.
                backoff_s = self._settings.retry_backoff_s * 2.0**attempt * (0.5 + os.urandom(1)[0] / 510)
                pause_s = max(backoff_s, float(error.details.get("retry_after_s", 0.0)))
                if not self._may_wait(pause_s, call.ends_at):
                    raise
                attempt += 1
            self._clock.sleep(pause_s)
            log.wait_s += pause_s

    def _send(self, call: CallContext) -> ParsedResponse:
        tool, arguments, credentials = call.tool, call.arguments, call.source_credentials
        call.log.requests += 1
        started = self._clock.monotonic()
        try:
            try:
                response = self.adapter.call(tool, arguments, credentials, call.ends_at)
            finally:
                call.log.upstream_s += self._clock.monotonic() - started
            return self.adapter.parse(tool, arguments, response, credentials)
        except CallError as error:  # it may quote the upstream
            # Its sentences are toolfold's or the catalog's, in which a short key is a word like any other.
            redact = Redactor(key for key in call.redactor.keys if len(key) >= MIN_KEY_CHARS).redact_text
            details = {
                name: value if isinstance(value, int | float) else call.redactor.redact_value(value)
                for name, value in error.details.items()
            }
            problem, next_step = mapped(error.problem, redact), mapped(error.next_step, redact)
            raise error.changed(problem=problem, next_step=next_step, **details) from error.__cause__

    def _may_wait(self, pause_s: float, deadline: float) -> bool:
        return pause_s <= self._settings.max_queue_wait_s and self._clock.monotonic() + pause_s < deadline
