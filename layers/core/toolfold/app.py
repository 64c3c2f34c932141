"""The composition root: make the objects that answer requests, once per process, from the settings.

Everything that outlives a request belongs to an :class:`App`; no module keeps state of its own. Each transport makes
one App: ``transports.lambda_handler``, ``transports.local_http.server`` and ``transports.stdio``.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from toolfold.aws.clients import AwsClients
from toolfold.catalog.store import S3Store, open_store
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.protocol.http import OriginPolicy
from toolfold.protocol.mcp import Server, exposed_catalog
from toolfold.settings.model import open_keys

if TYPE_CHECKING:
    from toolfold.auth.resource_server import ResourceServer
    from toolfold.catalog.store import FileStore
    from toolfold.execution.audit import CallLogFile
    from toolfold.execution.call import CallLog, Middleware
    from toolfold.settings import Settings

logger = logging.getLogger("toolfold")

_HOW_TO_OPEN = (
    "Set TOOLFOLD_OAUTH_ISSUER, so that callers need tokens; or TOOLFOLD_ANYONE_MAY_USE_THE_KEY=true, if this is "
    "intended; or unset the key, so that callers send their own."
)
"""What an operator does about a key that would be open to all callers."""


_SPANS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""Variables of OpenTelemetry that say where spans go."""


class App(NamedTuple):
    """The objects of one process.

    Attributes:
        settings: The settings that everything was made with.
        catalog_store: Returns the current catalog when called.
        executor: Performs tool calls.
        aws: Clients of AWS, for all of the above.
        authorization: Checks the access tokens of callers; None: none are required.
        server: Answers MCP requests.
        call_log: Writes the file that the settings name; None: they name none.
    """

    settings: Settings
    catalog_store: FileStore | S3Store
    executor: ToolExecutor
    server: Server
    aws: AwsClients
    authorization: ResourceServer | None
    call_log: CallLogFile | None

    def reset(self) -> None:
        """Drop the catalog read from S3, the keys of the issuer and all state of the executor.

        Called around a SnapStart snapshot: see ``transports.snapstart``.
        """
        if isinstance(self.catalog_store, S3Store):
            self.catalog_store.invalidate()
        self.executor.reset()
        if self.authorization is not None:
            self.authorization.reset()


def build_app(
    settings: Settings,
    *,
    catalog_store: FileStore | S3Store | None = None,
    hosts: tuple[str, ...] = (),
    port: int | None = None,
    on_call: Callable[[CallLog], None] | None = None,
    on_failure: Callable[[str], None] = lambda _: None,
    is_public: bool = False,
    logs_audit: bool = False,
    profile: str = "",
    exposes_all: bool = False,
    has_page: bool = False,
) -> App:
    """Make the App for ``settings``. Nothing is read and no connection is opened before the first request.

    Args:
        settings: The settings of this process.
        catalog_store: What ``open_store`` has returned for them, where the catalog is being read already; None: it is
            opened here.
        hosts: Host names under which a local HTTP server may be called; empty: any. See
            :class:`toolfold.protocol.http.OriginPolicy`.
        port: The port of a local HTTP server, which must be named with ``hosts``; None: deployed.
        on_call: Called with the log of every finished call; None: it is a log line of its own.
        on_failure: Called with a code when something of the deployment fails without failing a call.
        is_public: Whether others than the user of this machine can send requests. Calls then use the keys of the
            settings only if callers need tokens, or the settings say that anyone may use them.
        logs_audit: Whether the log of a call has what the audit log says of it, where no file is set for that.
        profile: The profile of messages that come without HTTP; empty: ``default``.
        exposes_all: Whether the profile ``default`` restricts nothing: for the operator, who uses the command line.
        has_page: Whether it serves the web explorer, whose page may call.

    Raises:
        SettingsError: ``settings.catalog`` is neither a path nor an S3 address, or a class of ``settings.middleware``
            cannot be made.
    """
    catalog_store = catalog_store or open_store(settings)
    aws = AwsClients()
    if isinstance(catalog_store, S3Store):
        aws, catalog_store.on_failure = catalog_store.aws, on_failure
    call_log = None
    if settings.call_log:
        from toolfold.execution import audit, call

        call_log = audit.CallLogFile(settings.call_log)
        on_call = functools.partial(_both, call_log.record_call, on_call or call.log_call)
    closed = open_keys(settings) if is_public else []
    if closed:
        logger.error("%s is not used: anyone could call with it. %s", " and ".join(closed), _HOW_TO_OPEN)
    middleware: Sequence[Middleware] = ()
    if settings.middleware:
        from toolfold.execution.call import load_middleware

        middleware = load_middleware(settings.middleware)
    if any(os.environ.get(name) for name in _SPANS) and os.environ.get("OTEL_TRACES_EXPORTER", "otlp") == "otlp":
        middleware = [*_spans(), *middleware]
    executor = ToolExecutor(
        settings,
        aws=aws,
        on_call=on_call,
        on_failure=on_failure,
        uses_own_keys=not closed,
        logs_audit=logs_audit,
        is_public=is_public,
        read_file=lambda sha256: catalog_store().file(sha256),
        middleware=middleware,
    )
    public_host = settings.public_url.partition("://")[2].partition("/")[0].lower()
    policy = OriginPolicy(settings.allowed_origins, hosts, port, public_host if hosts or has_page else "", has_page)
    authorization = None
    if settings.oauth_issuer:
        from toolfold.auth.resource_server import ResourceServer

        authorization = ResourceServer(settings, executor.http_client)
    on_message = None if call_log is None else call_log.record_request
    exposed = catalog_store if exposes_all else functools.partial(exposed_catalog, catalog_store, settings)
    tools = MetaTools(exposed, executor, exposes_all=exposes_all)
    server = Server(tools, policy, authorization, on_message, profile)
    return App(settings, catalog_store, executor, server, aws, authorization, call_log)


def _spans() -> list[Middleware]:
    """Return what exports a span of each call; nothing where the packages for it are missing."""
    try:
        from toolfold.otel import Spans
    except ModuleNotFoundError as error:
        logger.warning("no spans are exported, because %s is missing: install toolfold[otel]", error.name)
        return []
    return [Spans()]


def _both(first: Callable[[CallLog], None], second: Callable[[CallLog], None], call: CallLog) -> None:
    first(call)
    second(call)
