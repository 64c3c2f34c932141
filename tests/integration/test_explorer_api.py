"""The JSON of the page from a real server, over real HTTP: what clients do appears, and no answer has a secret."""

import http.client
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.approvals import compile_docks, reply
from tests.support.upstream import Upstream
from tests.unit.explorer.test_views import EXAMPLES, keys_of
from toolfold.explorer.router import LocalPage
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings
from toolfold.transports.local_http.server import LocalServer

KEY, SALT, SECRET, CALLER_KEY = "PLANTED-OPERATOR-KEY", "PLANTED-SALT", "PLANTED-" + "s" * 40, "PLANTED-CALLER-KEY"


class Page:
    """A client of one server: of its page, with the token, and of its MCP endpoint."""

    def __init__(self, server: LocalServer, page: LocalPage) -> None:
        self.address = urlsplit(server.url)
        self._token = page.access.token
        self.answers: list[bytes] = []

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
        assert self.address.hostname
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=30)
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
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        _, answer = self.send("POST", "/mcp", message, **{"x-api-key": CALLER_KEY})
        return json.loads(answer)["result"]["structuredContent"]


def serve(environment: dict[str, str]) -> tuple[LocalServer, Page]:
    page = LocalPage()
    server = LocalServer(Settings.from_environment(environment), page=page)
    server.__enter__()
    return server, Page(server, page)


def test_a_call_is_approved_on_the_page_and_then_performed(tmp_path: Path) -> None:
    catalog = compile_docks(tmp_path / "docks")
    with Upstream(reply) as upstream:
        server, page = serve(
            {
                "TOOLFOLD_CATALOG": str(catalog),
                "TOOLFOLD_ALLOWED_HOSTS": "docks.test",
                "TOOLFOLD_SOURCE_DOCKS_URL": upstream.url,
                "TOOLFOLD_APPROVE": "human",
                "TOOLFOLD_APPROVAL_SECRET": SECRET,
                "TOOLFOLD_CACHE": str(tmp_path / "cache" / "cache.sqlite"),
            }
        )
        wanted = {"tool_name": "CLOSE_HARBOUR", "arguments": {"harbour": "Bergen", "days": 3}}
        error = page.call("TOOL_CALL_WRITE", **wanted)["error"]
        found = page.api("approvals")
        assert set(keys_of(found)) == set(keys_of(EXAMPLES["approvals"]))
        [call] = found["waiting"]
        assert page.api("approvals", {"id": call["id"], "approve": True})["state"] == "approved"
        done = page.call("TOOL_CALL_WRITE", **wanted, approval_token=error["approval_token"])
        assert "error" not in done
        assert len(upstream.requests) == 1
        assert page.api("approvals")["waiting"] == []
        codes = [one["code"] for one in page.api("watch")["calls"]]
        assert codes == ["APPROVAL_REQUIRED", "OK"]
        assert error["approval_token"].encode() not in b"".join(page.answers)
        assert b"PLANTED" not in b"".join(page.answers)
        server.__exit__()


def test_no_answer_has_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "PLANTED-AWS")
    with MockApi() as api:
        server, page = serve(
            {
                "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": api.url,
                "TOOLFOLD_CACHE": "memory",
                "TOOLFOLD_REQUESTS_PER_DAY": "25",
                "TOOLFOLD_KEY_SALT": SALT,
            }
        )
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
        server.__exit__()
    everything = b"".join(page.answers)
    assert len(everything) > 10_000
    for secret in (b"PLANTED", page._token.encode(), b"ALPHA_VANTAGE_API_KEY", b"AWS_"):
        assert secret not in everything
