"""What a client or a directory reads of a server before it connects: the server card, and the AI catalog."""

import json
import re
from typing import Any

import pytest

from tests.support.mcp_requests import message, request, stateless
from tests.unit.protocol.test_mcp import SERVER, TOOLS, result
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.protocol.http import LOOPBACK_HOSTS, OriginPolicy, Request, Response
from toolfold.protocol.mcp import Server
from toolfold.settings import Settings

URL = "https://tools.example.com/mcp"
CARD, CATALOG = "/mcp/server-card", "/.well-known/ai-catalog.json"
DEPLOYED = Server(
    MetaTools(FileStore(bundled_path()), ToolExecutor(Settings.from_environment({"TOOLFOLD_PUBLIC_URL": URL})))
)


def get(path: str, server: Server = DEPLOYED, method: str = "GET", **headers: str) -> Response:
    return server.handle_http(request(b"", method, **headers)._replace(path=path))


def document(path: str, server: Server = DEPLOYED, **headers: str) -> dict[str, Any]:
    response = get(path, server, **headers)
    assert response.status == 200
    found: dict[str, Any] = json.loads(response.body)
    return found


def test_the_catalog_leads_to_the_card_and_the_card_to_the_endpoint() -> None:
    (entry,) = document(CATALOG)["entries"]
    assert entry["type"] == "application/mcp-server-card+json"
    assert entry["identifier"] == "urn:air:tools.example.com:mcp:toolfold"
    assert entry["url"] == URL + "/server-card"
    card = document(CARD)
    assert [remote["url"] for remote in card["remotes"]] == [URL]
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", card["name"])
    assert 1 <= len(card["description"]) <= 100
    assert re.fullmatch(r"data:image/svg\+xml,[\w.~%/-]+", card["icons"][0]["src"])  # a URI: no blanks, no brackets
    served = result(stateless("server/discover"))["supportedVersions"]
    assert set(served) <= set(card["remotes"][0]["supportedProtocolVersions"])


def test_the_card_says_what_the_server_says_of_itself_to_a_client() -> None:
    card = document(CARD)
    infos = [
        result(request(message("initialize")))["serverInfo"],
        result(stateless("server/discover"))["_meta"]["io.modelcontextprotocol/serverInfo"],
    ]
    for info in infos:
        assert {key: info[key] for key in ("title", "version", "description", "icons", "websiteUrl")} == {
            key: card[key] for key in ("title", "version", "description", "icons", "websiteUrl")
        }
    again = result(stateless("tools/list"))["_meta"]["io.modelcontextprotocol/serverInfo"]
    assert "icons" not in again


@pytest.mark.parametrize("path", [CARD, CATALOG])
def test_it_is_cached_and_any_page_may_read_it(path: str) -> None:
    response = get(path, origin="https://directory.example")
    headers = dict(response.headers)
    assert headers["access-control-allow-origin"] == "*"
    assert headers["cache-control"] == "public, max-age=3600"
    assert get(path, method="OPTIONS").status == 204
    assert get(path, method="HEAD")[0::2] == (200, b"")
    unchanged = get(path, if_none_match=f'"other", W/{headers["etag"]}')
    assert (unchanged.status, unchanged.body) == (304, b"")
    assert get(path, if_none_match='"other"').body == response.body


def test_a_local_server_names_the_address_that_it_was_reached_by() -> None:
    local = Server(TOOLS, OriginPolicy(hosts=LOOPBACK_HOSTS, port=8080))
    (remote,) = document(CARD, local, host="127.0.0.1:8080")["remotes"]
    assert remote["url"] == "http://127.0.0.1:8080/mcp"


@pytest.mark.parametrize("path", [CARD, CATALOG])
def test_a_name_that_nobody_checks_is_not_repeated(path: str) -> None:
    response = get(path, Server(TOOLS), host="attacker.example")
    assert response.status == 404
    assert b"attacker" not in response.body


def test_other_methods_and_paths_are_as_before() -> None:
    assert get(CATALOG, method="POST").status == 405
    assert get("/.well-known/other").status == 404
    assert get("/mcp").status == 405
    assert get("/mcp/trading/server-card").status == 405
    posted = Request("POST", request(message("ping")).headers, json.dumps(message("ping")).encode(), path=CARD)
    assert SERVER.handle_http(posted).status == 404
