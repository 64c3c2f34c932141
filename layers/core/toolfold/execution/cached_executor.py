"""Perform validated calls: from the cache, together with an equal call, or by a request; and store what it returns.

Made by the first call: listing and describing tools never pays for it. Only tools that read are cached, joined,
retried or answered with stale data. A write is sent once, even when it fails.

A response is shared with other API keys only if it cannot depend on the key: the source states that (``CachePolicy``),
it has the form of the tool's data, and it repeats no key. Otherwise it is cached for its key alone, and what repeats a
key in the memory of this process alone.

What the plan of an API key does not include is kept for a while, so that trying it costs no request each time.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cachetools import TTLCache

from toolfold import call_context
from toolfold.aws.clients import AwsClients
from toolfold.cache.factory import create_shared_store
from toolfold.cache.key import cache_key, hash_api_key, own_key, simple_text
from toolfold.cache.memory import Memo, MemoryStore
from toolfold.cache.response_cache import Entry, ResponseCache
from toolfold.call_context import Clock
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
from toolfold.execution.call_log import CallLog
from toolfold.execution.rate_limiter import RateLimiter
from toolfold.execution.result import CallResult, UpstreamUse
from toolfold.execution.single_flight import SingleFlight
from toolfold.execution.upstream import Request, RetryingClient, Upstream
from toolfold.messages import SLOW
from toolfold.redaction import NO_REDACTION
from toolfold.sources.base import AdapterContext
from toolfold.sources.registry import AdapterRegistry
from toolfold.wording import Text

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool
    from toolfold.models import SourceCredentials
    from toolfold.network.session import HttpClient
    from toolfold.settings import Settings

_REMEMBERED_S = 3600.0
"""A plan that is upgraded is noticed an hour later; a call that names the argument itself is always sent."""

_MAX_REFUSALS = 20_000
"""Keys with their refusals, a few megabytes: a client can make up keys."""


class PlanMemory:
    """Refusals of calls that toolfold sent on its own account. Safe to use from many threads.

    Args:
        monotonic: the clock.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._refusals: TTLCache[tuple[str, str, str, str], tuple[str | Text, str | Text]] = TTLCache(
            _MAX_REFUSALS, _REMEMBERED_S, monotonic
        )
        self._lock = threading.Lock()

    @contextmanager
    def trying(self, request: Request, added: Mapping[str, Any]) -> Iterator[None]:
        """Raise what an equal try was refused with, and store with what this one is.

        Args:
            request: the call that is about to be performed.
            added: those of its arguments that toolfold added; empty: the call is the caller's, and always performed.

        Raises:
            PremiumOnly: a call of this tool with this key and these added arguments was refused within the last hour.
        """
        if not added:
            yield
            return
        key = request.source.id, request.key_id, request.tool.name, repr(sorted(added.items()))
        with self._lock:
            refusal = self._refusals.get(key)
        if refusal is not None:
            raise PremiumOnly(*refusal)
        try:
            yield
        except PremiumOnly as error:
            with self._lock:
                self._refusals[key] = (error.problem, error.next_step)
            raise


class Admit(Protocol):
    """Counts a call against the limits of its caller."""

    def __call__(self, *, is_cached: bool) -> None:
        """Count the call.

        Raises:
            ClientLimit: the caller has made as many calls as it may.
        """


NOTHING_ADDED: Mapping[str, Any] = MappingProxyType({})


class _CacheKeys(NamedTuple):
    """The cache keys of one call.

    Attributes:
        data: of data that it may get: first what all API keys share, where there is such, then what is its key's alone.
        error: of the error that its key met.
    """

    data: tuple[str, ...]
    error: str

    @property
    def own(self) -> str:
        """Where data is stored for the key alone."""
        return self.data[-1]


_MAX_MEMO_BYTES = 16 << 20
"""Memory for what equal calls computed: some hundred answers of a few kilobytes, a sixtieth of a 1,024 MB function."""

_THROTTLED = ("ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException")
"""DynamoDB counts these itself, and they end without an operator."""


class CachedExecutor:
    """Perform calls, keeping responses. One for a process; safe to use from many threads.

    Args:
        settings: the settings in force.
        aws: creates the clients of AWS.
        get_http_client: returns what sends the requests of all sources; called for the first request.
        on_failure: called with ``CACHE_UNAVAILABLE`` at each failure of the cache that is not a throttle.
        adapters: finds the adapters of sources.
        clock: the clocks.
        read_file: returns content of the current catalog by its SHA-256.

    Attributes:
        memo: what equal calls computed from cache entries, tools and sources. Never from an entry that repeats a key.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        aws: AwsClients | None = None,
        get_http_client: Callable[[], HttpClient] | None = None,
        on_failure: Callable[[str], None] | None = None,
        adapters: AdapterRegistry | None = None,
        clock: Clock | None = None,
        read_file: Callable[[str], Mapping[str, str] | None] = lambda _: None,
    ) -> None:
        self._settings, self._read_file = settings, read_file
        self._adapters, self._clock = adapters or AdapterRegistry(), clock or Clock()
        self._memory = MemoryStore(settings.cache_memory_bytes)
        self.memo = Memo(0 if settings.cache == "off" else min(settings.cache_memory_bytes, _MAX_MEMO_BYTES))
        self._on_failure = on_failure
        self._shared = create_shared_store(
            settings, self._clock.monotonic, aws or AwsClients(), on_failure=self._report_cache
        )
        self._cache = (
            None
            if settings.cache == "off"
            else ResponseCache(
                self._memory, self._shared, settings.max_response_bytes, settings.stale_if_error_s, self.memo
            )
        )
        self._get_http_client = get_http_client or functools.cache(_create_http_client)
        self._plans = PlanMemory(self._clock.monotonic)
        self._flights: SingleFlight[Entry] = SingleFlight()
        self._upstreams: dict[str, Upstream] = {}
        self._lock = threading.Lock()

    def _report_cache(self, reason: str) -> None:
        if self._on_failure is not None and reason not in _THROTTLED:
            self._on_failure(CACHE_UNAVAILABLE)

    def call(
        self,
        source: Source,
        tool: Tool,
        arguments: Mapping[str, Any],
        credentials: SourceCredentials,
        *,
        operator_key: str = "",
        bypass_cache: bool = False,
        deadline: float | None = None,
        added: Mapping[str, Any] = NOTHING_ADDED,
        admit: Admit | None = None,
        only_cached: bool = False,
        log: CallLog | None = None,
    ) -> CallResult:
        """Return the result of one call with validated ``arguments``.

        Args:
            source: the source of ``tool``.
            tool: the tool to call.
            arguments: validated.
            credentials: the API key to send.
            operator_key: the API key of the deployment, which no caller may see.
            bypass_cache: whether to ignore what is cached.
            deadline: when the result must be there, by the monotonic clock.
            added: those of the arguments that toolfold added to the caller's. A refusal because of the plan is then
                stored, and raised again without a request.
            admit: called once it is known whether the answer is cached, and before anything is sent; may raise.
            only_cached: whether to answer from the memory of this process alone; for tools that read.
            log: what the caller logs of this call, filled in here except for the code and the message of an error.

        Raises:
            CallError: every way in which a call can fail.
            NotCached: ``only_cached`` is set, and there is no answer in memory.
        """
        log = log or CallLog(tool.name, source.id)
        log.is_counted = True
        log.is_operator_key = credentials.api_key == operator_key != ""
        # A catalog may ask for less time than the operator allows, not for more.
        timeout_s = min(self._settings.timeout_s, source.connection.get("timeout_s", self._settings.timeout_s))
        end = self._clock.monotonic() + timeout_s
        end = end if deadline is None else min(end, deadline)
        known_keys = (credentials.api_key, operator_key)
        upstream = self._upstream(source)
        key_id = hash_api_key(source, upstream.adapter.endpoint, credentials.api_key, self._settings.key_salt)
        request = Request(source, tool, arguments, credentials, key_id, end, known_keys)
        if tool.effect == "read":
            with self._plans.trying(request, added):
                result = self._read(upstream, request, bypass_cache, log, admit, only_cached=only_cached)
        else:
            log.cache = "bypass"
            if admit is not None:
                admit(is_cached=False)
            found = upstream.fetch(request, self._keys(upstream, request, True).own, log)
            repeats_key = request.redactor.appears_in(found.body) or request.redactor.appears_in(found.blocks)
            redactor = request.redactor if repeats_key else NO_REDACTION
            result = CallResult(found.body, found.kind, False, 0, arguments, redactor=redactor, blocks=found.blocks)
        log.response_chars = len(result.body)
        return replace(result, use=UpstreamUse(log.requests, log.upstream_s)) if log.requests else result

    def smaller_response_hint(self, source: Source) -> str:
        """Return the next step after an answer of ``source`` that is too large."""
        return self._upstream(source).adapter.smaller_response_hint

    def circuit_states(self) -> dict[str, str]:
        """Return the state of the circuit breaker of each source that was called, by its id."""
        with self._lock:
            return {id_: upstream.breaker.state for id_, upstream in self._upstreams.items()}

    def warm_up(self, sources: Iterable[Source]) -> None:
        """Make the adapters of ``sources``, which imports them and what their calls need."""
        for source in sources:
            warm_up = getattr(self._upstream(source).adapter, "warm_up", None)
            if warm_up is not None:
                warm_up()

    def _read(
        self,
        upstream: Upstream,
        request: Request,
        bypass_cache: bool,
        log: CallLog,
        admit: Admit | None,
        *,
        only_cached: bool,
    ) -> CallResult:
        """Return the data of a call that may be cached; where the source fails, the last data, with the reason."""
        keys = self._keys(upstream, request, upstream.varies_by_key(request, self._clock.now()))
        stale_reason = ""
        try:
            entry = self._entry(upstream, request, keys, bypass_cache, log, admit, only_cached=only_cached)
        except (RateLimited, UpstreamError, UpstreamTimeout) as error:
            last = None if bypass_cache or self._cache is None else self._cache.get_stale(keys.data, self._clock.now())
            if last is None:
                raise
            entry, stale_reason = last, error.code
            log.cache, log.error_message = "stale", error.message
        if entry.kind == "error":
            raise entry.to_error()
        is_cached = log.cache in ("memory", "shared", "stale")
        age_s = max(0, int(self._clock.now() - entry.created_at)) if is_cached else 0
        redactor = request.redactor if entry.repeats_key else NO_REDACTION
        return CallResult(
            entry.body,
            entry.kind,
            is_cached,
            age_s,
            request.arguments,
            stale_reason,
            redactor,
            blocks=entry.blocks,
            entry=None if entry.repeats_key else entry,
        )

    def _keys(self, upstream: Upstream, request: Request, varies_by_key: bool) -> _CacheKeys:
        common = self._common_key(request, upstream.adapter.endpoint)
        own = own_key(common, request.key_id)
        if request.source.auth is None:  # without API keys all callers are the same
            return _CacheKeys((common,), f"{own}/error")
        return _CacheKeys((own,) if varies_by_key else (common, own), f"{own}/error")

    def _common_key(self, request: Request, endpoint: str) -> str:
        source, tool, arguments = request.source, request.tool, request.arguments
        if (text := simple_text(arguments)) is None:
            return cache_key(source, tool, arguments, endpoint)
        found: str | None = self.memo.get("cache key", (source, tool), (endpoint, text))
        if found is None:
            found = cache_key(source, tool, arguments, endpoint)
            self.memo.put("cache key", (source, tool), (endpoint, text), found, len(text))
        return found

    def _entry(
        self,
        upstream: Upstream,
        request: Request,
        keys: _CacheKeys,
        bypass_cache: bool,
        log: CallLog,
        admit: Admit | None,
        *,
        only_cached: bool,
    ) -> Entry:
        found = None if bypass_cache else self._find(keys, log, local=only_cached)
        if only_cached and found is None:
            raise NotCached
        if admit is not None:
            admit(is_cached=found is not None)
        if found is not None:
            return found
        log.cache = "joined"
        try:
            while True:
                try:
                    return self._flights.run(
                        (keys.own, bypass_cache),
                        lambda: self._fetch_and_store(upstream, request, keys, bypass_cache, log),
                        max(0.0, request.deadline - self._clock.monotonic()),
                    )
                except CallCancelled:
                    if call_context.is_cancelled():
                        raise
                    # An equal call was cancelled while this one waited for its result.
        except TimeoutError:
            raise UpstreamTimeout(
                f"{request.source.title} did not answer in time.",
                SLOW,
                retryable=True,
            ) from None

    def _fetch_and_store(
        self, upstream: Upstream, request: Request, keys: _CacheKeys, bypass_cache: bool, log: CallLog
    ) -> Entry:
        # An equal call may have finished since the cache was read.
        found = None if bypass_cache else self._find(keys, log, local=True)
        if found is not None:
            return found
        log.cache = "miss"
        try:
            kind, body, is_recognized, blocks, is_final = upstream.fetch(request, keys.own, log)
        except CallError as error:
            self._store_error(keys, error)
            raise
        now = self._clock.now()
        policy = upstream.adapter.cache_policy(request.tool, request.arguments, now)
        repeats_key = request.redactor.appears_in(body) or request.redactor.appears_in(blocks)
        entry = Entry(kind, body, now, now + policy.ttl_s, repeats_key, blocks)
        if self._cache is not None and policy.ttl_s > 0 and is_final:
            key = keys.data[0] if is_recognized and not repeats_key else keys.own
            # What repeats a key is nowhere but in this process, which has the key anyway.
            self._cache.put(key, entry, shared=key == keys.data[0] and not repeats_key)
        return entry

    def _find(self, keys: _CacheKeys, log: CallLog, local: bool = False) -> Entry | None:
        """Return the cached data of this call, or the error that its key met; ``local``: from memory alone."""
        if self._cache is None:
            return None
        now = self._clock.now()
        found = self._cache.get_local(keys.data, now), "memory"
        if found[0] is None and not local:
            found = self._cache.get_shared(keys.data[0], now), "shared"
        if found[0] is None:
            found = self._cache.get_local((keys.error,), now), "memory"
        if found[0] is not None:
            log.cache = found[1]
        return found[0]

    def _store_error(self, keys: _CacheKeys, error: CallError) -> None:
        """Store an error that would come again, for a short time and for its own key: that may be the reason."""
        ttl_s = 0.0
        if isinstance(error, NoData):
            ttl_s = self._settings.no_data_ttl_s
        elif isinstance(error, InvalidArguments | PremiumOnly):
            ttl_s = self._settings.negative_ttl_s
        if ttl_s and self._cache is not None:
            now = self._clock.now()
            self._cache.put(keys.error, Entry.from_error(error, now, now + ttl_s), shared=False)

    def _upstream(self, source: Source) -> Upstream:
        with self._lock:
            upstream = self._upstreams.get(source.id)
            # A new catalog may describe the source differently.
            if upstream is None or (upstream.source is not source and upstream.source != source):
                upstream = self._upstreams[source.id] = self._connect(source)
            return upstream

    def _connect(self, source: Source) -> Upstream:
        settings, clock = self._settings, self._clock
        adapter = self._adapters.create(source, AdapterContext(settings, self._get_http_client, self._read_file))
        limiter = RateLimiter(source.title, adapter.quota_resets_at, settings, self._memory, self._shared, clock)
        return Upstream(source, adapter, RetryingClient(adapter, limiter, settings, clock), settings, clock)


def _create_http_client() -> HttpClient:
    from toolfold.network.session import HttpClient  # imports requests

    return HttpClient()
