"""What the calls of a process share: secrets, caches, limits, approvals, connections.

Each is made when it is needed first. This module is imported by the first call, with what nearly every call needs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from toolfold.cache.factory import create_shared_store
from toolfold.call_context import Clock
from toolfold.errors import LIMITS_UNAVAILABLE
from toolfold.execution import api_keys, validation  # noqa: F401 - imported with what calls share, by `warm_up` too
from toolfold.execution.audit import AuditLog
from toolfold.execution.cached_executor import CachedExecutor
from toolfold.execution.client_limits import ClientLimits
from toolfold.execution.secrets import SecretProvider
from toolfold.execution.source_health import SourceHealth, Trouble

if TYPE_CHECKING:
    from toolfold.aws.clients import AwsClients
    from toolfold.catalog.entries import Tool
    from toolfold.errors import CallError
    from toolfold.execution.approval import ApprovalGate
    from toolfold.execution.single_use import SingleUse
    from toolfold.network.session import HttpClient
    from toolfold.results.offload import AnswerStore
    from toolfold.settings import Settings
    from toolfold.sources.registry import AdapterRegistry

__all__ = ["CallResources"]


class CallResources:
    """What calls share. One for a process; safe to use from many threads.

    Args:
        settings: the settings in force.
        aws: creates the clients of AWS.
        on_failure: called with a code when something of the deployment fails without failing a call.
        adapters: finds the adapters of sources (default: the built-in and installed ones).
        clock: the clocks (default: the system's).
        read_file: returns content of the current catalog by its SHA-256.
    """

    def __init__(
        self,
        settings: Settings,
        aws: AwsClients,
        *,
        on_failure: Callable[[str], None] | None,
        adapters: AdapterRegistry | None,
        clock: Clock | None,
        read_file: Callable[[str], Mapping[str, str] | None],
    ) -> None:
        self._settings, self._aws, self._on_failure = settings, aws, on_failure
        self._adapters, self._clock, self._read_file = adapters, clock, read_file
        self._now = time.time if clock is None else clock.now
        self._secrets: SecretProvider | None = None
        self._http_client: HttpClient | None = None
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        """Drop all but the secrets and the HTTP client, which are reset."""
        self._client_limits: ClientLimits | None = None
        self._cached_executor: CachedExecutor | None = None
        self._answer_store: AnswerStore | None = None
        self._approvals: tuple[ApprovalGate, SingleUse] | None = None
        self._audit_log: AuditLog | None = None
        self._health: SourceHealth | None = None

    def reset(self) -> None:
        """Drop everything; the next call makes it again."""
        with self._lock:
            self._forget()
            if self._secrets is not None:
                self._secrets.reset()
            if self._http_client is not None:
                self._http_client.close()

    def record_success(self, tool: Tool) -> None:
        """Report that the source of ``tool`` has answered a call."""
        if self._health is not None:
            self._health.record_success(tool)

    def record_failure(self, tool: Tool, error: CallError) -> None:
        """Report that a call of ``tool`` failed; see :mod:`toolfold.execution.source_health`."""
        with self._lock:
            if self._health is None:
                self._health = SourceHealth(time.monotonic if self._clock is None else self._clock.monotonic)
            health = self._health
        health.record_failure(tool, error)

    def troubles(self) -> Mapping[str, Trouble]:
        """Return id of a source → what is wrong with it, by the last calls."""
        return {} if self._health is None else self._health.troubles()

    def circuit_states(self) -> dict[str, str]:
        """Return the state of the circuit breaker of each source that was called, by its id."""
        with self._lock:
            executor = self._cached_executor
        return {} if executor is None else executor.circuit_states()

    def cached_executor(self) -> CachedExecutor:
        """Return what performs validated calls; made by the first call."""
        with self._lock:
            if self._cached_executor is None:
                self._cached_executor = CachedExecutor(
                    self._settings,
                    aws=self._aws,
                    get_http_client=lambda: self.http_client,
                    on_failure=self._on_failure,
                    adapters=self._adapters,
                    clock=self._clock,
                    read_file=self._read_file,
                )
            return self._cached_executor

    @property
    def http_client(self) -> HttpClient:
        """The HTTP client of all calls, made for the first request that is sent: its import takes the longest."""
        with self._lock:
            if self._http_client is None:
                from toolfold.network.session import HttpClient

                self._http_client = HttpClient()
            return self._http_client

    def secret_provider(self) -> SecretProvider:
        """Return what reads API keys from AWS; made by the first call."""
        with self._lock:
            if self._secrets is None:
                self._secrets = SecretProvider(
                    self._aws,
                    self._settings.secret_ttl_s,
                    self._settings.secret_timeout_s,
                    self._on_failure,
                    self._settings.source_keys,
                )
            return self._secrets

    def answer_store(self) -> AnswerStore:
        """Return what saves long answers; made by the first of them."""
        with self._lock:
            if self._answer_store is None:
                from toolfold.results.offload import AnswerStore

                settings = self._settings
                self._answer_store = AnswerStore(
                    settings.offload, settings.presigned_url_ttl_s, settings.s3_timeout_s, self._aws, self._on_failure
                )
            return self._answer_store

    def client_limits(self) -> ClientLimits:
        """Return what counts the calls of each caller; made by the first call."""
        with self._lock:
            if self._client_limits is None:
                clock = self._clock or Clock()
                shared = create_shared_store(
                    self._settings, clock.monotonic, self._aws, name="Limits of callers", on_failure=self._report_limits
                )
                self._client_limits = ClientLimits(self._settings, shared, clock)
            return self._client_limits

    def approvals(self) -> tuple[ApprovalGate, SingleUse]:
        """Return what decides about calls that need approval, and what lets a token be used once."""
        secrets = self.secret_provider()
        with self._lock:
            if self._approvals is None:
                from toolfold.execution import approval, approval_store, single_use  # few catalogs need them

                resources = approval_store.ApprovalResources(self._settings, self._aws, secrets.get_secret, self._now)
                self._approvals = approval.ApprovalGate(resources), single_use.SingleUse(resources)
            return self._approvals

    def approval_gate(self) -> ApprovalGate:
        """Return what decides about calls that need approval."""
        return self.approvals()[0]

    def single_use(self) -> SingleUse:
        """Return what lets a token be used once."""
        return self.approvals()[1]

    def audit_log(self) -> AuditLog:
        """Return what logs each call; made by the first call."""
        with self._lock:
            if self._audit_log is None:
                self._audit_log = AuditLog(self._settings, self._now)
            return self._audit_log

    def _report_limits(self, _reason: str) -> None:
        if self._on_failure is not None:
            self._on_failure(LIMITS_UNAVAILABLE)
