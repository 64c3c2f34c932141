"""Perform validated calls: from the cache, together with an equal call, or by a request; and store what it returns.

Made by the first call: listing and describing tools never pays for it. Only tools that read are cached, joined,
retried or answered with stale data. A write is sent once, even when it fails.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolfold.aws.clients import AwsClients
from toolfold.cache.entry import Entry
from toolfold.cache.factory import create_shared_store
from toolfold.cache.key import cache_key, hash_api_key
from toolfold.cache.memory import MemoryStore
from toolfold.cache.response_cache import ResponseCache
from toolfold.errors import (
    CallError,
    InternalError,
    InvalidArguments,
    NoData,
    PremiumOnly,
    RateLimited,
    UpstreamError,
    UpstreamTimeout,
)
from toolfold.execution.call_log import CallLog
from toolfold.execution.circuit_breaker import CircuitBreaker
from toolfold.execution.clock import Clock
from toolfold.execution.rate_limiter import RateLimiter
from toolfold.execution.result import CallResult
from toolfold.execution.retry import Request, RetryingClient
from toolfold.execution.single_flight import SingleFlight
from toolfold.sources.base import AdapterContext
from toolfold.sources.registry import AdapterRegistry

if TYPE_CHECKING:
    from toolfold.catalog.model import Source, Tool
    from toolfold.models import ResultKind, SourceCredentials
    from toolfold.network.session import HttpClient
    from toolfold.settings import Settings
    from toolfold.sources.base import SourceAdapter


@dataclass(frozen=True)
class _Upstream:
    """Everything that belongs to one source."""

    source: Source
    adapter: SourceAdapter
    breaker: CircuitBreaker
    client: RetryingClient


class CachedExecutor:
    """Perform calls, keeping responses. One for a process; safe to use from many threads.

    Args:
        settings: the settings in force.
        aws: creates the clients of AWS.
        get_http_client: returns what sends the requests of all sources; called for the first request.
        on_call: called with the log of every finished call.
        adapters: finds the adapters of sources.
        clock: the clocks.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        aws: AwsClients | None = None,
        get_http_client: Callable[[], HttpClient] | None = None,
        on_call: Callable[[CallLog], None] | None = None,
        adapters: AdapterRegistry | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._settings, self._on_call = settings, on_call
        self._adapters, self._clock = adapters or AdapterRegistry(), clock or Clock()
        self._memory = MemoryStore(settings.cache_memory_bytes)
        self._shared = create_shared_store(settings, self._clock.monotonic, aws or AwsClients())
        self._cache = (
            None
            if settings.cache == "off"
            else ResponseCache(self._memory, self._shared, settings.max_response_bytes, settings.stale_if_error_s)
        )
        self._get_http_client = get_http_client or functools.cache(_create_http_client)
        self._flights: SingleFlight[Entry] = SingleFlight()
        self._upstreams: dict[str, _Upstream] = {}
        self._lock = threading.Lock()

    def call(
        self,
        source: Source,
        tool: Tool,
        arguments: Mapping[str, Any],
        credentials: SourceCredentials,
        *,
        bypass_cache: bool = False,
        deadline: float | None = None,
    ) -> CallResult:
        """Return the result of one call with validated ``arguments``; ``bypass_cache`` ignores what is cached.

        Raises:
            CallError: every way in which a call can fail.
        """
        log = CallLog(tool.name, source.id)
        key_id = hash_api_key(source, credentials.api_key, self._settings.key_salt)
        end = self._clock.monotonic() + self._settings.timeout_s
        end = end if deadline is None else min(end, deadline)
        request = Request(source, tool, arguments, credentials, key_id, end)
        try:
            upstream = self._upstream(source)
            if tool.effect == "read":
                result = self._read(upstream, request, bypass_cache, log)
            else:
                log.cache = "bypass"
                kind, body = self._fetch(upstream, request, log)
                result = CallResult(body, kind, cached=False, age_s=0, arguments=arguments)
            log.response_chars = len(result.body)
            return result
        except CallError as error:
            log.code, log.error_message = error.code, error.message
            raise
        except BaseException:
            log.code = InternalError.code
            raise
        finally:
            log.emit(self._on_call)

    def smaller_response_hint(self, source: Source) -> str:
        """Return the next step after an answer of ``source`` that is too large."""
        return self._upstream(source).adapter.smaller_response_hint

    def warm_up(self, sources: Iterable[Source]) -> None:
        """Make the adapters of ``sources``, which imports them."""
        for source in sources:
            self._upstream(source)

    def _read(self, upstream: _Upstream, request: Request, bypass_cache: bool, log: CallLog) -> CallResult:
        """Return the data of a call that may be cached; where the source fails, the last data, with the reason."""
        policy = upstream.adapter.cache_policy(request.tool, request.arguments, self._clock.now())
        key = cache_key(
            request.source,
            request.tool,
            request.arguments,
            upstream.adapter.endpoint,
            request.key_id if policy.varies_by_key else "",
        )
        stale_reason = ""
        try:
            entry = self._entry(upstream, request, key, bypass_cache, log)
        except (RateLimited, UpstreamError, UpstreamTimeout) as error:
            last = None if bypass_cache or self._cache is None else self._cache.get_stale(key, self._clock.now())
            if last is None:
                raise
            entry, stale_reason = last, error.code
            log.cache, log.error_message = "stale", error.message
        if entry.kind == "error":
            raise entry.to_error()
        is_cached = log.cache in ("memory", "shared", "stale")
        age_s = max(0, int(self._clock.now() - entry.created_at)) if is_cached else 0
        return CallResult(entry.body, entry.kind, is_cached, age_s, request.arguments, stale_reason)

    def _entry(self, upstream: _Upstream, request: Request, key: str, bypass_cache: bool, log: CallLog) -> Entry:
        found = None if bypass_cache else self._find(key, request, log)
        if found is not None:
            return found
        log.cache = "joined"
        try:
            return self._flights.run(
                (key, bypass_cache),
                request.key_id,
                lambda: self._fetch_and_store(upstream, request, key, bypass_cache, log),
                max(0.0, request.deadline - self._clock.monotonic()),
            )
        except TimeoutError:
            raise UpstreamTimeout(
                f"{request.source.title} did not answer in time.",
                "Try again in a moment; if it keeps failing, tell the user that the service is slow.",
                retryable=True,
            ) from None

    def _fetch_and_store(
        self, upstream: _Upstream, request: Request, key: str, bypass_cache: bool, log: CallLog
    ) -> Entry:
        # An equal call may have finished since the cache was read.
        found = None if bypass_cache else self._find(key, request, log, local=True)
        if found is not None:
            return found
        log.cache = "miss"
        try:
            kind, body = self._fetch(upstream, request, log)
        except CallError as error:
            self._store_error(key, request, error)
            raise
        now = self._clock.now()
        policy = upstream.adapter.cache_policy(request.tool, request.arguments, now)
        entry = Entry(kind, body, now, now + policy.ttl_s)
        if self._cache is not None and policy.ttl_s > 0:
            self._cache.put(key, entry)
        return entry

    def _fetch(self, upstream: _Upstream, request: Request, log: CallLog) -> tuple[ResultKind, str]:
        """Send the call, unless the circuit breaker is open."""
        breaker = upstream.breaker
        log.circuit_breaker = breaker.state
        if wait_s := breaker.try_acquire():
            raise UpstreamError(
                f"{request.source.title} keeps failing, so calls to it are paused.",
                "Wait as long as retry_after_s says and call again; if it keeps failing, tell the user.",
                retry_after_s=round(wait_s),
                retryable=True,
            )
        try:
            found = upstream.client.fetch(request, log)
        except BaseException as error:
            _report(breaker, error, log)
            log.circuit_breaker = breaker.state
            raise
        breaker.record_success()
        return found

    def _find(self, key: str, request: Request, log: CallLog, local: bool = False) -> Entry | None:
        """Return the cached data of this call, or the error that its key met; ``local``: from memory alone."""
        if self._cache is None:
            return None
        now = self._clock.now()
        found = None if local else self._cache.get(key, now)
        if found is not None:
            entry, log.cache = found
            return entry
        known = self._cache.get_local(key, now) or self._cache.get_local(_error_key(key, request), now)
        if known is not None:
            log.cache = "memory"
        return known

    def _store_error(self, key: str, request: Request, error: CallError) -> None:
        """Store an error that would come again, for a short time and for its own key: that may be the reason."""
        ttl_s = 0.0
        if isinstance(error, NoData):
            ttl_s = self._settings.no_data_ttl_s
        elif isinstance(error, InvalidArguments | PremiumOnly):
            ttl_s = self._settings.negative_ttl_s
        if ttl_s and self._cache is not None:
            now = self._clock.now()
            self._cache.put(_error_key(key, request), Entry.from_error(error, now, now + ttl_s), shared=False)

    def _upstream(self, source: Source) -> _Upstream:
        with self._lock:
            upstream = self._upstreams.get(source.id)
            # A new catalog may describe the source differently.
            if upstream is None or upstream.source != source:
                upstream = self._upstreams[source.id] = self._connect(source)
            return upstream

    def _connect(self, source: Source) -> _Upstream:
        settings = self._settings
        adapter = self._adapters.create(source, AdapterContext(settings, self._get_http_client))
        limiter = RateLimiter(source.title, adapter.quota_resets_at, settings, self._memory, self._shared, self._clock)
        return _Upstream(
            source,
            adapter,
            CircuitBreaker(settings.breaker_failures, settings.breaker_cooldown_s, self._clock.monotonic),
            RetryingClient(adapter, limiter, settings, self._clock),
        )


def _create_http_client() -> HttpClient:
    from toolfold.network.session import HttpClient  # imports requests

    return HttpClient()


def _error_key(key: str, request: Request) -> str:
    return f"{key}/{request.key_id}"


def _report(breaker: CircuitBreaker, error: BaseException, log: CallLog) -> None:
    """Tell the breaker what an error says about the source: it is down, it is up, or nothing."""
    if log.was_refused or not isinstance(error, CallError):
        breaker.release()
    elif isinstance(error, UpstreamError | UpstreamTimeout) and error.details.get("retryable"):
        breaker.record_failure()
    else:
        breaker.record_success()
