"""HTTP/1.1 server around :class:`Api`, for tests, demos and work without a network.

Request quotas of each API key, per day and per second, as in the vendor's free plan.
"""

from __future__ import annotations

import struct
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR, SO_LINGER, SOL_SOCKET, close
from typing import Any, Literal, TextIO
from urllib.parse import parse_qsl, urlsplit

from toolfold.mock_api.endpoint import Query, get_first
from toolfold.mock_api.faults import KEY_PREFIX, error_response
from toolfold.mock_api.responses import TEXT, Response
from toolfold.mock_api.router import DEMO_KEY, FREE_KEY, KEY, PATH, Sent, open_api

_PER_DAY, _INTERVAL_S = 25, 1.0  # of the free plan
_EASTERN_S = -5 * 3600  # a day begins at midnight, Eastern Standard Time: the vendor does not document when
_GRACE_S = 0.001  # a client that waits for one second is not refused for rounding
_DRIP_PIECES = 20


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

    Attributes:
        port: The port that the server listens on.
        root_url: The URL of sources whose tools have paths of their own, such as those of an OpenAPI document.
        url: The URL of sources whose tools are functions of one address, such as Alpha Vantage.
        requests: The parsed queries so far, in the order of their arrival, with the keys as they were sent.

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
        self._now, self._api, self.log, self.latency_s = now, open_api(catalog), log, latency_s
        self._plan, self._clock, self._lock = plan, clock, threading.Lock()
        self._used: dict[str, tuple[int, int, float]] = {}
        self.requests: list[Query] = []
        self.closing = threading.Event()
        self._is_serving = False
        self._server = _Server(("127.0.0.1", port), type("Handler", (_Handler,), {"api": self}))
        self.port = int(self._server.server_address[1])
        self.root_url = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.root_url}{PATH}"

    @property
    def variables(self) -> dict[str, str]:
        """The variables that point toolfold at this server: a URL for each source, and its key."""
        found = {}
        for one in self._api.sources:
            found[f"TOOLFOLD_SOURCE_{one.id.upper()}_URL"] = self.url if one.function_key else self.root_url
            if one.auth is not None:
                found[one.auth.environment] = "mock"
        return found

    def clear_requests(self) -> None:
        """Clear the recorded queries."""
        self.requests.clear()

    def serve_forever(self) -> None:
        """Serve from this thread until :meth:`close` is called from another, or until an exception such as Ctrl-C."""
        self._is_serving = True
        self._server.serve_forever(poll_interval=0.05)

    def close(self) -> None:
        """Stop serving and free the address. Responses that are being delayed are abandoned."""
        self.closing.set()
        if self._is_serving:
            self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> MockApi:
        self._is_serving = True
        threading.Thread(target=self.serve_forever, name="toolfold-mock-api", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answer(self, sent: Sent) -> tuple[Response, str]:
        """Return the response to a request within the plan, and the name of the tool that it is for."""
        if sent.path != PATH:
            return self._api.answer(sent, self._now)
        if sent.method != "GET":
            return Response(405, TEXT, b"Functions are called with GET\n"), ""
        self.requests.append(list(sent.query))
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
            if now - last < _INTERVAL_S - _GRACE_S:
                return "free_burst"
            self._used[key] = today, used + 1, now
            return ""


class _Server(ThreadingHTTPServer):
    block_on_close = False  # the thread of a connection must not delay the end of the process

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect in the middle of a response: half of the faults make them do so."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    api: MockApi
    protocol_version, server_version, sys_version = "HTTP/1.1", "toolfold-mock-api", ""
    timeout = 60.0  # idle connections are closed after this time
    disable_nagle_algorithm = True
    error_message_format, error_content_type = "%(code)d %(message)s\n", TEXT

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = parse_qsl(parts.query, keep_blank_values=True)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        response, function = self.api.answer(Sent(self.command, parts.path, query, dict(self.headers), body))
        if self.api.log:  # without unknown function names: they may be secrets in the wrong parameter
            print(function or "?", response.status, file=self.api.log, flush=True)
        delay_s = 0.0 if response.connection == "drip" else response.delay_s + self.api.latency_s
        if response.connection == "reset":  # closing without lingering sends RST instead of FIN
            self.connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
            close(self.connection.detach())
        elif response.connection == "closed":
            self.connection.shutdown(SHUT_RDWR)
        elif not (delay_s and self.api.closing.wait(delay_s)) and self._send(response):
            return
        self.close_connection = True

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def _send(self, response: Response) -> bool:
        """Send a response; return whether another can follow on the connection."""
        self.send_response(response.status)
        self.send_header("Content-Type", response.content_type)
        length = len(response.body) * response.times if response.length is None else response.length
        for name, value in (("Content-Length", str(length)), *response.headers):
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return True
        if response.connection == "drip":
            size = -(-len(response.body) // _DRIP_PIECES)
            for start in range(0, len(response.body), size):
                self.wfile.write(response.body[start : start + size])
                if self.api.closing.wait(response.delay_s / _DRIP_PIECES):
                    return False
            return True
        if response.connection == "truncated":
            self.wfile.write(response.body[: len(response.body) // 2])
            return False
        for _ in range(response.times):
            self.wfile.write(response.body)
        return True

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the request line contains the key."""
