"""Upstream HTTP server that sends the replies of a test and records its requests."""

from collections.abc import Callable

from tests.support import local_server
from tests.support.local_server import HttpService, Received

CSV = "timestamp,value\n2026-01-01,1.5\n"

Reply = local_server.Reply


def notice(text: str, key: str = "Information") -> Reply:
    """Return a reply with a notice under one of the upstream's own keys."""
    return 200, {}, f'{{"{key}": "{text}"}}'.encode()


def quote_reply(query: dict[str, str]) -> Reply:
    """Return a quote of the symbol that is requested."""
    header = "symbol,open,high,low,price,volume,latestDay,previousClose,change,changePercent"
    return 200, {}, f"{header}\n{query['symbol']},1,1,1,1,1,2026-01-13,1,0,0%\n".encode()


class Upstream(HttpService):
    """Server of ``replies`` in turn, the last one repeatedly. A reply may be a function of the query's parameters.

    ``requests`` are the parsed queries, ``headers`` the headers of each.
    """

    def __init__(self, *replies: Reply | Callable[[dict[str, str]], Reply]) -> None:
        super().__init__(self._next_reply)
        self.replies = list(replies) or [(200, {}, CSV.encode())]
        self.requests: list[dict[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.url += "/query"

    def _next_reply(self, request: Received) -> Reply:
        query = {name: value for name, value in request.query if value}
        with self.lock:
            self.requests.append(query)
            self.headers.append(request.headers)
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return reply(query) if callable(reply) else reply
