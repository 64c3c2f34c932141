"""What calls of tools share, and what they are performed with: :func:`toolfold.execution.pipeline.run_call`.

A :class:`ToolExecutor` is made once per process. Its parts are imported and made by the first call that needs them, so
that listing and describing tools never pays for them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from toolfold.aws.clients import AwsClients
from toolfold.errors import CACHE_UNAVAILABLE, LIMITS_UNAVAILABLE, CallError

if TYPE_CHECKING:
    from cachetools import TTLCache

    from toolfold.cache.base import CacheStore, FailSafeStore
    from toolfold.cache.response_cache import Entry, Memo, MemoryStore, ResponseCache
    from toolfold.catalog.entries import Source
    from toolfold.client_call import Clock
    from toolfold.execution.api_keys import SecretProvider
    from toolfold.execution.approval import Approvals
    from toolfold.execution.audit import AuditLog
    from toolfold.execution.call import CallLog, Middleware, Observer
    from toolfold.execution.limits import ClientLimits
    from toolfold.execution.shared_state import SingleFlight, SourceHealth, TaskStore, Trouble
    from toolfold.execution.upstream import Upstream
    from toolfold.execution.user_tokens import UserTokens
    from toolfold.network.session import HttpClient
    from toolfold.results.offload import AnswerStore
    from toolfold.settings import Settings
    from toolfold.sources.base import AdapterFactory
    from toolfold.wording import Text

T = TypeVar("T")

_REMEMBERED_S = 3600.0
"""A plan that is upgraded is noticed an hour later; a call that names the argument itself is always sent."""

_MAX_REFUSALS = 20_000
"""Keys with their refusals, a few megabytes: a client can make up keys."""

_MAX_MEMO_BYTES = 24 << 20
"""Memory for what equal calls computed: hundreds of small answers, or five with the days of a share since 1999."""

_THROTTLED = ("ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException")
"""DynamoDB counts these itself, and they end without an operator."""


class made_once(cached_property[T]):  # noqa: N801 - a decorator
    """A property whose value the first thread that needs it makes, while the others wait; then it is an attribute."""

    def __get__(self, instance: ToolExecutor, owner: Any = None) -> T:  # type: ignore[override]  # of one class alone
        """Return the value, made under the lock of ``instance``."""
        with instance.lock:
            return super().__get__(instance, owner)


class ToolExecutor:
    """Has everything that outlives a call. Safe to use from many threads.

    Args:
        settings: the settings in force.
        aws: creates the clients of AWS (default: its own).
        on_call: called with the log of every finished call; None: it is a log line of its own.
        on_failure: called with a code when something of the deployment fails without failing a call.
        uses_own_keys: whether calls without a key may use those of the deployment.
        logs_audit: whether the log of a call has what the audit log says of it, where no file is set for that.
        adapters: kind → what makes the adapter of a source, beside the built-in and installed ones.
        clock: the clocks (default: the system's).
        read_file: returns content of the current catalog by its SHA-256.
        is_public: whether others than the user of this machine can send requests.
        middleware: called around each call, the first outermost.

    Attributes:
        observer: sees calls while they run; None: none does. Set before the first call.
        large_answer_turns: one at a time: two together would take twice the memory, and as long as in turn, with one
            thread running.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        aws: AwsClients | None = None,
        on_call: Callable[[CallLog], None] | None = None,
        on_failure: Callable[[str], None] | None = None,
        uses_own_keys: bool = True,
        logs_audit: bool = False,
        adapters: Mapping[str, AdapterFactory] | None = None,
        clock: Clock | None = None,
        read_file: Callable[[str], Mapping[str, str] | None] = lambda _: None,
        is_public: bool = False,
        middleware: Sequence[Middleware] = (),
    ) -> None:
        self.settings, self.aws = settings, aws or AwsClients()
        self.on_call, self.on_failure, self.middleware = on_call, on_failure, middleware
        self._uses_own_keys, self.is_audited = uses_own_keys, logs_audit or bool(settings.audit_file)
        self._adapters, self._read_file, self._is_public, self._clock = adapters, read_file, is_public, clock
        self.observer: Observer | None = None
        self.lock, self.large_answer_turns = threading.RLock(), threading.Semaphore(1)

    def today(self) -> date:
        """Return the day, in UTC."""
        return datetime.fromtimestamp(self.clock.now(), UTC).date()

    @cached_property
    def imitated(self) -> frozenset[str]:
        """The sources whose calls go to this machine: to imitations, whose data end on a day of their own."""
        from urllib.parse import urlsplit  # takes 2 ms of a cold start

        from toolfold.network.ssrf import LOOPBACK  # the first call imports it in any case

        urls = self.settings.source_urls.items()
        return frozenset(id_ for id_, url in urls if url and urlsplit(url).hostname in LOOPBACK)

    def has_own_key(self, source: Source) -> bool:
        """Return whether calls of a source without a key use one that is set up here. Nothing is read from AWS."""
        if source.auth is None or not self._uses_own_keys:
            return False
        return bool(os.environ.get(source.auth.environment, "").strip() or self.settings.source_keys)

    def upstream(self, source: Source) -> Upstream:
        """Return what sends the calls of ``source``: not every catalog was opened with these settings.

        Raises:
            CatalogUnavailable, UpstreamError: the source may not be reached.
        """
        with self.lock:
            upstream = self.upstreams.get(source.id)
            # A new catalog may describe the source differently.
            if upstream is None or (upstream.source is not source and upstream.source != source):
                from toolfold.catalog.allow_list import AllowList
                from toolfold.execution.limits import RateLimiter
                from toolfold.execution.upstream import Upstream
                from toolfold.sources.base import AdapterContext, create_adapter

                AllowList(self.settings).check(source)
                context = AdapterContext(self.settings, lambda: self.http_client, self._read_file)
                adapter = create_adapter(source, context, self._adapters)
                quota, stores = adapter.quota_resets_at, (self._memory, self._shared)
                limiter = RateLimiter(source.title, quota, self.settings, *stores, self.clock)
                upstream = self.upstreams[source.id] = Upstream(source, adapter, limiter, self.settings, self.clock)
            return upstream

    def circuit_states(self) -> dict[str, str]:
        """Return the state of the circuit breaker of each source that this process has called, by its id."""
        with self.lock:
            return {id_: upstream.state for id_, upstream in self.upstreams.items()}

    def troubles(self) -> Mapping[str, Trouble]:
        """Return id of a source → what is wrong with it, by the last calls of this process."""
        return self.health.troubles() if "health" in vars(self) else {}

    def warm_up(self, sources: Iterable[Source]) -> None:
        """Make the adapters of ``sources``, which imports them and what their calls need; not of those refused here."""
        for source in sources:
            with suppress(CallError):
                warm_up = getattr(self.upstream(source).adapter, "warm_up", None)
                if warm_up is not None:
                    warm_up()

    def reset(self) -> None:
        """Drop the cache, rate limits, circuit breakers, adapters, API keys from AWS, and all connections.

        The next call makes new ones.
        """
        self.aws.reset()
        with self.lock:
            made = [name for name, value in vars(type(self)).items() if isinstance(value, made_once)]
            dropped = {name: vars(self).pop(name) for name in made if name in vars(self)}
        if "secret_provider" in dropped:
            dropped["secret_provider"].reset()
        if "http_client" in dropped:
            dropped["http_client"].close()

    def _report_cache(self, reason: str) -> None:
        if self.on_failure is not None and reason not in _THROTTLED:
            self.on_failure(CACHE_UNAVAILABLE)

    def _shared_store(
        self, on_failure: Callable[[str], None], name: str = "Shared cache"
    ) -> FailSafeStore[CacheStore] | None:
        from toolfold.cache.factory import create_shared_store

        return create_shared_store(self.settings, self.clock.monotonic, self.aws, name=name, on_failure=on_failure)

    @made_once
    def clock(self) -> Clock:
        """The clocks."""
        from toolfold.client_call import Clock

        return self._clock or Clock()

    @made_once
    def memo(self) -> Memo:
        """What equal calls computed."""
        from toolfold.cache.response_cache import Memo

        return Memo(0 if self.settings.cache == "off" else min(self.settings.cache_memory_bytes, _MAX_MEMO_BYTES))

    @made_once
    def cache(self) -> ResponseCache:
        """The responses of sources."""
        from toolfold.cache.response_cache import MemoryStore, ResponseCache

        settings = self.settings
        memory = MemoryStore(0) if settings.cache == "off" else self._memory
        most = settings.max_response_bytes
        return ResponseCache(memory, self._shared, most, settings.stale_if_error_s, self.memo)

    @made_once
    def _memory(self) -> MemoryStore:
        from toolfold.cache.response_cache import MemoryStore

        return MemoryStore(self.settings.cache_memory_bytes)

    @made_once
    def _shared(self) -> FailSafeStore[CacheStore] | None:
        return self._shared_store(self._report_cache)

    @made_once
    def refused(self) -> TTLCache[tuple[str, ...], tuple[str | Text, str | Text]]:
        """What the plan of an API key does not include, for calls with arguments that toolfold adds."""
        from cachetools import TTLCache

        return TTLCache(_MAX_REFUSALS, _REMEMBERED_S, self.clock.monotonic)

    @made_once
    def flights(self) -> SingleFlight[Entry]:
        """The calls that are running, which equal ones join."""
        from toolfold.execution.shared_state import SingleFlight

        return SingleFlight()

    @made_once
    def health(self) -> SourceHealth:
        """What is wrong with sources."""
        from toolfold.execution.shared_state import SourceHealth

        return SourceHealth(self.clock.monotonic)

    @made_once
    def upstreams(self) -> dict[str, Upstream]:
        """Id of a source → what sends its calls, for those that were called."""
        return {}

    @made_once
    def http_client(self) -> HttpClient:
        """The HTTP client of all calls, made for the first request that is sent: its import takes the longest."""
        from toolfold.network.session import HttpClient

        return HttpClient()

    @made_once
    def secret_provider(self) -> SecretProvider:
        """What has the API keys of the deployment."""
        from toolfold.execution.api_keys import SecretProvider

        return SecretProvider(self.settings, self.aws, self.on_failure, uses_own=self._uses_own_keys)

    @made_once
    def answer_store(self) -> AnswerStore:
        """What saves long answers."""
        from toolfold.results.offload import AnswerStore

        settings = self.settings
        return AnswerStore(
            settings.offload, settings.presigned_url_ttl_s, settings.s3_timeout_s, self.aws, self.on_failure
        )

    @made_once
    def client_limits(self) -> ClientLimits:
        """What counts the calls of each caller."""
        from toolfold.execution.limits import ClientLimits

        on_failure = self.on_failure or (lambda _code: None)
        shared = self._shared_store(lambda _reason: on_failure(LIMITS_UNAVAILABLE), "Limits of callers")
        return ClientLimits(self.settings, shared, self.clock)

    @made_once
    def task_store(self) -> TaskStore:
        """What keeps the tasks of clients."""
        from toolfold.execution.shared_state import TaskStore

        return TaskStore(self._shared_store(self._report_cache, "Tasks"), self.clock)

    @made_once
    def approvals(self) -> Approvals:
        """What decides about calls that need approval, and signs texts for one use."""
        from toolfold.execution.approval import Approvals  # few catalogs need it

        return Approvals(self.settings, self.aws, self.secret_provider.get_secret, self.clock.now)

    @made_once
    def user_tokens(self) -> UserTokens:
        """What has the tokens of sources at which the user signs in."""
        from toolfold.execution.user_tokens import UserTokens  # few catalogs need them

        hosted, settings = None, self.settings
        has_issuer = settings.oauth_issuer and settings.oauth_sign_in_client
        if settings.token_secret and has_issuer and settings.cache.startswith("dynamodb://"):
            from toolfold.execution.token_store import HostedSignIns  # few deployments have them

            hosted = HostedSignIns(settings, self.aws, self.secret_provider.get_secret, self.clock.now)
        return UserTokens(settings, lambda: self.http_client, self._is_public, hosted, self.clock.now)

    @made_once
    def audit_log(self) -> AuditLog:
        """What logs each call."""
        from toolfold.execution.audit import AuditLog

        return AuditLog(self.settings, self.clock.now)
