"""What is sent to the upstream, and to which address. Over real sockets."""

import socket
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import requests

from tests.support.cpu_time import ends_within
from tests.support.http import KEY, Send, fetch
from tests.support.raw_http import RawServer
from tests.support.upstream import CSV, Upstream
from toolfold import __version__
from toolfold.errors import UpstreamTimeout
from toolfold.network.errors import ForbiddenAddress, NotSent, ReadTimeout
from toolfold.network.session import HttpClient
from toolfold.sources.base import ConnectTimeout


class TestRequest:
    def test_the_request_has_these_headers_only(self, send: Send) -> None:
        with RawServer() as server:
            send(f"http://{server.authority}/query", "TIME_SERIES_WEEKLY", symbol="BRK B+ä")
        assert server.requests == [
            b"GET /query?function=TIME_SERIES_WEEKLY&datatype=csv&symbol=BRK%20B%2B%C3%A4&apikey=" + KEY.encode() + b" "
            b"HTTP/1.1\r\nHost: " + server.authority.encode() + b"\r\n"
            b"User-Agent: toolfold/" + __version__.encode() + b"\r\n"
            b"Accept: application/json, */*;q=0.8\r\nAccept-Encoding: gzip\r\n\r\n"
        ]

    def test_the_query_is_encoded_as_by_requests(self, send: Send) -> None:
        symbols = ["a b+c", "ä,€ 😀", "100%", "%41%2f", "&=;/?#@!$'()*[]{}|\\^`\"<>~-._", "\0\r\n\t"]
        paths = ["", "/", "/query?", "/a b/ü?x=1&y=%2F z#part", "/100%25/%20", "//a/b"]
        for path, symbol in [*((path, "a b") for path in paths), *(("/query", symbol) for symbol in symbols)]:
            with RawServer() as server:
                address = f"http://{server.authority}{path}"
                send(address, "TIME_SERIES_WEEKLY", symbol=symbol)
            query = {"function": "TIME_SERIES_WEEKLY", "datatype": "csv", "symbol": symbol, "apikey": KEY}
            encoded = urlencode(query, quote_via=quote, safe="")
            expected = requests.Request("GET", address, params=encoded).prepare().path_url
            assert server.requests[0].split(b" ")[1] == expected.encode()

    def test_credentials_in_the_url_are_sent_as_basic_authorization(self, send: Send) -> None:
        with RawServer() as server:
            send(f"http://me:p%20w@{server.authority}/")
        assert b"\r\nAuthorization: Basic bWU6cCB3\r\n" in server.requests[0]
        assert b"me:p" not in server.requests[0]

    def test_credentials_of_netrc_are_not_sent(
        self, send: Send, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        netrc = tmp_path / "netrc"
        netrc.write_text("machine 127.0.0.1 login me password secret\ndefault login me password secret\n")
        monkeypatch.setenv("NETRC", str(netrc))
        with RawServer() as server:
            send(server.url)
        assert b"uthorization" not in server.requests[0]

    def test_cookies_are_not_kept(self, send: Send) -> None:
        with Upstream((200, {"set-cookie": "who=you"}, CSV.encode())) as upstream:
            send(upstream.url)
            send(upstream.url)
            assert [headers.get("cookie") for headers in upstream.headers] == [None, None]


class TestSeveralAddresses:
    def found(self, monkeypatch: pytest.MonkeyPatch, *addresses: tuple[str, int]) -> None:
        rows = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in addresses]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: rows)

    def test_an_address_that_does_not_answer_leaves_time_for_the_next(
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
            monkeypatch.setattr(socket.socket, "connect", connect)
            assert send("http://localhost:7/", within_s=3).body == CSV
            send.http_client.close()
            self.found(monkeypatch, *[("127.0.0.1", 1)] * 9)
            with ends_within(0.3), pytest.raises(ConnectTimeout):
                send("http://localhost:7/", connect_s=0.3)

    def test_too_little_time_to_connect_says_nothing_about_the_source(
        self, send: Send, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def connect(sock: socket.socket, address: tuple[str, int]) -> None:
            time.sleep(sock.gettimeout() or 0)
            raise TimeoutError

        self.found(monkeypatch, ("127.0.0.1", 1))
        monkeypatch.setattr(socket.socket, "connect", connect)
        with pytest.raises(UpstreamTimeout) as caught:
            send("http://localhost:7/", within_s=0.1)
        assert not isinstance(caught.value, NotSent)
        with pytest.raises(UpstreamTimeout) as caught:
            send("http://localhost:7/", connect_s=0.1)
        assert isinstance(caught.value, NotSent)

    # R20
    @pytest.mark.parametrize("step", ["connect_s", "within_s"])
    def test_a_lookup_that_does_not_end_is_a_timeout(
        self, send: Send, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        ended = threading.Event()
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: ended.wait(60) and [])
        limit: dict[str, Any] = {step: 0.3}
        with ends_within(0.3), pytest.raises(UpstreamTimeout) as caught:
            send("https://www.alphavantage.co/query", **limit)
        assert isinstance(caught.value, NotSent) is (step == "connect_s")
        ended.set()

    def test_one_forbidden_address_is_enough_to_refuse(self, monkeypatch: pytest.MonkeyPatch) -> None:
        connected: list[Any] = []
        monkeypatch.setattr(socket.socket, "connect", lambda _, address: connected.append(address))
        self.found(monkeypatch, ("93.184.216.34", 80), ("127.0.0.1", 80), ("93.184.216.35", 80))
        with pytest.raises(ForbiddenAddress, match=r"^api\.example: address not allowed$"):
            fetch("http://api.example/")
        assert connected == []

    def test_a_pooled_connection_is_checked_for_each_request(self) -> None:
        client = HttpClient()
        with RawServer() as server:
            fetch(server.url, client)
            with pytest.raises(ForbiddenAddress):
                fetch(server.url, client, is_allowed=lambda *_: False)
        assert len(server.requests) == 1


def test_a_peer_that_does_not_read_a_large_request_is_a_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ends_within(0.5), pytest.raises(ReadTimeout):
        fetch(f"http://127.0.0.1:{listener.getsockname()[1]}/", method="POST", within_s=0.5, body=b"x" * 30_000_000)
