"""Clients of the local server that stall, send too much or do not read: none of them delays another."""

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.conftest import KEY
from tests.support.mcp_requests import message, tool_call
from tests.support.raw_http import PING, answers_honestly, connect, exchange, post, read_all
from tests.support.threads import run_concurrently
from toolfold.settings import Settings
from toolfold.transports.lambda_handler import RequestHandler
from toolfold.transports.local_http import connection, server
from toolfold.transports.local_http.server import LocalServer

Start = Callable[..., str]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Start]:
    """Start a server with a time for each part of a request, and settings; check that it wrote no traceback."""
    with ExitStack() as servers:

        def started(timeout_s: float = 10, **environment: str) -> str:
            for name in ("HEAD_TIMEOUT_S", "BODY_TIMEOUT_S", "SEND_TIMEOUT_S"):
                monkeypatch.setattr(connection, name, timeout_s)
            monkeypatch.setattr(connection, "REFUSED_TIMEOUT_S", 0.2)
            return servers.enter_context(LocalServer(Settings.from_environment(environment))).url

        yield started
    assert "Traceback" not in capsys.readouterr().err


def calling(url: str, symbol: str, id_: int = 1) -> bytes:
    """Return a request that calls a tool."""
    body = json.dumps(tool_call("GLOBAL_QUOTE", {"symbol": symbol}, id_)).encode()
    return post(url, body, "Connection: close", f"X-API-Key: {KEY}")


STALLED = {"nothing": b"", "a part of the head": b"POST /mcp HTTP/1.1\r\nHo", "the head": b"", "half of the body": b""}


def stalled(url: str, what: str) -> bytes:
    whole = post(url)
    return {"the head": whole[: -len(PING)], "half of the body": whole[:-5]}.get(what, STALLED[what])


@pytest.mark.parametrize("what", STALLED)
def test_stalled_request_is_ended_and_delays_no_other(start: Start, what: str) -> None:  # R14
    url = start(0.5)
    with ExitStack() as open_connections:
        clients = []
        for _ in range(60):
            clients.append(open_connections.enter_context(connect(url)))
            clients[-1].sendall(stalled(url, what))  # at once: a connection that sends nothing is closed as well
        threads = threading.active_count()
        assert answers_honestly(url)
        assert threading.active_count() <= threads + 1
        for client in clients:
            received = read_all(client)
            assert received == b"" if what == "nothing" else received.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("part", ["head", "body", "chunks"])
def test_time_limit_holds_for_a_slow_client(start: Start, part: str) -> None:  # R14
    url = start(0.5)
    chunked = post(url).replace(b"Content-Length: %d" % len(PING), b"Transfer-Encoding: chunked")
    begin = {"head": b"", "body": post(url)[: -len(PING)], "chunks": chunked[: -len(PING)]}[part]
    drop = b"1\r\n \r\n" if part == "chunks" else b" "
    if part == "head":
        begin, drop = post(url)[:20], b"a"
    with connect(url) as client:
        client.sendall(begin)
        client.settimeout(0.05)
        received, give_up = b"", time.monotonic() + 60
        while not received and time.monotonic() < give_up:
            client.sendall(drop)
            try:
                received = client.recv(1000)
            except TimeoutError:
                continue
    assert received.startswith(b"HTTP/1.1 408 ")


def test_idle_connection_is_closed(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "KEEP_ALIVE_S", 0.3)
    url = start()
    with connect(url) as client:
        client.sendall(post(url))
        assert read_all(client).startswith(b"HTTP/1.1 200 ")


def test_client_that_does_not_read_is_closed(start: Start) -> None:
    url = start(0.5)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        parts = urlsplit(url)
        client.connect((parts.hostname, parts.port))
        listing = post(url, json.dumps(message("tools/list")).encode())
        client.settimeout(0.2)
        # The responses fill the buffers of both sides; then the server reads no more, and gives up in the end.
        sent, give_up = 0, time.monotonic() + 60
        while time.monotonic() < give_up:
            try:
                sent += client.send(listing * 100)
            except TimeoutError:
                continue
            except OSError:
                break
        assert time.monotonic() < give_up
        assert sent < 30_000_000  # what the buffers of the system take
    assert answers_honestly(url)


def test_request_beyond_the_connections_is_refused(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 5)
    url = start()
    with ExitStack() as open_connections:
        clients = [open_connections.enter_context(connect(url)) for _ in range(5)]
        clients[-1].sendall(post(url))
        assert read_all(clients[-1]).startswith(b"HTTP/1.1 503 ")
    assert answers_honestly(url)


def test_handler_that_takes_too_long_is_not_waited_for(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    respond = RequestHandler.respond

    def slow(self: RequestHandler, request: Any, remaining_s: float | None) -> Any:
        assert remaining_s is not None
        assert 0 < remaining_s <= 1.2
        assert released.wait(60)
        return respond(self, request, remaining_s)

    monkeypatch.setattr(RequestHandler, "respond", slow)
    names = ("TIMEOUT_S", "CONNECT_TIMEOUT_S", "MAX_QUEUE_WAIT_S", "DEADLINE_MARGIN_S")
    url = start(**{f"TOOLFOLD_{name}": "0.3" for name in names})
    assert exchange(url, post(url, PING, "Connection: close")).startswith(b"HTTP/1.1 504 ")
    released.set()


def test_defect_in_the_handler_is_a_plain_500(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ValueError("https://host/?apikey=SECRET")

    monkeypatch.setattr(RequestHandler, "_respond", broken)
    url = start()
    received = exchange(url, post(url, PING, "Connection: close"))
    assert received.startswith(b"HTTP/1.1 500 ")
    assert b"SECRET" not in received


def test_each_request_has_a_log_line_of_its_own(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    url = start()

    def describe(number: int) -> None:
        params = {"name": "TOOL_GET", "arguments": {"tool_name": f"TOOL_{number}", "key": "SECRET"}}
        body = json.dumps(message("tools/call", params)).encode()
        assert exchange(url, post(url, body, "Connection: close", f"X-API-Key: {KEY}")).startswith(b"HTTP/1.1 200 ")

    run_concurrently(partial(describe, number) for number in range(100))
    exchange(url, b"nonsense\r\n\r\n")
    written, give_up = "", time.monotonic() + 60
    while written.count('"request"') < 101 and time.monotonic() < give_up:
        time.sleep(0.01)
        written += capsys.readouterr().out
    lines = [line for line in map(json.loads, written.splitlines()) if line["message"] == "request"]
    assert sorted(line.get("inner_tool", "") for line in lines) == sorted(["", *(f"TOOL_{n}" for n in range(100))])
    assert [line["refused"] for line in lines if "refused" in line] == ["400"]
    assert len({frozenset(line) for line in lines}) == 2  # no field of one request appears in the line of another
    assert not re.search(f"SECRET|{KEY}|nonsense", written)
