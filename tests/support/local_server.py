"""Base of the HTTP servers of tests: a free local port, a thread, no log."""

import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class LocalServer(ThreadingHTTPServer):
    """HTTP server that runs inside a ``with`` statement; ``connections`` counts the accepted connections."""

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
