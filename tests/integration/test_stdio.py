"""MCP over stdio, spoken to by the SDK's own client: a process started as an agent starts it."""

import json
import os
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from tests.conftest import KEY
from tests.support.catalogs import BUNDLED_TOOLS
from tests.support.commands import CommandLine
from tests.support.cpu_time import ends_within
from tests.support.mcp_requests import message, tool_call
from tests.support.processes import check_end, check_second_signal, one_more_request, sdk_client
from toolfold.mock_api.server import MockApi

COMMAND = [sys.executable, "-m", "toolfold", "stdio"]


def play(steps: Any, **environment: str) -> Any:
    """Run ``steps(client)`` against a fresh process."""

    async def played() -> Any:
        async with sdk_client({"PATH": os.environ["PATH"], "TOOLFOLD_CACHE": "memory", **environment}) as client:
            return await steps(client)

    return anyio.run(played)


def test_server_starts_without_configuration() -> None:
    async def steps(client: Client) -> Any:
        return (await client.list_tools()).tools, await client.call_tool("TOOL_LIST", {})

    tools, listed = play(steps)
    assert [tool.name for tool in tools] == ["TOOL_LIST", "TOOL_GET", "TOOL_CALL"]
    assert all(tool.title and tool.annotations and tool.output_schema for tool in tools)
    assert len(listed.structured_content["tools"]) == BUNDLED_TOOLS


def piped(*messages: dict[str, Any], **environment: str) -> list[dict[str, Any]]:
    """What comes out when messages are piped in and the pipe is closed at once."""
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "pipe", "version": "1"}}
    lines = [message("initialize", opening, 0), {"jsonrpc": "2.0", "method": "notifications/initialized"}, *messages]
    done = subprocess.run(
        COMMAND,
        input="".join(json.dumps(line) + "\n" for line in lines),
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_cancelled_call_is_not_waited_for(mock_api: MockApi) -> None:
    with ends_within(10):
        answers = piped(
            tool_call("GLOBAL_QUOTE", {"symbol": "FAULT.SLOW.9"}),
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
            TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=mock_api.url,
            ALPHA_VANTAGE_API_KEY=KEY,
            TOOLFOLD_TIMEOUT_S="1",
            TOOLFOLD_CONNECT_TIMEOUT_S="40",  # pending answers may take as long as a call: 41 s here
        )
    assert [answer["id"] for answer in answers] == [0]


@pytest.mark.slow
def test_end_at_any_moment_of_a_cancelled_call_is_an_ordinary_end(mock_api: MockApi) -> None:
    lines = [
        tool_call("GLOBAL_QUOTE", {"symbol": "FAULT.SLOW.9"}),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
    ]
    environment = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "ALPHA_VANTAGE_API_KEY": KEY}

    def end_after(delay_s: float) -> tuple[int, bytes]:
        with started(TOOLFOLD_TIMEOUT_S="1", **environment) as process:
            write(process, *lines)
            time.sleep(delay_s)
            _, printed = process.communicate(timeout=60)
            return process.returncode, printed

    # The call imports modules, connects and waits in this time: one end in six was an abort.
    with ThreadPoolExecutor(4) as threads:
        ends = set(threads.map(end_after, [step * 0.02 for step in range(16)]))
    assert ends == {(0, b"")}


def test_invalid_setting_ends_it_with_one_line_on_stderr(
    monkeypatch: pytest.MonkeyPatch, command_line: CommandLine
) -> None:
    monkeypatch.setenv("TOOLFOLD_CATALOG", "ftp://nowhere")
    out, err = command_line("stdio", code=1)
    assert (out, len(err.splitlines()), "TOOLFOLD_CATALOG" in err) == ("", 1, True)


def test_cached_answers_outlive_the_process(mock_api: MockApi, tmp_path: Path) -> None:
    async def steps(client: Client) -> Any:
        # Fresh for an hour: a quote, for 15 s, may be too old when a busy machine has started the second process.
        arguments = {"tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": "MSFT"}}
        return (await client.call_tool("TOOL_CALL", arguments)).is_error

    place = {
        "TOOLFOLD_CACHE": "",
        "TOOLFOLD_CACHE_TIMEOUT_S": "30",
        "XDG_CACHE_HOME": str(tmp_path),
        "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
        "ALPHA_VANTAGE_API_KEY": KEY,
    }
    mock_api.clear_requests()
    assert [play(steps, **place), play(steps, **place)] == [False, False]
    assert len([query for query in mock_api.requests if ("symbol", "MSFT") in query]) == 1
    assert KEY.encode() not in (tmp_path / "toolfold" / "responses" / "responses.sqlite").read_bytes()


NOISY = """
import os, sys
from toolfold import cli
from toolfold.protocol.mcp import Server
handle_message = Server.handle_message
def noisy(self, message):
    print("printed")
    os.write(1, b"written\\n")
    os.system("echo by a child")
    assert sys.stdin.read() == ""
    return handle_message(self, message)
Server.handle_message = noisy
sys.argv = ["toolfold", "stdio"]
sys.exit(cli.main())
"""


def test_other_output_goes_to_stderr() -> None:
    asked = json.dumps(message("ping")) + "\n"
    command = [sys.executable, "-c", NOISY]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert sorted(done.stderr.splitlines()) == ["by a child", "printed", "written"]


def started(**environment: str) -> subprocess.Popen[bytes]:
    """Start a process that is written to and read from."""
    pipe = subprocess.PIPE
    return subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, env={**os.environ, **environment})


def write(process: subprocess.Popen[bytes], *messages: dict[str, Any]) -> None:
    assert process.stdin
    process.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in messages))
    process.stdin.flush()


def test_closed_stdout_ends_the_process() -> None:
    with started() as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        write(process, message("ping"))
        assert process.wait(timeout=60) == 1  # stdin is still open
        assert process.stderr.read() == b""


@pytest.mark.parametrize("closed", ["<&-", "</dev/null >&-"])
def test_a_stream_that_is_closed_from_the_beginning_is_empty(closed: str) -> None:
    done = subprocess.run(f"{shlex.join(COMMAND)} {closed}", shell=True, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


@contextmanager
def calling(mock_api: MockApi, symbol: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process, and yield it when its call has reached the upstream."""
    environment = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "ALPHA_VANTAGE_API_KEY": KEY}
    with started(**environment) as process:
        with one_more_request(mock_api):
            write(process, tool_call("GLOBAL_QUOTE", {"symbol": symbol}))
        yield process


@pytest.mark.parametrize("sent", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_signal_lets_calls_finish(mock_api: MockApi, sent: signal.Signals) -> None:  # R24
    with calling(mock_api, "FAULT.SLOW.1") as process:
        assert process.stdout
        assert process.stderr
        process.send_signal(sent)
        assert json.loads(process.stdout.readline())["id"] == 1
        assert process.wait(timeout=60) == 0  # stdin is still open
        assert process.stderr.read() == b""


def test_second_signal_ends_the_process_at_once(mock_api: MockApi) -> None:
    with calling(mock_api, "FAULT.SLOW.60") as process:
        check_second_signal(process)


def test_stopped_process_does_not_wait_for_a_client_that_never_reads() -> None:
    with started(TOOLFOLD_TIMEOUT_S="0.5", TOOLFOLD_CONNECT_TIMEOUT_S="0.5") as process:
        write(process, *[message("tools/list")] * 200)
        assert select.select([process.stdout], [], [], 60)[0]  # it has started, and fills the pipe
        time.sleep(0.2)
        check_end(process)


def test_stdout_that_does_not_block_gets_every_answer() -> None:
    reader, stdout = os.pipe()
    os.set_blocking(stdout, False)
    sent = "".join(json.dumps(message("tools/list", id_=id_)) + "\n" for id_ in range(50))
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=stdout)
    os.close(stdout)
    with os.fdopen(reader, "rb") as answers, process:
        assert process.stdin
        process.stdin.write(sent.encode())
        process.stdin.close()
        time.sleep(2)  # in which the pipe fills up
        assert len(answers.readlines()) == 50
        assert process.wait(60) == 0
