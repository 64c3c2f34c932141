"""Limits of calls: those of a source, known before they are hit, and those of each caller.

Those of a source hold per API key and address that it is sent to; both are known by one hash.

What the plan of a key allows is learned from the upstream's refusals, or set by the operator. Our own count alone
refuses no call unless the operator set a limit, since some plans have none and nothing distinguishes their keys.

- Daily quota used up: the key is refused at once until the quota is reset (``SourceAdapter.quota_resets_at``). In case
  that is another hour, or the plan was changed, one call is let through every ``TOOLFOLD_QUOTA_RECHECK_S`` seconds.
- Too many calls in a second: calls with the key are spaced from then on, for a day.
- Too many calls in a minute: refused for as long as the upstream stated.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import re
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from cachetools import LRUCache

from toolfold.cache.response_cache import MemoryStore
from toolfold.cache.stores import MAX_CLOCK_SKEW_S, CacheStore, increment
from toolfold.client_call import iso_time
from toolfold.errors import ClientLimit, RateLimited
from toolfold.messages import DAY_USED_UP, WAIT, WAIT_IN_TURN
from toolfold.wording import from_data, to_data

if TYPE_CHECKING:
    from toolfold.cache.stores import FailSafeStore
    from toolfold.catalog.entries import Source
    from toolfold.client_call import Clock
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.settings import Settings


T = TypeVar("T")

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
        count, limit = self._count(key_id), self._settings.requests_per_day
        if limit and count > limit:
            raise RateLimited(
                f"The {limit} calls that are allowed in a day are used up.",
                DAY_USED_UP,
                retry_after_s=_whole_seconds(self._quota_resets_at(now) - now),
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

    def _count(self, key_id: str) -> int:
        """Count one more request, and return today's: of all processes where they share a store."""
        now = self._clock.now()
        resets_at = self._quota_resets_at(now)
        total = self._run(lambda store: increment(store, f"usage/{key_id}/{resets_at:.0f}", now + 2 * DAY_S)) or 0
        with self._lock:
            day, count = self._usage.get(key_id, (resets_at, 0))
            count = max(count + 1 if day == resets_at else 1, total)
            self._usage[key_id] = resets_at, count
            return count

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


MINUTE_S = 60

_KEPT_S = 3600
"""Seconds for which the counters of a day are kept after it, for machines whose clocks are slow."""

_REMOVED_MINUTES = range(2, 12)
"""Counters of so many minutes ago are deleted by each write, so that the item of a caller stays below 1 KB, which is
what one write unit covers. That of the previous minute stays, for machines whose clocks are slow."""

_MAX_REFUSED = 20_000
"""Windows known to be used up, about 4 MB. One that is dropped costs a write to learn it again."""


class _Window(NamedTuple):
    """A counter: its name, what it counts, its limit, and when it ends in seconds since 1970."""

    name: str
    unit: str
    limit: int
    ends_at: float


class ClientLimits:
    """Count the calls of each caller and refuse those above the limits. Safe to use from many threads.

    Windows are fixed: minutes of the clock, and days of UTC. A counter per window is exact with one conditional write,
    and states when the caller may go on. Its price is that of a token bucket of the same size: at most twice the limit
    in 60 seconds that lie in two minutes. A call that is answered from the cache counts for the minute, as it takes
    computing time, but not for the day, and is possible when the day is used up.

    While the shared store fails, each process counts alone: callers can make more calls, but no call fails for it.
    """

    def __init__(self, settings: Settings, shared: FailSafeStore[CacheStore] | None, clock: Clock) -> None:
        self._per_minute, self._per_day = settings.calls_per_minute, settings.calls_per_day
        self._shared, self._clock = shared, clock
        self._own = MemoryStore(0)
        self._used_up: LRUCache[str, int] = LRUCache(_MAX_REFUSED)
        self._lock = threading.Lock()

    def admit(self, caller: str, *, is_cached: bool) -> None:
        """Count a call of :func:`caller_id`, or refuse it; ``is_cached``: nothing needs to be sent for it.

        Raises:
            ClientLimit: the caller has made as many calls as it may; says when it may go on.
        """
        now = self._clock.now()
        minute, day = now // MINUTE_S, now // DAY_S
        windows = []
        if self._per_minute:
            windows.append(_Window(f"m{minute:.0f}", "minute", self._per_minute, (minute + 1) * MINUTE_S))
        if self._per_day and not is_cached:
            windows.append(_Window("day", "day", self._per_day, (day + 1) * DAY_S))
        if not windows:
            return
        key = f"clients/{caller}/{day:.0f}"
        # What is used up stays so until the window ends: a client in a loop costs no further writes.
        with self._lock:
            before = {window.name: self._used_up.get(f"{key}/{window.name}", 0) for window in windows}
        if all(before[window.name] < window.limit for window in windows):
            before = dict(self._count(key, windows, now))
        refused = [window for window in windows if before[window.name] >= window.limit]
        if refused:
            with self._lock:
                self._used_up.update({f"{key}/{window.name}": before[window.name] for window in refused})
            window = max(refused, key=lambda window: window.ends_at)
            raise ClientLimit(
                f"The {window.limit} calls that one client may make here in a {window.unit} are used up.",
                DAY_USED_UP if window.unit == "day" else WAIT,
                retry_after_s=_whole_seconds(window.ends_at - now),
                resets_at=iso_time(window.ends_at),
                limit=f"{window.limit} per {window.unit}",
                used=window.limit,
            )

    def _count(self, key: str, windows: list[_Window], now: float) -> Mapping[str, int]:
        limits = {window.name: window.limit for window in windows}
        minute = now // MINUTE_S
        over = [f"m{minute - ago:.0f}" for ago in _REMOVED_MINUTES] if self._per_minute else []
        expires_at = (now // DAY_S + 1) * DAY_S + _KEPT_S
        shared = None
        if self._shared is not None:
            shared = self._shared.run(lambda store: store.count_within(key, limits, expires_at, over))
        if shared is not None and any(shared[name] >= limit for name, limit in limits.items()):
            return shared
        # Counted here as well: this process knows what it has admitted while the shared store fails, and afterwards.
        own = self._own.count_within(key, limits, expires_at, over)
        return own if shared is None else {name: max(own[name], count) for name, count in shared.items()}


def caller_id(source: Source, credentials: RequestCredentials, salt: str) -> str:
    """Return the salted hash that stands for the caller of a call to ``source``.

    It is of the first of these that there is: the principal of the access token, or of AWS that signed the request; the
    API key, where the source is called with it; the address, of IPv6 the network (/64), whose addresses one machine can
    use in turn. A key that the source does not take makes no other caller: otherwise a made-up key for each call would
    pass any limit.
    """
    takes_key = source.auth is not None and source.auth.caller_key
    if credentials.caller:
        kind, name = "token", credentials.caller
    elif takes_key and (key := credentials.named.get(source.id, "").strip() or credentials.first()):
        kind, name = "key", key
    else:
        kind, name = "address", _network(credentials.address)
    secret = f"toolfold {salt}".encode(errors="surrogatepass")
    message = f"caller\0{kind}\0{name}".encode(errors="surrogatepass")
    return hmac.new(secret, message, hashlib.sha256).hexdigest()[:32]


def _network(address: str) -> str:
    if ":" not in address:
        return address
    from ipaddress import IPv6Network, ip_address

    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    mapped = getattr(found, "ipv4_mapped", None)
    return str(mapped or IPv6Network((int(found), 64), strict=False))
