"""What the page of a deployment may send to the MCP endpoint: to look always, to call only where that is allowed."""

import json

import pytest

from toolfold.app import build_app
from toolfold.protocol.http import NO_WEB_PAGES, OriginPolicy, Request, Response, is_from_page
from toolfold.settings import Settings

HOST = "id.execute-api.us-east-1.amazonaws.com"
PAGE = ("origin", f"https://{HOST}")
ISSUER = {
    "TOOLFOLD_OAUTH_ISSUER": "https://issuer.example.com",
    "TOOLFOLD_PUBLIC_URL": "https://tools.example.com/mcp",
}


def post(explorer: str, name: str, origin: tuple[str, str] | None, **arguments: str) -> Response:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    app = build_app(Settings.from_environment({"TOOLFOLD_EXPLORER": explorer}))
    headers = (("host", HOST), ("content-type", "application/json"), *((origin,) if origin else ()))
    return app.server.handle_http(Request("POST", headers, json.dumps(message).encode(), path="/mcp"))


def test_without_an_explorer_no_page_may_send_anything() -> None:
    assert post("off", "TOOL_LIST", PAGE).status == 403


def test_a_page_that_reads_may_list_and_describe_tools() -> None:
    assert post("read-only", "TOOL_LIST", PAGE, query="oil").status == 200
    assert post("read-only", "TOOL_GET", PAGE, tool_name="WTI").status == 200


def test_a_page_that_reads_calls_nothing() -> None:
    response = post("read-only", "TOOL_CALL", PAGE, tool_name="WTI")
    assert response.status == 403
    assert b"read-only" in response.body


def test_other_clients_call_as_before() -> None:
    response = post("read-only", "TOOL_CALL", None, tool_name="WTI")
    assert json.loads(response.body)["result"]["structuredContent"]["error"]["code"] == "AUTH_REQUIRED"


@pytest.mark.parametrize("explorer", ["off", "read-only"])
@pytest.mark.parametrize("origin", ["null", "https://evil.example", f"https://{HOST}:8443", "http://localhost"])
def test_other_pages_are_refused(explorer: str, origin: str) -> None:
    assert post(explorer, "TOOL_LIST", ("origin", origin)).status == 403


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ((("host", HOST), PAGE), True),
        ((("host", HOST.upper()), PAGE), True),
        ((("host", "other"), ("origin", "https://tools.example.com")), True),  # a proxy in front changes the host
        ((("host", HOST),), False),
        ((PAGE,), False),
        ((("host", HOST), ("host", "evil.example"), PAGE), False),
        ((("host", HOST), PAGE, ("origin", "https://evil.example")), False),
        ((("host", ""), ("origin", "https://")), False),
        ((("host", "null"), ("origin", "null")), False),
        ((("host", HOST), ("origin", f"ws://{HOST}")), False),
    ],
)
def test_which_requests_are_from_the_page(headers: tuple[tuple[str, str], ...], expected: bool) -> None:
    policy = OriginPolicy(public_host="tools.example.com", page="calls")
    assert is_from_page(headers, policy) == expected
    assert not is_from_page(headers, NO_WEB_PAGES)
