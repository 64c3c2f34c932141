"""Limits of the calls of each caller. Those of a source are in ``upstream``.

Windows are fixed: minutes of the clock, and days of UTC. A counter per window is exact with one conditional write, and
states when the caller may go on. Its price is that of a token bucket of the same size: at most twice the limit in 60
seconds that lie in two minutes. A call that is answered from the cache counts for the minute, as it takes computing
time, but not for the day, and is possible when the day is used up.

While the shared store fails, each process counts alone: callers can make more calls, but no call fails for it.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from typing import TYPE_CHECKING

from toolfold.cache.response_cache import MemoryStore
from toolfold.client_call import iso_time
from toolfold.errors import ClientLimit
from toolfold.messages import DAY_USED_UP, WAIT

if TYPE_CHECKING:
    from toolfold.cache.stores import CacheStore, FailSafeStore
    from toolfold.catalog.entries import Source
    from toolfold.client_call import Clock
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.settings import Settings

_KEPT_S = 3600
"""Seconds for which a counter is kept after its window, for machines whose clocks are slow."""


class ClientLimits:
    """Count the calls of each caller and refuse those above the limits. Safe to use from many threads."""

    def __init__(self, settings: Settings, shared: FailSafeStore[CacheStore] | None, clock: Clock) -> None:
        self._windows = ("minute", 60, settings.calls_per_minute), ("day", 86_400, settings.calls_per_day)
        self._shared, self._clock = shared, clock
        self._own = MemoryStore(0)

    def admit(self, caller: str, *, is_cached: bool) -> None:
        """Count a call of :func:`caller_id`, or refuse it; ``is_cached``: nothing needs to be sent for it.

        Raises:
            ClientLimit: the caller has made as many calls as it may; says when it may go on.
        """
        now = self._clock.now()
        for unit, seconds, limit in self._windows:
            if not limit or (is_cached and unit == "day"):
                continue
            ends_at = (now // seconds + 1) * seconds
            if self._count(f"clients/{caller}/{unit}/{ends_at:.0f}", limit, ends_at + _KEPT_S) >= limit:
                raise ClientLimit(
                    f"The {limit} calls that one client may make here in a {unit} are used up.",
                    DAY_USED_UP if unit == "day" else WAIT,
                    retry_after_s=max(1, math.ceil(ends_at - now)),
                    resets_at=iso_time(ends_at),
                    limit=f"{limit} per {unit}",
                    used=limit,
                )

    def _count(self, key: str, limit: int, expires_at: float) -> int:
        """Count a call, also in this process, which must know its calls while the shared store fails."""
        shared = self._shared and self._shared.run(lambda store: store.count_within(key, limit, expires_at))
        return max(shared or 0, self._own.count_within(key, limit, expires_at))


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
