"""Send a call to its source: wait for the turn of its API key, send, parse, and retry what may succeed then.

Ours, because the retries of HTTP libraries know no total deadline, sleep where it cannot be seen, and cannot tell an
empty or refusing response of status 200 from data.

A source that cannot be reached is not called for a while: a circuit breaker lets calls to it fail at once. Ours too,
because the one in Powertools keeps its state in DynamoDB, which a laptop does not have. Here the state belongs to the
process: each Lambda environment finds out for itself. Failures count that no caller can cause, before
anything was sent: what fails after a request was sent may depend on its API key and its arguments.

Limits hold per API key and address that it is sent to; both are known by one hash. What the plan of a key allows is
learned from the upstream's refusals, or set by the operator. Our own count alone refuses no call unless the operator
set a limit, since some plans have none and nothing distinguishes their keys.

- Daily quota used up: the key is refused at once until the quota is reset (``SourceAdapter.quota_resets_at``). In case
  that is another hour, or the plan was changed, one call is let through every ``TOOLFOLD_QUOTA_RECHECK_S`` seconds.
- Too many calls in a second: calls with the key are spaced from then on, for a day.
- Too many calls in a minute: refused for as long as the upstream stated.
"""

from __future__ import annotations

import json
import math
import os
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from cachetools import LRUCache

from toolfold.cache.stores import MAX_CLOCK_SKEW_S, CacheStore, increment
from toolfold.errors import CallCancelled, CallError, RateLimited, UpstreamError, UpstreamTimeout
from toolfold.messages import DAY_USED_UP, WAIT, WAIT_IN_TURN
from toolfold.network.errors import NotSent
from toolfold.redaction import MIN_KEY_CHARS, Redactor
from toolfold.sources.base import Retryable
from toolfold.wording import from_data, mapped, to_data

if TYPE_CHECKING:
    from toolfold.cache.response_cache import MemoryStore
    from toolfold.cache.stores import FailSafeStore
    from toolfold.catalog.entries import Source
    from toolfold.client_call import Clock
    from toolfold.execution.call import CallContext
    from toolfold.models import ParsedResponse
    from toolfold.settings import Settings
    from toolfold.sources.base import SourceAdapter


T = TypeVar("T")


class Circuit(NamedTuple):
    """A circuit breaker at one moment, and the seconds until a call may be made.

    ``half-open``: calls pass, and the first result counts. They do not wait for a trial, which may be slow.
    """

    state: Literal["closed", "open", "half-open"] = "closed"
    wait_s: float = 0.0


class CircuitBreaker:
    """The circuit breaker of a source. Safe to use from many threads.

    Args:
        max_failures: failures in a row that open it. Any other result closes it.
        cooldown_s: seconds for which it stays open.
        clock: a monotonic clock.
    """

    def __init__(self, max_failures: int, cooldown_s: float, clock: Callable[[], float]) -> None:
        self._max_failures, self._cooldown_s, self._clock = max_failures, cooldown_s, clock
        self._failures, self._open_until = 0, 0.0
        self._lock = threading.Lock()

    def find(self) -> Circuit:
        """Return its state."""
        with self._lock:
            if self._failures < self._max_failures:
                return Circuit()
            left_s = self._open_until - self._clock()
        # At most the cooldown: the clock of an environment that was suspended may return to an earlier time.
        return Circuit("open", max(1.0, left_s)) if 0 < left_s <= self._cooldown_s else Circuit("half-open")

    def record(self, *, is_failure: bool) -> None:
        """Report the result of a call."""
        with self._lock:
            self._failures = self._failures + 1 if is_failure else 0
            self._open_until = self._clock() + self._cooldown_s


DAY_S = 86400
_DAILY_FROM_S = DAY_S
"""A refusal for this long or longer means that the daily quota is used up."""

_REFRESH_S = 15.0
"""Age at which the state of a key is read from the shared store again, to see what other processes learned."""

_MAX_KEYS = 20_000
"""Keys whose refusals and counters are kept in memory, about 15 MB. A public endpoint sees many, which a client can
make up; the ones used least recently are dropped. A refusal that is dropped costs one request to learn it again."""

_SLOT_SKEW_S = 5.0
"""How far the clocks of machines that share slots may differ."""

_PER_SECOND, _PER_DAY = re.compile(r"(\d+) per second"), re.compile(r"(\d+) per day")


@dataclass(frozen=True)
class KeyState:
    """What is known about an API key. Times are seconds since 1970.

    Attributes:
        blocked_until: no call is sent before.
        resets_at: when the refusal should be over.
        refusal: what is wrong and the next step, as the upstream's refusal says, by ``wording.to_data``; and the limit.
        spaced_until: until then there are ``interval_s`` seconds between two calls.
    """

    blocked_until: float = 0.0
    resets_at: float = 0.0
    refusal: tuple[Any, Any, str | None] = ("", "", None)
    spaced_until: float = 0.0
    interval_s: float = 0.0
    updated_at: float = 0.0


_UNKNOWN = KeyState()


class RateLimiter:
    """Count, delay and refuse the calls to one source, in ``memory`` and in what all processes share.

    ``quota_resets_at`` takes a time and returns when the daily quota that holds then is reset.
    """

    def __init__(
        self,
        source_title: str,
        quota_resets_at: Callable[[float], float],
        settings: Settings,
        memory: MemoryStore,
        shared: FailSafeStore[CacheStore] | None,
        clock: Clock,
    ) -> None:
        self._source_title, self._quota_resets_at, self._settings = source_title, quota_resets_at, settings
        self._memory, self._shared, self._clock = memory, shared, clock
        self._states: LRUCache[str, KeyState] = LRUCache(_MAX_KEYS)
        self._read_at: LRUCache[str, float] = LRUCache(_MAX_KEYS)
        self._usage: LRUCache[str, tuple[float, int]] = LRUCache(_MAX_KEYS)
        self._lock = threading.Lock()

    def acquire(self, key_id: str, deadline: float) -> float:
        """Wait until one request with this key may be sent, count it, and return the seconds waited.

        Raises:
            RateLimited: the request cannot succeed, or its turn is too far away.
        """
        now = self._clock.now()
        state = self._state(key_id, now)
        if state.blocked_until > now:
            raise self._refusal(state, key_id, now)
        interval_s = state.interval_s if state.spaced_until > now else 0.0
        if self._settings.requests_per_second:
            interval_s = max(interval_s, 1 / self._settings.requests_per_second)
        waited_s = self._wait_for_slot(key_id, interval_s, deadline) if interval_s else 0.0
        # Of all processes where they share a store.
        now, limit = self._clock.now(), self._settings.requests_per_day
        resets_at = self._quota_resets_at(now)
        total = self._run(lambda store: increment(store, f"usage/{key_id}/{resets_at:.0f}", now + 2 * DAY_S)) or 0
        with self._lock:
            day, count = self._usage.get(key_id, (resets_at, 0))
            count = max(count + 1 if day == resets_at else 1, total)
            self._usage[key_id] = resets_at, count
        if limit and count > limit:
            raise RateLimited(
                f"The {limit} calls that are allowed in a day are used up.",
                DAY_USED_UP,
                retry_after_s=_whole_seconds(resets_at - now),
                limit=f"{limit} per day",
                used=limit,
            )
        return waited_s

    def record_refusal(self, key_id: str, error: RateLimited) -> RateLimited:
        """Record what a refusal of the upstream says about the key; return the error to report."""
        now = self._clock.now()
        wait_s = float(error.details.get("retry_after_s", 60))
        limit = error.details.get("limit")
        refusal = (to_data(error.problem), to_data(error.next_step), limit)
        state = self._state(key_id, now)
        if wait_s > self._settings.max_queue_wait_s:
            resets_at = self._quota_resets_at(now) if wait_s >= _DAILY_FROM_S else now + wait_s
            blocked_until = min(resets_at, now + self._settings.quota_recheck_s)
            state = replace(state, blocked_until=blocked_until, resets_at=resets_at, refusal=refusal)
        else:
            rate = _PER_SECOND.match(limit or "")
            interval_s = 1 / int(rate[1]) if rate and int(rate[1]) else 1.0
            state = replace(state, spaced_until=now + DAY_S, interval_s=interval_s)
        state = replace(state, updated_at=now)
        with self._lock:
            self._states[key_id], self._read_at[key_id] = state, now
        blob = json.dumps(asdict(state)).encode()
        self._run(lambda store: store.put(f"limits/{key_id}", blob, now, now + DAY_S))
        if state.blocked_until <= now:
            return error
        # What the service says is for the caller of this call; the state of a key is shared.
        return self._refusal(state, key_id, now).changed(upstream_says=error.details.get("upstream_says"))

    def usage_today(self, key_id: str) -> int:
        """Return the number of requests with this key today, as far as this process knows."""
        with self._lock:
            day, count = self._usage.get(key_id, (0.0, 0))
        return count if day == self._quota_resets_at(self._clock.now()) else 0

    def quota_used_percent(self, key_id: str) -> float | None:
        """Return how much of its calls of the day this key has used; None where no limit is known."""
        with self._lock:
            state = self._states.get(key_id, _UNKNOWN)
        stated = _PER_DAY.match(state.refusal[2] or "")
        limit = self._settings.requests_per_day or (int(stated[1]) if stated else 0)
        if not limit:
            return None
        is_refused = stated is not None and state.blocked_until > self._clock.now()
        return 100.0 if is_refused else min(100.0, 100 * self.usage_today(key_id) / limit)

    def _refusal(self, state: KeyState, key_id: str, now: float) -> RateLimited:
        problem, next_step, limit = state.refusal
        details: dict[str, Any] = {"retry_after_s": _whole_seconds(state.resets_at - now)}
        if limit:
            details["limit"] = limit
        if state.resets_at - now > 60:
            details["used"] = self.usage_today(key_id)
        return RateLimited(from_data(problem), from_data(next_step), **details)

    def _wait_for_slot(self, key_id: str, interval_s: float, deadline: float) -> float:
        waited_s = 0.0
        while pause_s := self._acquire_slot(key_id, interval_s):
            if waited_s + pause_s > self._settings.max_queue_wait_s or self._clock.monotonic() + pause_s >= deadline:
                raise RateLimited(
                    f"Calls to {self._source_title} with this key wait for each other, and the queue is too long.",
                    WAIT_IN_TURN,
                    retry_after_s=_whole_seconds(waited_s + pause_s),
                    limit=f"{1 / interval_s:g} per second",
                )
            self._clock.sleep(pause_s)
            waited_s += pause_s
        return waited_s

    def _acquire_slot(self, key_id: str, interval_s: float) -> float:
        """Return 0 when this call may be sent, the next one ``interval_s`` later; else the seconds to wait."""
        key, now = f"slot/{key_id}", self._clock.now()
        free_at = self._run(lambda store: store.acquire_slot(key, now, now + interval_s))
        if free_at is None:
            free_at = self._memory.acquire_slot(key, now, now + interval_s)
        # A slot further away than the interval and the skew was taken by a machine whose clock is wrong.
        if not free_at or free_at - now > interval_s + _SLOT_SKEW_S:
            return 0.0
        return min(free_at - now, interval_s) + 0.001

    def _state(self, key_id: str, now: float) -> KeyState:
        with self._lock:
            state = self._states.get(key_id, _UNKNOWN)
            read_at = self._read_at.get(key_id, float("-inf"))
        if state.updated_at > now + MAX_CLOCK_SKEW_S:
            state = _UNKNOWN
        if self._shared is None or 0 <= now - read_at < _REFRESH_S:
            return state
        stored = self._run(lambda store: store.get(f"limits/{key_id}"))
        with suppress(ValueError, TypeError):  # of a damaged one
            shared = KeyState(**json.loads(stored or b"null"))
            times = (shared.blocked_until, shared.resets_at, shared.spaced_until, shared.interval_s, shared.updated_at)
            is_whole = len(shared.refusal) == 3 and all(map(math.isfinite, times))
            if is_whole and shared.updated_at <= now + MAX_CLOCK_SKEW_S:
                state = shared
        with self._lock:
            self._read_at[key_id] = now
            if state is not _UNKNOWN:  # keys of which nothing is known do not displace others
                self._states[key_id] = state
        return state

    def _run(self, operation: Callable[[CacheStore], T]) -> T | None:
        return None if self._shared is None else self._shared.run(operation)


def _whole_seconds(seconds: float) -> int:
    return max(1, math.ceil(seconds))


class Upstream:
    """Send the calls of one source, as its limiter and its circuit breaker allow. Safe to use from many threads."""

    def __init__(
        self, source: Source, adapter: SourceAdapter, limiter: RateLimiter, settings: Settings, clock: Clock
    ) -> None:
        self.source, self.adapter, self.endpoint = source, adapter, adapter.endpoint
        self._limiter, self._settings, self._clock = limiter, settings, clock
        self.breaker = CircuitBreaker(settings.breaker_failures, settings.breaker_cooldown_s, clock.monotonic)

    def fetch(self, call: CallContext) -> ParsedResponse:
        """Send a call and return the upstream's data.

        Raises:
            CallError: the outcome of the last request, or the circuit breaker is open.
        """
        self.adapter.check_call(call.tool, call.arguments, call.source_credentials)
        call.log.circuit_breaker, wait_s = self.breaker.find()
        if wait_s:
            raise UpstreamError(
                f"{self.source.title} cannot be reached, so calls to it are paused.",
                WAIT,
                retry_after_s=round(wait_s),
                retryable=True,
            )
        try:
            found = self._fetch(call)
        except CallError as error:
            # A time-out may have come before there was a connection; a limit or a cancellation says nothing either.
            is_failure, says_nothing = isinstance(error, NotSent), isinstance(error, UpstreamTimeout | CallCancelled)
            if is_failure or not (call.log.was_refused or says_nothing):
                self.breaker.record(is_failure=is_failure)
            raise
        self.breaker.record(is_failure=False)
        return found

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
