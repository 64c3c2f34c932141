"""The JSON of the page from a real server, over real HTTP: what clients do appears, and no answer has a secret."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.approvals import compile_docks, reply
from tests.support.upstream import Upstream
from tests.unit.explorer.test_views import EXAMPLES, keys_of
from toolfold.cli.entry_point import main
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


def serve(environment: dict[str, str], log_file: str = "") -> tuple[LocalServer, Page]:
    page = LocalPage(log_file)
    server = LocalServer(Settings.from_environment(environment), page=page)
    server.__enter__()
    return server, Page(server, page)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("explorer")


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[Page]:
    with MockApi() as api, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
        patch.setenv("AWS_SECRET_ACCESS_KEY", "PLANTED-AWS")
        server, made = serve(
            {
                "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": api.url,
                "TOOLFOLD_CACHE": "memory",
                "TOOLFOLD_REQUESTS_PER_DAY": "25",
                "TOOLFOLD_KEY_SALT": SALT,
            },
            str(folder / "other.jsonl"),
        )
        made.call("TOOL_LIST", query="price of a stock")
        made.call("TOOL_LIST", query="xqvq zzkz")
        for _ in range(2):
            made.call("TOOL_CALL", tool_name="GLOBAL_QUOTE", arguments={"symbol": "AAPL"})
        made.call("TOOL_CALL", tool_name="RSI", arguments={"symbol": "IBM"})
        yield made
        server.__exit__()


def test_calls_of_another_process_appear_from_its_log(page: Page, folder: Path, capsys: Any) -> None:
    path = folder / "other.jsonl"
    before = page.api("watch?after=0")
    assert before["log"]["problem"] == "The file does not exist yet."
    with pytest.MonkeyPatch.context() as patch, MockApi() as api:
        patch.setenv("TOOLFOLD_CALL_LOG", str(path))
        patch.setenv("TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL", api.url)
        patch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
        assert main(["call", "GLOBAL_QUOTE", "symbol=MSFT"]) == 0
    capsys.readouterr()
    found = page.api(f"watch?after={before['next']}")
    [call] = found["calls"]
    assert (call["tool"], call["source"], call["code"]) == ("GLOBAL_QUOTE", "alpha_vantage", "OK")
    assert found["log"] == {"file": str(path), "lines": 1, "problem": "", "is_complete": True}


def test_a_call_is_approved_on_the_page_and_then_performed(folder: Path) -> None:
    catalog = compile_docks(folder / "docks")
    with Upstream(reply) as upstream:
        server, page = serve(
            {
                "TOOLFOLD_CATALOG": str(catalog),
                "TOOLFOLD_ALLOWED_HOSTS": "docks.test",
                "TOOLFOLD_SOURCE_DOCKS_URL": upstream.url,
                "TOOLFOLD_APPROVE": "human",
                "TOOLFOLD_APPROVAL_SECRET": SECRET,
                "TOOLFOLD_CACHE": str(folder / "cache" / "cache.sqlite"),
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


def test_no_answer_has_a_secret(page: Page) -> None:
    for target in ("start", "catalog", "search?q=price", "tool?name=GLOBAL_QUOTE", "watch", "approvals", "tool?name=X"):
        page.api(target)
    page.api("tokens", {"texts": ["x"]})
    page.api("tokens", {"texts": 1})
    page.api("approvals", {"id": "0" * 16, "approve": True})
    everything = b"".join(page.answers)
    assert len(everything) > 10_000
    for secret in (b"PLANTED", page._token.encode(), b"ALPHA_VANTAGE_API_KEY", b"AWS_"):
        assert secret not in everything
