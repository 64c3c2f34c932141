"""What is sent, to which address, and through which proxy. Over real sockets."""

import socket
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import requests

from tests.support.cpu_time import ends_within
from tests.support.http import KEY, OUT_OF_TIME, Send, fetch, unset_proxies
from tests.support.local_server import HttpService
from tests.support.proxies import ForwardProxy
from tests.support.raw_http import RawServer
from tests.support.tables import accepted
from tests.support.tls import server_context, write_certificate
from tests.support.upstream import CSV, Upstream
from toolfold import __version__
from toolfold.errors import CallError, UpstreamError, UpstreamTimeout
from toolfold.network import ssrf
from toolfold.network.errors import ForbiddenAddress, NotSent
from toolfold.network.session import HttpClient
from toolfold.sources.base import ConnectionFailed, ConnectTimeout


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
            assert send("http://localhost:7/", within_s=30, connect_s=3).body == CSV
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
    with socket.create_server(("127.0.0.1", 0)) as listener, ends_within(0.5), pytest.raises(OUT_OF_TIME):
        fetch(f"http://127.0.0.1:{listener.getsockname()[1]}/", method="POST", within_s=0.5, body=b"x" * 30_000_000)


class TestAddress:
    # R25
    def test_a_name_with_a_private_address_is_not_connected_to(
        self, send: Send, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = socket.getaddrinfo

        def resolve(name: bytes, *rest: Any, **more: Any) -> Any:
            is_known = name.strip(b".") in (b"rebound.example", b"x.localhost")
            return real(b"127.0.0.1" if is_known else name, *rest, **more)

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        unset_proxies(monkeypatch)
        with socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
            listener.setblocking(False)
            for host in (
                *("rebound.example", "2130706433", "0x7f.1", "127.1", "0177.0.0.1", "127.0.0.2", "0.0.0.0", "0"),
                *("rebound.example.", "x.localhost", "[::ffff:127.0.0.1]", "[::]", "[::127.0.0.1]"),
            ):
                with pytest.raises(CallError) as caught:
                    send(f"https://{host}:{listener.getsockname()[1]}/query")
                said = "resolves to an address in a private network, so nothing was sent."
                assert caught.value.message == f"{host.strip('[]')} {said}"
                with pytest.raises(BlockingIOError):
                    listener.accept()

    # R25
    def test_a_url_that_parsers_read_differently_is_not_connected_to(self, send: Send) -> None:
        urls = [
            *("https://\uff11\uff12\uff17.0.0.1:{port}/", "https://127.0.0.\u0661:{port}/"),
            *("https://\u2139ocalhost:{port}/", "https://127\u30020.0.1:{port}/", "https://loc\u0430lhost\\@x:{port}/"),
            *("http://api.example\\@127.0.0.1:{port}/", "http://127.0.0.1:{port}\\@api.example/"),
            *("https://api.example\t:{port}/", "https://api.example%00:{port}/", "https://[::1%25lo]:{port}/"),
            *("https://[v1.x]:{port}/", "https://[127.0.0.1]:{port}/", "https://[::1:{port}/"),
            "https://127.0.0.1:{port}x/",
        ]
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setblocking(False)
            port = listener.getsockname()[1]
            assert accepted(lambda url: send(url.format(port=port)), urls, CallError) == []
            with pytest.raises(BlockingIOError):
                listener.accept()

    def test_a_url_that_is_not_https_is_not_used(self, send: Send) -> None:
        rows = ["http://example.com/", "ftp://127.0.0.1/", "http://localhost.example.com/", "file:///etc/passwd", "x"]
        for address in rows:
            with pytest.raises(CallError, match="not https"):
                send(address)

    def test_a_redirect_is_not_followed(self, send: Send) -> None:
        with Upstream() as elsewhere, Upstream((302, {"location": elsewhere.url}, b"")) as upstream:
            assert send(upstream.url).status == 302
            assert elsewhere.requests == []


@pytest.fixture(scope="module")
def private_certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("tls") / "private.pem", "crm.internal.example")


@pytest.fixture
def private(private_certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpService]:
    """A service at an address of this machine, which stands for one in a private network."""
    monkeypatch.setattr(ssrf, "_is_private", ssrf._is_loopback)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(private_certificate))
    unset_proxies(monkeypatch)
    real = socket.getaddrinfo
    addresses = {b"crm.internal.example": b"127.0.0.1", b"metadata.example": b"169.254.169.254"}
    monkeypatch.setattr(socket, "getaddrinfo", lambda name, *rest, **more: real(addresses[name], *rest, **more))
    with HttpService(context=server_context(private_certificate)) as service:
        yield service


class TestPrivateHosts:
    @pytest.mark.parametrize("entry", ["", "crm.internal.example", "crm=crm.internal.example:{port}", "x.example"])
    def test_no_other_private_host_is_called(self, send: Send, private: HttpService, entry: str) -> None:
        port = private.server_port
        url = f"https://crm.internal.example:{port}/query"
        assert send(url, private_hosts=f"crm.internal.example:{port}").status == 200
        with pytest.raises(CallError, match="an address in a private network") as caught:
            send(url, private_hosts=entry.format(port=port))  # over the connection that is open
        assert "TOOLFOLD_PRIVATE_HOSTS" in caught.value.suggestion
        assert len(private.received) == 1


NAME = "upstream.example"
"""Only the proxy knows its address."""

REFUSED = "Cannot connect to upstream.example: (no connection through the proxy|TLS handshake failed)"


@pytest.fixture(autouse=True)
def no_proxy_set(monkeypatch: pytest.MonkeyPatch) -> None:
    unset_proxies(monkeypatch)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("tls") / "both.pem", "localhost", NAME)


@pytest.fixture
def server(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> RawServer:
    """A server with TLS for one connection."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    return RawServer(context=server_context(certificate))


class TestTunnel:
    def test_calls_over_https_share_a_tunnel_and_the_proxy_resolves_the_name(
        self, send: Send, server: RawServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        port = server.authority.rpartition(":")[2]
        with ForwardProxy() as proxy, server:
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:p%40ss@{proxy.address}")
            for _ in range(3):
                assert send(f"https://{NAME}:{port}/query").body == CSV
            send.http_client.close()
        assert proxy.requests == [f"CONNECT {NAME}:{port}"]
        # Credentials of the proxy are sent to the proxy only.
        assert proxy.proxy_authorizations == ["Basic bWU6cEBzcw=="]
        assert len(server.requests) == 3
        for request in server.requests:
            assert request.startswith(b"GET /query?function=CPI&")
            assert b"uthorization" not in request


class TestForwarding:
    def test_http_is_requested_by_its_full_url(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with Upstream() as upstream, ForwardProxy() as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.address)  # without a scheme: http
            url = upstream.url.replace("127.0.0.1", NAME)
            assert fetch(url).body == CSV.encode()
        assert proxy.requests == [f"GET {url}"]

    # R21
    def test_this_machine_is_reached_directly(self, send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
        with Upstream() as upstream, ForwardProxy() as proxy:
            monkeypatch.setenv("ALL_PROXY", f"http://{proxy.address}")
            for host in ("127.0.0.1", "localhost"):
                assert send(upstream.url.replace("127.0.0.1", host)).body == CSV
        assert proxy.requests == []

    def test_a_key_is_not_sent_in_clear_to_a_proxy(self, send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
        with ForwardProxy() as proxy:
            monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.address}")
            for host in (NAME, "localhost.example", "localhost.", "x.localhost", "127.1", "10.0.0.1"):
                with pytest.raises(UpstreamError, match="not https"):
                    send(f"http://{host}/query")
        assert proxy.requests == []

    # R25
    def test_a_private_address_is_not_requested_from_a_proxy(self, send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
        with ForwardProxy() as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
            for host in ("169.254.169.254", "2852039166", "0xA9.0xFE.0xA9.0xFE", "[fd00:ec2::254]", "10.1"):
                with pytest.raises(UpstreamError, match="in a private network"):
                    send(f"https://{host}/query")
        assert proxy.requests == []


class TestFailure:
    def test_failed_authentication_names_the_next_step(self, send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
        with ForwardProxy(status=407) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@{proxy.address}")
            with pytest.raises(UpstreamError, match="requires a user name and a password") as caught:
                send(f"https://{NAME}/query")
        assert not isinstance(caught.value, ConnectionFailed)  # a retry would fail too
        assert "secret" not in repr(caught.value.as_dict())

    @pytest.mark.parametrize("status", [302, 403, 999])
    def test_a_proxy_that_refuses_is_a_failed_connection(
        self, send: Send, monkeypatch: pytest.MonkeyPatch, status: int
    ) -> None:
        with ForwardProxy(status=status) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
            with pytest.raises(ConnectionFailed, match="no connection through the proxy"):
                send(f"https://{NAME}/query")

    def test_an_invalid_response_of_the_proxy_is_a_failed_connection(
        self, send: Send, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for answer in (
            *(b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nx: " + b"y" * 20_000, b"HTTP/1.1 101 X\r\n\r\n"),
            *(b"HTTP/1.1 200 OK\r\nno field\r\n\r\n", b"HTTP/1.1 100 X\r\n\r\n" * 3_000),
            b"HTTP/1.1 200 OK\r\n\r\nmore",
        ):
            with RawServer(partial(RawServer.respond_once, answer=answer)) as proxy:
                monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.authority}")
                with pytest.raises(ConnectionFailed, match=REFUSED):
                    send(f"https://{NAME}/query")
