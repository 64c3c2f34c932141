"""API Gateway's part on a laptop: HTTP requests become events for the Lambda handler's own code.

What ``sam local start-api`` does, without a container. It listens on this machine only, and answers only requests that
name this machine: a web page cannot reach it under another name.
"""

from __future__ import annotations

import base64
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from toolfold.protocol.http import LOOPBACK_HOSTS, MAX_BODY_BYTES
from toolfold.settings import Settings
from toolfold.transports.lambda_handler import LambdaHandler

PATH = "/mcp"


class LocalServer(ThreadingHTTPServer):
    """The handler behind a local socket. ``port`` 0 takes a free one; ``url`` is where clients connect.

    Usable as a context manager, which serves from a thread.

    Raises:
        OSError: the port is taken.
    """

    daemon_threads = True

    def __init__(self, settings: Settings, host: str = "127.0.0.1", port: int = 0) -> None:
        self.gateway = LambdaHandler(settings, LOOPBACK_HOSTS)
        super().__init__((host, port), _Handler)
        self.url = f"http://{host}:{self.server_address[1]}{PATH}"
        self._thread: threading.Thread | None = None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing to tell of a client that went away in the middle; anything else is a defect, and shown."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def __enter__(self) -> LocalServer:
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
        if self._thread is not None:
            self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LocalServer
    # Headers and body leave in one packet: in two, the second waits 40 ms for the first to be acknowledged.
    disable_nagle_algorithm = True
    wbufsize = -1

    def _answer(self) -> None:
        path = urlsplit(self.path)
        length = self.headers.get("content-length", "0")
        if path.path.rstrip("/") != PATH:
            return self._send(404, {"content-type": "text/plain"}, f"MCP is served at {PATH}.\n")
        if not length.isdigit() or self.headers.get("transfer-encoding"):
            return self._send(411, {"content-type": "text/plain"}, "Content-Length is needed.\n")
        # One byte over the limit is enough for the handler to refuse it; the rest is not read.
        body = self.rfile.read(min(int(length), MAX_BODY_BYTES + 1))
        if len(body) < int(length):
            self.close_connection = True
        answer = self.server.gateway(self._event(path.path, path.query, body))
        return self._send(answer["statusCode"], answer["headers"], answer["body"])

    do_GET = do_POST = do_DELETE = do_OPTIONS = do_PUT = do_PATCH = do_HEAD = _answer

    def _event(self, path: str, query: str, body: bytes) -> dict[str, Any]:
        headers: dict[str, str] = {}
        for name, value in self.headers.items():  # API Gateway joins repeated headers with commas
            headers[name.lower()] = f"{headers[name.lower()]},{value}" if name.lower() in headers else value
        try:
            text, encoded = body.decode(), False
        except UnicodeDecodeError:
            text, encoded = base64.b64encode(body).decode(), True
        return {
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": path,
            "rawQueryString": query,
            "headers": headers,
            "requestContext": {"http": {"method": self.command, "path": path, "sourceIp": self.client_address[0]}},
            "body": text,
            "isBase64Encoded": encoded,
        }

    def _send(self, status: int, headers: dict[str, str], body: str) -> None:
        content = body.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("content-length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the gateway logs each request, and this line would hold the query string."""
