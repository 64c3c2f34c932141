"""A call goes to the host of its source only, and its response is bounded. Over real sockets."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.http import Send, unset_proxies
from tests.support.local_server import HttpService
from tests.support.tables import accepted
from tests.support.tls import server_context, write_certificate
from tests.support.upstream import Upstream
from toolfold.errors import CallError
from toolfold.network import ssrf


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

    def test_credentials_of_the_machine_are_not_reached(self, send: Send, private: HttpService) -> None:
        with pytest.raises(CallError, match="an address in a private network"):
            send("https://metadata.example/latest", private_hosts="metadata.example")

    def test_its_redirects_to_another_host_are_not_followed(self, send: Send, private: HttpService) -> None:
        private.answer = (302, {"location": f"https://hr.internal.example:{private.server_port}/other"}, b"")
        url = f"https://crm.internal.example:{private.server_port}/query"
        assert send(url, private_hosts=f"crm.internal.example:{private.server_port}").status == 302
        assert len(private.received) == 1
