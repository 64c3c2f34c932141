"""What the calls of a process share: caches, equal calls that run, the health of sources, requests that go on.

Imported by the first call, with all that a call needs.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from cachetools import TTLCache

from toolfold.budget import SingleFlight
from toolfold.cache import create_shared_store
from toolfold.cache.response_cache import Entry, Memo, MemoryStore, ResponseCache
from toolfold.cache.stores import CacheStore, FailSafeStore
from toolfold.catalog.allow_list import AllowList
from toolfold.client_call import Clock
from toolfold.errors import CACHE_UNAVAILABLE, LIMITS_UNAVAILABLE, CallError, SourceChanged, UpstreamTimeout
from toolfold.execution.api_keys import SecretProvider
from toolfold.execution.audit import AuditLog
from toolfold.execution.credentials import principal_id
from toolfold.execution.limits import ClientLimits
from toolfold.execution.upstream import RateLimiter, Upstream
from toolfold.network.errors import NotSent
from toolfold.network.ssrf import LOOPBACK
from toolfold.results.offload import AnswerStore
from toolfold.sources.base import AdapterContext, ConnectionFailed, create_adapter

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool
    from toolfold.execution.approval import Approvals
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.execution.user_tokens import UserTokens
    from toolfold.settings import Settings

T = TypeVar("T")

KEPT_S = 300.0
"""Seconds for which a failure is mentioned: a source that is not called any more may work again."""

_MAX_FAILURES = 1_000
"""Failures that are stored: of sources, and of tools that have changed."""


_TROUBLES: Mapping[type, str] = {
    SourceChanged: "has changed {tool} since it was described",
    NotSent: "could not be reached at the last call",
    ConnectionFailed: "could not serve the last call",  # or the source says "not now"
    UpstreamTimeout: "did not answer the last call in time",
}
"""Kind of failure → what is wrong with the source; the first that fits."""


class SourceHealth:
    """The last failure of each source that is not of its caller's making. Safe to use from many threads."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._failures = TTLCache[tuple[str, str], str](_MAX_FAILURES, KEPT_S, clock)
        self._lock = threading.Lock()

    def record_failure(self, tool: Tool, error: CallError) -> None:
        """Report that a call of ``tool`` failed. What the caller or the tool alone can cause does not count."""
        trouble = next((trouble for kind, trouble in _TROUBLES.items() if isinstance(error, kind)), None)
        if trouble is not None:
            key = tool.source, tool.name if isinstance(error, SourceChanged) else ""
            with self._lock:
                self._failures[key] = f"Source {tool.source} {trouble.format(tool=tool.name)}."

    def record_success(self, tool: Tool) -> None:
        """Report that the source of ``tool`` has answered a call."""
        with self._lock:
            for name in ("", tool.name):
                self._failures.pop((tool.source, name), None)

    def troubles(self) -> Mapping[str, str]:
        """Return id of a source → the sentence on what is wrong with it, if its last call failed not long ago."""
        with self._lock:
            recent = list(self._failures.items())
        # What holds for all tools of a source comes before what holds for one.
        return {source: one for (source, _), one in sorted(recent, key=lambda item: item[0][1] == "")}


KEPT_REQUEST_S = 900
"""Seconds for which a request is kept."""

_ID_BYTES = 16
_ID = re.compile(r"[\w-]{22}", re.ASCII)
_MAX_BYTES, _MAX_OWN_BYTES = 200_000, 4_000_000
"""The largest request, and those of this process together, where none share its cache."""


class KeptRequests:
    """Keep requests that are continued, JSON objects, under random ids. Safe to use from many threads.

    Args:
        shared: where other processes find them too; None: in this process alone.
        clock: the clock.
        salt: of the hashes that stand for the API keys of callers.
    """

    def __init__(self, shared: FailSafeStore[CacheStore] | None, clock: Clock, salt: str) -> None:
        own = FailSafeStore[CacheStore](MemoryStore(_MAX_OWN_BYTES), 0.0, clock.monotonic)
        self._store, self._clock = shared or own, clock
        self._salt = f"toolfold continue {salt}".encode(errors="surrogatepass")

    def add(self, request: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """Keep a new one; return its id and what is kept, with ``created`` in seconds since 1970; None on failure."""
        id_, kept = secrets.token_urlsafe(_ID_BYTES), {**request, "created": self._clock.now()}
        return (id_, kept) if self.replace(id_, kept) else None

    def get(self, id_: str) -> dict[str, Any] | None:
        """Return a request, or None for an unknown id and after its time."""
        # A key that a table cannot have, as a long text, would be a failure of the table.
        content = self._store.run(lambda store: store.get(_key(id_))) if _ID.fullmatch(id_) else None
        kept = json.loads(content) if content else None
        return kept if kept is not None and self._clock.now() < kept["created"] + KEPT_REQUEST_S else None

    def replace(self, id_: str, request: Mapping[str, Any]) -> bool:
        """Keep ``request`` under its id, and return whether that succeeded."""
        content, expires_at = json.dumps(request).encode(), request["created"] + KEPT_REQUEST_S

        def put(store: CacheStore) -> bool:
            store.put(_key(id_), content, self._clock.now(), expires_at)
            return True

        return len(content) <= _MAX_BYTES and self._store.run(put) is True

    def use_once(self, id_: str) -> bool:
        """Return whether this is the first use of a request, of all processes; False where that is not known."""
        now = self._clock.now()
        return self._store.run(lambda store: store.acquire_slot(f"{_key(id_)}/used", now, now + KEPT_REQUEST_S)) == 0

    def caller(self, credentials: RequestCredentials) -> str:
        """Return the id of a caller, whose request is kept; empty for one without a token and a key."""
        return principal_id(credentials, self._salt)


def _key(id_: str) -> str:
    return f"requests/{id_}"


MAX_MEMO_BYTES = 24 << 20
"""Memory for what equal calls computed: hundreds of small answers, or five with the days of a share since 1999."""

_MAX_REFUSAL_BYTES = 4 << 20
"""Memory for refusals, of some thousand keys: a client can make up keys."""

_THROTTLED = ("ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException")
"""DynamoDB counts these itself, and they end without an operator."""


class made_once(cached_property[T]):  # noqa: N801 - a decorator
    """A property whose value the first thread that needs it makes, while the others wait; then it is an attribute."""

    def __get__(self, instance: Services, owner: Any = None) -> T:  # type: ignore[override]  # of one class alone
        """Return the value, made under the lock of ``instance``."""
        with instance.lock:
            return super().__get__(instance, owner)


class Services:
    """What calls share until the executor is reset. Safe to use from many threads.

    Attributes:
        memo: what equal calls computed.
        refusals: what the plans of API keys do not include, also where nothing is cached: each costs a request.
        cache: the responses of sources.
        flights: the calls that are running, which equal ones join.
        health: what is wrong with sources.
        upstreams: id of a source → what sends its calls, for those that were called.
        imitated: the sources whose calls go to this machine: to imitations, whose data end on a day of their own.
        large_answer_turns: one at a time: two together would take twice the memory, and as long as in turn, with one
            thread running.
    """

    def __init__(self, executor: Any) -> None:
        """Make what calls share from a ``ToolExecutor``, whose file imports this one."""
        self.settings: Settings = executor.settings
        self.clock: Clock = executor.clock or Clock()
        self._executor = executor
        self._context = AdapterContext(self.settings, executor.http_client, executor.read_file)
        self.lock, self.large_answer_turns = threading.RLock(), threading.Semaphore(1)
        settings, aws, on_failure = self.settings, executor.aws, executor.on_failure

        def report_cache(reason: str) -> None:
            if reason not in _THROTTLED:
                on_failure(CACHE_UNAVAILABLE)

        monotonic, memory_bytes = self.clock.monotonic, 0 if settings.cache == "off" else settings.cache_memory_bytes
        self._memory = MemoryStore(memory_bytes)
        self._shared = create_shared_store(settings, monotonic, aws, on_failure=report_cache)
        self.memo, self.refusals = Memo(min(memory_bytes, MAX_MEMO_BYTES)), Memo(_MAX_REFUSAL_BYTES)
        self.cache = ResponseCache(
            self._memory, self._shared, settings.max_response_bytes, settings.stale_if_error_s, self.memo
        )
        self.flights, self.health = SingleFlight[Entry](), SourceHealth(monotonic)
        self.upstreams: dict[str, Upstream] = {}
        self.secret_provider = SecretProvider(settings, aws, on_failure, uses_own=executor.uses_own_keys)
        self.audit_log = AuditLog(settings, self.clock.now)
        self.answer_store = AnswerStore(
            settings.offload, settings.presigned_url_ttl_s, settings.s3_timeout_s, aws, on_failure
        )
        limits = create_shared_store(
            settings, monotonic, aws, name="Limits of callers", on_failure=lambda _: on_failure(LIMITS_UNAVAILABLE)
        )
        self.client_limits = ClientLimits(settings, limits, self.clock)
        kept = create_shared_store(settings, monotonic, aws, name="Kept requests", on_failure=report_cache)
        self.kept_requests = KeptRequests(kept, self.clock, settings.key_salt)
        urls = settings.source_urls.items()
        self.imitated = frozenset(id_ for id_, url in urls if url and urlsplit(url).hostname in LOOPBACK)

    def today(self) -> date:
        """Return the day, in UTC."""
        return datetime.fromtimestamp(self.clock.now(), UTC).date()

    def upstream(self, source: Source) -> Upstream:
        """Return what sends the calls of ``source``: not every catalog was opened with these settings.

        Raises:
            CatalogUnavailable, UpstreamError: the source may not be reached.
        """
        with self.lock:
            upstream = self.upstreams.get(source.id)
            # A new catalog may describe the source differently.
            if upstream is None or (upstream.source is not source and upstream.source != source):
                AllowList(self.settings).check(source)
                adapter = create_adapter(source, self._context)
                quota, stores = adapter.quota_resets_at, (self._memory, self._shared)
                limiter = RateLimiter(source.title, quota, self.settings, *stores, self.clock)
                upstream = self.upstreams[source.id] = Upstream(source, adapter, limiter, self.settings, self.clock)
            return upstream

    def circuit_states(self) -> dict[str, str]:
        """Return the state of the circuit breaker of each source that was called, by its id."""
        with self.lock:
            return {id_: upstream.breaker.find().state for id_, upstream in self.upstreams.items()}

    @made_once
    def approvals(self) -> Approvals:
        """What decides about calls that need approval, and signs texts for one use."""
        from toolfold.execution.approval import Approvals  # few catalogs need it

        return Approvals(self.settings, self._executor.aws, self.secret_provider.get_secret, self.clock.now)

    @made_once
    def user_tokens(self) -> UserTokens:
        """What has the tokens of sources at which the user signs in."""
        from toolfold.execution.user_tokens import UserTokens  # few catalogs need them

        hosted, settings = None, self.settings
        has_issuer = settings.oauth_issuer and settings.oauth_sign_in_client
        if settings.token_secret and has_issuer and settings.cache_table:
            from toolfold.execution.token_store import hosted_sign_ins  # few deployments have them

            hosted = hosted_sign_ins(settings, self._executor.aws, self.secret_provider.get_secret, self.clock.now)
        return UserTokens(settings, self._executor.http_client, self._executor.is_public, hosted, self.clock.now)
