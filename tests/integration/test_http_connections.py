"""How long a connection is used, and by which requests. Over real sockets."""

import logging
import os
import socket
import threading
import time
from functools import partial

import pytest

from tests.support.http import KEY, Send
from tests.support.raw_http import OK, RawServer
from tests.support.threads import run_concurrently
from tests.support.upstream import CSV, Upstream
from toolfold.network import connection
from toolfold.sources.base import ConnectionFailed


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
            assert closed.wait(5)
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
            assert arrived.wait(5)
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
            assert sent.wait(5)
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
            assert closed.wait(5)

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
            assert ended.wait(5)
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
