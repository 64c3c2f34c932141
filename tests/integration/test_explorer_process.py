"""``toolfold ui`` as a process, and its page over HTTP: what it prints, serves and refuses, byte for byte."""

from __future__ import annotations

import http.client
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.commands import CommandLine
from tests.support.mcp_requests import message
from tests.support.raw_http import exchange
from tests.support.waiting import wait_until
from toolfold.explorer.page import SECURITY_HEADERS
from toolfold.explorer.router import LocalPage
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings
from toolfold.transports.local_http.server import LocalServer

OPTIONS = ["ui", "--port", "0"]
COMMAND = [sys.executable, "-m", "toolfold", *OPTIONS]


@dataclass
class Page:
    """A running explorer."""

    process: subprocess.Popen[bytes]
    base: str
    token: str
    log: Path
    call_log: Path
    cookie: str = ""

    @property
    def host(self) -> str:
        return self.base.removeprefix("http://").rstrip("/")

    def ask(self, target: str, *headers: str, method: str = "GET", body: bytes = b"", host: str = "") -> Answer:
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host or self.host}", "Connection: close", *headers]
        if body or method == "POST":
            lines.append(f"Content-Length: {len(body)}")
        return Answer(exchange(self.base, "\r\n".join([*lines, "", ""]).encode() + body))


class Answer:
    """A response, parsed."""

    def __init__(self, received: bytes) -> None:
        head, _, self.body = received.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        self.status = int(first.split()[1]) if first else 0
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


@contextmanager
def running(folder: Path, *options: str, **environment: str) -> Iterator[Page]:
    """Start the command, and yield what it serves."""
    log, call_log = folder / "stdout.log", folder / "calls.jsonl"
    variables = {**os.environ, "TOOLFOLD_LOG_LEVEL": "DEBUG", "TOOLFOLD_CALL_LOG": str(call_log), **environment}
    with log.open("wb") as stdout:
        process = subprocess.Popen(
            [*COMMAND, *options], env=variables, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE
        )
    with process:
        assert process.stderr
        found = re.search(rb"(http://\S+/)\?token=(\S+)", process.stderr.readline())
        assert found
        try:
            yield Page(process, found[1].decode(), found[2].decode(), log, call_log)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, mock_api: MockApi) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("ui")
    with running(folder, "--no-open", TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=mock_api.url) as started:
        answer = started.ask(f"/?token={started.token}")
        started.cookie = "Cookie: " + answer.headers["set-cookie"].partition(";")[0]
        yield started


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "headers", "status"),
    [
        # DNS rebinding: the name of another host, or another port, for this address
        ("/", ["Host: evil.example"], 421),
        ("/ui/api/start", ["Host: 127.0.0.1"], 421),
        ("/ui/api/start", ["Host: 127.0.0.1.evil.example:{port}"], 421),
        ("/?token={token}", ["Host: evil.example"], 421),
        # paths that the page does not have
        ("//ui/api/start", [], 404),
        ("http://evil.example/ui/api/start", [], 404),
        ("*", [], 404),
        ("/ui/api/start?" + "&".join("a=1" for _ in range(50)), [], 400),
    ],
)
def test_hostile_requests_are_refused(page: Page, target: str, headers: list[str], status: int) -> None:
    values = {"port": page.host.rpartition(":")[2], "token": page.token}
    lines = [line.format(**values) for line in headers]
    host = next((line.removeprefix("Host: ") for line in lines if line.startswith("Host: ")), "")
    others = [line for line in lines if not line.startswith("Host: ")]
    answer = page.ask(target.format(**values) if "{" in target else target, page.cookie, *others, host=host)
    assert answer.status == status
    assert b"root:" not in answer.body
    assert "set-cookie" not in answer.headers
    assert {name: answer.headers.get(name) for name, _ in SECURITY_HEADERS} == dict(SECURITY_HEADERS)
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.slow
def test_neither_log_has_the_token_the_cookie_or_requests_of_the_page(page: Page) -> None:
    for target in (f"/?token={page.token}", f"/?token={page.token}x", f"/ui/api/start?token={page.token}"):
        page.ask(target, page.cookie)
        page.ask(target, host="evil.example")
    text = page.log.read_text() + (page.call_log.read_text() if page.call_log.exists() else "")
    assert '"rpc":"ui"' in text.replace(" ", "")  # at DEBUG, which this process logs
    assert page.token not in text
    assert page.cookie.partition("=")[2] not in text
    assert "ui/api" not in text
    assert '"ui"' not in (page.call_log.read_text() if page.call_log.exists() else "")


@pytest.mark.slow
def test_a_port_in_use_is_one_sentence_with_the_next_step(page: Page, command_line: CommandLine) -> None:
    port = page.host.rpartition(":")[2]
    out, err = command_line("ui", "--no-open", "--port", port, code=1)
    assert out == ""
    assert err.startswith(f"Port {port} cannot be used: Address already in use. --port 0 takes any free one.")
    assert "token=" not in err


@pytest.mark.slow
def test_at_a_terminal_a_browser_opens_with_a_code_that_works_once(tmp_path: Path) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.new\nmv {opened}.new {opened}\n')
    browser.chmod(0o755)
    main, terminal = pty.openpty()
    environment = {**os.environ, "BROWSER": str(browser), "TERM": "dumb"}
    with subprocess.Popen(
        COMMAND, env=environment, stdin=terminal, stdout=subprocess.DEVNULL, stderr=terminal
    ) as process:
        try:
            os.close(terminal)
            printed = b""
            while printed.count(b"\n") < 2:
                printed += os.read(main, 1000)
            found = re.search(rb"(http://\S+/)\?token=(\S+)", printed)
            assert found
            wait_until(opened.exists)
            url = opened.read_text().strip()
            base, token = found[1].decode(), found[2].decode()
            assert url.startswith(f"{base}?token=")
            assert token not in url
            page = Page(process, base, token, tmp_path, tmp_path)
            assert [page.ask(url.removeprefix(base.rstrip("/"))).status for _ in range(2)] == [303, 403]
        finally:
            process.kill()
            os.close(main)


KEY, SALT, CALLER_KEY = "PLANTED-OPERATOR-KEY", "PLANTED-SALT", "PLANTED-CALLER-KEY"


class ApiPage:
    """A client of one server: of its page, with the token, and of its MCP endpoint."""

    def __init__(self, server: LocalServer, page: LocalPage) -> None:
        self.address = urlsplit(server.url)
        self._token = page.token
        self.answers: list[bytes] = []

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
        assert self.address.hostname
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=60)
        given = {"content-type": "application/json", "accept": "application/json, text/event-stream", **headers}
        connection.request(method, path, None if body is None else json.dumps(body), given)
        response = connection.getresponse()
        found = response.status, response.read()
        connection.close()
        return found

    def api(self, target: str, body: Any = None) -> Any:
        method = "GET" if body is None else "POST"
        _, answer = self.send(method, f"/ui/api/{target}", body, authorization=f"Bearer {self._token}")
        self.answers.append(answer)
        return json.loads(answer)

    def call(self, name: str, **arguments: Any) -> Any:
        called = message("tools/call", {"name": name, "arguments": arguments})
        _, answer = self.send("POST", "/mcp", called, **{"x-api-key": CALLER_KEY})
        return json.loads(answer)["result"]["structuredContent"]


def test_no_answer_has_a_secret(mock_api: MockApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "PLANTED-AWS")
    settings = {
        "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
        "TOOLFOLD_CACHE": "memory",
        "TOOLFOLD_REQUESTS_PER_DAY": "25",
        "TOOLFOLD_KEY_SALT": SALT,
    }
    with LocalServer(Settings.from_environment(settings), page=(local := LocalPage())) as server:
        page = ApiPage(server, local)
        page.call("TOOL_LIST", query="price of a stock")
        page.call("TOOL_LIST", query="xqvq zzkz")
        page.call("TOOL_CALL", tool_name="GLOBAL_QUOTE", arguments={"symbol": "AAPL"})
        page.call("TOOL_CALL", tool_name="RSI", arguments={"symbol": "IBM"})
        targets = ("start", "catalog", "search?q=price", "tool?name=GLOBAL_QUOTE", "watch", "approvals", "tool?name=X")
        for target in targets:
            page.api(target)
        page.api("tokens", {"texts": ["x"]})
        page.api("tokens", {"texts": 1})
        page.api("approvals", {"id": "0" * 16, "approve": True})
    everything = b"".join(page.answers)
    assert len(everything) > 10_000
    for secret in (b"PLANTED", page._token.encode(), b"ALPHA_VANTAGE_API_KEY", b"AWS_"):
        assert secret not in everything
