"""Requests through the proxy that the environment names, and those that bypass it. Over real sockets."""

import os
from functools import partial
from pathlib import Path

import pytest

from tests.support.http import Send, fetch, unset_proxies
from tests.support.proxies import ForwardProxy
from tests.support.raw_http import RawServer
from tests.support.tls import server_context, write_certificate
from tests.support.upstream import CSV, Upstream
from toolfold.errors import UpstreamError
from toolfold.sources.base import ConnectionFailed

NAME = "upstream.example"
"""Only the proxy knows its address."""

REFUSED = "Cannot connect to upstream.example: (no connection through the proxy|the proxy refuses|TLS handshake failed)"


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
            with pytest.raises(ConnectionFailed, match="the proxy refuses to connect"):
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

    @pytest.mark.parametrize("proxy", ["http://localhost:9", "http://", "http://x:port", "http://me\n:x@y\0:1"])
    def test_an_unusable_proxy_url_is_a_failed_connection(
        self, send: Send, monkeypatch: pytest.MonkeyPatch, proxy: str
    ) -> None:
        monkeypatch.setattr(os, "environ", {**os.environ, "HTTPS_PROXY": proxy})
        with pytest.raises(
            ConnectionFailed,
            match=r"no connection through the proxy\.",
        ):
            send(f"https://{NAME}/query")
