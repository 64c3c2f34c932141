"""TLS to the upstream: whom it trusts, and that time passes in it too. Over real sockets."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.http import Send
from tests.support.tls import write_certificate
from tests.support.upstream import CSV
from toolfold.errors import CallError
from toolfold.network import outbound
from toolfold.sources.errors import ConnectionFailed

OK = f"HTTP/1.1 200 OK\r\ncontent-length: {len(CSV)}\r\n\r\n{CSV}".encode()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("tls") / "localhost.pem", "localhost")


@pytest.fixture(autouse=True)
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in outbound._BUNDLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def serve(certificate: Path) -> Iterator[Callable[[bytes, float], str]]:
    """The address of a TLS server that reads a request and sends bytes, again and again with a pause between."""
    threads = []

    def served(content: bytes, pause_s: float) -> str:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        listener = socket.create_server(("127.0.0.1", 0))

        def answer() -> None:
            with listener, suppress(OSError):
                peer, _ = listener.accept()
                with context.wrap_socket(peer, server_side=True) as secure:
                    secure.recv(4000)
                    secure.sendall(content)
                    for _ in range(int(3 / pause_s) if pause_s else 0):
                        secure.sendall(b"x")
                        time.sleep(pause_s)

        threads.append(threading.Thread(target=answer))
        threads[-1].start()
        return f"https://localhost:{listener.getsockname()[1]}/query"

    yield served
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"])
def test_a_server_is_believed_by_the_certificates_that_a_variable_names(
    send: Send, serve: Any, certificate: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, str(certificate))
    assert send(serve(OK, 0.0)).body == CSV


def test_they_may_be_a_folder(
    send: Send, serve: Any, certificate: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Found by a hash of its subject, as OpenSSL looks for it: `openssl x509 -noout -hash`.
    (tmp_path / "ce275665.0").write_bytes(certificate.read_bytes())
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path))
    assert send(serve(OK, 0.0)).body == CSV


def test_else_by_those_of_certifi(
    send: Send, serve: Any, certificate: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "certifi"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "cacert.pem").write_bytes(certificate.read_bytes())
    monkeypatch.syspath_prepend(tmp_path)
    outbound._context.cache_clear()
    assert send(serve(OK, 0.0)).body == CSV
    outbound._context.cache_clear()


def test_a_server_that_cannot_prove_who_it_is_is_told_nothing(send: Send, serve: Any) -> None:
    with pytest.raises(ConnectionFailed, match="cannot prove who they are"):
        send(serve(OK, 0.0))


def test_nor_is_one_that_proves_another_name(
    send: Send, serve: Any, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with pytest.raises(ConnectionFailed, match="cannot prove who they are"):
        send(serve(OK, 0.0).replace("localhost", "127.0.0.1"))


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_without_certificates_nothing_is_sent(
    send: Send, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "some.pem"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(path))
    with pytest.raises(ConnectionFailed, match="cannot prove who they are"):
        send("https://localhost:9/query")


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nx: ", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_one_that_drips_is_given_up_in_time(
    send: Send, serve: Any, certificate: Path, monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    started = time.monotonic()
    with pytest.raises(CallError) as caught:
        send(serve(head, 0.02), within_s=0.5)
    assert caught.value.code == "UPSTREAM_TIMEOUT"
    assert time.monotonic() - started < 2
