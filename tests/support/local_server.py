"""HTTP servers of tests: a free local port, a thread, no log; one records each request as a WSGI server parses it."""

import base64
import json
import ssl
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit


class LocalServer(ThreadingHTTPServer):
    """HTTP server that runs inside a ``with`` statement; ``connections`` counts the accepted connections."""

    request_queue_size = 100
    """Connections that wait to be accepted; beyond them, a client repeats its attempt after a second."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.connections = 0
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print no error of a client that disconnects."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        self.connections += 1
        return True


class Handler(BaseHTTPRequestHandler):
    """Request handler that keeps connections open and logs nothing."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
        """Send a response; ``headers`` may contain a wrong ``content-length``."""
        with suppress(OSError):  # the client has disconnected
            self.send_response(status)
            for name, value in {"content-length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


Reply = tuple[int, dict[str, str], bytes]
"""Status, headers, body. Status 0: the connection is closed without a response."""


@dataclass
class Received:
    """A request as a server reads it: the path decoded, as in ``PATH_INFO``."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    path: str = field(init=False)
    query: list[tuple[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.target)
        self.path = unquote(parts.path)
        self.query = parse_qsl(parts.query, keep_blank_values=True)

    @property
    def cookies(self) -> dict[str, str]:
        """Name → value of each cookie."""
        return {name: morsel.value for name, morsel in SimpleCookie(self.headers.get("cookie", "")).items()}

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def as_json(data: Any, status: int = 200, content_type: str = "application/json") -> Reply:
    return status, {"content-type": content_type}, json.dumps(data).encode()


def echo(request: Received) -> Reply:
    """Reply with everything of the request, as services for trying out clients do."""
    said = {"target": request.target, "headers": request.headers, "body": request.body.decode("utf-8", "replace")}
    return as_json(said)


class HttpService(LocalServer):
    """Server of one reply, or of a function of the request; by TLS with a ``context``. ``received`` has requests."""

    def __init__(
        self, reply: Reply | Callable[[Received], Reply] | None = None, context: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(_Handler)
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.answer: Reply | Callable[[Received], Reply] = reply or as_json({"ok": True})
        self.received: list[Received] = []
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.lock = threading.Lock()

    @property
    def last(self) -> Received:
        return self.received[-1]


class _Handler(Handler):
    server: HttpService

    def _any_method(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Received(self.command, self.path, headers, body)
        with self.server.lock:
            self.server.received.append(request)
        answer = self.server.answer
        status, sent, content = answer(request) if callable(answer) else answer
        if status:
            self.reply(status, sent, b"" if self.command == "HEAD" else content)
        else:
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _any_method


class TokenEndpoint(HttpService):
    """A token endpoint for the client credentials grant: issues ``token-1``, ``token-2``, … to one client."""

    def __init__(self, client: str, expires_in: int = 3600) -> None:
        super().__init__(self._issue)
        self.client, self.expires_in, self.issued = client, expires_in, 0

    def _issue(self, request: Received) -> Reply:
        given = base64.b64decode(request.headers.get("authorization", "").removeprefix("Basic ")).decode()
        form = dict(parse_qsl(request.body.decode()))
        if unquote(given) != self.client or form.get("grant_type") != "client_credentials":
            return as_json({"error": "invalid_client"}, 401)
        self.issued += 1
        token = f"access-token-{self.issued:03}-of-{self.server_port}"
        return as_json({"access_token": token, "token_type": "Bearer", "expires_in": self.expires_in})
