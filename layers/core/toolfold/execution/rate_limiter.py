"""The upstream's limits, known before they are hit. All of it is per API key, and keys are known by their hash.

What a key's plan allows is learned from the upstream's own words, or set by the operator; our count alone never refuses
a call, since a premium key has no daily limit and nothing tells it from a free one.

- "The calls of the day are used up": the key is refused at once. When the upstream's day begins is nowhere documented;
  midnight in New York is assumed, where the vendor's markets are. In case it is another hour, or the plan has been
  changed meanwhile, the key is tried again after ``TOOLFOLD_QUOTA_RECHECK_S``.
- "Too many within a second": calls of that key are spaced from then on, for a day; they wait for their turn.
- "Too many within a minute": refused for as long as the upstream said.
"""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from toolfold.cache.base import MAX_CLOCK_SKEW_S
from toolfold.errors import RateLimited
from toolfold.sources.alpha_vantage import new_york

if TYPE_CHECKING:
    from toolfold.cache.base import CacheStore, FailSafeStore, Memory
    from toolfold.settings import Settings

    T = TypeVar("T")


DAY_S = 86400
_DAILY_FROM_S = 3600
"""A wait that long means the day's calls are used up."""

_LOOK_AGAIN_S = 15.0
"""How old what is known of a key may be before the shared place is asked what others have learned."""

_KEYS = 1000
"""Keys of which something is remembered in memory: a public endpoint sees many, and forgets the first."""

_SKEW_S = 5.0

_PER_SECOND = re.compile(r"(\d+) per second")


@dataclass(frozen=True)
class KeyState:
    """What is known of a key. Times are seconds since 1970.

    Until ``blocked_until`` no call is made; ``said`` is the error of the upstream: message, suggestion and limit; it
    should be over at ``resets_at``. Until ``spaced_until`` there are ``gap_s`` seconds between two calls. All of it
    was learned ``at``.
    """

    blocked_until: float = 0.0
    resets_at: float = 0.0
    said: tuple[str, str, str | None] = ("", "", None)
    spaced_until: float = 0.0
    gap_s: float = 0.0
    at: float = 0.0


class RateLimiter:
    """Counts, waits and refuses. ``clock`` is the time of day, ``monotonic`` is for deadlines."""

    def __init__(
        self,
        settings: Settings,
        memory: Memory,
        shared: FailSafeStore | None,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._settings, self._memory, self._shared = settings, memory, shared
        self._clock, self._monotonic, self._sleep = clock, monotonic, sleep
        self._known: dict[str, tuple[float, KeyState]] = {}
        self._used: dict[str, int] = {}
        self._lock = threading.Lock()

    def admit(self, title: str, key_id: str, deadline: float) -> float:
        """Let one request of this key pass, now or after a short wait; seconds waited.

        Args:
            title: the source's name, for the error.
            deadline: by ``monotonic``; nobody waits beyond it.

        Raises:
            RateLimited: the request cannot succeed, or its turn is too far off.
        """
        now = self._clock()
        known = self._of(key_id, now)
        if known.blocked_until > now:
            raise self._blocked(known, key_id, now)
        waited = self._wait_for_turn(title, known, key_id, deadline)
        count, most = self._count(key_id), self._settings.requests_per_day
        if most and count > most:
            raise RateLimited(
                f"The {most} calls that are allowed in a day are used up.",
                "Do not call again today; tell the user. What was answered before can still be asked for.",
                retry_after_s=_seconds(new_york.next_midnight(now) - now),
                limit=f"{most} per day",
                used=most,
            )
        return waited

    def used(self, key_id: str) -> int:
        """Requests of this key today, as far as this process knows."""
        return self._used.get(self._today(key_id), 0)

    def _count(self, key_id: str) -> int:
        """Count one more request of this key; today's so far, of all processes where they share a place."""
        name, until = self._today(key_id), self._clock() + 2 * DAY_S
        all_ = self._asked(lambda place: place.add(name, until)) or 0
        with self._lock:
            if name not in self._used and len(self._used) >= _KEYS:
                del self._used[next(iter(self._used))]
            self._used[name] = max(self._used.get(name, 0) + 1, all_)
            return self._used[name]

    def learn(self, key_id: str, error: RateLimited) -> RateLimited:
        """RowLimit note of what the upstream refused; the error, with what is known: used, and when it is over."""
        now = self._clock()
        details = dict(error.details)
        wait = float(details.get("retry_after_s", 60))
        said = (error.message, error.suggestion, details.get("limit"))
        if wait >= _DAILY_FROM_S:
            resets = new_york.next_midnight(now)
            until = min(resets, now + self._settings.quota_recheck_s)
            known = replace(self._of(key_id, now), blocked_until=until, resets_at=resets, said=said)
        elif wait > self._settings.max_queue_wait_s:
            known = replace(self._of(key_id, now), blocked_until=now + wait, resets_at=now + wait, said=said)
        else:
            rate = _PER_SECOND.match(details.get("limit") or "")
            gap = 1 / int(rate[1]) if rate and int(rate[1]) else 1.0
            known = replace(self._of(key_id, now), spaced_until=now + DAY_S, gap_s=gap)
        self._keep(key_id, replace(known, at=now), now)
        return self._blocked(known, key_id, now) if known.blocked_until > now else error

    def _blocked(self, known: KeyState, key_id: str, now: float) -> RateLimited:
        message, suggestion, limit = known.said
        details: dict[str, Any] = {"retry_after_s": _seconds(known.resets_at - now)}
        if limit:
            details["limit"] = limit
        if known.resets_at - now > 60:
            details["used"] = self.used(key_id)
        return RateLimited(message, suggestion, **details)

    def _wait_for_turn(self, title: str, known: KeyState, key_id: str, deadline: float) -> float:
        now = self._clock()
        gap = known.gap_s if known.spaced_until > now else 0.0
        if self._settings.requests_per_second:
            gap = max(gap, 1 / self._settings.requests_per_second)
        if not gap:
            return 0.0
        waited = 0.0
        while pause := self._turn(key_id, gap):
            if waited + pause > self._settings.max_queue_wait_s or self._monotonic() + pause >= deadline:
                raise RateLimited(
                    f"Calls to {title} with this key wait for each other, and the queue is too long.",
                    "Wait as long as retry_after_s says and call again; make calls one after another.",
                    retry_after_s=_seconds(waited + pause),
                    limit=f"{1 / gap:g} per second",
                )
            self._sleep(pause)
            waited += pause
        return waited

    def _turn(self, key_id: str, gap: float) -> float:
        """0 when it is this call's turn, and the next one is ``gap`` seconds later; else the seconds to wait."""
        name, now = f"turn/{key_id}", self._clock()
        free_at = self._asked(lambda place: place.reserve(name, now, now + gap))
        if free_at is None:
            free_at = self._memory.reserve(name, now, now + gap)
        # Clocks of other machines differ a little; what is further off was written by one that was wrong.
        if not free_at or free_at - now > gap + _SKEW_S:
            return 0.0
        return min(free_at - now, gap) + 0.001

    def _of(self, key_id: str, now: float) -> KeyState:
        looked_at, known = self._known.get(key_id, (float("-inf"), KeyState()))
        if known.at > now + MAX_CLOCK_SKEW_S:
            known = KeyState()
        if self._shared is None or 0 <= now - looked_at < _LOOK_AGAIN_S:
            return known
        blob = self._asked(lambda place: place.get(f"limits/{key_id}"))
        shared = _read(blob)
        if shared is not None and shared.at <= now + MAX_CLOCK_SKEW_S:
            known = shared
        self._remember(key_id, known, now)
        return known

    def _remember(self, key_id: str, known: KeyState, now: float) -> None:
        with self._lock:
            if key_id not in self._known and len(self._known) >= _KEYS:
                del self._known[next(iter(self._known))]
            self._known[key_id] = (now, known)

    def _keep(self, key_id: str, known: KeyState, now: float) -> None:
        self._remember(key_id, known, now)
        blob = json.dumps(vars(known)).encode()
        self._asked(lambda place: place.put(f"limits/{key_id}", blob, now, now + DAY_S))

    def _asked(self, question: Callable[[CacheStore], T]) -> T | None:
        return None if self._shared is None else self._shared.ask(question)

    def _today(self, key_id: str) -> str:
        return f"used/{key_id}/{new_york.wall(self._clock()):%Y-%m-%d}"


def _read(blob: bytes | None) -> KeyState | None:
    try:
        return None if blob is None else KeyState(**json.loads(blob))
    except (ValueError, TypeError):
        return None


def _seconds(wait: float) -> int:
    return max(1, math.ceil(wait))
