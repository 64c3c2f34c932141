"""Clients of toolfold whose calls go on to an MCP server: cancellation, progress, the end, and toolfold itself."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import KEY
from tests.support.mcp_requests import tool_call
from tests.support.mcp_sources import Sources, child, remote
from tests.support.waiting import wait_until
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings
from toolfold.transports.local_http.server import LocalServer

pytestmark = pytest.mark.slow

WAIT_S = 60.0


class Process:
    """``toolfold stdio`` with the catalog of ``sources``."""

    def __init__(self, sources: Sources) -> None:
        environment = {**os.environ, **sources.environment, "TOOLFOLD_CACHE": "memory"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "toolfold", "stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def send(self, method: str, id_: int | None = None, **params: Any) -> None:
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "method": method, "params": params, **({"id": id_} if id_ is not None else {})}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def call(self, id_: int, tool: str, _meta: Any = None, **arguments: Any) -> None:
        meta = {"_meta": _meta} if _meta else {}
        self.send("tools/call", id_, name="TOOL_CALL", arguments={"tool_name": tool, "arguments": arguments}, **meta)

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def answer_to(self, id_: int) -> dict[str, Any]:
        """Read past notifications to the answer to ``id_``."""
        while "id" not in (message := self.read()):
            pass
        assert message["id"] == id_
        return message

    def end(self) -> int:
        self.process.__exit__(None, None, None)  # closes its pipes
        return self.process.returncode


def start(folder: Path, *words: str) -> Process:
    sources = Sources(folder)
    sources.add("harbour", child(*words))
    process = Process(sources)
    process.send(
        "initialize", 1, protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "x", "version": "1"}
    )
    process.read()
    return process


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def children_of(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
    return [int(word) for word in found.split()]


def test_progress_comes_before_the_answer_and_only_on_request(tmp_path: Path) -> None:
    process = start(tmp_path)
    process.call(2, "harbour__wait", {"progressToken": "t"}, seconds=0.5)
    received = []
    while "id" not in (message := process.read()):
        received.append(message)
    assert message["id"] == 2
    assert {one["method"] for one in received} == {"notifications/progress"}
    assert [one["params"]["progressToken"] for one in received] == ["t"] * len(received)
    values = [one["params"]["progress"] for one in received]
    assert values == sorted(values)
    assert len(values) > 1
    assert received[0]["params"]["message"] == "waiting"
    process.call(3, "harbour__wait", seconds=0.3)
    assert process.read()["id"] == 3
    assert process.end() == 0


def test_a_cancelled_call_is_cancelled_at_the_server_and_others_go_on(tmp_path: Path) -> None:
    marker = tmp_path / "cancelled"
    process = start(tmp_path, "none", str(marker))
    process.call(2, "harbour__wait", {"progressToken": "t"}, seconds=60)
    assert process.read()["method"] == "notifications/progress"  # it runs at the server
    process.call(3, "harbour__picture")
    blocks = process.answer_to(3)["result"]["content"]
    assert [block["type"] for block in blocks] == ["text", "image", "audio"]
    process.send("notifications/cancelled", requestId=2)
    wait_until(lambda: marker.read_text() == "cancelled")
    process.call(4, "harbour__echo", text="on")
    process.answer_to(4)
    assert process.end() == 0


def test_an_equal_call_that_waited_for_a_cancelled_one_is_made(tmp_path: Path) -> None:
    process = start(tmp_path)
    process.call(2, "harbour__wait", {"progressToken": "t"}, seconds=4)
    assert process.read()["method"] == "notifications/progress"  # it runs at the server
    process.call(3, "harbour__wait", seconds=4)
    time.sleep(0.3)
    process.send("notifications/cancelled", requestId=2)
    assert process.answer_to(3)["result"]["structuredContent"]["result"] == "waited 4 s"
    process.end()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize("how", ["end of input", "signal"])
def test_no_program_outlives_the_server_that_started_it(how: str, tmp_path: Path) -> None:
    process = start(tmp_path, "stays", str(tmp_path / "marker"))
    process.call(2, "harbour__echo", text="hi")
    process.read()
    found = children_of(process.process.pid)
    assert found
    if how == "signal":
        process.process.send_signal(signal.SIGTERM)
        process.process.wait(WAIT_S)
    process.end()
    assert not any(map(is_running, found))


def test_a_stateless_client_cancels_by_closing_its_connection(tmp_path: Path, sources: Sources) -> None:
    marker = tmp_path / "cancelled"
    sources.add("harbour", child("none", str(marker)))
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = json.dumps(tool_call("harbour__wait", {"seconds": 60}, _meta=meta))
    with LocalServer(sources.settings) as server:
        host, _, port = server.url.partition("://")[2].partition("/")[0].partition(":")
        with socket.create_connection((host, int(port))) as connection:
            head = (
                f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
                f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
                f"Mcp-Method: tools/call\r\nMcp-Name: TOOL_CALL\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            connection.sendall((head + body).encode())
            wait_until(lambda: marker.exists() and marker.read_text() == "waiting")
        wait_until(lambda: marker.read_text() == "cancelled")


@pytest.fixture(scope="module")
def inner_url() -> Iterator[str]:
    """Return the URL of ``toolfold serve`` with the bundled catalog and the mock API."""
    with MockApi() as api:
        environment = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": api.url, "TOOLFOLD_CACHE": "memory"}
        with LocalServer(Settings.from_environment(environment)) as server:
            yield server.url


def test_toolfold_is_a_source_of_toolfold_over_http(
    inner_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLFOLD_SOURCE_INNER_KEY", KEY)
    sources = Sources(tmp_path, SOURCE_INNER_KEY=KEY)
    sources.add("inner", remote(inner_url), auth={"environment": "TOOLFOLD_SOURCE_INNER_KEY"}, overlay=READ_ALL)
    check_inner(sources)


def test_toolfold_is_a_source_of_toolfold_over_stdio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLFOLD_SOURCE_INNER_KEY", KEY)
    with MockApi() as api:
        variables = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": api.url, "TOOLFOLD_CACHE": "memory"}
        how = {"transport": "stdio", "command": sys.executable, "args": ["-m", "toolfold", "stdio"], "env": variables,
               "key_variable": "ALPHA_VANTAGE_API_KEY"}  # fmt: skip
        sources = Sources(tmp_path, SOURCE_INNER_KEY=KEY)
        sources.add("inner", how, auth={"environment": "TOOLFOLD_SOURCE_INNER_KEY"}, overlay=READ_ALL)
        check_inner(sources)


READ_ALL = {"tools": {name: {"effect": "read"} for name in ("TOOL_LIST", "TOOL_GET", "TOOL_CALL")}}


def check_inner(sources: Sources) -> None:
    """Check that a call through two servers returns the data of the innermost source."""
    assert sources.snapshot("inner")["server"]["name"] == "toolfold"
    listed = sources.call("inner__TOOL_LIST", {"query": "latest price of a stock"})
    assert "GLOBAL_QUOTE" in listed.text
    quote = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "AAPL"}}
    assert "AAPL" in sources.call("inner__TOOL_CALL", quote).text
    error = sources.call("inner__TOOL_CALL", {"tool_name": "NO_SUCH_TOOL"}).structured["error"]
    assert error["code"] == "UPSTREAM_ERROR"
    assert "TOOL_NOT_FOUND" in error["upstream_says"]
    assert KEY not in json.dumps([listed.structured, error])
