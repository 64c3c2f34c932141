"""``GET /tools/NAME``: a tool for programs and people without an MCP client."""

import json

import pytest

from tests.support.mcp_requests import stateless
from tests.unit.protocol.test_mcp import result
from tests.unit.protocol.test_public_documents import DEPLOYED, URL, get
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.errors import CatalogUnavailable
from toolfold.execution.executor import ToolExecutor
from toolfold.exposure.profiles import not_exposed
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.tool_get import full, tool_get
from toolfold.protocol.http import LOOPBACK_HOSTS, OriginPolicy
from toolfold.protocol.mcp import Server
from toolfold.settings import Settings

CATALOG = FileStore(bundled_path())()
NAME = CATALOG.summary(0).name
TOOL = CATALOG.get(NAME)
assert TOOL is not None


def test_it_is_what_tool_get_says_of_the_tool() -> None:
    words = get(f"/tools/{NAME}")
    assert (words.status, words.body.decode()) == (200, full(TOOL)[1])
    data = get(f"/tools/{NAME}.json")
    assert data.body == json.dumps(tool_get(CATALOG, {"tool_name": NAME}).structured["tools"][0]).encode()
    assert get(f"/stage/tools/{NAME.lower()}").body == words.body
    assert json.loads(get("/tools/TOOL_CALL").body)["parameters"]["type"] == "object"


def test_it_is_sent_again_when_the_tool_has_changed() -> None:
    response = get(f"/tools/{NAME}")
    headers = dict(response.headers)
    assert headers["etag"] == f'"{TOOL.hash}"'
    assert headers["cache-control"] == "private, no-cache"
    assert get(f"/tools/{NAME}", if_none_match=headers["etag"])[0::2] == (304, b"")
    assert get(f"/tools/{NAME}", if_none_match='"other"').body == response.body
    assert get(f"/tools/{NAME}", method="HEAD")[0::2] == (200, b"")


@pytest.mark.parametrize(
    ("path", "method", "status", "words"),
    [
        ("/tools/NONE", "GET", 404, "There is no tool named 'NONE'. Call TOOL_LIST"),
        ("/tools/", "GET", 404, "TOOL_GET describes tools by name"),
        (f"/tools/{NAME},RSI", "GET", 404, "There is no tool named"),
        ("/tools/%FF%0A", "GET", 404, "There is no tool named"),
        (f"/tools/{NAME}", "POST", 405, "read with GET"),
        (f"/tools/{NAME}", "OPTIONS", 204, ""),
        (f"/mcp/tools/{NAME}", "GET", 405, "Send MCP messages with POST"),
    ],
)
def test_anything_else_says_what_is_right(path: str, method: str, status: int, words: str) -> None:
    response = get(path, method=method)
    assert response.status == status
    assert words in response.body.decode()


def test_a_web_page_and_another_name_are_refused_as_at_the_endpoint() -> None:
    assert get(f"/tools/{NAME}", origin="https://evil.example").status == 403
    local = Server(DEPLOYED.tools, OriginPolicy(hosts=LOOPBACK_HOSTS, port=8080))
    assert get(f"/tools/{NAME}", local, host="evil.example").status == 421
    assert get(f"/tools/{NAME}", local, host="127.0.0.1:8080").status == 200


def test_a_catalog_that_cannot_be_read_is_no_tool_that_is_missing() -> None:
    def fail() -> Catalog:
        raise CatalogUnavailable("The catalog cannot be read.", "Try later.")

    server = Server(MetaTools(fail, ToolExecutor(Settings.from_environment({}))))
    assert get(f"/tools/{NAME}", server).status == 503


def test_a_tool_that_may_not_be_called_is_described_as_such() -> None:
    catalog = CATALOG.part(range(1, len(CATALOG)), {0: not_exposed})
    response = get(f"/tools/{NAME}", Server(MetaTools(lambda: catalog, DEPLOYED.tools.executor)))
    assert response.body.decode().splitlines()[-1] == "It cannot be called here."


def test_a_list_of_tools_names_the_address_where_it_is_known() -> None:
    call = stateless("tools/call", {"name": "TOOL_LIST", "arguments": {"query": "stock price"}}, mcp_name="TOOL_LIST")
    listed = json.loads(DEPLOYED.handle_http(call).body)["result"]["structuredContent"]
    assert listed["tool_url"] == URL.removesuffix("/mcp") + "/tools/{name}"
    assert "tool_url" not in result(call)["structuredContent"]
    for entry in listed["tools"]:
        assert get(f"/tools/{entry['name']}").status == 200
