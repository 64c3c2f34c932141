"""What is said to the upstream, and to whom: requests, names with several addresses. Over real sockets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

import pytest
import requests

from tests.support.http import KEY, Send
from tests.support.raw_server import RawServer
from tests.support.upstream import CSV, Upstream
from toolfold import __version__
from toolfold.errors import CallError
from toolfold.network import connections
from toolfold.network.connections import forget_connections
from toolfold.sources.errors import ConnectTimeout


class TestRequest:
    def test_it_says_this_and_nothing_else(self, send: Send) -> None:
        with RawServer() as server:
            send(f"http://{server.authority}/query", "TIME_SERIES_WEEKLY", symbol="BRK B+ä")
        assert server.requests == [
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
        with RawServer() as server:
            address = f"http://{server.authority}{path}"
            send(address, "TIME_SERIES_WEEKLY", symbol=symbol)
        query = [("function", "TIME_SERIES_WEEKLY"), ("symbol", symbol), ("datatype", "csv"), ("apikey", KEY)]
        expected = requests.Request("GET", address, params=query).prepare().path_url
        assert server.requests[0].split(b" ")[1] == expected.encode()

    @pytest.mark.parametrize(
        ("path", "sent"), [("/a/../b", "/a/../b"), ("/%7e?p=%2f", "/%7e?p=%2f"), ("/x\x7fy\\z|", "/x%7Fy%5Cz%7C")]
    )
    def test_an_address_is_left_as_it_was_set_but_for_what_cannot_be_sent(
        self, send: Send, path: str, sent: str
    ) -> None:
        with RawServer() as server:
            send(f"http://{server.authority}{path}")
        assert server.requests[0].startswith(f"GET {sent}{'&' if '?' in sent else '?'}function=CPI&".encode())

    def test_a_list_repeats_its_key(self, send: Send) -> None:
        with RawServer() as server:
            symbols = ["A,B", "C D", "A,B"]
            send(server.url, "REALTIME_BULK_QUOTES", symbol=symbols)
        assert b"&symbol=A%2CB&symbol=C+D&symbol=A%2CB&" in server.requests[0]

    def test_a_name_and_a_password_in_the_address_are_sent_as_proof(self, send: Send) -> None:
        with RawServer() as server:
            send(f"http://me:p%20w@{server.authority}/")
        assert b"\r\nAuthorization: Basic bWU6cCB3\r\n" in server.requests[0]
        assert b"me:p" not in server.requests[0]

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
        with RawServer() as server:
            port = int(server.authority.partition(":")[2])
            self.found(monkeypatch, ("127.0.0.1", 1), ("127.0.0.1", port))
            assert send("http://localhost:7/").body == CSV

    def test_an_address_that_is_silent_leaves_time_for_the_next(
        self, send: Send, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server, real = RawServer(), socket.socket.connect

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
            with pytest.raises(ConnectTimeout):
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
                "import sys, time; from toolfold.network.session import send\n"
                "within = {'connect_s': 5, 'deadline': time.monotonic() + 5, 'limit': 99}\n"
                f"assert send('GET', {upstream.url!r}, {{}}, None, again=True, **within).status == 200\n"
                "names = {'requests', 'urllib3', 'encodings.idna', 'certifi', 'urllib.request', 'dataclasses'}\n"
                "print(sorted(names & {*sys.modules}))"
            )
            environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
            command = [sys.executable, "-c", program]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == "[]\n"
