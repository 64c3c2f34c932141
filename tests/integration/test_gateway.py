"""The Lambda handler, with every event in ``events/`` and with events that API Gateway does not send."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import KEY
from tests.support.cpu_time import ends_within
from tests.support.lambda_handler import CONTEXT, load_gateway, make_handler
from tests.support.mcp_requests import tool_call
from toolfold.errors import SettingsError
from toolfold.mock_api.server import MockApi

EVENTS = {path.stem: json.loads(path.read_text()) for path in sorted(Path("events").glob("*.json"))}
Handler = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, mock_api: MockApi) -> Callable[..., Handler]:
    """The handler as Lambda loads it, with the environment given."""

    def loaded(**environment: str) -> Handler:
        monkeypatch.setenv("TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL", mock_api.url)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        app = load_gateway()
        return lambda event: dict(app.handler(event, CONTEXT))

    return loaded


@pytest.fixture
def handler(load: Callable[..., Handler]) -> Handler:
    return load()


def calling(symbol: str, **headers: str) -> dict[str, Any]:
    """The event of a TOOL_CALL for a quote."""
    event = EVENTS["tool-call"]
    kept = {name: value for name, value in event["headers"].items() if name != "authorization"}
    called = tool_call("GLOBAL_QUOTE", {"symbol": symbol})
    return {**event, "headers": {**kept, **headers}, "body": json.dumps(called)}


def logged_line(logged: str, **fields: Any) -> dict[str, Any]:
    """Return the one line of the log that has these fields."""
    lines = [json.loads(line) for line in logged.splitlines()]
    [found] = [line for line in lines if fields.items() <= line.items()]
    return dict(found)


STATUS = {"get": 405, "initialized": 202, "not-json": 400, "preflight": (204, 403)}


def test_an_invalid_base64_body_is_refused(handler: Handler) -> None:
    assert handler({**EVENTS["base64-body"], "body": "%%%"})["statusCode"] == 400


@pytest.mark.parametrize(
    "event",
    [
        [],
        {"Records": []},
        {"version": "2.0", "requestContext": 1},
        {"httpMethod": "POST", "headers": ["host"]},
        {"httpMethod": "POST", "body": {"jsonrpc": "2.0"}},
        {"httpMethod": "POST", "path": "/mcp", "requestContext": {"elb": {"targetGroupArn": "arn"}}},
    ],
)
def test_an_event_of_another_kind_is_refused(handler: Handler, event: Any, capsys: Any) -> None:
    response = handler(event)
    assert response["statusCode"] == 400
    assert "HTTP API or REST API" in response["body"]
    assert "event not understood" in capsys.readouterr().out


def as_rest_api(event: dict[str, Any]) -> dict[str, Any]:
    """The same request as a REST API sends it: payload format 1.0, below a stage."""
    http = event["requestContext"]["http"]
    headers = {name.title(): value for name, value in event["headers"].items()}
    return {
        "version": "1.0",
        "resource": "/mcp",
        "path": "/mcp",
        "httpMethod": http["method"],
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "requestContext": {"stage": "prod", "path": "/prod/mcp", "httpMethod": http["method"]},
        "body": event.get("body"),
        "isBase64Encoded": event.get("isBase64Encoded", False),
    }


@pytest.mark.parametrize("name", EVENTS)
def test_every_event_has_its_status_and_a_rest_api_gets_the_same_response(
    load: Callable[..., Handler], name: str
) -> None:
    handler = load(TOOLFOLD_CACHE="off")
    first, second = handler(EVENTS[name]), handler(as_rest_api(EVENTS[name]))
    expected = STATUS.get(name, 200)
    assert first["statusCode"] in (expected if isinstance(expected, tuple) else (expected,))
    assert isinstance(first["body"], str)
    assert first["isBase64Encoded"] is False
    assert _without_times(first) == _without_times(second)


def _without_times(response: dict[str, Any]) -> dict[str, Any]:
    """Return a response without how long its call took."""
    return {**response, "body": re.sub(r'"(elapsed|upstream)_ms":[0-9.]+', r'"\1_ms":0', response["body"])}


def test_a_call_is_answered_before_lambda_ends_the_function(mock_api: MockApi) -> None:
    gateway = make_handler({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url})
    gateway(calling("IBM", **{"x-api-key": KEY}), 29)  # imports what a first call imports
    with ends_within(1.5):
        response = gateway(calling("FAULT.SLOW.60", **{"x-api-key": KEY}), 1.5)  # one second is kept back
    assert json.loads(response["body"])["result"]["structuredContent"]["error"]["code"] == "UPSTREAM_TIMEOUT"


def test_a_rest_api_may_send_the_key_in_the_query(load: Callable[..., Handler], mock_api: MockApi) -> None:
    handler = load(TOOLFOLD_ALLOW_KEY_IN_QUERY="true")
    event = {**as_rest_api(calling("IBM")), "queryStringParameters": {"apikey": "from-query"}}
    assert json.loads(handler(event)["body"])["result"]["isError"] is False
    assert dict(mock_api.requests[-1])["apikey"] == "from-query"


def test_a_repeated_routing_header_of_a_rest_api_is_refused(handler: Handler) -> None:
    event = as_rest_api(EVENTS["server-discover"])
    event["multiValueHeaders"]["Mcp-Method"] = ["server/discover", "server/discover"]
    assert json.loads(handler(event)["body"])["error"]["code"] == -32020


@pytest.mark.parametrize(
    ("headers", "query", "allowed", "sent"),
    [
        ({"authorization": "Bearer from-bearer", "x-api-key": "from-header"}, "", "true", "from-bearer"),
        ({"authorization": "bearer from-bearer"}, "", "false", "from-bearer"),
        ({"authorization": "Basic abc", "x-api-key": "from-header"}, "apikey=from-query", "true", "from-header"),
        ({}, "apikey=from-query", "true", "from-query"),
        ({}, "apikey=from-query", "false", KEY),
        ({}, "", "false", KEY),
    ],
)
def test_the_first_key_of_bearer_header_and_query_is_used(
    load: Callable[..., Handler],
    mock_api: MockApi,
    headers: dict[str, str],
    query: str,
    allowed: str,
    sent: str,
) -> None:
    confirmed = {"TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true"}
    handler = load(ALPHA_VANTAGE_API_KEY=KEY, TOOLFOLD_ALLOW_KEY_IN_QUERY=allowed, **confirmed)
    event = {**calling("IBM", **headers), "rawQueryString": query}
    assert json.loads(handler(event)["body"])["result"]["isError"] is False
    assert dict(mock_api.requests[-1])["apikey"] == sent


@pytest.mark.parametrize("symbol", ["IBM", "FAULT.DAILY_QUOTA", "FAULT.NOTICE", "FAULT.RESET", "FAULT.REDIRECT"])
def test_the_log_contains_names_and_codes_but_no_key(
    load: Callable[..., Handler], capsys: pytest.CaptureFixture[str], symbol: str
) -> None:
    handler = load(TOOLFOLD_ALLOW_KEY_IN_QUERY="true")
    event = {**calling(symbol, **{"x-api-key": KEY}), "rawQueryString": f"apikey={KEY}"}
    response = handler(event)
    assert KEY not in response["body"]
    logged = capsys.readouterr().out
    assert KEY not in logged
    line = logged_line(logged, message="request")
    assert (line["rpc"], line["tool"], line["inner_tool"]) == ("tools/call", "TOOL_CALL", "GLOBAL_QUOTE")
    assert line["status"] == 200
    assert line["function_request_id"] == "request-1"


@pytest.mark.parametrize(("symbol", "code"), [("IBM", "OK"), ("FAULT.DAILY_QUOTA", "RATE_LIMITED")])
def test_each_call_is_counted_and_logged_with_the_correlation_id(
    load: Callable[..., Handler], capsys: pytest.CaptureFixture[str], symbol: str, code: str
) -> None:
    event = calling(symbol, **{"x-api-key": KEY})
    load()(event)
    logged = capsys.readouterr().out
    line = logged_line(logged, Calls=1)
    assert (line["message"], line["service"], line["code"]) == ("request", "toolfold", code)
    assert line["correlation_id"] == event["requestContext"]["requestId"]


def test_an_allowed_origin_gets_cors_headers(load: Callable[..., Handler]) -> None:
    handler = load(TOOLFOLD_ALLOWED_ORIGINS="https://app.test")
    for name in ("preflight", "ping"):
        event = EVENTS[name]
        response = handler({**event, "headers": {**event["headers"], "origin": "https://app.test"}})
        assert response["headers"]["access-control-allow-origin"] == "https://app.test"


@pytest.mark.parametrize(
    ("name", "value"),
    [("TOOLFOLD_CATALOG", "ftp://x/y"), ("TOOLFOLD_TIMEOUT_S", "soon"), ("TOOLFOLD_ALLOW_KEY_IN_QUERY", "perhaps")],
)
def test_an_invalid_setting_fails_the_start(load: Callable[..., Handler], name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        load(**{name: value})
