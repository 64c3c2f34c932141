"""What calls of tools are performed with: :func:`toolfold.execution.pipeline.run_call`.

A :class:`ToolExecutor` is made once per process. What its calls share is imported and made by the first of them, so
that listing and describing tools never pays for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from toolfold.aws.clients import AwsClients
from toolfold.errors import CallError

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source
    from toolfold.client_call import Clock
    from toolfold.execution.call import CallLog, Middleware
    from toolfold.execution.services import Services
    from toolfold.network.session import HttpClient
    from toolfold.settings import Settings


OnRequest: TypeAlias = Callable[[str, Mapping[str, Any], str], Callable[[Mapping[str, Any]], None]]


class ToolExecutor:
    """Knows how calls are performed and who sees them, and has what they share. Safe to use from many threads.

    Args:
        settings: the settings in force.
        aws: creates the clients of AWS (default: its own).
        on_call: called with the log of every finished call; None: it is a log line of its own.
        on_failure: called with a code when something of the deployment fails without failing a call.
        uses_own_keys: whether calls without a key may use those of the deployment.
        logs_audit: whether the log of a call has what the audit log says of it, where no file is set for that.
        clock: the clocks (default: the system's).
        read_file: returns content of the current catalog by its SHA-256.
        is_public: whether others than the user of this machine can send requests.
        middleware: called around each call, the first outermost.

    Attributes:
        on_request: called with the name, the arguments and the profile of each call of a meta-tool when it begins, in
            its thread. What it returns is called with the fields of the log line of the answer: ``error`` and the
            figures of ``meta_tools.dispatcher.usage_of``. None: nothing is to be called.
        used: what calls share; None before the first call.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        aws: AwsClients | None = None,
        on_call: Callable[[CallLog], None] | None = None,
        on_failure: Callable[[str], None] = lambda _: None,
        uses_own_keys: bool = True,
        logs_audit: bool = False,
        clock: Clock | None = None,
        read_file: Callable[[str], Mapping[str, str] | None] = lambda _: None,
        is_public: bool = False,
        middleware: Sequence[Middleware] = (),
    ) -> None:
        self.settings, self.aws, self.on_call, self.middleware = settings, aws or AwsClients(), on_call, middleware
        self.on_failure, self.uses_own_keys = on_failure, uses_own_keys
        self.clock, self.read_file, self.is_public = clock, read_file, is_public
        self.is_audited = logs_audit or bool(settings.audit_file)
        self.on_request: OnRequest | None = None
        self._lock = threading.RLock()
        self._http_client: HttpClient | None = None
        self.used: Services | None = None

    @property
    def services(self) -> Services:
        """What calls share, made by the first of them."""
        with self._lock:
            if self.used is None:
                from toolfold.execution.services import Services  # with all that calls need

                self.used = Services(self)
            return self.used

    def http_client(self) -> HttpClient:
        """Return the HTTP client of all calls, made for the first request: its import takes longest."""
        with self._lock:
            if self._http_client is None:
                from toolfold.network.session import HttpClient

                self._http_client = HttpClient()
            return self._http_client

    def warm_up(self, sources: Iterable[Source]) -> None:
        """Make the adapters of ``sources``, which imports them and what their calls need; not of those refused here."""
        for source in sources:
            with suppress(CallError):
                warm_up = getattr(self.services.upstream(source).adapter, "warm_up", None)
                if warm_up is not None:
                    warm_up()

    def reset(self) -> None:
        """Drop the cache, rate limits, circuit breakers, adapters, API keys from AWS, and all connections.

        The next call makes new ones.
        """
        self.aws.reset()
        with self._lock:
            services, self.used = self.used, None
            client, self._http_client = self._http_client, None
        if services is not None:
            services.secret_provider.reset()
        if client is not None:
            client.close()
