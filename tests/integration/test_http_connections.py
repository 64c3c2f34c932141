"""How long a connection is used and by which requests, and which certificates are trusted. Over real sockets."""

import logging
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.cpu_time import ends_within
from tests.support.http import KEY, Send, fetch
from tests.support.raw_http import OK, RawServer
from tests.support.threads import run_concurrently
from tests.support.tls import server_context, write_certificate
from tests.support.upstream import CSV, Upstream
from toolfold.errors import UpstreamError
from toolfold.network import connection, sockets
from toolfold.network.errors import CertificateError
from toolfold.network.sockets import create_tls_context
from toolfold.sources.base import ConnectionFailed, ConnectTimeout


def answer_and_last(server: RawServer, connection: socket.socket, answer: bytes) -> None:
    """Respond once, and wait until the client closes the connection."""
    server.respond_once(connection, answer)
    assert server.read(connection) == b""


class TestReuse:
    def test_a_connection_closed_by_the_server_is_not_used(self, send: Send) -> None:
        closed = threading.Event()

        def once(server: RawServer, connection: socket.socket) -> None:
            server.respond_once(connection)
            connection.close()
            closed.set()

        with RawServer(once, RawServer.answer) as server:
            send(server.url)
            assert closed.wait(60)
            time.sleep(0.05)  # until the end of the stream has arrived
            assert send(server.url).body == CSV
        assert len(server.requests) == 2

    @pytest.mark.parametrize(
        "answer",
        [
            OK.replace(b"200 OK", b"200 OK\r\nConnection: x, Close"),
            OK.replace(b"HTTP/1.1", b"HTTP/1.0"),
            OK.replace(b"HTTP/1.1 200 OK", b"HTTP/1.0 200 OK\r\nKeep-Alive: timeout=5"),
        ],
    )
    def test_a_connection_marked_close_is_not_reused(self, send: Send, answer: bytes) -> None:
        with RawServer(partial(answer_and_last, answer=answer), RawServer.answer) as server:
            send(server.url)
            assert send(server.url).body == CSV

    # R18
    @pytest.mark.parametrize(
        "answer",
        [
            OK + b"x",
            OK + b"\r\n",
            OK + OK,
            b"HTTP/1.1 204 No Content\r\n\r\nx",
            b"HTTP/1.1 304 Not Modified\r\ncontent-length: 1\r\n\r\nx",
            OK.replace(b"content-length: 3", b"content-length: "),
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\nx",
        ],
    )
    def test_bytes_after_a_response_make_it_an_error_and_end_the_connection(self, send: Send, answer: bytes) -> None:
        with RawServer(partial(answer_and_last, answer=answer), RawServer.answer) as server:
            with pytest.raises(ConnectionFailed, match="not valid HTTP"):
                send(server.url)
            assert send(server.url).body == CSV

    def test_a_response_before_the_request_is_an_error(self, send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
        arrived = threading.Event()
        real = socket.socket.connect

        def connect(sock: socket.socket, address: tuple[str, int]) -> None:
            real(sock, address)
            assert arrived.wait(60)
            time.sleep(0.05)

        def eager(server: RawServer, connection: socket.socket) -> None:
            connection.sendall(OK)
            arrived.set()
            assert server.read(connection) == b""

        monkeypatch.setattr(socket.socket, "connect", connect)
        with RawServer(eager) as server, pytest.raises(ConnectionFailed, match="not valid HTTP"):
            send(server.url)

    def test_late_bytes_are_not_the_response_to_the_next_call(self, send: Send) -> None:
        sent = threading.Event()

        def talkative(server: RawServer, connection: socket.socket) -> None:
            server.respond_once(connection)
            time.sleep(0.05)
            connection.sendall(OK.replace(b"2026", b"1999"))
            sent.set()
            server.read(connection)

        with RawServer(talkative, RawServer.answer) as server:
            send(server.url)
            assert sent.wait(60)
            time.sleep(0.02)
            assert send(server.url).body == CSV

    @pytest.mark.parametrize("away_s", [56.0, -1.0])  # later, or after the clock was set back
    def test_a_connection_idle_for_long_is_closed(
        self, send: Send, monkeypatch: pytest.MonkeyPatch, away_s: float
    ) -> None:
        closed = threading.Event()

        def until_closed(server: RawServer, connection: socket.socket) -> None:
            server.answer(connection)
            closed.set()

        with RawServer(until_closed, RawServer.answer) as server:
            send(server.url)
            now = time.time() + away_s
            monkeypatch.setattr(connection.time, "time", lambda: now)
            assert send(server.url).body == CSV
            assert closed.wait(60)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    def test_a_fork_leaves_the_connection_to_the_parent(self, send: Send) -> None:
        with Upstream() as upstream:
            send(upstream.url)
            child = os.fork()
            if not child:
                os._exit(0 if send(upstream.url).body == CSV else 1)
            assert os.waitpid(child, 0)[1] == 0
            assert send(upstream.url).body == CSV
            assert upstream.connections == 2  # the child's, and the first one

    def test_close_ends_idle_connections(self, send: Send) -> None:
        ended = threading.Event()

        def idle(server: RawServer, connection: socket.socket) -> None:
            server.answer(connection)
            ended.set()

        with RawServer(idle, RawServer.answer) as server:
            send(server.url)
            assert not ended.is_set()
            send.http_client.close()
            assert ended.wait(60)
            assert send(server.url).body == CSV


class TestStaleConnection:
    @pytest.mark.parametrize("answer", [b"", b"H", b"HTTP/1.1 200 OK\r\n", OK[:-1]])
    def test_a_request_is_sent_once(self, send: Send, answer: bytes) -> None:
        def once_and_begin(server: RawServer, connection: socket.socket) -> None:
            server.respond_once(connection)
            server.respond_once(connection, answer)

        with RawServer(once_and_begin, RawServer.answer) as server:
            send(server.url)
            with pytest.raises(ConnectionFailed):
                send(server.url)
            assert len(server.requests) == 2
            assert send(server.url).body == CSV


def test_nothing_is_logged_at_debug_level(
    send: Send,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr("http.client.HTTPConnection.debuglevel", 1)  # prints requests
    # urllib3 warns of connections beyond the size of its pool, with the URL.
    with Upstream((200, {}, CSV.encode())) as upstream:
        run_concurrently([partial(send, upstream.url)] * 20)
    with pytest.raises(ConnectionFailed):
        send("http://127.0.0.1:1/")
    assert caplog.records == []
    assert KEY not in str(capsys.readouterr())


UNTRUSTED = "Cannot connect to localhost: its TLS certificate"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("tls") / "localhost.pem", "localhost")


@pytest.fixture(autouse=True)
def no_bundle_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in sockets.BUNDLE_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def serve(certificate: Path) -> Iterator[Callable[..., str]]:
    """The URL of a TLS server that reads a request and sends bytes."""
    with ExitStack() as servers:

        def served(
            content: bytes,
            maximum: ssl.TLSVersion | None = None,
            chain: Path = certificate,
            says_goodbye: bool = False,
        ) -> str:
            context = server_context(chain)
            if maximum is not None:
                context.minimum_version = context.maximum_version = maximum
                context.set_ciphers("ALL:@SECLEVEL=0")

            def answer(server: RawServer, connection: socket.socket) -> None:
                server.respond_once(connection, content)
                if says_goodbye:
                    connection.settimeout(0.5)
                    connection.unwrap()  # type: ignore[attr-defined]  # it is one of TLS

            server = servers.enter_context(RawServer(answer, context=context))
            return f"https://localhost:{server.authority.rpartition(':')[2]}/query"

        yield served


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"])
def test_the_bundle_of_an_environment_variable_is_trusted(
    send: Send, serve: Any, certificate: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, str(certificate))
    assert send(serve(OK)).body == CSV


def test_a_bundle_may_be_a_folder(
    send: Send, serve: Any, certificate: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Found by a hash of its subject, as OpenSSL looks for it: `openssl x509 -noout -hash`.
    (tmp_path / "ce275665.0").write_bytes(certificate.read_bytes())
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path))
    assert send(serve(OK)).body == CSV


def test_a_server_with_an_untrusted_certificate_is_sent_nothing(send: Send, serve: Any) -> None:
    with pytest.raises(ConnectionFailed, match=UNTRUSTED) as caught:
        send(serve(OK))
    assert "REQUESTS_CA_BUNDLE" in caught.value.suggestion  # the first that decides


def issue(folder: Path, host: str, kind: str) -> Path:
    """Return a certificate that ``host`` must not be trusted by, or by which it must."""
    path, day = folder / "issued.pem", timedelta(days=1)
    if kind == "common name only":
        return write_certificate(path, common_name=host)
    if kind == "common name beside another name":
        return write_certificate(path, "other.example", common_name=host)
    if kind == "expired":
        return write_certificate(path, host, begins=-2 * day, ends=-day)
    return write_certificate(path, kind, common_name="toolfold test")


# R19
@pytest.mark.parametrize(
    ("host", "kind", "is_trusted"),
    [
        ("localhost", "localhost", True),
        ("localhost", "common name only", False),
        ("localhost", "common name beside another name", False),
        ("localhost", "expired", False),
        ("localhost", "other.example", False),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "common name only", False),
        ("a.upstream.example", "*.upstream.example", True),
        ("a.b.upstream.example", "*.upstream.example", False),
        ("a.upstream.example", "a*.upstream.example", False),
    ],
)
def test_a_certificate_must_name_the_host(
    serve: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: str, kind: str, is_trusted: bool
) -> None:
    path = issue(tmp_path, host, kind)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda name, *rest, **more: real(b"127.0.0.1" if b"e" in name else name, *rest, **more)
    )
    url = serve(OK, chain=path).replace("localhost", host)
    if is_trusted:
        assert fetch(url, is_allowed=None).body == CSV.encode()
    else:
        with pytest.raises(CertificateError):
            fetch(url, is_allowed=None)


# R18
@pytest.mark.parametrize("says_goodbye", [True, False])
@pytest.mark.parametrize("has_length", [True, False])
def test_a_body_without_a_length_ends_with_the_message_of_tls_only(
    send: Send, serve: Any, certificate: Path, monkeypatch: pytest.MonkeyPatch, says_goodbye: bool, has_length: bool
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    content = OK if has_length else b"HTTP/1.1 200 OK\r\n\r\n" + CSV.encode()
    url = serve(content, says_goodbye=says_goodbye)
    if has_length or says_goodbye:
        assert send(url).body == CSV
    else:
        with pytest.raises(ConnectionFailed, match="closed the connection"):
            send(url)


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_bundle_that_cannot_be_read_is_not_replaced_by_another(
    send: Send, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "some.pem"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(path))
    with pytest.raises(UpstreamError, match="The file of trusted certificates cannot be read"):
        send("https://localhost:9/query")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tls_older_than_1_2_is_refused(
    send: Send, serve: Any, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with pytest.raises(ConnectionFailed, match="Cannot connect to localhost: TLS handshake failed"):
        send(serve(OK, maximum=ssl.TLSVersion.TLSv1_1))
    context = create_tls_context(str(certificate))
    assert (context.minimum_version, context.verify_mode, context.check_hostname) == (
        ssl.TLSVersion.TLSv1_2,
        ssl.CERT_REQUIRED,
        True,
    )


@pytest.mark.parametrize("pause_s", [0.0, 0.05])
def test_a_handshake_that_does_not_end_is_a_connect_timeout(send: Send, pause_s: float) -> None:
    stopped = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            peer, _ = listener.accept()
            with peer, suppress(OSError):
                peer.recv(4000)
                peer.sendall(b"\x16\x03\x03\x40\x00")  # the header of a record of 16 KB
                while pause_s and not stopped.wait(pause_s):
                    peer.sendall(b"\x02")
                stopped.wait(60)

        thread = threading.Thread(target=drip)
        thread.start()
        with ends_within(0.4), pytest.raises(ConnectTimeout):
            send(f"https://localhost:{listener.getsockname()[1]}/", connect_s=0.4)
        stopped.set()
        thread.join()
