"""Through a proxy, where the environment names one: what it is asked, what it is told, and who is asked directly."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.forward_proxy import ForwardProxy
from tests.support.sending import Send
from tests.support.tls import write_certificate
from tests.support.upstream import CSV, Upstream
from toolfold.backends.connections import forget_connections
from toolfold.backends.proxies import proxy_for
from toolfold.backends.transient import BrokenOff
from toolfold.catalog.model import Catalog
from toolfold.errors import UpstreamTimeout

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
NAME = "upstream.example"
"""Only the proxy knows where this is."""


@pytest.fixture
def send(catalog: Catalog) -> Send:
    return Send(catalog)


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
    """The port of a TLS server that reads one request and answers it; ``heads`` are what it read."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    threads = []

    def served(heads: list[bytes], answer: bytes = b"", pause_s: float = 0.0) -> int:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        listener = socket.create_server(("127.0.0.1", 0))
        listener.settimeout(5)

        def speak() -> None:
            with listener, suppress(OSError):
                peer, _ = listener.accept()
                with context.wrap_socket(peer, server_side=True) as secure:
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
        assert (proxy.asked, proxy.proofs) == ([f"CONNECT {NAME}:{port}"], [None])
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
        assert proxy.proofs == ["Basic bWU6cEBzcw=="]
        assert b"uthorization" not in heads[0]

    def test_it_may_be_spoken_to_over_tls(
        self, send: Send, serve: Callable[..., int], certificate: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        port = serve([])
        with ForwardProxy(certificate) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"https://{proxy.address}")
            assert send(f"https://{NAME}:{port}/query").body == CSV
            forget_connections()
        assert proxy.asked == [f"CONNECT {NAME}:{port}"]

    @pytest.mark.parametrize("scheme", ["http", "https"])
    @pytest.mark.parametrize("answer", [b"HTTP/1.1 200 OK\r\nx: ", b"HTTP/1.1 200 OK\r\n\r\n"])
    def test_an_upstream_behind_it_that_drips_is_given_up_in_time(
        self,
        send: Send,
        serve: Callable[..., int],
        certificate: Path,
        monkeypatch: pytest.MonkeyPatch,
        scheme: str,
        answer: bytes,
    ) -> None:
        port = serve([], answer, 0.02)
        with ForwardProxy(certificate if scheme == "https" else None) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"{scheme}://{proxy.address}")
            started = time.monotonic()
            with pytest.raises(UpstreamTimeout):
                send(f"https://{NAME}:{port}/query", within_s=0.4)
            assert time.monotonic() - started < 1.5


class TestPlain:
    def test_http_is_asked_for_by_its_whole_address(self, send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
        with Upstream() as upstream, ForwardProxy() as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.address)  # without a scheme: http
            assert send(upstream.url).body == CSV
            forget_connections()
        [asked] = proxy.asked
        assert asked.startswith(f"GET {upstream.url}?function=CPI&")

    @pytest.mark.parametrize("exception", ["127.0.0.1", "localhost, 127.0.0.0/8", "*"])
    def test_who_is_excepted_is_asked_directly(
        self, send: Send, monkeypatch: pytest.MonkeyPatch, exception: str
    ) -> None:
        with Upstream() as upstream, ForwardProxy() as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.address)
            monkeypatch.setenv("no_proxy", exception)
            assert send(upstream.url).body == CSV
        assert proxy.asked == []


class TestChoice:
    @pytest.mark.parametrize(
        ("address", "exceptions", "direct"),
        [
            ("https://api.example/q", "", False),
            ("https://api.example/q", "api.example", True),
            ("https://API.example/q", "Api.Example", True),
            ("https://api.example/q", ".example", True),
            ("https://api.example/q", "example", True),
            ("https://api.example/q", "pi.example", False),
            ("https://api.example:8443/q", "other.example , api.example:8443", True),
            ("https://api.example:8443/q", "api.example:443", False),
            ("https://10.1.2.3/q", "10.0.0.0/8", True),
            ("https://10.1.2.3/q", "10.9.9.9/8", True),
            ("https://10.1.2.3/q", "10.2.0.0/16,nonsense/x", False),
            ("https://10.1.2.3/q", "10.1.2.3", True),
            ("https://api.example/q", "10.0.0.0/8", False),
            ("https://[::1]:80/q", "::1", True),
        ],
    )
    def test_who_is_excepted(
        self, monkeypatch: pytest.MonkeyPatch, address: str, exceptions: str, direct: bool
    ) -> None:
        monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
        monkeypatch.setenv("NO_PROXY", exceptions)
        assert proxy_for(address) == (None if direct else "http://proxy.example:3128")

    def test_the_schemes_own_variable_comes_before_the_one_for_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ALL_PROXY", "http://all.example:1")
        monkeypatch.setenv("https_proxy", "http://tls.example:2")
        assert proxy_for("https://api.example/") == "http://tls.example:2"
        assert proxy_for("http://localhost/") == "http://all.example:1"

    @pytest.mark.skipif(sys.platform in {"darwin", "win32"}, reason="there the system is asked in any case")
    @pytest.mark.parametrize(("variable", "imported"), [("NO_PROXY", False), ("https_proxy", True)])
    def test_what_reads_them_is_imported_where_there_is_one(self, variable: str, imported: bool) -> None:
        program = (
            "import sys; from toolfold.backends import connections, proxies; proxies.proxy_for('https://x.example/');"
            "sys.exit('urllib.request' not in sys.modules)"
        )
        environment = {**os.environ, variable: "localhost:9"}
        assert (
            subprocess.run([sys.executable, "-c", program], env=environment, check=False).returncode == 0
        ) is imported


class TestFailure:
    def test_a_proxy_that_refuses(self, send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
        with ForwardProxy(status=407) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@{proxy.address}")
            with pytest.raises(BrokenOff) as caught:
                send(f"https://{NAME}/query")
            forget_connections()
        assert "could not be reached" in str(caught.value)
        assert "secret" not in repr(caught.value.as_dict())

    @pytest.mark.parametrize("proxy", ["http://localhost:9", "http://", "http://x:port", "socks5://localhost:9"])
    def test_one_that_cannot_be_used(self, send: Send, monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        with pytest.raises(BrokenOff, match="could not be reached"):
            send(f"https://{NAME}/query")

    def test_one_that_cannot_prove_who_it_is_is_told_nothing(
        self, send: Send, serve: Callable[..., int], certificate: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        with ForwardProxy(certificate) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"https://{proxy.address}")
            monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(write_certificate(tmp_path / "other.pem", "localhost")))
            with pytest.raises(BrokenOff, match="could not be reached"):
                send(f"https://{NAME}/query")
        assert proxy.asked == []
