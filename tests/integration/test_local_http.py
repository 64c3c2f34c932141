"""``toolfold serve``: it answers as the Lambda handler; clients that stall or flood it; how it starts and stops."""

import base64
import hashlib
import http.client
import json
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.conftest import KEY
from tests.support import processes
from tests.support.catalogs import BUNDLED_TOOLS
from tests.support.commands import CommandLine
from tests.support.mcp_requests import message, tool_call
from tests.support.processes import check_end, check_second_signal, one_more_request
from tests.support.raw_http import PING, answers_honestly, connect, exchange, post, read_all
from tests.support.threads import run_concurrently
from tests.support.upstream import CSV, Reply, Upstream
from tests.support.waiting import wait_until
from toolfold import __version__
from toolfold.catalog.store import bundled_path
from toolfold.extras import install_command
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings
from toolfold.telemetry import configure
from toolfold.transports.lambda_handler import LambdaHandler, RequestHandler
from toolfold.transports.local_http import connection, server
from toolfold.transports.local_http.server import LocalServer

JSON = {"content-type": "application/json", "accept": "application/json"}


@pytest.fixture(scope="module")
def gateway(mock_api: MockApi) -> Iterator[LocalServer]:
    environment = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "TOOLFOLD_ALLOW_KEY_IN_QUERY": "true"}
    with LocalServer(Settings.from_environment(environment)) as running:
        yield running


@pytest.fixture
def asking(gateway: LocalServer) -> Iterator[http.client.HTTPConnection]:
    connected = http.client.HTTPConnection(urlsplit(gateway.url).netloc, timeout=60)
    yield connected
    connected.close()


def ask(
    asking: http.client.HTTPConnection, body: bytes, path: str = "/mcp", method: str = "POST", **headers: str
) -> tuple[int, bytes]:
    asking.request(method, path, body, {**JSON, **{name.replace("_", "-"): text for name, text in headers.items()}})
    response = asking.getresponse()
    return response.status, response.read()


def test_the_state_of_the_server_has_its_version_and_its_catalog(asking: http.client.HTTPConnection) -> None:
    status, answer = ask(asking, b"", path="/health", method="GET")
    content = bundled_path().read_bytes()
    catalog = {"sha256": hashlib.sha256(content).hexdigest(), "tools": BUNDLED_TOOLS}
    assert status == 200
    assert json.loads(answer) == {
        "status": "ok",
        "version": __version__,
        "catalog": catalog,
        "sources": {"alpha_vantage": {"circuit_breaker": "closed"}},
    }
    assert ask(asking, b"", path="/health", method="HEAD") == (200, b"")
    assert ask(asking, b"", path="/health", method="POST")[0] == 405
    assert ask(asking, b"", path="/health", method="GET", host="evil.test")[0] == 421
    assert ask(asking, b"", path="/health", method="GET", origin="https://evil.test")[0] == 403


@pytest.mark.parametrize("sent", [b"", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"])
@pytest.mark.parametrize("abruptly", [False, True])
def test_an_aborted_connection_causes_no_traceback(
    gateway: LocalServer,
    asking: http.client.HTTPConnection,
    capfd: pytest.CaptureFixture[str],
    sent: bytes,
    abruptly: bool,
) -> None:
    parts = urlsplit(gateway.url)
    with socket.create_connection((parts.hostname or "", parts.port or 0)) as client:
        client.sendall(sent)
        if abruptly:  # no lingering: the connection is reset, not closed
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert ask(asking, PING)[0] == 200
    assert "Traceback" not in capfd.readouterr().err


EVENTS = {path.stem: json.loads(path.read_text()) for path in sorted(Path("events").glob("*.json"))}


@pytest.mark.parametrize("name", EVENTS)
def test_answer_is_that_of_the_lambda_handler(
    gateway: LocalServer, asking: http.client.HTTPConnection, name: str
) -> None:
    event = EVENTS[name]
    headers = {**event["headers"], "host": urlsplit(gateway.url).netloc}
    headers.pop("content-length", None)
    handler = gateway.handler
    expected = LambdaHandler(handler.app, configure(handler.app.settings))({**event, "headers": headers})
    body = (event.get("body") or "").encode()
    if event.get("isBase64Encoded"):
        body = base64.b64decode(body)
    asking.request(event["requestContext"]["http"]["method"], "/mcp", body, headers)
    response = asking.getresponse()
    answer = response.read().decode()
    assert response.status == expected["statusCode"]
    own = {"date", "content-length", "connection"}  # a refused request ends its connection
    assert {key.lower(): value for key, value in response.getheaders() if key.lower() not in own} == expected["headers"]
    if name.startswith("tool-call"):  # its notes say how old the answer is
        assert json.loads(answer)["result"].keys() == json.loads(expected["body"])["result"].keys()
    else:
        assert answer == expected["body"]


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


def test_the_body_of_a_response_does_not_wait_until_its_head_is_acknowledged(start: Start) -> None:
    url, times = start(), list[float]()
    with connect(url) as client:
        for _ in range(100):
            began = time.monotonic()
            client.sendall(post(url, PING))
            while not client.recv(65_536).endswith(b"}"):
                pass
            times.append(time.monotonic() - began)
    assert min(times[20:]) < 0.03  # a client acknowledges the first ones at once, others after 40 ms


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


serving = partial(processes.serving, "serve")


@pytest.mark.parametrize("sent", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_requests_in_flight_are_answered_when_it_is_stopped(sent: signal.Signals) -> None:  # R24
    may_end = threading.Event()

    def reply(_: Any) -> Reply:
        assert may_end.wait(60)
        return 200, {}, CSV.encode()

    with Upstream(reply) as upstream, serving(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=upstream.url) as (process, url):
        with connect(url) as calling_client, connect(url) as idle, connect(url) as stalled:
            calling_client.sendall(calling(url, "IBM"))
            idle.sendall(post(url))
            received = b""
            while not received.endswith(b"}"):
                received += idle.recv(1000)
            stalled.sendall(post(url)[:-3])
            wait_until(lambda: upstream.requests)
            process.send_signal(sent)
            assert [read_all(idle), read_all(stalled)] == [b"", b""]
            with pytest.raises(OSError, match="refused"):
                connect(url)
            assert process.poll() is None
            may_end.set()
            assert read_all(calling_client).startswith(b"HTTP/1.1 200 ")
        assert process.wait(timeout=60) == 0
        assert process.stderr
        assert process.stderr.read() == b""


def test_a_call_whose_client_has_gone_is_not_waited_for(mock_api: MockApi) -> None:
    with serving(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=mock_api.url, TOOLFOLD_TIMEOUT_S="60") as (process, url):
        with connect(url) as client, one_more_request(mock_api):
            client.sendall(calling(url, "FAULT.SLOW.60"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=50) == 0


def test_the_mock_api_ends_without_an_error_when_it_is_interrupted() -> None:
    with processes.serving("mock-api") as (process, _):
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"Traceback" not in printed


def test_second_signal_ends_it_at_once(mock_api: MockApi) -> None:
    variables = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "TOOLFOLD_TIMEOUT_S": "60"}
    with serving(**variables) as (process, url), connect(url) as client:
        with one_more_request(mock_api):
            client.sendall(calling(url, "FAULT.SLOW.60"))
        check_second_signal(process)


def test_port_in_use_is_one_sentence(mock_api: MockApi, command_line: CommandLine) -> None:
    port = mock_api.url.split(":")[2].split("/")[0]
    said = f"Port {port} cannot be used: Address already in use. Choose another with --port.\n"
    assert command_line("serve", "--port", port, code=1) == ("", said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--any-host"], "--any-host is for a server that other machines reach. Add --host with its address."),
        (["--host", "1.2.3.4"], "1.2.3.4"),
        (["--host", "256.1.1.1"], "256.1.1.1"),
        pytest.param(["--host", "no.such.host.invalid"], "no.such.host.invalid", marks=pytest.mark.slow),
    ],
)
def test_what_cannot_be_served_is_one_sentence(command_line: CommandLine, words: list[str], said: str) -> None:
    out, err = command_line("serve", "--port", "0", *words, code=1)
    assert (out, len(err.splitlines()), said in err) == ("", 1, True)


def test_missing_extra_is_named() -> None:
    program = "import sys; sys.modules['uvicorn'] = None; from toolfold.cli import main; sys.exit(main(['serve']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"This needs uvicorn: {install_command('serve')}")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists(), reason="no IPv6 here")
def test_ipv6_address_is_served() -> None:
    with serving("--host", "::1") as (process, url):
        assert url.startswith("http://[::1]:")
        assert answers_honestly(url)
        check_end(process)


def test_named_host_is_answered_and_no_other() -> None:
    with serving("--host", "0.0.0.0") as (_, url):
        assert url.startswith("http://127.0.0.1:")
        assert answers_honestly(url)
        port = url.rpartition(":")[2].partition("/")[0]
        with connect(url) as client:
            client.sendall(post(url, PING, host=f"0.0.0.0:{port}"))
            assert read_all(client).startswith(b"HTTP/1.1 421 ")


def test_log_whose_reader_is_gone_stops_nothing() -> None:
    with serving(stdout=subprocess.PIPE) as (process, url):
        assert process.stdout
        process.stdout.close()
        run_concurrently(partial(answers_honestly, url) for _ in range(20))
        assert answers_honestly(url)
        check_end(process)


def test_log_that_is_not_read_stops_nothing() -> None:
    with serving(stdout=subprocess.PIPE) as (process, url):
        body = post(url, PING)
        with connect(url) as client:  # each request logs some 150 bytes: more than a pipe holds
            for _ in range(20):
                client.sendall(body * 50)
                received = b""
                while received.count(b'"result":{}}') < 50:
                    received += client.recv(65536)
        assert answers_honestly(url)
        check_end(process)


@pytest.mark.slow
def test_connections_beyond_the_open_files_are_answered_when_others_have_timed_out() -> None:
    launcher = ["bash", "-c", 'ulimit -n 100; exec "$@"', "bash"]
    with serving(launcher=launcher) as (process, url), ExitStack() as open_connections:
        clients = [open_connections.enter_context(connect(url)) for _ in range(150)]
        clients[0].settimeout(60)
        assert read_all(clients[0]) == b""
        for client in clients:
            client.close()
        assert answers_honestly(url)
        check_end(process)


def test_every_name_is_answered_where_that_is_requested_and_others_reach_it() -> None:
    host, page = "toolfold.internal", "Origin: http://toolfold.internal"
    with serving("--host", "0.0.0.0", "--any-host") as (_, url):
        assert exchange(url, post(url, PING, "Connection: close", host=host)).startswith(b"HTTP/1.1 200 ")
        # A page that has made its own name lead here (DNS rebinding) is one of this name as well.
        assert exchange(url, post(url, PING, "Connection: close", page, host=host)).startswith(b"HTTP/1.1 403 ")
