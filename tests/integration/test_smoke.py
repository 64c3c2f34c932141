"""``make smoke`` against a real process of ``toolfold serve``, open and with an issuer, and against wrong servers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from scripts import smoke
from tests.integration.test_serve_process import serving
from tests.support.http_api import Request, event_for, response_from
from tests.support.issuer import Issuer
from tests.support.local_server import Handler, LocalServer
from tests.support.oauth_gateway import RESOURCE, Gateway
from toolfold.mock_api.server import MockApi


@pytest.fixture(scope="module")
def open_url() -> Iterator[str]:
    with MockApi() as mock, serving(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=mock.url, ALPHA_VANTAGE_API_KEY="") as (_, url):
        yield url


def outcomes(url: str, key: str = "", token: str = "") -> dict[str, str]:
    lines: list[str] = []
    endpoint = smoke.Endpoint(url, key, token)
    passed = smoke.run(endpoint, lines.append)
    found = {line.split()[1]: line.split()[0] for line in lines}
    assert list(found) == list(smoke.CHECKS)
    assert passed == ("FAIL" not in found.values()), lines
    assert not key or key not in "".join(lines)
    return found


def test_an_open_endpoint_passes_and_its_call_needs_a_key(open_url: str) -> None:
    found = outcomes(open_url)
    assert found.pop("TOOL_CALL") == "SKIP"
    assert set(found.values()) == {"PASS"}


def test_with_a_key_the_call_passes(open_url: str) -> None:
    assert set(outcomes(open_url, key="TESTKEY123").values()) == {"PASS"}


def test_a_token_that_is_not_required_is_a_failure(open_url: str) -> None:
    assert outcomes(open_url, token="TOKEN")["authorization"] == "FAIL"


@contextmanager
def api_of(gateway: Gateway) -> Iterator[str]:
    """Serve the routes of the template in front of the handler."""

    class Route(Handler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            answer = response_from({"statusCode": 404})
            if re.fullmatch(r"/mcp|/health|/register|/\.well-known/.+", self.path):
                request = Request(self.command, self.path, list(self.headers.items()), body)
                answer = response_from(gateway.handler(event_for(request, self.path)))
            self.reply(answer.status, dict(answer.headers), answer.body)

        do_GET = do_OPTIONS = do_POST

    with LocalServer(Route) as server:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"


def test_with_an_issuer_the_metadata_are_checked_and_calls_need_a_token(mock_api: MockApi) -> None:
    with Issuer() as issuer, api_of(Gateway(issuer, mock_api)) as url:
        found = outcomes(url)
        assert {name for name, outcome in found.items() if outcome == "SKIP"} == {
            *("initialize", "tools/list", "TOOL_LIST", "TOOL_GET", "TOOL_CALL")
        }
        assert found["authorization"] == found["health"] == "PASS"
        assert set(outcomes(url, key="TESTKEY123", token=issuer.token(RESOURCE)).values()) == {"PASS"}
        wrong = outcomes(url, token=issuer.token("https://other.example.com"))
        assert (wrong["authorization"], wrong["tools/list"]) == ("PASS", "FAIL")


def test_nothing_is_passed_by_a_server_that_is_down_or_another_one() -> None:
    class Other(Handler):
        def do_GET(self) -> None:
            self.reply(200, {"content-type": "text/html"}, b"<html>")

        do_POST = do_OPTIONS = do_GET

    with LocalServer(Other) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        found = outcomes(url)
        assert {name for name, outcome in found.items() if outcome == "PASS"} <= {"CORS"}
    assert set(outcomes(url).values()) == {"FAIL"}


@pytest.mark.parametrize("url", ["mcp.example.com", "https://mcp.example.com", "ftp://a/mcp", ""])
def test_an_address_that_is_none_is_refused(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert smoke.main([url]) == 2
    assert "https://mcp.example.com/mcp" in capsys.readouterr().err
