"""The JSON of the page from a real server, over real HTTP: no answer has a secret."""

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.mcp_requests import message
from toolfold.explorer.router import LocalPage
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings
from toolfold.transports.local_http.server import LocalServer

KEY, SALT, CALLER_KEY = "PLANTED-OPERATOR-KEY", "PLANTED-SALT", "PLANTED-CALLER-KEY"


class Page:
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
        page = Page(server, local)
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
