"""What the calls of a process share: secrets, caches, limits, approvals, connections.

Each is made when it is needed first. This module is imported by the first call, with what nearly every call needs.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from cachetools import LRUCache

from toolfold.cache.base import CacheStore, FailSafeStore
from toolfold.cache.factory import create_shared_store
from toolfold.cache.response_cache import MemoryStore
from toolfold.client_call import Clock
from toolfold.errors import LIMITS_UNAVAILABLE, CallError, SourceChanged, UpstreamTimeout
from toolfold.execution.api_keys import SecretProvider
from toolfold.execution.audit import AuditLog
from toolfold.execution.limits import ClientLimits
from toolfold.network.errors import NotSent
from toolfold.sources.base import ConnectionFailed

if TYPE_CHECKING:
    from toolfold.aws.clients import AwsClients
    from toolfold.catalog.entries import Tool
    from toolfold.execution.approval import ApprovalGate
    from toolfold.execution.approval_store import SingleUse
    from toolfold.execution.call import CallLog
    from toolfold.execution.user_tokens import UserTokens
    from toolfold.network.session import HttpClient
    from toolfold.results.offload import AnswerStore
    from toolfold.settings import Settings
    from toolfold.sources.registry import AdapterRegistry


T = TypeVar("T")


class made_once(cached_property[T]):  # noqa: N801 - a decorator
    """A property whose value the first thread that needs it makes, while the others wait; then it is an attribute."""

    def __get__(self, instance: CallResources, owner: Any = None) -> T:  # type: ignore[override]
        """Return the value, made under the lock of ``instance``."""
        with instance.lock:
            return super().__get__(instance, owner)


class CallResources:
    """What calls share. One for a process; safe to use from many threads.

    Args:
        settings: the settings in force.
        aws: creates the clients of AWS.
        on_call: called with the log of every finished call; None: it is a log line of its own.
        on_failure: called with a code when something of the deployment fails without failing a call.
        uses_own_keys: whether calls without a key may use those of the deployment.
        logs_audit: whether the log of a call has what the audit log says of it, where no file is set for that.
        adapters: finds the adapters of sources (default: the built-in and installed ones).
        clock: the clocks (default: the system's).
        read_file: returns content of the current catalog by its SHA-256.
        is_public: whether others than the user of this machine can send requests.
    """

    def __init__(
        self,
        settings: Settings,
        aws: AwsClients,
        *,
        on_call: Callable[[CallLog], None] | None = None,
        on_failure: Callable[[str], None] | None = None,
        uses_own_keys: bool = True,
        logs_audit: bool = False,
        adapters: AdapterRegistry | None = None,
        clock: Clock | None = None,
        read_file: Callable[[str], Mapping[str, str] | None] = lambda _: None,
        is_public: bool = False,
    ) -> None:
        self.settings, self.aws, self.adapters, self.clock = settings, aws, adapters, clock or Clock()
        self.on_call, self.on_failure, self.read_file = on_call, on_failure, read_file
        self.uses_own_keys, self.is_audited = uses_own_keys, logs_audit or bool(settings.audit_file)
        self.is_public = is_public
        self.lock, self.health = threading.RLock(), SourceHealth(self.clock.monotonic)

    def close(self) -> None:
        """Drop the secrets, and close the connections."""
        if "secret_provider" in vars(self):
            self.secret_provider.reset()
        if "http_client" in vars(self):
            self.http_client.close()

    @made_once
    def http_client(self) -> HttpClient:
        """The HTTP client of all calls, made for the first request that is sent: its import takes the longest."""
        from toolfold.network.session import HttpClient

        return HttpClient()

    @made_once
    def secret_provider(self) -> SecretProvider:
        """What reads API keys from AWS."""
        settings = self.settings
        return SecretProvider(
            self.aws, settings.secret_ttl_s, settings.secret_timeout_s, self.on_failure, settings.source_keys
        )

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

        def report(_reason: str) -> None:
            if self.on_failure is not None:
                self.on_failure(LIMITS_UNAVAILABLE)

        shared = create_shared_store(
            self.settings, self.clock.monotonic, self.aws, name="Limits of callers", on_failure=report
        )
        return ClientLimits(self.settings, shared, self.clock)

    @made_once
    def task_store(self) -> TaskStore:
        """What keeps the tasks of clients."""
        shared = create_shared_store(
            self.settings, self.clock.monotonic, self.aws, name="Tasks", on_failure=self.on_failure
        )
        return TaskStore(shared, self.clock)

    @property
    def approval_gate(self) -> ApprovalGate:
        """What decides about calls that need approval."""
        return self._approvals[0]

    @property
    def single_use(self) -> SingleUse:
        """What lets a token be used once."""
        return self._approvals[1]

    @made_once
    def _approvals(self) -> tuple[ApprovalGate, SingleUse]:
        from toolfold.execution import approval, approval_store  # few catalogs need them

        secret = self.secret_provider.get_secret
        resources = approval_store.ApprovalResources(self.settings, self.aws, secret, self.clock.now)
        return approval.ApprovalGate(resources), approval_store.SingleUse(resources)

    @made_once
    def user_tokens(self) -> UserTokens:
        """What has the tokens of sources at which the user signs in."""
        from toolfold.execution.user_tokens import UserTokens  # few catalogs need them

        hosted = None
        if self.settings.token_secret:
            from toolfold.execution.hosted_sign_ins import HostedSignIns  # few deployments have them

            if HostedSignIns.is_set_up(self.settings):
                hosted = HostedSignIns(self.settings, self.aws, self.secret_provider.get_secret, self.clock.now)
        return UserTokens(self.settings, lambda: self.http_client, self.is_public, hosted, self.clock.now)

    @made_once
    def audit_log(self) -> AuditLog:
        """What logs each call."""
        return AuditLog(self.settings, self.clock.now)


KEPT_S = 300.0
"""Seconds for which a failure is mentioned: a source that is not called any more may work again."""

_MAX_FAILURES = 1_000
"""Failures that are stored: of sources, and of tools that have changed."""


State = Literal["unreachable", "failing", "slow", "changed"]

_STATES: Mapping[type, State] = {
    SourceChanged: "changed",  # a tool is not what its description says
    NotSent: "unreachable",
    ConnectionFailed: "failing",  # or the source says "not now"
    UpstreamTimeout: "slow",
}
"""Kind of failure → what is wrong with the source; the first that fits."""


class Trouble(NamedTuple):
    """What is wrong with a source, by the last call of one of its tools, and when."""

    state: State
    tool: str
    at: float


class SourceHealth:
    """The last failure of each source that is not of its caller's making. Safe to use from many threads."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures: LRUCache[tuple[str, str], Trouble] = LRUCache(_MAX_FAILURES)
        self._lock = threading.Lock()

    def record_failure(self, tool: Tool, error: CallError) -> None:
        """Report that a call of ``tool`` failed. What the caller or the tool alone can cause does not count."""
        state = next((state for kind, state in _STATES.items() if isinstance(error, kind)), None)
        if state is not None:
            key = tool.source, tool.name if state == "changed" else ""
            with self._lock:
                self._failures[key] = Trouble(state, tool.name, self._clock())

    def record_success(self, tool: Tool) -> None:
        """Report that the source of ``tool`` has answered a call."""
        with self._lock:
            for name in ("", tool.name):
                self._failures.pop((tool.source, name), None)

    def troubles(self) -> Mapping[str, Trouble]:
        """Return id of a source → what is wrong with it, for those whose last call failed not long ago."""
        now = self._clock()
        with self._lock:
            recent = [(key, one) for key, one in self._failures.items() if 0 <= now - one.at <= KEPT_S]
        # What holds for all tools of a source comes before what holds for one.
        return {source: one for (source, _), one in sorted(recent, key=lambda item: item[0][1] == "")}


TASK_TTL_S = 900
"""Seconds for which a task is kept."""

_ID_BYTES = 16
_MAX_BYTES, _MAX_OWN_BYTES = 200_000, 4_000_000
"""The largest task, and those of this process together, where no others share its cache."""


class TaskStore:
    """Keep tasks, JSON objects, under random ids. Safe to use from many threads."""

    def __init__(self, shared: FailSafeStore[CacheStore] | None, clock: Clock) -> None:
        self._store = shared or FailSafeStore(lambda: MemoryStore(_MAX_OWN_BYTES), 0, clock.monotonic)
        self._clock = clock

    def add(self, task: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """Keep a new task; return its id and the task with ``created``, in seconds since 1970, or None on failure."""
        id_, kept = secrets.token_urlsafe(_ID_BYTES), {**task, "created": self._clock.now()}
        return (id_, kept) if self.replace(id_, kept) else None

    def get(self, id_: str) -> dict[str, Any] | None:
        """Return a task, or None for an unknown id and after its time."""
        content = self._store.run(lambda store: store.get(_key(id_)))
        task = json.loads(content) if content else None
        return task if task is not None and self._clock.now() < task["created"] + TASK_TTL_S else None

    def replace(self, id_: str, task: Mapping[str, Any]) -> bool:
        """Keep ``task`` under its id, and return whether that succeeded."""
        content = json.dumps(task).encode()

        def put(store: CacheStore) -> bool:
            store.put(_key(id_), content, self._clock.now(), task["created"] + TASK_TTL_S)
            return True

        return len(content) <= _MAX_BYTES and self._store.run(put) is True


def _key(id_: str) -> str:
    return f"tasks/{id_[: 2 * _ID_BYTES]}"
