"""Limits of each caller: calls per minute, and fetched calls per day.

A caller is known by the first of these that it has; only a salted hash of it is stored:

- the principal of its access token (issuer and subject), or of AWS that signed the request,
- the API key that it sends, where the source is called with that key,
- the address that its request came from; of IPv6 the network (/64), whose addresses one machine can use in turn.

A key that the source does not take makes no other caller: otherwise a made-up key for each call would pass any limit.
Calls with neither token nor key from one address share a limit, so that one of them cannot use up that of the others.

Windows are fixed: minutes of the clock, and days of UTC. A counter per window is exact with one conditional write, and
states when the caller may go on. Its price is that of a token bucket of the same size: at most twice the limit in 60
seconds that lie in two minutes.

A call that is answered from the cache counts for the minute, as it takes computing time, but not for the day, and is
possible when the day is used up. The write comes after the cache was read and before anything is sent upstream.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import math
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from cachetools import LRUCache

from toolfold.cache.memory import MemoryStore
from toolfold.errors import ClientLimit
from toolfold.messages import DAY_USED_UP, WAIT

if TYPE_CHECKING:
    from toolfold.cache.base import CacheStore, FailSafeStore
    from toolfold.catalog.entries import Source
    from toolfold.client_call import Clock
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.settings import Settings

__all__ = ["ClientLimits", "caller_id"]

MINUTE_S, DAY_S = 60, 86_400

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

    While the shared store fails, each process counts alone: callers can make more calls, but no call fails for it.

    Args:
        settings: the limits.
        shared: the counters of all processes; None: those of this process are all.
        clock: the clocks.
    """

    def __init__(self, settings: Settings, shared: FailSafeStore[CacheStore] | None, clock: Clock) -> None:
        self._per_minute, self._per_day = settings.calls_per_minute, settings.calls_per_day
        self._shared, self._clock = shared, clock
        self._own = MemoryStore(0)
        self._used_up: LRUCache[str, int] = LRUCache(_MAX_REFUSED)
        self._lock = threading.Lock()

    def admission(self, source: Source, credentials: RequestCredentials, salt: str) -> Callable[..., None]:
        """Return :meth:`admit` for the caller of a call to ``source``; see :func:`caller_id`."""
        return functools.partial(self.admit, caller_id(source, credentials, salt))

    def admit(self, caller: str, *, is_cached: bool) -> None:
        """Count a call, or refuse it.

        Args:
            caller: who calls, as :func:`caller_id` returns it.
            is_cached: whether the answer is there, and nothing needs to be sent.

        Raises:
            ClientLimit: the caller has made as many calls as it may; says when it may go on.
        """
        now = self._clock.now()
        windows = self._windows(now, is_cached)
        if not windows:
            return
        key = f"clients/{caller}/{now // DAY_S:.0f}"
        # What is used up stays so until the window ends: a client in a loop costs no further writes.
        with self._lock:
            before = {window.name: self._used_up.get(f"{key}/{window.name}", 0) for window in windows}
        if all(before[window.name] < window.limit for window in windows):
            before = dict(self._count(key, windows, now))
        refused = [window for window in windows if before[window.name] >= window.limit]
        if refused:
            with self._lock:
                self._used_up.update({f"{key}/{window.name}": before[window.name] for window in refused})
            raise _refusal(max(refused, key=lambda window: window.ends_at), now)

    def _windows(self, now: float, is_cached: bool) -> list[_Window]:
        minute, day = now // MINUTE_S, now // DAY_S
        found = []
        if self._per_minute:
            found.append(_Window(f"m{minute:.0f}", "minute", self._per_minute, (minute + 1) * MINUTE_S))
        if self._per_day and not is_cached:
            found.append(_Window("day", "day", self._per_day, (day + 1) * DAY_S))
        return found

    def _count(self, key: str, windows: list[_Window], now: float) -> Mapping[str, int]:
        limits = {window.name: window.limit for window in windows}
        minute = now // MINUTE_S
        over = [f"m{minute - ago:.0f}" for ago in _REMOVED_MINUTES] if self._per_minute else []
        expires_at = (now // DAY_S + 1) * DAY_S + _KEPT_S
        shared = None
        if self._shared is not None:
            shared = self._shared.run(lambda store: store.count_within(key, limits, expires_at, over))
        # Counted here as well, so that this process knows what it admitted when the shared store fails.
        if shared is None or all(shared[name] < limit for name, limit in limits.items()):
            own = self._own.count_within(key, limits, expires_at, over)
        return own if shared is None else shared


def caller_id(source: Source, credentials: RequestCredentials, salt: str) -> str:
    """Return the hash that stands for the caller of a call to ``source``.

    Args:
        source: the source that is called.
        credentials: what the request carries.
        salt: makes the hash differ from one deployment to the next.
    """
    if credentials.caller:
        kind, name = "token", credentials.caller
    elif key := _sent_key(source, credentials):
        kind, name = "key", key
    else:
        kind, name = "address", _network(credentials.address)
    secret = f"toolfold {salt}".encode(errors="surrogatepass")
    message = f"caller\0{kind}\0{name}".encode(errors="surrogatepass")
    return hmac.new(secret, message, hashlib.sha256).hexdigest()[:32]


def _sent_key(source: Source, credentials: RequestCredentials) -> str:
    """Return the key of the caller with which ``source`` is called; empty where it is called with another, or none."""
    if source.auth is None or not source.auth.caller_key:
        return ""
    return credentials.named.get(source.id, "").strip() or credentials.first()


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


def _refusal(window: _Window, now: float) -> ClientLimit:
    resets_at = datetime.fromtimestamp(window.ends_at, UTC)
    return ClientLimit(
        f"The {window.limit} calls that one client may make here in a {window.unit} are used up.",
        DAY_USED_UP if window.unit == "day" else WAIT,
        retry_after_s=max(1, math.ceil(window.ends_at - now)),
        resets_at=resets_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        limit=f"{window.limit} per {window.unit}",
        used=window.limit,
    )
