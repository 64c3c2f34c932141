"""HTTP/1.1 server around :class:`Api`, for tests, demos and work without a network.

Request quotas of each API key, per day and per second, as in the vendor's free plan.
"""

from __future__ import annotations

import struct
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR, SO_LINGER, SOL_SOCKET, close
from typing import Any, Literal, TextIO
from urllib.parse import parse_qsl, urlsplit

from toolfold.mock_api.endpoint import get_first
from toolfold.mock_api.faults import KEY_PREFIX, error_response
from toolfold.mock_api.responses import TEXT, Response
from toolfold.mock_api.router import DEMO_KEY, FREE_KEY, KEY, PATH, Sent, open_api

_EASTERN_S = -5 * 3600
"""Offset of Eastern Standard Time: a day begins at its midnight. The vendor does not document when its day begins."""

_GRACE_S = 0.001
"""Tolerance of the comparison of times: a client that waits for one second is not refused for rounding."""


_PER_DAY, _PER_SECOND = 25, 1
"""Limits of the free plan."""


IDLE_TIMEOUT_S = 60.0  # idle connections are closed after this time
DRIP_PIECES = 20

ParsedQuery = list[tuple[str, str]]


class MockApi:
    """The imitated API on ``http://127.0.0.1:port/query``.

    As a context manager it serves from a background thread::

        with MockApi() as mock_api:
            urlopen(f"{mock_api.url}?function=MARKET_STATUS&apikey=any")

    Args:
        port: Port to listen on; 0 takes a free one.
        now: Moves the newest day of the data (see :meth:`Api.answer`).
        catalog: The compiled catalog whose tools are answered; None for the one in the package.
        log: Gets one line per request with function and status, never a key.
        plan: ``free``: every key has its rights and quotas. None counts nothing.
        latency_s: Seconds of silence before every response.
        clock: Returns seconds since 1970, for the quotas.

    Raises:
        OSError: The address is taken; it is bound on creation.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        now: datetime | None = None,
        catalog: str | Path | None = None,
        log: TextIO | None = None,
        plan: Literal["free"] | None = None,
        latency_s: float = 0.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._now, self._api = now, open_api(catalog)
        self._plan, self._clock, self._lock = plan, clock, threading.Lock()
        self._used: dict[str, tuple[int, int, float]] = {}
        self._latency_s, self._log = latency_s, log
        self._requests: list[ParsedQuery] = []
        self._closing = threading.Event()
        self._serving = False
        self._server = _Server(("127.0.0.1", port), type("Handler", (_Handler,), {"api": self}))

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The URL of sources whose tools are functions of one address, such as Alpha Vantage."""
        return f"{self.root_url}{PATH}"

    @property
    def root_url(self) -> str:
        """The URL of sources whose tools have paths of their own, such as those of an OpenAPI document."""
        return f"http://{self._server.server_address[0]!s}:{self.port}"

    @property
    def variables(self) -> dict[str, str]:
        """The variables that point toolfold at this server: a URL for each source, and its key."""
        found = {}
        for one in self._api.sources:
            found[f"TOOLFOLD_SOURCE_{one.id.upper()}_URL"] = self.url if one.function_key else self.root_url
            if one.auth is not None:
                found[one.auth.environment] = "mock"
        return found

    @property
    def requests(self) -> list[ParsedQuery]:
        """The parsed queries so far, in the order of their arrival, with the keys as they were sent."""
        return [list(query) for query in self._requests]

    def clear_requests(self) -> None:
        """Clear the recorded queries."""
        self._requests.clear()

    def serve_forever(self) -> None:
        """Serve from this thread until :meth:`close` is called from another, or until an exception such as Ctrl-C."""
        self._serving = True
        self._server.serve_forever(poll_interval=0.05)

    def close(self) -> None:
        """Stop serving and free the address. Responses that are being delayed are abandoned."""
        self._closing.set()
        if self._serving:
            self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> MockApi:
        self._serving = True
        threading.Thread(target=self.serve_forever, name="toolfold-mock-api", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self, sent: Sent) -> tuple[Response, str]:
        if sent.path != PATH:
            return self._api.answer(sent, self._now)
        if sent.method != "GET":
            return Response(405, TEXT, b"Functions are called with GET\n"), ""
        self._requests.append([*sent.query])
        key = get_first(sent.query, KEY)
        if self._plan is None or key in ("", DEMO_KEY) or key.startswith(KEY_PREFIX):
            return self._api.answer(sent, self._now)
        error_name = self._count_request(key)
        query = [(name, FREE_KEY if name == KEY else value) for name, value in sent.query]
        response, function = self._api.answer(sent._replace(query=query), self._now)
        return error_response(error_name, sent.query) if error_name else response, function

    def _count_request(self, key: str) -> str:
        """Count one request of ``key``; return the name of the error body when it exceeds the plan.

        Only requests within the plan count. Whether the vendor counts refused requests too is not known.
        """
        with self._lock:
            now = self._clock()
            today = int((now + _EASTERN_S) // 86400)
            day, used, last = self._used.get(key, (today, 0, float("-inf")))
            used = used if day == today else 0
            if used >= _PER_DAY:
                return "daily_quota"
            if now - last < 1 / _PER_SECOND - _GRACE_S:
                return "free_burst"
            self._used[key] = today, used + 1, now
            return ""


class _Server(ThreadingHTTPServer):
    # Each connection has a thread of its own, which must not delay the end of the process.
    daemon_threads, block_on_close = True, False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect in the middle of a response: half of the faults make them do so."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    api: MockApi
    protocol_version = "HTTP/1.1"
    server_version = "toolfold-mock-api"
    sys_version = ""
    timeout = IDLE_TIMEOUT_S
    disable_nagle_algorithm = True
    error_message_format = "%(code)d %(message)s\n"
    error_content_type = TEXT

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = parse_qsl(parts.query, keep_blank_values=True)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        response, function = self.api._answer(Sent(self.command, parts.path, query, dict(self.headers), body))
        if self.api._log:  # without unknown function names: they may be secrets in the wrong parameter
            print(function or "?", response.status, file=self.api._log, flush=True)
        if response.connection != "drip":
            response = replace(response, delay_s=response.delay_s + self.api._latency_s)
        self._send(response)

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def _send(self, response: Response) -> None:
        if response.connection in ("closed", "reset"):
            self.close_connection = True
            if response.connection == "reset":  # closing without lingering sends RST instead of FIN
                self.connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
                close(self.connection.detach())
            else:
                self.connection.shutdown(SHUT_RDWR)
            return
        if response.connection != "drip" and response.delay_s and self.api._closing.wait(response.delay_s):
            self.close_connection = True
            return
        try:
            self.send_response(response.status)
            self.send_header("Content-Type", response.content_type)
            length = len(response.body) * response.times if response.length is None else response.length
            self.send_header("Content-Length", str(length))
            for name, value in response.headers:
                self.send_header(name, value)
            self.end_headers()
            self._send_body(response)
        except (BrokenPipeError, ConnectionResetError):  # the client has disconnected
            self.close_connection = True

    def _send_body(self, response: Response) -> None:
        if self.command == "HEAD":
            return
        if response.connection == "truncated":
            self.wfile.write(response.body[: len(response.body) // 2])
            self.close_connection = True
        elif response.connection == "drip":
            size = -(-len(response.body) // DRIP_PIECES)
            for start in range(0, len(response.body), size):
                self.wfile.write(response.body[start : start + size])
                if self.api._closing.wait(response.delay_s / DRIP_PIECES):
                    self.close_connection = True
                    return
        else:
            for _ in range(response.times):
                self.wfile.write(response.body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the request line contains the key."""
