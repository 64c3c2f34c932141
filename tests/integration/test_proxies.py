"""Through a proxy, where the environment names one: what it is asked, what it is told, and who is asked directly."""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.forward_proxy import ForwardProxy
from tests.support.http import Send
from tests.support.tls import write_certificate
from tests.support.upstream import CSV, Upstream
from toolfold.errors import UpstreamError, UpstreamTimeout
from toolfold.network.connections import forget_connections
from toolfold.sources.errors import ConnectionFailed, ConnectTimeout

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
NAME = "upstream.example"
"""Only the proxy knows where this is."""


@pytest.fixture(autouse=True)
def no_proxy_yet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in list(os.environ):
        if name.lower() in VARIABLES:
            monkeypatch.delenv(name)
    yield
    forget_connections()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("tls") / "both.pem", "localhost", NAME)


@pytest.fixture
def serve(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """The port of a TLS server that reads one request and answers it, or more; ``heads`` are what it read."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    threads = []

    def served(heads: list[bytes], answer: bytes = b"", pause_s: float = 0.0, calls: int = 1) -> int:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        listener = socket.create_server(("127.0.0.1", 0))
        listener.settimeout(5)

        def speak() -> None:
            with listener, suppress(OSError):
                peer, _ = listener.accept()
                with context.wrap_socket(peer, server_side=True) as secure:
                    for _ in range(calls):
                        heads.append(secure.recv(4000))
                        secure.sendall(answer or f"HTTP/1.1 200 OK\r\ncontent-length: {len(CSV)}\r\n\r\n{CSV}".encode())
                    for _ in range(int(2 / pause_s) if pause_s else 0):
                        secure.sendall(b"x")
                        time.sleep(pause_s)

        threads.append(threading.Thread(target=speak))
        threads[-1].start()
        return int(listener.getsockname()[1])

    yield served
    for thread in threads:
        thread.join()


class TestTunnel:
    @pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
    def test_https_goes_through_it_by_a_name_that_only_it_knows(
        self, send: Send, serve: Callable[..., int], monkeypatch: pytest.MonkeyPatch, variable: str
    ) -> None:
        heads: list[bytes] = []
        port = serve(heads)
        with ForwardProxy() as proxy:
            monkeypatch.setenv(variable, f"http://{proxy.address}")
            assert send(f"https://{NAME}:{port}/query").body == CSV
            forget_connections()
        assert (proxy.requests, proxy.proxy_authorizations) == ([f"CONNECT {NAME}:{port}"], [None])
        assert heads[0].startswith(b"GET /query?function=CPI&")

    def test_the_proxy_alone_gets_the_name_and_the_password_for_it(
        self, send: Send, serve: Callable[..., int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        heads: list[bytes] = []
        port = serve(heads)
        with ForwardProxy() as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:p%40ss@{proxy.address}")
            send(f"https://{NAME}:{port}/query")
            forget_connections()
        assert proxy.proxy_authorizations == ["Basic bWU6cEBzcw=="]
        assert b"uthorization" not in heads[0]

    @pytest.mark.parametrize("answer", [b"HTTP/1.1 200 OK\r\nx: ", b"HTTP/1.1 200 OK\r\n\r\n"])
    def test_an_upstream_behind_it_that_drips_is_given_up_in_time(
        self, send: Send, serve: Callable[..., int], monkeypatch: pytest.MonkeyPatch, answer: bytes
    ) -> None:
        port = serve([], answer, 0.02)
        with ForwardProxy() as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
            started = time.monotonic()
            with pytest.raises(UpstreamTimeout):
                send(f"https://{NAME}:{port}/query", within_s=0.4)
            assert time.monotonic() - started < 2

    def test_a_tunnel_serves_many_calls(
        self, send: Send, serve: Callable[..., int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ok = f"HTTP/1.1 200 OK\r\ncontent-length: {len(CSV)}\r\n\r\n{CSV}".encode()
        heads: list[bytes] = []
        port = serve(heads, ok, 0.0, calls=3)
        with ForwardProxy() as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
            for _ in range(3):
                assert send(f"https://{NAME}:{port}/query").body == CSV
            forget_connections()
        assert len(proxy.requests) == 1
        assert len(heads) == 3


class TestPlain:
    def test_http_is_asked_for_by_its_whole_address(self, send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
        with Upstream() as upstream, ForwardProxy() as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.address)  # without a scheme: http
            assert send(upstream.url).body == CSV
            forget_connections()
        [asked] = proxy.requests
        assert asked.startswith(f"GET {upstream.url}?function=CPI&")

    @pytest.mark.parametrize("exception", ["127.0.0.1", "localhost, 127.0.0.0/8", "*"])
    def test_who_is_excepted_is_asked_directly(
        self, send: Send, monkeypatch: pytest.MonkeyPatch, exception: str
    ) -> None:
        with Upstream() as upstream, ForwardProxy() as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.address)
            monkeypatch.setenv("no_proxy", exception)
            assert send(upstream.url).body == CSV
        assert proxy.requests == []


class TestFailure:
    def test_a_proxy_that_does_not_know_us_says_what_to_do(self, send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
        with ForwardProxy(status=407) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@{proxy.address}")
            with pytest.raises(UpstreamError, match="wants a name and a password") as caught:
                send(f"https://{NAME}/query")
        assert not isinstance(caught.value, ConnectionFailed)  # another try would not mend it
        assert "secret" not in repr(caught.value.as_dict())

    @pytest.mark.parametrize("status", [403, 502])
    def test_a_proxy_that_refuses(self, send: Send, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
        with ForwardProxy(status=status) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
            with pytest.raises(ConnectionFailed, match="could not be reached"):
                send(f"https://{NAME}/query")

    @pytest.mark.parametrize("answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nx: " + b"y" * 20_000])
    def test_a_proxy_that_makes_no_sense(self, send: Send, monkeypatch: pytest.MonkeyPatch, answer: bytes) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def speak() -> None:
                peer, _ = listener.accept()
                with peer, suppress(OSError):
                    peer.recv(4000)
                    peer.sendall(answer)

            thread = threading.Thread(target=speak)
            thread.start()
            monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{listener.getsockname()[1]}")
            with pytest.raises(ConnectionFailed, match="could not be reached"):
                send(f"https://{NAME}/query")
            thread.join()

    def test_one_that_says_nothing_is_no_connection(self, send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{silent.getsockname()[1]}")
            with pytest.raises(ConnectTimeout):
                send(f"https://{NAME}/query", within_s=0.3)

    @pytest.mark.parametrize("proxy", ["http://localhost:9", "http://", "http://x:port", "http://me\n:x@y\0:1"])
    def test_one_that_cannot_be_used(self, send: Send, monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
        monkeypatch.setattr(os, "environ", {**os.environ, "HTTPS_PROXY": proxy})
        with pytest.raises(ConnectionFailed, match="could not be reached"):
            send(f"https://{NAME}/query")

    @pytest.mark.parametrize("proxy", ["https://localhost:9", "socks5://localhost:9"])
    def test_one_of_another_kind_says_which_kind_can_be_used(
        self, send: Send, monkeypatch: pytest.MonkeyPatch, proxy: str
    ) -> None:
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        with pytest.raises(UpstreamError, match="no other kind can be used") as caught:
            send(f"https://{NAME}/query")
        assert "http://" in str(caught.value.as_dict())
