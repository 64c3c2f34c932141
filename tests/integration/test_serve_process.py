"""``toolfold serve``, and the mock API, as processes: how they start, what they print, and how they stop."""

import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.integration.test_local_http_limits import calling
from tests.support import processes
from tests.support.commands import CommandLine
from tests.support.processes import check_end, check_second_signal, one_more_request
from tests.support.raw_http import PING, answers_honestly, connect, exchange, post, read_all
from tests.support.threads import run_concurrently
from toolfold.extras import install_command
from toolfold.mock_api.server import MockApi

serving = partial(processes.serving, "serve")


@pytest.mark.parametrize("sent", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_requests_in_flight_are_answered_when_it_is_stopped(mock_api: MockApi, sent: signal.Signals) -> None:  # R24
    with serving(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=mock_api.url) as (process, url):
        with connect(url, 20) as calling_client, connect(url, 20) as idle, connect(url, 20) as stalled:
            with one_more_request(mock_api):
                calling_client.sendall(calling(url, "FAULT.SLOW.4"))
                idle.sendall(post(url))
                received = b""
                while not received.endswith(b"}"):
                    received += idle.recv(1000)
                stalled.sendall(post(url)[:-3])
            process.send_signal(sent)
            assert read_all(idle) == b""
            assert read_all(stalled).startswith(b"HTTP/1.1 503 ")
            with pytest.raises(OSError, match="refused"):
                connect(url)
            assert process.poll() is None
            assert read_all(calling_client).startswith(b"HTTP/1.1 200 ")
        assert process.wait(timeout=60) == 0
        assert process.stderr
        assert process.stderr.read() == b""


def test_a_call_whose_client_has_gone_is_not_waited_for(mock_api: MockApi) -> None:
    with serving(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=mock_api.url, TOOLFOLD_TIMEOUT_S="60") as (process, url):
        with connect(url) as client, one_more_request(mock_api):
            client.sendall(calling(url, "FAULT.SLOW.60"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0


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
        clients[0].settimeout(20)
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
