"""Profiles over real HTTP and over stdio, as clients connect to them."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
import requests

from tests.support.authorization_server import RESOURCE
from tests.support.lambda_handler import http_event, make_handler
from tests.support.mcp_requests import message
from toolfold.auth.resource_server import ResourceServer
from toolfold.network.session import HttpClient
from toolfold.protocol.http import Request
from toolfold.settings import Settings
from toolfold.transports.local_http.server import LocalServer

HEADERS = {"accept": "application/json"}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Return the URL of ``toolfold serve`` without the path."""
    with LocalServer(Settings.from_environment({})) as server:
        yield server.url.removesuffix("/mcp")


def listed(url: str, path: str) -> list[str]:
    body = requests.post(f"{url}{path}", json=message("tools/list"), headers=HEADERS, timeout=60).json()
    return [tool["name"] for tool in body["result"]["tools"]]


def test_local_server_serves_profiles(url: str) -> None:
    assert listed(url, "/mcp") == ["TOOL_LIST", "TOOL_GET", "TOOL_CALL"]
    assert listed(url, "/mcp/kinds/") == ["connector", "request_tools"]
    assert len(listed(url, "/mcp/direct")) == 100


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/mcp/gruoped", "Did you mean grouped? There are default, progressive,"),
        ("/mcp/grouped/more", "MCP is served at /mcp and /mcp/PROFILE"),
    ],
)
def test_local_server_answers_404_elsewhere(url: str, path: str, says: str) -> None:
    response = requests.post(f"{url}{path}", json=message("ping"), headers=HEADERS, timeout=60)
    assert (response.status_code, says in response.text) == (404, True)


def test_preflight_and_methods_are_those_of_the_endpoint(url: str) -> None:
    origin = {"origin": "http://localhost:3000"}
    preflight = requests.options(f"{url}/mcp/grouped", headers=origin, timeout=60)
    assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (204, origin["origin"])
    refused = requests.get(f"{url}/mcp/grouped", timeout=60)
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST, OPTIONS")
    other = requests.post(f"{url}/mcp/grouped", json=message("ping"), headers={"origin": "https://a.test"}, timeout=60)
    assert other.status_code == 403


@pytest.mark.parametrize("prefix", ["", "/prod"])
def test_lambda_finds_the_profile_behind_a_stage(prefix: str) -> None:
    event = http_event(message("tools/list"), path=f"{prefix}/mcp/kinds")
    response = make_handler({})(event, 29.0)
    tools = json.loads(response["body"])["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["connector", "request_tools"]


@pytest.mark.parametrize("path", ["", "/mcp", "/mcp/grouped"])
def test_metadata_of_a_profile_is_that_of_the_endpoint(path: str) -> None:
    variables = {"TOOLFOLD_OAUTH_ISSUER": "https://issuer.test", "TOOLFOLD_PUBLIC_URL": RESOURCE}
    server = ResourceServer(Settings.from_environment(variables), HttpClient)
    found = server.respond_without_token(Request("GET", (), b"", path=f"/.well-known/oauth-protected-resource{path}"))
    assert found is not None
    assert json.loads(found.body)["resource"] == RESOURCE
    for wrong in ("/mcp/a/b", "/other"):
        request = Request("GET", (), b"", path=f"/.well-known/oauth-protected-resource{wrong}")
        assert server.respond_without_token(request) is None


@pytest.mark.slow
def test_stdio_exposes_the_profile_of_its_option() -> None:
    line = json.dumps(message("tools/list")) + "\n"
    command = [sys.executable, "-m", "toolfold", "stdio", "--profile", "kinds"]
    done = subprocess.run(command, input=line, capture_output=True, text=True, check=True)
    names = [tool["name"] for tool in json.loads(done.stdout)["result"]["tools"]]
    assert names == ["connector", "request_tools"]


@pytest.mark.slow
def test_stdio_with_an_unknown_profile_ends_with_the_closest() -> None:
    command = [sys.executable, "-m", "toolfold", "stdio", "--profile", "kindz"]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "There is no profile 'kindz'. Did you mean kinds?" in " ".join(done.stderr.split())
