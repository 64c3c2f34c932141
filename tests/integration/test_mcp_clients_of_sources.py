"""Clients of toolfold whose calls go on to an MCP server, and ``toolfold source add mcp --sign-in``."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import KEY
from tests.support.commands import CommandLine, Run
from tests.support.mcp_requests import tool_call
from tests.support.mcp_sources import Sources, child, remote
from tests.support.sign_ins import GuardedMcpServer, SignInServer, Terminal
from tests.support.waiting import wait_until
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings
from toolfold.transports.local_http.server import LocalServer

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


@pytest.mark.slow
def test_progress_comes_before_the_answer_and_only_on_request(tmp_path: Path) -> None:
    process = start(tmp_path)
    process.call(2, "harbour__wait", {"progressToken": "t"}, seconds=2)
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_an_equal_call_that_waited_for_a_cancelled_one_is_made(tmp_path: Path) -> None:
    process = start(tmp_path)
    process.call(2, "harbour__wait", {"progressToken": "t"}, seconds=4)
    assert process.read()["method"] == "notifications/progress"  # it runs at the server
    process.call(3, "harbour__wait", seconds=4)
    time.sleep(0.3)
    process.send("notifications/cancelled", requestId=2)
    assert process.answer_to(3)["result"]["structuredContent"]["result"] == "waited 4 s"
    process.end()


@pytest.mark.slow
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
    wait_until(lambda: not any(map(is_running, found)))  # what is killed ends a moment later


@pytest.mark.slow
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


@pytest.mark.slow
def test_toolfold_is_a_source_of_toolfold_over_http(
    inner_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLFOLD_SOURCE_INNER_KEY", KEY)
    sources = Sources(tmp_path, SOURCE_INNER_KEY=KEY)
    sources.add("inner", remote(inner_url), auth={"environment": "TOOLFOLD_SOURCE_INNER_KEY"}, overlay=READ_ALL)
    check_inner(sources)


@pytest.mark.slow
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


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command_line: CommandLine) -> Run:
    monkeypatch.setenv("TOOLFOLD_CACHE", "off")
    folder = str(tmp_path / "sources")
    return partial(command_line.run, "source", "add", "mcp", "harbour", "--yes", "--folder", folder)


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GuardedMcpServer]:
    (tmp_path / "home").mkdir(mode=0o700)
    for name in ("DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "home" / name))
    with GuardedMcpServer() as server, SignInServer(server.url) as issuer:
        server.issuer = issuer
        yield server


@pytest.mark.parametrize("place", ["/.well-known/oauth-protected-resource", "/named-in-the-refusal"])
def test_a_server_is_added_at_whose_issuer_toolfold_registers_itself(
    guarded: GuardedMcpServer, add: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    assert guarded.issuer is not None
    guarded.metadata_path, guarded.names_metadata = place, place == "/named-in-the-refusal"
    code, out, err = add("--url", guarded.url, "--sign-in", "--trust-annotations")
    assert code == 0, err
    (registered,) = [metadata for kind, metadata in guarded.issuer.events if kind == "register"]
    (redirect_uri,) = registered["redirect_uris"]
    text = (tmp_path / "sources/harbour/source.yaml").read_text()
    for line in (f"token_url: {guarded.issuer.url}/token", f"resource: {guarded.url}", "- notes"):
        assert line in text
    assert f"redirect_port: {urllib.parse.urlsplit(redirect_uri).port}" in text
    (export,) = [line for line in out.splitlines() if "TOOLFOLD_SOURCE_HARBOUR_KEY=" in line]
    client = export.partition("=")[2].strip("'")
    assert client.partition(":")[0] in guarded.issuer.clients
    # As the user goes on: with the variable set, the refresh has a link.
    sources = Sources(tmp_path, CACHE="off", ALLOWED_HOSTS=urllib.parse.urlsplit(guarded.issuer.url).netloc)
    monkeypatch.setenv("TOOLFOLD_SOURCE_HARBOUR_KEY", client)
    (sources.write("harbour", remote(guarded.url)) / "source.yaml").write_text(text)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", Terminal())
        sources.refresh("harbour")
    sources.compile()
    assert not sources.call("harbour__echo", {"text": "ahoy"}).is_error


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"registration_endpoint": None}, "register toolfold there by hand, with the redirect URI http://127.0.0.1:"),
        ({"code_challenge_methods_supported": ["plain"]}, "do not have S256"),
        ({"token_endpoint": "http://tokens.example/token"}, "name no token_endpoint"),
        (
            {"registration_endpoint": "http://clients.example/"},
            "does not answer: a URL in it is not one of HTTPS",
        ),
        ({"issuer": "https://other.example"}, "name the issuer 'https://other.example'"),
    ],
)
def test_an_issuer_that_registers_no_clients_or_lacks_something_is_named(
    guarded: GuardedMcpServer, add: Run, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], said: str
) -> None:
    metadata = guarded.issuer.server_metadata() if guarded.issuer else {}
    found = {name: value for name, value in {**metadata, **changed}.items() if value is not None}
    monkeypatch.setattr(guarded.issuer, "server_metadata", lambda: found)
    code, out, err = add("--url", guarded.url, "--sign-in")
    assert said in " ".join(f"{out} {err}".split())
    assert (code == 0) == ("registration_endpoint" not in found)


def test_a_refused_server_is_said_to_have_users_who_may_sign_in(guarded: GuardedMcpServer, add: Run) -> None:
    assert "add it with --sign-in" in add("--url", guarded.url)[2]


def test_signing_in_is_for_servers_on_the_network(add: Run) -> None:
    assert "give --url" in add("--sign-in", "--", "uvx", "server")[2]
