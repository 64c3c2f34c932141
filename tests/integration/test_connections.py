"""The connections to the upstream: what is said on them, to whom, and how long they are used. Over real sockets."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import requests

from tests.support.sending import KEY, Send
from tests.support.upstream import CSV, Upstream
from toolfold import __version__
from toolfold.backends.connections import forget_connections
from toolfold.backends.transient import BrokenOff
from toolfold.catalog.model import Catalog

OK = f"HTTP/1.1 200 OK\r\ncontent-length: {len(CSV)}\r\n\r\n{CSV}".encode()

Peer = Callable[["Server", socket.socket], None]


@pytest.fixture
def send(catalog: Catalog) -> Send:
    return Send(catalog)


class Server:
    """Gives each of its connections to the next of ``peers``. ``heads`` is what was read on each."""

    def __init__(self, *peers: Peer) -> None:
        self.heads: list[bytes] = []
        self._peers = peers
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(5)
        self._thread = threading.Thread(target=self._serve)
        self.authority = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def read(self, connection: socket.socket) -> bytes:
        """One request, or nothing where the client has hung up."""
        head = b""
        while b"\r\n\r\n" not in head and (more := connection.recv(65536)):
            head += more
        if head:
            self.heads.append(head)
        return head

    def answer(self, connection: socket.socket) -> None:
        """Requests one after another, as long as they come."""
        while self.read(connection):
            connection.sendall(OK)

    def _serve(self) -> None:
        for peer in self._peers:
            connection, _ = self._listener.accept()
            connection.settimeout(5)
            with connection, suppress(OSError):
                peer(self, connection)

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        forget_connections()
        self._thread.join()
        self._listener.close()


ANSWER = Server.answer


class TestRequest:
    def test_it_says_this_and_nothing_else(self, send: Send) -> None:
        server = Server(ANSWER)
        with server:
            send(f"http://{server.authority}/query", "TIME_SERIES_WEEKLY", symbol="BRK B+ä")
        assert server.heads == [
            b"GET /query?function=TIME_SERIES_WEEKLY&symbol=BRK+B%2B%C3%A4&datatype=csv&apikey=" + KEY.encode() + b" "
            b"HTTP/1.1\r\nHost: " + server.authority.encode() + b"\r\n"
            b"User-Agent: toolfold/" + __version__.encode() + b"\r\n"
            b"Accept-Encoding: gzip, deflate\r\nAccept: */*\r\nConnection: keep-alive\r\n\r\n"
        ]

    @pytest.mark.parametrize(
        "symbol", ["a b+c", "ä,€ 😀", "100%", "%41%2f", "&=;/?#@!$'()*[]{}|\\^`\"<>~-._", "\0\r\n\t"]
    )
    @pytest.mark.parametrize("path", ["", "/", "/query?", "/a b/ü?x=1&y=%2f z", "/a/../b?p=100%#part", "//a/b"])
    def test_the_query_is_written_as_requests_writes_it(self, send: Send, path: str, symbol: str) -> None:
        server = Server(ANSWER)
        with server:
            address = f"http://{server.authority}{path}"
            send(address, "TIME_SERIES_WEEKLY", symbol=symbol)
        query = [("function", "TIME_SERIES_WEEKLY"), ("symbol", symbol), ("datatype", "csv"), ("apikey", KEY)]
        expected = requests.Request("GET", address, params=query).prepare().path_url
        assert server.heads[0].split(b" ")[1] == expected.encode()

    def test_a_list_repeats_its_key(self, send: Send) -> None:
        server = Server(ANSWER)
        with server:
            symbols = ["A,B", "C D", "A,B"]
            send(f"http://{server.authority}/", "REALTIME_BULK_QUOTES", symbol=symbols)
        assert b"&symbol=A%2CB&symbol=C+D&symbol=A%2CB&" in server.heads[0]

    def test_a_name_and_a_password_in_the_address_are_sent_as_proof(self, send: Send) -> None:
        server = Server(ANSWER)
        with server:
            send(f"http://me:p%20w@{server.authority}/")
        assert b"\r\nAuthorization: Basic bWU6cCB3\r\n" in server.heads[0]
        assert b"me:p" not in server.heads[0]

    def test_no_cookie_is_carried_from_one_key_to_the_next(self, send: Send) -> None:
        with Upstream((200, {"set-cookie": "who=you"}, CSV.encode())) as upstream:
            send(upstream.url)
            send(upstream.url)
            assert [headers.get("cookie") for headers in upstream.headers] == [None, None]


class TestImports:
    def test_a_call_over_http_needs_none_of_these(self) -> None:
        with Upstream() as upstream:
            program = (
                "import sys; from toolfold.backends.connections import get\n"
                f"assert get({upstream.url!r}, [], 5, 5).status == 200\n"
                "names = {'requests', 'charset_normalizer', 'idna', 'certifi', 'urllib.request'}\n"
                "print(sorted(names & {*sys.modules}))"
            )
            environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
            command = [sys.executable, "-c", program]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == "[]\n"


class TestKept:
    def test_calls_after_one_another_share_a_connection(self, send: Send) -> None:
        server = Server(ANSWER)
        with server:
            for _ in range(3):
                assert send(f"http://{server.authority}/").body == CSV
        assert len(server.heads) == 3

    def test_one_that_was_closed_meanwhile_is_not_used(self, send: Send) -> None:
        closed = threading.Event()

        def once(server: Server, connection: socket.socket) -> None:
            server.read(connection)
            connection.sendall(OK)
            connection.close()
            closed.set()

        server = Server(once, ANSWER)
        with server:
            send(f"http://{server.authority}/")
            assert closed.wait(5)
            time.sleep(0.05)  # until the end of it has arrived
            assert send(f"http://{server.authority}/").body == CSV
        assert len(server.heads) == 2

    def test_one_that_is_closed_as_the_request_is_sent_is_a_call_broken_off(self, send: Send) -> None:
        def once_and_a_half(server: Server, connection: socket.socket) -> None:
            server.read(connection)
            connection.sendall(OK)
            server.read(connection)

        server = Server(once_and_a_half, ANSWER)
        with server:
            send(f"http://{server.authority}/")
            with pytest.raises(BrokenOff):
                send(f"http://{server.authority}/")
            assert send(f"http://{server.authority}/").body == CSV

    def test_such_a_call_is_made_again(self, make_tools: Callable[..., Any]) -> None:
        with Upstream((200, {}, CSV.encode()), (0, {}, b""), (200, {}, CSV.encode())) as upstream:
            tools = make_tools(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=upstream.url, TOOLFOLD_MAX_WAIT_S="3")
            for name in ("CPI", "INFLATION"):
                assert not tools.call("TOOL_CALL", {"tool_name": name, "arguments": {}}).is_error
            assert [query["function"] for query in upstream.asked] == ["CPI", "INFLATION", "INFLATION"]

    def test_forgetting_them_closes_those_that_rest_and_leaves_those_at_work(self, send: Send) -> None:
        ended, begun, go_on = threading.Event(), threading.Event(), threading.Event()

        def rest(server: Server, connection: socket.socket) -> None:
            server.answer(connection)
            ended.set()

        def work(server: Server, connection: socket.socket) -> None:
            server.read(connection)
            connection.sendall(OK[:-5])
            begun.set()
            go_on.wait(5)
            connection.sendall(OK[-5:])
            assert server.read(connection) == b""  # not kept after its call

        server, working = Server(rest, ANSWER), Server(work)
        bodies: list[str] = []
        call = threading.Thread(target=lambda: bodies.append(send(f"http://{working.authority}/").body))
        with server, working:
            call.start()
            send(f"http://{server.authority}/")
            assert begun.wait(5)
            assert not ended.is_set()
            forget_connections()
            assert ended.wait(5)
            go_on.set()
            call.join()
            assert send(f"http://{server.authority}/").body == CSV
        assert bodies == [CSV]

    def test_many_threads_get_each_its_own_answer(self, send: Send) -> None:
        def echo(query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
            time.sleep(0.05)
            return 200, {}, query["symbol"].encode()

        got: dict[str, str] = {}
        with Upstream(echo) as upstream:

            def call(symbol: str) -> None:
                got[symbol] = send(upstream.url, "TIME_SERIES_WEEKLY", symbol=symbol).body

            threads = [threading.Thread(target=call, args=(f"S{number}",)) for number in range(24)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert got == {f"S{number}": f"S{number}" for number in range(24)}

    def test_nothing_is_logged_about_them(self, send: Send) -> None:
        lines: list[str] = []

        class Everything(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                lines.append(record.getMessage())

        handler, root = Everything(), logging.getLogger()
        level = root.level
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        try:
            # A header that is none: urllib3 would name the address, and with it the key, in a warning.
            with Upstream((200, {"no header\r\nx": "y"}, CSV.encode())) as upstream:
                threads = [threading.Thread(target=send, args=(upstream.url,)) for _ in range(20)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
        finally:
            root.setLevel(level)
            root.removeHandler(handler)
        assert lines == []
