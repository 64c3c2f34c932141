"""Upstream HTTP server that sends the replies of a test and records its requests."""

import threading
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from tests.support.local_server import Handler, LocalServer

CSV = "timestamp,value\n2026-01-01,1.5\n"

Reply = tuple[int, dict[str, str], bytes]
"""Status, headers, body. Status 0: the connection is closed without a response."""


def notice(text: str, key: str = "Information") -> Reply:
    """Return a reply with a notice under one of the upstream's own keys."""
    return 200, {}, f'{{"{key}": "{text}"}}'.encode()


class Upstream(LocalServer):
    """Server of ``replies`` in turn, the last one repeatedly. A reply may be a function of the query's parameters.

    ``requests`` are the parsed queries, ``headers`` the headers of each.
    """

    def __init__(self, *replies: Reply | Callable[[dict[str, str]], Reply]) -> None:
        super().__init__(_Handler)
        self.replies = list(replies) or [(200, {}, CSV.encode())]
        self.requests: list[dict[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.url = f"http://127.0.0.1:{self.server_port}/query"
        self._lock = threading.Lock()

    def next_reply(self, query: dict[str, str], headers: dict[str, str]) -> Reply:
        with self._lock:
            self.requests.append(query)
            self.headers.append(headers)
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return reply(query) if callable(reply) else reply


class _Handler(Handler):
    server: Upstream

    def do_GET(self) -> None:
        query = {name: values[-1] for name, values in parse_qs(urlsplit(self.path).query).items()}
        reply = self.server.next_reply(query, {name.lower(): value for name, value in self.headers.items()})
        if reply[0]:
            self.reply(*reply)
        else:
            self.close_connection = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", "0")))
        self.do_GET()
