"""How a call is held: looked up, joined to an equal one, or made; and what it brought is kept.

Made by the first call, not at the start: listing and describing tools never pays for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolfold.aws.clients import AwsClients
from toolfold.cache import base
from toolfold.cache import key as identity
from toolfold.cache.entry import Entry
from toolfold.cache.response_cache import Cache
from toolfold.errors import (
    CallError,
    InvalidArguments,
    NoData,
    PremiumOnly,
    RateLimited,
    UpstreamError,
    UpstreamTimeout,
)
from toolfold.execution.call_log import CallLog
from toolfold.execution.circuit_breaker import CircuitBreaker
from toolfold.execution.rate_limiter import RateLimiter
from toolfold.execution.result import CallResult
from toolfold.execution.retry import Request, RetryingClient
from toolfold.execution.single_flight import SingleFlight
from toolfold.sources.alpha_vantage.freshness import ttl

if TYPE_CHECKING:
    from toolfold.catalog.model import Source, Tool
    from toolfold.execution.retry import Backend
    from toolfold.settings import Settings


class CachedExecutor:
    """Answers calls from what it holds, and makes those that it must. One for a process; safe to use from threads.

    ``clock`` is the time of day, ``monotonic`` is for deadlines; both can be replaced, and ``sleep`` with them.
    """

    def __init__(
        self,
        settings: Settings,
        backend: Backend,
        base_url_for: Callable[[Source, Settings], str],
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        aws: AwsClients | None = None,
    ) -> None:
        self._settings, self._address_of = settings, base_url_for
        self._clock, self._monotonic = clock, monotonic
        memory = base.Memory(settings.cache_memory_bytes)
        shared = base.create_shared_store(settings, monotonic, aws or AwsClients())
        self._cache = (
            None
            if settings.cache == "off"
            else Cache(memory, shared, settings.max_response_bytes, settings.stale_if_error_s)
        )
        limits = RateLimiter(settings, memory, shared, clock, monotonic, sleep)
        self._requester = RetryingClient(backend, limits, settings, monotonic, sleep)
        self._flights = SingleFlight()
        self._breakers: dict[str, CircuitBreaker] = {}
        self._lock = threading.Lock()

    def call(
        self,
        source: Source,
        tool: Tool,
        arguments: Mapping[str, Any],
        key: str,
        bypass_cache: bool = False,
        deadline: float | None = None,
    ) -> CallResult:
        """The outcome of one call with checked ``arguments``; ``bypass_cache`` skips what is held.

        Raises:
            CallError: every way in which a call can fail.
        """
        story = CallLog(tool.name)
        end = self._monotonic() + self._settings.timeout_s
        request = Request(
            source, tool, arguments, key, identity.hash_api_key(source, key, self._settings.key_salt),
            end if deadline is None else min(end, deadline),
        )  # fmt: skip
        try:
            entry, late = self._entry_or_late(request, bypass_cache, story)
            if entry.kind == "error":
                raise entry.error()
            story.size = len(entry.body)
            held = story.cached in ("memory", "shared", "late")
            age_s = max(0, int(self._clock() - entry.at)) if held else 0
            return CallResult(entry.body, entry.kind, held, age_s, arguments, late)
        except CallError as error:
            story.code, story.problem = error.code, error.message
            raise
        except BaseException:
            story.code = "INTERNAL_ERROR"
            raise
        finally:
            story.emit()

    def _entry_or_late(self, request: Request, bypass_cache: bool, story: CallLog) -> tuple[Entry, str]:
        """The entry of the call; where the source cannot be asked, the last one, with the code of the reason."""
        address = self._address_of(request.source, self._settings)
        name = identity.cache_key(request.source, request.tool, request.arguments, address, request.key_id)
        try:
            return self._entry(request, name, bypass_cache, story), ""
        except (RateLimited, UpstreamError, UpstreamTimeout) as error:
            last = None if bypass_cache or self._cache is None else self._cache.late(name, self._clock())
            if last is None:
                raise
            story.cached, story.problem = "late", error.message
            return last, error.code

    def _entry(self, request: Request, name: str, bypass_cache: bool, story: CallLog) -> Entry:
        held = None if bypass_cache else self._held(name, request, story)
        if held is not None:
            return held
        story.cached = "joined"
        try:
            return self._flights.run(
                (name, bypass_cache),
                request.key_id,
                lambda: self._made(request, name, bypass_cache, story),
                max(0.0, request.deadline - self._monotonic()),
            )
        except TimeoutError:
            raise UpstreamTimeout(
                f"{request.source.title} did not answer in time.",
                "Try again in a moment; if it keeps failing, tell the user that the service is slow.",
                retryable=True,
            ) from None

    def _made(self, request: Request, name: str, bypass_cache: bool, story: CallLog) -> Entry:
        """The entry of a call that is made now, and kept."""
        # Since it was looked for, an equal call may have ended.
        landed = None if bypass_cache else self._held(name, request, story, at_hand=True)
        if landed is not None:
            return landed
        story.cached = "no"
        source, tool = request.source, request.tool
        breaker = self._breaker(source)
        story.breaker = breaker.state
        if wait := breaker.enter():
            raise UpstreamError(
                f"{source.title} has been failing and is left alone for a while.",
                "Wait as long as retry_after_s says and call again; if it keeps failing, tell the user.",
                retry_after_s=round(wait),
                retryable=True,
            )
        try:
            kind, body = self._requester.fetch(request, story)
        except BaseException as error:
            _report(breaker, error, story)
            story.breaker = breaker.state
            if isinstance(error, CallError):
                self._remember(request, name, error)
            raise
        breaker.succeeded()
        now = self._clock()
        entry = Entry(kind, body, now, now + ttl(tool, request.arguments, now, source.freshness))
        if self._cache is not None:
            self._cache.put(name, entry)
        return entry

    def _held(self, name: str, request: Request, story: CallLog, at_hand: bool = False) -> Entry | None:
        """The data that is held for this call, or the error that its key met; ``at_hand``: in memory alone."""
        if self._cache is None:
            return None
        now = self._clock()
        found = None if at_hand else self._cache.get(name, now)
        if found is not None:
            entry, story.cached = found
            return entry
        kept = self._cache.at_hand(name, now) or self._cache.at_hand(_errors_of(name, request), now)
        if kept is not None:
            story.cached = "memory"
        return kept

    def _remember(self, request: Request, name: str, error: CallError) -> None:
        """Keep an error that would come again, for a short time and for its own key: it may have to do with the key,
        and must not be served to another."""
        seconds = 0.0
        if isinstance(error, NoData):
            seconds = self._settings.no_data_ttl_s
        elif isinstance(error, InvalidArguments | PremiumOnly):
            seconds = self._settings.negative_ttl_s
        if seconds and self._cache is not None:
            now = self._clock()
            self._cache.put(_errors_of(name, request), Entry.of_error(error, now, now + seconds), shared=False)

    def _breaker(self, source: Source) -> CircuitBreaker:
        with self._lock:
            if source.id not in self._breakers:
                most, cooldown_s = self._settings.breaker_failures, self._settings.breaker_cooldown_s
                self._breakers[source.id] = CircuitBreaker(most, cooldown_s, self._monotonic)
            return self._breakers[source.id]


def _errors_of(name: str, request: Request) -> str:
    return f"{name}/{request.key_id}"


def _report(breaker: CircuitBreaker, error: BaseException, story: CallLog) -> None:
    """Tell the breaker what an error says of the source: it is down, it is up, or nothing."""
    if story.refused or not isinstance(error, CallError):
        breaker.left()
    elif isinstance(error, UpstreamError | UpstreamTimeout) and error.details.get("retryable"):
        breaker.failed()
    else:
        breaker.succeeded()
