"""Which callers may use a key of the operator: those with a token, or all of them where the settings confirm it."""

import json
import logging
import os
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.lambda_handler import CONTEXT, http_event, load_gateway
from tests.support.mcp_requests import message
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings
from toolfold.settings.model import open_keys
from toolfold.transports.local_http.server import LocalServer

KEY = "OPERATORSKEY0123"
QUOTE = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}

Call = Callable[..., dict[str, Any]]


@pytest.fixture
def load(mock_api: MockApi, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Call]:
    """Start the function, and return what calls a meta-tool with headers."""

    def start(**environment: str) -> Call:
        variables = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, **environment}
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        app = load_gateway()

        def call(name: str = "TOOL_CALL", arguments: Any = QUOTE, **headers: str) -> dict[str, Any]:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            event = http_event(message("tools/call", {"name": name, "arguments": arguments}), sent)
            return dict(json.loads(app.handler(event, CONTEXT)["body"])["result"]["structuredContent"])

        mock_api.clear_requests()
        return call

    return start


def test_the_function_does_not_use_its_key_for_all_callers_and_serves_the_rest(
    load: Callable[..., Call], mock_api: MockApi, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        call = load(ALPHA_VANTAGE_API_KEY=KEY)
    error = call()["error"]
    assert error["code"] == "AUTH_REQUIRED"
    assert "not for all callers" in error["message"]
    assert "Authorization: Bearer or X-API-Key" in error["suggestion"]
    assert mock_api.requests == []
    [line] = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert line.startswith("ALPHA_VANTAGE_API_KEY is not used: anyone could call with it.")
    assert "TOOLFOLD_ANYONE_MAY_USE_THE_KEY=true" in line
    assert KEY not in line
    assert call("TOOL_LIST", {})["tools"]
    assert "error" not in call(x_api_key="callers-own-key")
    assert [dict(request)["apikey"] for request in mock_api.requests] == ["callers-own-key"]


def test_a_key_that_is_confirmed_is_used(
    load: Callable[..., Call], mock_api: MockApi, caplog: pytest.LogCaptureFixture
) -> None:
    call = load(ALPHA_VANTAGE_API_KEY=KEY, TOOLFOLD_ANYONE_MAY_USE_THE_KEY="true")
    assert "error" not in call()
    assert [dict(request)["apikey"] for request in mock_api.requests] == [KEY]
    assert "is not used" not in caplog.text


def test_a_secret_that_is_not_for_all_callers_is_not_read(load: Callable[..., Call]) -> None:
    call = load(ALPHA_VANTAGE_API_KEY="arn:aws:secretsmanager:us-east-1:123456789012:secret:key-AbCdEf")
    assert "not for all callers" in call()["error"]["message"]


def test_without_a_key_nothing_is_said_about_one(load: Callable[..., Call], caplog: pytest.LogCaptureFixture) -> None:
    assert "none was given" in load()()["error"]["message"]
    assert "is not used" not in caplog.text


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, []),
        ({"ALPHA_VANTAGE_API_KEY": KEY}, ["ALPHA_VANTAGE_API_KEY"]),
        ({"ALPHA_VANTAGE_API_KEY": " "}, []),
        ({"TOOLFOLD_SOURCE_WEATHER_KEY": KEY}, ["TOOLFOLD_SOURCE_WEATHER_KEY"]),
        ({"TOOLFOLD_SOURCE_KEYS": "ssm:/toolfold/sources"}, ["TOOLFOLD_SOURCE_KEYS"]),
        ({"TOOLFOLD_KEY_VARIABLES": "maps=MAPS_KEY,OTHER_KEY", "MAPS_KEY": KEY, "OTHER_KEY": ""}, ["MAPS_KEY"]),
        ({"ALPHA_VANTAGE_API_KEY": KEY, "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true"}, []),
        ({"ALPHA_VANTAGE_API_KEY": KEY, "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "0"}, ["ALPHA_VANTAGE_API_KEY"]),
        (
            {
                "ALPHA_VANTAGE_API_KEY": KEY,
                "TOOLFOLD_OAUTH_ISSUER": "https://issuer.example.com",
                "TOOLFOLD_PUBLIC_URL": "https://tools.example.com/mcp",
            },
            [],
        ),
    ],
)
def test_which_keys_all_callers_could_use(
    environment: dict[str, str], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", environment)
    assert open_keys(Settings.from_environment()) == expected


@pytest.mark.parametrize(("host", "is_used"), [("localhost", True), ("0.0.0.0", False)])
def test_the_local_server_uses_no_key_for_other_machines_that_is_not_confirmed(
    host: str, is_used: bool, mock_api: MockApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
    monkeypatch.setenv("TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL", mock_api.url)
    mock_api.clear_requests()
    body = json.dumps(message("tools/call", {"name": "TOOL_CALL", "arguments": QUOTE})).encode()
    with LocalServer(Settings.from_environment(), host) as server:
        request = urllib.request.Request(server.url, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request) as response:
            assert json.load(response)["result"]["isError"] is not is_used
    assert len(mock_api.requests) == is_used
