"""Answer prepared calls: from the cache, together with an equal call, or by a request; and store what it returns.

Made by the first call: listing and describing tools never pays for it. Only tools that read are cached, joined,
retried or answered with stale data. A write is sent once, even when it fails.

A response is shared with other API keys only if it cannot depend on the key: the source states that (``CachePolicy``),
it has the form of the tool's data, and it repeats no key. Otherwise it is cached for its key alone, and what repeats a
key in the memory of this process alone.

What the plan of an API key does not include is kept for a while, so that trying it costs no request each time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

from cachetools import TTLCache

from toolfold import client_call
from toolfold.cache.factory import create_shared_store
from toolfold.cache.response_cache import (
    CacheKeys,
    Entry,
    Memo,
    MemoryStore,
    ResponseCache,
    cache_key,
    hash_api_key,
    simple_text,
)
from toolfold.errors import (
    CACHE_UNAVAILABLE,
    CallCancelled,
    CallError,
    InvalidArguments,
    NoData,
    NotCached,
    PremiumOnly,
    RateLimited,
    UpstreamError,
    UpstreamTimeout,
)
from toolfold.execution.call import CallResult, UpstreamUse
from toolfold.execution.limits import RateLimiter
from toolfold.execution.upstream import OF_SOURCE, Upstream
from toolfold.messages import SLOW
from toolfold.redaction import NO_REDACTION
from toolfold.sources.base import AdapterContext
from toolfold.sources.registry import AdapterRegistry
from toolfold.wording import Text

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source
    from toolfold.execution.call import CallContext
    from toolfold.execution.call_resources import CallResources
    from toolfold.models import ParsedResponse


_REMEMBERED_S = 3600.0
"""A plan that is upgraded is noticed an hour later; a call that names the argument itself is always sent."""

_MAX_REFUSALS = 20_000
"""Keys with their refusals, a few megabytes: a client can make up keys."""


_MAX_MEMO_BYTES = 24 << 20
"""Memory for what equal calls computed: hundreds of small answers, or five with the days of a share since 1999."""

_THROTTLED = ("ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException")
"""DynamoDB counts these itself, and they end without an operator."""


class CachedUpstreams:
    """Answer prepared calls, keeping responses. One for a process; safe to use from many threads.

    ``memo`` has what equal calls computed from cache entries, tools and sources; never from one that repeats a key.
    """

    def __init__(self, resources: CallResources) -> None:
        self._resources, self._settings, self._clock = resources, resources.settings, resources.clock
        settings = self._settings
        self._adapters = resources.adapters or AdapterRegistry()
        self._memory = MemoryStore(settings.cache_memory_bytes)
        self.memo = Memo(0 if settings.cache == "off" else min(settings.cache_memory_bytes, _MAX_MEMO_BYTES))
        self._shared = create_shared_store(
            settings, self._clock.monotonic, resources.aws, on_failure=self._report_cache
        )
        self._cache = (
            None
            if settings.cache == "off"
            else ResponseCache(
                self._memory, self._shared, settings.max_response_bytes, settings.stale_if_error_s, self.memo
            )
        )
        self._refused: TTLCache[tuple[str, ...], tuple[str | Text, str | Text]] = TTLCache(
            _MAX_REFUSALS, _REMEMBERED_S, self._clock.monotonic
        )
        self._flights: SingleFlight[Entry] = SingleFlight()
        self._upstreams: dict[str, Upstream] = {}
        self._lock = threading.Lock()

    def _report_cache(self, reason: str) -> None:
        if self._resources.on_failure is not None and reason not in _THROTTLED:
            self._resources.on_failure(CACHE_UNAVAILABLE)

    def call(self, call: CallContext) -> CallResult:
        """Return the result of a call whose arguments are validated and whose keys are known.

        Raises:
            CallError: every way in which a call can fail.
            NotCached: only memory may answer it, which has no answer.
        """
        self._prepare(call)
        log = call.log
        if call.tool.effect == "read":
            # A call to which toolfold has added no arguments is the caller's, and always performed.
            result = self._tried(call) if call.added else self._read(call)
        else:
            log.cache = "bypass"
            if call.admit is not None:
                call.admit(is_cached=False)
            upstream = self._upstream(call.source)
            found = upstream.fetch(call)
            redactor = call.redactor if self._repeats_key(call, found) else NO_REDACTION
            result = CallResult(
                found.body, found.kind, False, 0, call.arguments, redactor=redactor, blocks=found.blocks
            )
        log.response_chars = len(result.body)
        if not (log.requests or call.notes):
            return result
        return replace(result, use=UpstreamUse(log.requests, log.upstream_s), notes=call.notes)

    def smaller_response_hint(self, source: Source) -> str:
        """Return the next step after an answer of ``source`` that is too large."""
        return self._upstream(source).adapter.smaller_response_hint

    def circuit_states(self) -> dict[str, str]:
        """Return the state of the circuit breaker of each source that was called, by its id."""
        with self._lock:
            return {id_: upstream.breakers.find(OF_SOURCE).state for id_, upstream in self._upstreams.items()}

    def warm_up(self, sources: Iterable[Source]) -> None:
        """Make the adapters of ``sources``, which imports them and what their calls need."""
        for source in sources:
            warm_up = getattr(self._upstream(source).adapter, "warm_up", None)
            if warm_up is not None:
                warm_up()

    def _prepare(self, call: CallContext) -> None:
        """Set how long the call may take, and the keys by which it is cached and limited."""
        source, tool, api_key = call.source, call.tool, call.source_credentials.api_key
        call.log.is_counted = True
        call.log.is_operator_key = api_key == call.operator_key != ""
        # A catalog may ask for less time than the operator allows, not for more.
        timeout_s = min(self._settings.timeout_s, source.connection.get("timeout_s", self._settings.timeout_s))
        end = self._clock.monotonic() + timeout_s
        call.ends_at = end if call.deadline is None else min(end, call.deadline)
        upstream = self._upstream(source)
        call.key_id = hash_api_key(source, upstream.endpoint, api_key, self._settings.key_salt)
        text = simple_text(call.arguments)
        known = None if text is None else self.memo.get("cache key", (upstream, tool), text)
        if known is None:
            policy = upstream.adapter.cache_policy(tool, call.arguments, self._clock.now())
            varies_by_key = policy.varies_by_key or source.signs_in or tool.effect != "read"
            known = cache_key(source, tool, call.arguments, upstream.endpoint), varies_by_key
            if text is not None:
                self.memo.put("cache key", (upstream, tool), text, known, len(text))
        common, varies_by_key = known
        own = f"{common}-{call.key_id}"
        data = (common,) if source.auth is None else (own,) if varies_by_key else (common, own)
        call.keys = CacheKeys(data, f"{own}/error")  # without API keys all callers are the same

    def _tried(self, call: CallContext) -> CallResult:
        """Answer a call with arguments that toolfold has added, unless an equal one was refused in the last hour."""
        key = call.source.id, call.key_id, call.tool.name, repr(sorted(call.added.items()))
        with self._lock:
            refusal = self._refused.get(key)
        if refusal is not None:
            raise PremiumOnly(*refusal)
        try:
            return self._read(call)
        except PremiumOnly as error:
            with self._lock:
                self._refused[key] = error.problem, error.next_step
            raise

    def _read(self, call: CallContext) -> CallResult:
        """Return the data of a call that may be cached; where the source fails, the last data, with the reason."""
        stale_reason = ""
        try:
            entry = self._entry(call)
        except (RateLimited, UpstreamError, UpstreamTimeout) as error:
            cache = None if call.bypass_cache else self._cache
            last = None if cache is None else cache.get_stale(call.keys.data, self._clock.now())
            if last is None:
                raise
            entry, stale_reason = last, error.code
            call.log.cache, call.log.error_message = "stale", error.message
        if entry.kind == "error":
            raise entry.to_error()
        is_cached = call.log.cache in ("memory", "shared", "stale")
        age_s = max(0, int(self._clock.now() - entry.created_at)) if is_cached else 0
        redactor = call.redactor if entry.repeats_key else NO_REDACTION
        return CallResult(
            entry.body,
            entry.kind,
            is_cached,
            age_s,
            call.arguments,
            stale_reason,
            redactor,
            blocks=entry.blocks,
            entry=None if entry.repeats_key else entry,
        )

    def _entry(self, call: CallContext) -> Entry:
        """Return what is cached, what an equal call returns that is running, or what the source sends."""
        found = None if call.bypass_cache else self._find(call, local=call.only_cached)
        if call.only_cached and found is None:
            raise NotCached
        if call.admit is not None:
            call.admit(is_cached=found is not None)
        if found is not None:
            return found
        call.log.cache = "joined"
        try:
            while True:
                try:
                    return self._flights.run(
                        (call.keys.own, call.bypass_cache),
                        lambda: self._fetch_and_store(call),
                        max(0.0, call.ends_at - self._clock.monotonic()),
                    )
                except CallCancelled:
                    if client_call.is_cancelled():
                        raise
                    # An equal call was cancelled while this one waited for its result.
        except TimeoutError:
            raise UpstreamTimeout(
                f"{call.source.title} did not answer in time.",
                SLOW,
                retryable=True,
            ) from None

    def _fetch_and_store(self, call: CallContext) -> Entry:
        # An equal call may have finished since the cache was read.
        found = None if call.bypass_cache else self._find(call, local=True)
        if found is not None:
            return found
        call.log.cache, upstream = "miss", self._upstream(call.source)
        try:
            response = upstream.fetch(call)
        except CallError as error:
            self._store_error(call, error)
            raise
        now = self._clock.now()
        policy = upstream.adapter.cache_policy(call.tool, call.arguments, now)
        repeats_key = self._repeats_key(call, response)
        entry = Entry(response.kind, response.body, now, now + policy.ttl_s, repeats_key, response.blocks)
        if self._cache is not None and policy.ttl_s > 0 and response.is_final:
            key = call.keys.data[0] if response.is_recognized and not repeats_key else call.keys.own
            # What repeats a key is nowhere but in this process, which has the key anyway.
            self._cache.put(key, entry, shared=key == call.keys.data[0] and not repeats_key)
        return entry

    @staticmethod
    def _repeats_key(call: CallContext, response: ParsedResponse) -> bool:
        return call.redactor.appears_in(response.body) or call.redactor.appears_in(response.blocks)

    def _find(self, call: CallContext, local: bool = False) -> Entry | None:
        """Return the cached data of this call, or the error that its key met; ``local``: from memory alone."""
        if self._cache is None:
            return None
        now, keys = self._clock.now(), call.keys
        found = self._cache.get_local(keys.data, now), "memory"
        if found[0] is None and not local:
            found = self._cache.get_shared(keys.data[0], now), "shared"
        if found[0] is None:
            found = self._cache.get_local((keys.error,), now), "memory"
        if found[0] is not None:
            call.log.cache = found[1]
        return found[0]

    def _store_error(self, call: CallContext, error: CallError) -> None:
        """Store an error that would come again, for a short time and for its own key: that may be the reason."""
        ttl_s = 0.0
        if isinstance(error, NoData):
            ttl_s = self._settings.no_data_ttl_s
        elif isinstance(error, InvalidArguments | PremiumOnly):
            ttl_s = self._settings.negative_ttl_s
        if ttl_s and self._cache is not None:
            now = self._clock.now()
            self._cache.put(call.keys.error, Entry.from_error(error, now, now + ttl_s), shared=False)

    def _upstream(self, source: Source) -> Upstream:
        with self._lock:
            upstream = self._upstreams.get(source.id)
            # A new catalog may describe the source differently.
            if upstream is None or (upstream.source is not source and upstream.source != source):
                upstream = self._upstreams[source.id] = self._connect(source)
            return upstream

    def _connect(self, source: Source) -> Upstream:
        resources, settings, clock = self._resources, self._settings, self._clock
        context = AdapterContext(settings, lambda: resources.http_client, resources.read_file)
        adapter = self._adapters.create(source, context)
        limiter = RateLimiter(source.title, adapter.quota_resets_at, settings, self._memory, self._shared, clock)
        return Upstream(source, adapter, limiter, settings, clock)


T = TypeVar("T")

_NEAR_END_S = 0.1
"""A time-out this close to the end of a call was caused by that end."""


class SingleFlight(Generic[T]):
    """Run functions by key, each key once at a time. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[Hashable, tuple[Future[T], float]] = {}

    def run(self, key: Hashable, function: Callable[[], T], timeout_s: float) -> T:
        """Return what ``function`` returns, or what it returned to another thread that runs it under the same key.

        Args:
            key: names the call, and the API key with which it is made: no caller waits for the call of another one,
                and what it returns or raises may be for that key alone.
            function: makes the call.
            timeout_s: seconds that the caller has. A thread that has more than the other one makes the call again where
                the time of the other was over: the rest of a batch is often requested while its first part ends.

        Raises:
            TimeoutError: the other thread took longer.
            Exception: what ``function`` raised, here or in the other thread.
        """
        end = time.monotonic() + timeout_s
        while True:
            with self._lock:
                running = self._flights.get(key)
                if running is None:
                    own = self._flights[key] = Future[T](), end
            if running is None:
                return self._lead(key, own[0], function)
            future, its_end = running
            try:
                return future.result(max(0.0, end - time.monotonic()))
            except CancelledError:
                return function()
            except UpstreamTimeout:
                now = time.monotonic()
                if now < its_end - _NEAR_END_S or now >= end - _NEAR_END_S:
                    raise

    def _lead(self, key: Hashable, future: Future[T], function: Callable[[], T]) -> T:
        try:
            result = function()
            future.set_result(result)
            return result
        except Exception as error:
            future.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._flights[key]
            future.cancel()  # without effect on one that has ended: this thread was stopped
