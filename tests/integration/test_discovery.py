"""From a request to an answer over HTTP, in two round trips, and what they cost."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.conftest import KEY
from tests.support.mcp_requests import message
from tests.support.meta_tools import tokens
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings
from toolfold.transports.local_http.server import LocalServer

Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def ask(mock_api: MockApi) -> Iterator[Ask]:
    """One request to the Lambda handler behind a socket; returns the result of its answer."""
    settings = Settings.from_environment({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url})
    with LocalServer(settings) as gateway:
        connection = http.client.HTTPConnection(urlsplit(gateway.url).netloc, timeout=30)

        def asked(method: str, **params: Any) -> dict[str, Any]:
            headers = {"content-type": "application/json", "accept": "application/json", "x-api-key": KEY}
            connection.request("POST", "/mcp", json.dumps(message(method, params)), headers)
            return dict(json.loads(connection.getresponse().read())["result"])

        yield asked
        connection.close()


def test_answer_takes_two_calls_and_1100_tokens_of_discovery(ask: Ask) -> None:
    definitions = ask("tools/list")["tools"]
    question = {"query": "give me aapl price"}
    found = ask("tools/call", name="TOOL_LIST", arguments=question)
    text = found["content"][0]["text"]
    assert tokens(definitions) + tokens(question) + tokens(text) <= 1_100
    call = found["structuredContent"]["tools"][0]["example_call"]
    assert json.dumps(call, separators=(",", ":")) in text
    answer = ask("tools/call", name="TOOL_CALL", arguments={**call, "arguments": {"symbol": "AAPL"}})
    assert not answer["isError"]
    assert "AAPL" in answer["content"][0]["text"]


def test_invalid_argument_is_an_error_result(ask: Ask) -> None:
    refused = ask("tools/call", name="TOOL_LIST", arguments={"query": "gold", "limit": 1000})
    assert refused["isError"]
    assert refused["structuredContent"]["error"]["code"] == "INVALID_ARGUMENTS"
    assert "1 to 200" in refused["content"][0]["text"]
