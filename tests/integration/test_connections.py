"""How long a connection to the upstream is used, and for which calls. Over real sockets."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.support.http import Send
from tests.support.raw_server import OK, RawServer
from tests.support.threads import run_concurrently
from tests.support.upstream import CSV, Upstream
from toolfold.network import connections, session
from toolfold.network.connections import forget_connections
from toolfold.network.session import TransportError
from toolfold.sources.errors import ConnectionFailed


class TestKept:
    def test_calls_after_one_another_share_a_connection(self, send: Send) -> None:
        with RawServer() as server:
            for _ in range(3):
                assert send(server.url).body == CSV
        assert len(server.requests) == 3

    def test_one_that_was_closed_meanwhile_is_not_used(self, send: Send) -> None:
        closed = threading.Event()

        def once(server: RawServer, connection: socket.socket) -> None:
            server.respond_once(connection)
            connection.close()
            closed.set()

        with RawServer(once, RawServer.answer) as server:
            send(server.url)
            assert closed.wait(5)
            time.sleep(0.05)  # until the end of it has arrived
            assert send(server.url).body == CSV
        assert len(server.requests) == 2

    def test_one_that_is_closed_right_after_an_answer_is_a_call_broken_off(self, send: Send) -> None:
        with RawServer(RawServer.respond_once_and_read, RawServer.answer) as server:
            send(server.url)
            with pytest.raises(ConnectionFailed):
                send(server.url)
            assert send(server.url).body == CSV

    def test_one_that_had_rested_and_is_closed_as_the_request_is_sent_is_replaced_once(
        self, send: Send, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(session, "_RESTED_S", 0.0)
        with RawServer(RawServer.respond_once_and_read, RawServer.respond_once_and_read, RawServer.read) as server:
            for _ in range(2):
                assert send(server.url).body == CSV
            assert len(server.requests) == 3
            forget_connections()
            with pytest.raises(ConnectionFailed):  # the new one is closed as well
                send(server.url)

    @pytest.mark.parametrize("answer", [b"H", b"HTTP/1.1 200 OK\r\n", OK[:-1]])
    def test_a_call_that_has_a_byte_of_an_answer_is_not_sent_again(
        self, send: Send, monkeypatch: pytest.MonkeyPatch, answer: bytes
    ) -> None:
        monkeypatch.setattr(session, "_RESTED_S", 0.0)

        def once_and_begin(server: RawServer, connection: socket.socket) -> None:
            server.respond_once(connection)
            server.respond_once(connection, answer)

        with RawServer(once_and_begin) as server:
            send(server.url)
            with pytest.raises(ConnectionFailed):
                send(server.url)
        assert len(server.requests) == 2

    def test_what_may_change_something_is_not_sent_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(session, "_RESTED_S", 0.0)
        with RawServer(RawServer.respond_once_and_read, RawServer.answer) as server:
            terms: dict[str, Any] = {"connect_s": 5, "deadline": time.monotonic() + 5, "limit": 999}
            session.send("POST", server.url, {}, b"", again=False, **terms)
            with pytest.raises(TransportError, match="ProtocolError"):
                session.send("POST", server.url, {}, b"", again=False, **terms)
            assert session.send("POST", server.url, {}, b"", again=False, **terms).status == 200

    @pytest.mark.parametrize(
        "answer",
        [
            OK + b"x",
            OK + OK,
            OK.replace(b"200 OK", b"200 OK\r\nConnection: close"),
            OK.replace(b"HTTP/1.1", b"HTTP/1.0"),
            b"HTTP/1.1 204 No Content\r\n\r\nx",
        ],
    )
    def test_one_that_is_not_at_its_end_is_not_kept(self, send: Send, answer: bytes) -> None:
        def lasting(server: RawServer, connection: socket.socket) -> None:
            server.respond_once(connection, answer)
            assert server.read(connection) == b""

        with RawServer(lasting, RawServer.answer) as server:
            send(server.url)
            assert send(server.url).body == CSV

    def test_words_that_come_later_are_no_answer_to_the_next_call(self, send: Send) -> None:
        spoken = threading.Event()

        def talkative(server: RawServer, connection: socket.socket) -> None:
            server.respond_once(connection)
            time.sleep(0.05)
            connection.sendall(OK.replace(b"2026", b"1999"))
            spoken.set()
            server.read(connection)

        with RawServer(talkative, RawServer.answer) as server:
            send(server.url)
            assert spoken.wait(5)
            time.sleep(0.02)
            assert send(server.url).body == CSV

    @pytest.mark.parametrize("away_s", [56.0, -1.0])  # later, or after the clock was set back
    def test_those_that_rested_for_long_are_closed(
        self, send: Send, monkeypatch: pytest.MonkeyPatch, away_s: float
    ) -> None:
        forget_connections()
        with RawServer() as server:
            send(server.url)
            [resting] = connections._resting
            now = time.time() + away_s
            monkeypatch.setattr(connections.time, "time", lambda: now)
            assert connections.take(resting.route) is None
        assert resting.closed

    def test_at_most_sixteen_rest(self, send: Send) -> None:
        together = threading.Barrier(20)

        def all_at_once(query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
            together.wait(5)
            return 200, {}, CSV.encode()

        forget_connections()
        with Upstream(all_at_once) as upstream:
            run_concurrently([partial(send, upstream.url)] * 20)
            assert len(connections._resting) == 16
            forget_connections()
            assert connections._resting == []

    def test_a_process_that_was_forked_makes_its_own(self, send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
        forget_connections()
        with Upstream() as upstream:
            send(upstream.url)
            monkeypatch.setattr(os, "getpid", lambda: -1)
            send(upstream.url)
            assert len(connections._resting) == 2
            forget_connections()

    def test_such_a_call_is_made_again(self, make_tools: Callable[..., Any]) -> None:
        with Upstream((200, {}, CSV.encode()), (0, {}, b""), (200, {}, CSV.encode())) as upstream:
            tools = make_tools(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=upstream.url, TOOLFOLD_MAX_QUEUE_WAIT_S="3")
            for name in ("CPI", "INFLATION"):
                assert not tools.call("TOOL_CALL", {"tool_name": name, "arguments": {}}).is_error
            assert [query["function"] for query in upstream.requests] == ["CPI", "INFLATION", "INFLATION"]

    def test_forgetting_them_closes_those_that_rest_and_leaves_those_at_work(self, send: Send) -> None:
        ended, begun, go_on = threading.Event(), threading.Event(), threading.Event()

        def rest(server: RawServer, connection: socket.socket) -> None:
            server.answer(connection)
            ended.set()

        def work(server: RawServer, connection: socket.socket) -> None:
            server.respond_once(connection, OK[:-5])
            begun.set()
            go_on.wait(5)
            connection.sendall(OK[-5:])
            assert server.read(connection) == b""  # not kept after its call

        server, working = RawServer(rest, RawServer.answer), RawServer(work)
        bodies: list[str] = []
        call = threading.Thread(target=lambda: bodies.append(send(working.url).body))
        with server, working:
            call.start()
            send(server.url)
            assert begun.wait(5)
            assert not ended.is_set()
            forget_connections()
            assert ended.wait(5)
            go_on.set()
            call.join()
            assert send(server.url).body == CSV
        assert bodies == [CSV]

    def test_many_threads_get_each_its_own_answer(self, send: Send) -> None:
        def echo(query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
            time.sleep(0.05)
            return 200, {}, query["symbol"].encode()

        got: dict[str, str] = {}
        with Upstream(echo) as upstream:

            def call(symbol: str) -> None:
                got[symbol] = send(upstream.url, "TIME_SERIES_WEEKLY", symbol=symbol).body

            run_concurrently(partial(call, f"S{number}") for number in range(24))
        assert got == {f"S{number}": f"S{number}" for number in range(24)}

    def test_nothing_is_logged_about_them(self, send: Send) -> None:
        lines: list[str] = []

        class Everything(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                lines.append(record.getMessage())

        handler, root = Everything(), logging.getLogger()
        level = root.level
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        try:
            # A header that is none: a client may name the address, and with it the key, in a warning.
            with Upstream((200, {"no header\r\nx": "y"}, CSV.encode())) as upstream:
                run_concurrently([partial(send, upstream.url)] * 20)
        finally:
            root.setLevel(level)
            root.removeHandler(handler)
        assert lines == []
