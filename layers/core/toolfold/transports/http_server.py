"""Serve MCP over HTTP on this machine, through the code of the Lambda handler.

A local server does what API Gateway does: it turns HTTP requests into events of payload format 2.0, as ``sam local
start-api`` does, but without a container. It listens on the loopback interface and answers only requests whose Host
header names it, so that a web page cannot reach it by DNS rebinding.
"""

from __future__ import annotations

import base64
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from toolfold.app import build_app
from toolfold.protocol.http import LOOPBACK_HOSTS, MAX_BODY_BYTES
from toolfold.settings import Settings
from toolfold.telemetry import configure
from toolfold.transports.lambda_handler import LambdaHandler

__all__ = ["PATH", "LocalServer"]

PATH = "/mcp"


class LocalServer(ThreadingHTTPServer):
    """Serve the Lambda handler on a local port.

    As a context manager it serves from a thread of its own. It logs as on Lambda, but writes no metrics: CloudWatch
    does not read them here, and Powertools collects them for one request at a time.

    Args:
        settings: The settings of the handler.
        host: The address to listen on.
        port: The port to listen on; 0: any free one.

    Attributes:
        url: The address for clients.

    Raises:
        OSError: The port cannot be used.
    """

    daemon_threads = True

    def __init__(self, settings: Settings, host: str = "127.0.0.1", port: int = 0) -> None:
        self.lambda_handler = LambdaHandler(build_app(settings, hosts=LOOPBACK_HOSTS), configure(settings))
        super().__init__((host, port), _RequestHandler)
        self.url = f"http://{host}:{self.server_address[1]}{PATH}"
        self._thread: threading.Thread | None = None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connections that a client closed early; print the traceback of anything else."""
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


class _RequestHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LocalServer
    # Send headers and body in one packet. In two, Nagle's algorithm holds the second back until the first is
    # acknowledged, some 40 ms later.
    disable_nagle_algorithm = True
    wbufsize = -1

    def _respond(self) -> None:
        path = urlsplit(self.path)
        length = self.headers.get("content-length", "0")
        if path.path.rstrip("/") != PATH:
            return self._send(404, {"content-type": "text/plain"}, f"MCP is served at {PATH}.\n")
        if not length.isdigit() or self.headers.get("transfer-encoding"):
            return self._send(411, {"content-type": "text/plain"}, "Content-Length is needed.\n")
        # The handler refuses a body one byte over the limit; the rest need not be read.
        body = self.rfile.read(min(int(length), MAX_BODY_BYTES + 1))
        if len(body) < int(length):
            self.close_connection = True
        response = self.server.lambda_handler(self._event(path.path, path.query, body))
        return self._send(response["statusCode"], response["headers"], response["body"])

    do_GET = do_POST = do_DELETE = do_OPTIONS = do_PUT = do_PATCH = do_HEAD = _respond

    def _event(self, path: str, query: str, body: bytes) -> dict[str, Any]:
        headers: dict[str, str] = {}
        for name, value in self.headers.items():  # API Gateway joins repeated headers with commas
            headers[name.lower()] = f"{headers[name.lower()]},{value}" if name.lower() in headers else value
        try:
            text, is_base64 = body.decode(), False
        except UnicodeDecodeError:
            text, is_base64 = base64.b64encode(body).decode(), True
        return {
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": path,
            "rawQueryString": query,
            "headers": headers,
            "requestContext": {"http": {"method": self.command, "path": path, "sourceIp": self.client_address[0]}},
            "body": text,
            "isBase64Encoded": is_base64,
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
        """Log nothing: the handler logs each request, and this line would contain the query string."""
