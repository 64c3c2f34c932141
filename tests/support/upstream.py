"""An upstream that answers what a test tells it to, over real HTTP, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

CSV = "timestamp,value\n2026-01-01,1.5\n"

Reply = tuple[int, dict[str, str], bytes]
"""Status, headers, body. Status 0: the connection is closed without a word."""


def said(text: str, key: str = "Information") -> Reply:
    """A notice under one of the upstream's own keys."""
    return 200, {}, f'{{"{key}": "{text}"}}'.encode()


class Upstream:
    """Serves ``replies`` in turn, the last one for ever; a reply may be a function of the query's parameters."""

    def __init__(self, *replies: Reply | Callable[[dict[str, str]], Reply]) -> None:
        self.replies = list(replies) or [(200, {}, CSV.encode())]
        self.asked: list[dict[str, str]] = []
        self.headers: list[dict[str, str]] = []
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                query = {name: values[-1] for name, values in parse_qs(urlsplit(self.path).query).items()}
                with upstream._lock:
                    upstream.asked.append(query)
                    upstream.headers.append({name.lower(): value for name, value in self.headers.items()})
                    reply = upstream.replies.pop(0) if len(upstream.replies) > 1 else upstream.replies[0]
                status, headers, body = reply(query) if callable(reply) else reply
                if not status:
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in {"content-length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                with suppress(OSError):  # the client has had enough
                    self.wfile.write(body)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", "0")))
                self.do_GET()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/query"

    def __enter__(self) -> Upstream:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
