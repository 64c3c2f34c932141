"""Send a call to its source: wait for the turn of its API key, send, parse, and retry what may succeed then.

Ours, because the retries of HTTP libraries know no total deadline, sleep where it cannot be seen, and cannot tell an
empty or refusing response of status 200 from data.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolfold.errors import CallError, RateLimited
from toolfold.redaction import MIN_KEY_CHARS, Redactor
from toolfold.sources.errors import Retryable

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool
    from toolfold.execution.call_log import CallLog
    from toolfold.execution.clock import Clock
    from toolfold.execution.rate_limiter import RateLimiter
    from toolfold.models import ParsedResponse, SourceCredentials
    from toolfold.settings import Settings
    from toolfold.sources.base import SourceAdapter


@dataclass(frozen=True)
class Request:
    """A call to be sent.

    Attributes:
        source: the source of ``tool``.
        tool: the tool that is called.
        arguments: the validated arguments.
        credentials: the API key.
        key_id: the hash of the API key and of the address that it is sent to.
        deadline: when the result must be there, by the monotonic clock.
        known_keys: the API keys that a response of the upstream may repeat.
    """

    source: Source
    tool: Tool
    arguments: Mapping[str, Any]
    credentials: SourceCredentials
    key_id: str
    deadline: float
    known_keys: tuple[str, ...] = field(default=(), repr=False)

    @functools.cached_property
    def redactor(self) -> Redactor:
        """Replaces the keys of the call."""
        return Redactor(self.known_keys)


def _system_random() -> float:
    """Return a number from 0 to 1.

    Not from ``random``, whose state all copies of one snapshot share: they would all pause for the same time.
    """
    return os.urandom(1)[0] / 255


class RetryingClient:
    """Send calls through a source's adapter, as its rate limiter allows.

    Only a tool that reads is sent more than once: after a broken connection it is unknown whether a write took effect.
    """

    def __init__(
        self,
        adapter: SourceAdapter,
        limiter: RateLimiter,
        settings: Settings,
        clock: Clock,
        jitter: Callable[[], float] = _system_random,
    ) -> None:
        self._adapter, self._limiter, self._settings = adapter, limiter, settings
        self._clock, self._jitter = clock, jitter

    def fetch(self, request: Request, log: CallLog) -> ParsedResponse:
        """Return the upstream's data.

        Retried are: no connection, a connection that broke, status 502, 503 and 504, an empty response; and once a
        refusal because requests came too fast. Everything else would fail again.

        Raises:
            CallError: the outcome of the last request, without the keys of the call.
        """
        is_read = request.tool.effect == "read"
        was_slowed, attempt = False, 0
        while True:
            log.was_refused = True
            try:
                log.wait_s += self._limiter.acquire(request.key_id, request.deadline)
            finally:
                log.quota_used_percent = self._limiter.quota_used_percent(request.key_id)
            log.was_refused = False
            try:
                return self._send(request, log)
            except RateLimited as error:
                refusal = self._limiter.record_refusal(request.key_id, error)
                pause_s = float(refusal.details.get("retry_after_s", self._settings.max_queue_wait_s + 1))
                if not is_read or was_slowed or not self._may_wait(pause_s, request.deadline):
                    raise refusal from None
                was_slowed = True
            except CallError as error:
                if not is_read or not isinstance(error, Retryable) or attempt >= self._settings.retries:
                    raise
                pause_s = self._backoff(error, attempt)
                if not self._may_wait(pause_s, request.deadline):
                    raise
                attempt += 1
            self._clock.sleep(pause_s)
            log.wait_s += pause_s

    def _send(self, request: Request, log: CallLog) -> ParsedResponse:
        log.requests += 1
        started = self._clock.monotonic()
        try:
            try:
                response = self._adapter.call(request.tool, request.arguments, request.credentials, request.deadline)
            finally:
                log.upstream_s += self._clock.monotonic() - started
            return self._adapter.parse(request.tool, request.arguments, response, request.credentials)
        except CallError as error:
            _remove_keys(error, request)
            raise

    def _backoff(self, error: Retryable, attempt: int) -> float:
        # Half of it is random, so that calls that failed together are not retried together.
        backoff_s = self._settings.retry_backoff_s * 2.0**attempt * (0.5 + self._jitter() / 2)
        return max(backoff_s, error.retry_after_s or 0.0)

    def _may_wait(self, pause_s: float, deadline: float) -> bool:
        return pause_s <= self._settings.max_queue_wait_s and self._clock.monotonic() + pause_s < deadline


def _remove_keys(error: CallError, request: Request) -> None:
    """Change ``error`` to one without the keys: it may quote the upstream.

    Its sentences are toolfold's or the catalog's, in which a short key is a word like any other.
    """
    sentences = Redactor(key for key in request.known_keys if len(key) >= MIN_KEY_CHARS)
    error.message, error.suggestion = sentences.redact_text(error.message), sentences.redact_text(error.suggestion)
    error.args = (error.message,)
    error.details = {
        name: value if isinstance(value, int | float) else request.redactor.redact_value(value)
        for name, value in error.details.items()
    }
