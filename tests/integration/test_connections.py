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
from toolfold import __version__, connections, exchange
from toolfold.backends.transient import BrokenOff, NoConnection
from toolfold.catalog.model import Catalog
from toolfold.connections import forget_connections
from toolfold.errors import CallError
from toolfold.exchange import SendingError

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
    @pytest.mark.parametrize("path", ["", "/", "/query?", "/a b/ü?x=1&y=%2F z#part", "/100%25/%20", "//a/b"])
    def test_the_query_is_written_as_requests_writes_it(self, send: Send, path: str, symbol: str) -> None:
        server = Server(ANSWER)
        with server:
            address = f"http://{server.authority}{path}"
            send(address, "TIME_SERIES_WEEKLY", symbol=symbol)
        query = [("function", "TIME_SERIES_WEEKLY"), ("symbol", symbol), ("datatype", "csv"), ("apikey", KEY)]
        expected = requests.Request("GET", address, params=query).prepare().path_url
        assert server.heads[0].split(b" ")[1] == expected.encode()

    @pytest.mark.parametrize(
        ("path", "sent"), [("/a/../b", "/a/../b"), ("/%7e?p=%2f", "/%7e?p=%2f"), ("/x\x7fy\\z|", "/x%7Fy%5Cz%7C")]
    )
    def test_an_address_is_left_as_it_was_set_but_for_what_cannot_be_sent(
        self, send: Send, path: str, sent: str
    ) -> None:
        server = Server(ANSWER)
        with server:
            send(f"http://{server.authority}{path}")
        assert server.heads[0].startswith(f"GET {sent}{'&' if '?' in sent else '?'}function=CPI&".encode())

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


class TestReach:
    """Names with several addresses."""

    def found(self, monkeypatch: pytest.MonkeyPatch, *addresses: tuple[str, int]) -> None:
        rows = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in addresses]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: rows)

    def test_the_next_address_is_tried_when_nobody_listens_at_one(
        self, send: Send, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server = Server(ANSWER)
        with server:
            port = int(server.authority.partition(":")[2])
            self.found(monkeypatch, ("127.0.0.1", 1), ("127.0.0.1", port))
            assert send("http://localhost:7/").body == CSV

    def test_an_address_that_is_silent_leaves_time_for_the_next(
        self, send: Send, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server, real = Server(ANSWER), socket.socket.connect

        def connect(sock: socket.socket, address: tuple[str, int]) -> None:
            if address[1] == 1:
                time.sleep(sock.gettimeout() or 0)
                raise TimeoutError
            real(sock, address)

        with server:
            port = int(server.authority.partition(":")[2])
            self.found(monkeypatch, ("127.0.0.1", 1), ("127.0.0.1", 1), ("127.0.0.1", port))
            monkeypatch.setattr(connections.socket.socket, "connect", connect)
            assert send("http://localhost:7/", within_s=0.6).body == CSV
            forget_connections()
            self.found(monkeypatch, *[("127.0.0.1", 1)] * 9)
            started = time.monotonic()
            with pytest.raises(NoConnection):
                send("http://localhost:7/", within_s=0.3)
            assert time.monotonic() - started < 1.5

    @pytest.mark.parametrize(
        "address",
        ["http://localhost:99999/", "https://[::1/", "https:///q", "https://a\x7fb/", "https://" + "a" * 64 + "ä/"],
    )
    def test_an_address_that_is_none_is_not_reached(self, send: Send, address: str) -> None:
        with pytest.raises(CallError) as caught:
            send(address)
        assert KEY not in repr(caught.value.as_dict())


class TestImports:
    def test_a_call_over_http_needs_none_of_these(self) -> None:
        with Upstream() as upstream:
            program = (
                "import sys, time; from toolfold.exchange import send\n"
                "within = {'connect_s': 5, 'deadline': time.monotonic() + 5, 'limit': 99}\n"
                f"assert send('GET', {upstream.url!r}, {{}}, None, again=True, **within).status == 200\n"
                "names = {'requests', 'urllib3', 'encodings.idna', 'certifi', 'urllib.request', 'dataclasses'}\n"
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

    def test_one_that_is_closed_right_after_an_answer_is_a_call_broken_off(self, send: Send) -> None:
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

    def test_one_that_had_rested_and_is_closed_as_the_request_is_sent_is_replaced_once(
        self, send: Send, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(exchange, "_RESTED_S", 0.0)

        def once_and_a_half(server: Server, connection: socket.socket) -> None:
            server.read(connection)
            connection.sendall(OK)
            server.read(connection)

        server = Server(once_and_a_half, once_and_a_half, Server.read)
        with server:
            for _ in range(2):
                assert send(f"http://{server.authority}/").body == CSV
            assert len(server.heads) == 3
            forget_connections()
            with pytest.raises(BrokenOff):  # the new one is closed as well
                send(f"http://{server.authority}/")

    @pytest.mark.parametrize("answer", [b"H", b"HTTP/1.1 200 OK\r\n", OK[:-1]])
    def test_a_call_that_has_a_byte_of_an_answer_is_not_sent_again(
        self, send: Send, monkeypatch: pytest.MonkeyPatch, answer: bytes
    ) -> None:
        monkeypatch.setattr(exchange, "_RESTED_S", 0.0)

        def once_and_begin(server: Server, connection: socket.socket) -> None:
            server.read(connection)
            connection.sendall(OK)
            server.read(connection)
            connection.sendall(answer)

        server = Server(once_and_begin)
        with server:
            send(f"http://{server.authority}/")
            with pytest.raises(BrokenOff):
                send(f"http://{server.authority}/")
        assert len(server.heads) == 2

    def test_what_may_change_something_is_not_sent_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(exchange, "_RESTED_S", 0.0)

        def once_and_a_half(server: Server, connection: socket.socket) -> None:
            server.read(connection)
            connection.sendall(OK)
            server.read(connection)

        server = Server(once_and_a_half, ANSWER)
        with server:
            terms: dict[str, Any] = {"connect_s": 5, "deadline": time.monotonic() + 5, "limit": 999}
            address = f"http://{server.authority}/"
            exchange.send("POST", address, {}, b"", again=False, **terms)
            with pytest.raises(SendingError, match="ProtocolError"):
                exchange.send("POST", address, {}, b"", again=False, **terms)
            assert exchange.send("POST", address, {}, b"", again=False, **terms).status == 200

    @pytest.mark.parametrize(
        "answer",
        [
            OK + b"x",
            OK + OK,
            OK.replace(b"200 OK", b"200 OK\r\nConnection: close"),
            OK.replace(b"HTTP/1.1", b"HTTP/1.0"),
            b"HTTP/1.1 204 No Content\r\n\r\nx",
        ],
    )
    def test_one_that_is_not_at_its_end_is_not_kept(self, send: Send, answer: bytes) -> None:
        def lasting(server: Server, connection: socket.socket) -> None:
            server.read(connection)
            connection.sendall(answer)
            assert server.read(connection) == b""

        server = Server(lasting, ANSWER)
        with server:
            send(f"http://{server.authority}/")
            assert send(f"http://{server.authority}/").body == CSV

    def test_words_that_come_later_are_no_answer_to_the_next_call(self, send: Send) -> None:
        spoken = threading.Event()

        def talkative(server: Server, connection: socket.socket) -> None:
            server.read(connection)
            connection.sendall(OK)
            time.sleep(0.05)
            connection.sendall(OK.replace(b"2026", b"1999"))
            spoken.set()
            server.read(connection)

        server = Server(talkative, ANSWER)
        with server:
            send(f"http://{server.authority}/")
            assert spoken.wait(5)
            time.sleep(0.02)
            assert send(f"http://{server.authority}/").body == CSV

    @pytest.mark.parametrize("away_s", [56.0, -1.0])  # later, or after the clock was set back
    def test_those_that_rested_for_long_are_closed(
        self, send: Send, monkeypatch: pytest.MonkeyPatch, away_s: float
    ) -> None:
        forget_connections()
        server = Server(ANSWER)
        with server:
            send(f"http://{server.authority}/")
            [resting] = connections._resting
            now = time.time() + away_s
            monkeypatch.setattr(connections.time, "time", lambda: now)
            assert connections.take(resting.route) is None
        assert resting.closed

    def test_at_most_sixteen_rest(self, send: Send) -> None:
        together = threading.Barrier(20)

        def all_at_once(query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
            together.wait(5)
            return 200, {}, CSV.encode()

        forget_connections()
        with Upstream(all_at_once) as upstream:
            threads = [threading.Thread(target=send, args=(upstream.url,)) for _ in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(connections._resting) == 16
            forget_connections()
            assert connections._resting == []

    def test_a_process_that_was_forked_makes_its_own(self, send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
        forget_connections()
        with Upstream() as upstream:
            send(upstream.url)
            monkeypatch.setattr(os, "getpid", lambda: -1)
            send(upstream.url)
            assert len(connections._resting) == 2
            forget_connections()

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
            # A header that is none: a client may name the address, and with it the key, in a warning.
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
