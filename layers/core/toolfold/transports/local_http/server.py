"""Serve MCP over HTTP on this machine, with the handler of the Lambda function (the extra ``toolfold[serve]``).

uvicorn accepts connections, parses HTTP with h11 and stops gracefully; ``connection`` is strict, and adds limits.
Requests under another host name than that of this machine, and from pages of other machines, are refused before
anything else is looked at, so that no web page can reach the server by DNS rebinding.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import logging
import math
import os
import socket
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING

from uvicorn.config import Config
from uvicorn.server import Server

from toolfold.app import build_app
from toolfold.protocol import http
from toolfold.settings import Settings
from toolfold.telemetry import CurrentStdout, configure
from toolfold.text_safety import escape_terminal
from toolfold.transports.lambda_handler import RequestHandler
from toolfold.transports.local_http.connection import AsgiApp, LimitedProtocol, refusal
from toolfold.transports.reloading import Reloading, SettingsSource
from toolfold.transports.stdio import stopping_at_signals

if TYPE_CHECKING:
    from toolfold.explorer.router import LocalPage

logger = logging.getLogger("toolfold")

PATH = "/mcp"

KEEP_ALIVE_S = 30
"""Seconds that an idle connection stays open: longer than clients keep theirs, so that they close first."""

BACKLOG = 1_024
"""Connections that the system accepts before this process does."""

MAX_CONNECTIONS = 1_000
"""Connections at the same time: some fifty agents with all that their clients open. Requests beyond it get 503."""


class LossyStdout(CurrentStdout):
    """Write each line at once, and lose it where the reader of a pipe does not read: it must stop no request."""

    def write(self, text: str) -> int:
        """Write ``text`` past the buffer of stdout, which is flushed at the end, and would wait for its reader."""
        try:
            file = sys.stdout.fileno()
        except (AttributeError, OSError, ValueError):  # closed, or replaced by a stream of its own
            return super().write(text)
        with suppress(OSError):
            if stat.S_ISFIFO(os.fstat(file).st_mode):  # nothing that a terminal shares with its shell
                os.set_blocking(file, False)
            os.write(file, escape_terminal(text).encode(errors="backslashreplace"))
        return len(text)


class LocalServer:
    """Serve a handler on a local port, from a thread of its own inside a ``with`` statement.

    It logs as on Lambda, but writes no metrics: CloudWatch does not read them here, and Powertools collects them for
    one request at a time.

    Args:
        settings: The settings of the handler.
        host: The address to listen on, or a name of it.
        port: The port to listen on; 0: any free one.
        page: The web explorer; None: the server has none.
        any_host: Whether it answers under every host name; else only under its own.
        source: Where the settings come from, to use them where they change; None: they stay. Those of the port, the
            host names and the time-outs are those of the start.

    Attributes:
        url: The address for clients.
        page_url: The address of the page with its token; empty without one.
        handler: What answers requests now.

    Raises:
        OSError: The port cannot be used.
    """

    def __init__(
        self,
        settings: Settings,
        host: str = "127.0.0.1",
        port: int = 0,
        page: LocalPage | None = None,
        any_host: bool = False,
        source: SettingsSource | None = None,
    ) -> None:
        self._socket = _listen(host, port)
        # Of all connections: asyncio sets it for sockets only that were made with the number of the protocol.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        own_port = self._socket.getsockname()[1]
        # No client calls a server by the address that stands for all addresses.
        name = "127.0.0.1" if host in ("", "0.0.0.0", "::") else f"[{host}]" if ":" in host else host.lower()  # noqa: S104
        self.url = f"http://{name}:{own_port}{PATH}"
        is_public = not ip_address(self._socket.getsockname()[0].partition("%")[0]).is_loopback
        hosts = () if any_host else (*http.LOOPBACK_HOSTS, name)
        telemetry = configure(settings, LossyStdout())

        def use(settings: Settings) -> None:
            app = build_app(
                settings, hosts=hosts, port=own_port, is_public=is_public, logs_audit=True, has_page=page is not None
            )
            if page is not None:
                page.show(app, self.url)
            self.handler = RequestHandler(app, telemetry, page=page)

        reloading = None if source is None else Reloading(settings, source, use)
        use(settings)
        if reloading is not None:
            reloading.start()
        of_issuer = (http.WELL_KNOWN, http.REGISTER_PATH, http.SIGN_IN_PATH)
        further = (http.TOOLS_PATH, *(of_issuer if settings.oauth_issuer else (http.CATALOG_PATH,)))
        self.page_url = "" if page is None else page.url()
        # A call ends within the time-outs of the settings; one that takes longer is not waited for.
        timeout_s = (
            settings.connect_timeout_s + settings.timeout_s + settings.max_queue_wait_s + settings.deadline_margin_s
        )
        check_head = functools.partial(_check_head, self.handler.server.origin_policy, further)
        # uvicorn writes no log: its messages quote requests, and those about errors have tracebacks.
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL + 1)
        configuration = Config(
            AsgiApp(lambda: self.handler, timeout_s, check_head, () if page is None else page.headers),
            loop="asyncio",
            http=LimitedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=BACKLOG,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=math.ceil(timeout_s),
        )
        self._server = _Server(configuration)
        self._thread = threading.Thread(target=self.serve_forever, name="local server", daemon=True)

    def serve_forever(self) -> None:
        """Serve until SIGINT or SIGTERM, then finish the requests that have arrived. A second signal ends at once."""
        self._server.run(sockets=[self._socket])

    def __enter__(self) -> LocalServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


class _Server(Server):
    """uvicorn's server, with the signals of this process: its own ends the process by the signal, not with code 0."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop gracefully at the first signal, and restore the system's action for the second."""
        with stopping_at_signals(lambda: setattr(self, "should_exit", True)):
            yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections."""
        await super().startup(sockets)
        # The class of an exception alone: its text and its traceback may quote a request.
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: logger.error("defect in the HTTP server: %s", type(context.get("exception")).__name__)
        )


def _listen(host: str, port: int) -> socket.socket:
    try:
        host.encode("idna")
    except UnicodeError:
        raise OSError(errno.EINVAL, "not the name of a host") from None
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    is_dual = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
    try:
        return socket.create_server(address, family=family, backlog=BACKLOG, dualstack_ipv6=is_dual)
    except OSError as error:  # without the address that Python adds
        raise OSError(error.errno, os.strerror(error.errno or 0)) from None


def _check_head(policy: http.OriginPolicy, further: tuple[str, ...], request: http.Request) -> http.Response | None:
    """Return the response to a request that the handler does not see; ``further`` are beginnings of paths it does."""
    headers, path = request.headers, request.path
    if http.SIGN_IN_PATH in further and path.startswith(http.SIGN_IN_PATH):
        # A form of a page without referrers has the origin null. Its state shows where it comes from.
        headers = tuple(pair for pair in headers if pair[0] != "origin")
    if (refused := http.refuse_caller(headers, policy)) is not None:
        return refused
    is_of_page = policy.has_page and (path == "/" or path.startswith("/ui/"))
    endpoint = path.rstrip("/")
    is_of_profile = endpoint.startswith(f"{PATH}/") and endpoint.count("/") == 2
    if is_of_page or path.startswith(further) or endpoint in (PATH, http.HEALTH_PATH) or is_of_profile:
        return refusal(413) if int(request.header("content-length") or 0) > http.MAX_BODY_BYTES else None
    page = "The page is at /, " if policy.has_page else ""
    served = f"MCP is served at {PATH} and {PATH}/PROFILE, the state of this server at {http.HEALTH_PATH}."
    return http.error_response(404, f"{page}{served}")
