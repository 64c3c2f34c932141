"""Requests where callers are principals of AWS: API Gateway checks their signatures, and names who signed."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.lambda_handler import http_event, make_handler
from tests.support.mcp_requests import message
from toolfold.mock_api.server import MockApi
from toolfold.transports.lambda_handler import LambdaHandler, parse_event

ARN = "arn:aws:sts::123456789012:assumed-role/agent/session"
OTHER_ARN = "arn:aws:iam::123456789012:user/somebody"
SIGNATURE = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261123/eu-central-1/execute-api/aws4_request, Signature=abc"
QUOTE = {"name": "TOOL_CALL", "arguments": {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}}

Make = Callable[..., LambdaHandler]


@pytest.fixture
def make(mock_api: MockApi) -> Make:
    """Return a factory of handlers with ``access=iam``; its arguments are further settings."""
    mock_api.clear_requests()

    def make_it(**settings: str) -> LambdaHandler:
        variables = {"TOOLFOLD_ACCESS": "iam", "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url}
        return make_handler({**variables, **{f"TOOLFOLD_{name}": value for name, value in settings.items()}})

    return make_it


def event(arn: str = "", path: str = "/mcp", method: str = "POST", rpc: Any = QUOTE, **headers: str) -> dict[str, Any]:
    named = {name.replace("_", "-"): headers[name] for name in headers}
    sent = http_event(message("tools/call", rpc) if method == "POST" else "", named, path, method)
    if arn:
        iam = {"accountId": "123456789012", "userArn": arn, "userId": "AIDAEXAMPLE"}
        sent["requestContext"]["authorizer"] = {"iam": iam}
    return sent


@pytest.mark.parametrize(
    ("arn", "method", "path", "status"),
    [
        ("", "POST", "/mcp", 403),
        ("", "POST", "/mcp/default", 403),
        ("", "POST", "/mcp/health", 403),
        ("", "GET", "/mcp", 403),
        ("", "DELETE", "/mcp", 403),
        ("", "GET", "/tools/GLOBAL_QUOTE", 403),
        ("", "GET", "/", 403),
        ("", "OPTIONS", "/mcp", 204),
        ("", "GET", "/health", 200),
        ("", "HEAD", "/health", 200),
        (ARN, "POST", "/mcp", 200),
        (ARN, "GET", "/health", 200),
    ],
)
def test_an_unsigned_request_is_refused_but_for_preflight_and_health(
    make: Make, mock_api: MockApi, arn: str, method: str, path: str, status: int
) -> None:
    response = make()(event(arn, path, method, authorization="Bearer key", x_api_key="callers-own-key"))
    assert response["statusCode"] == status
    assert ("mcp-proxy-for-aws" in response["body"]) == (status == 403)
    assert len(mock_api.requests) == (arn == ARN and method == "POST")


@pytest.mark.parametrize("authorizer", [None, {}, {"iam": None}, {"iam": {}}, {"iam": {"userArn": ""}}, {"jwt": {}}])
def test_an_authorizer_without_a_principal_signs_nothing(make: Make, authorizer: Any) -> None:
    unsigned = event()
    unsigned["requestContext"]["authorizer"] = authorizer
    assert make()(unsigned)["statusCode"] == 403


@pytest.mark.parametrize("access", ["", "open"])
def test_elsewhere_nobody_has_to_sign(make: Make, access: str) -> None:
    assert make(ACCESS=access)(event(rpc={"name": "TOOL_LIST", "arguments": {}}))["statusCode"] == 200


@pytest.mark.parametrize(
    ("settings", "state"), [({}, {"status": "ok"}), ({"CATALOG": "/none"}, {"status": "unavailable"})]
)
def test_health_says_nothing_but_that_it_lives(make: Make, settings: dict[str, str], state: dict[str, str]) -> None:
    assert json.loads(make(**settings)(event(path="/health", method="GET"))["body"]) == state


def test_the_principal_is_the_caller_by_which_limits_count(make: Make) -> None:
    handler = make(CALLS_PER_MINUTE="1")

    def call(arn: str, key: str) -> Any:
        body = json.loads(handler(event(arn, x_api_key=key))["body"])
        return body["result"]["structuredContent"].get("error", {}).get("code")

    # Another key or address makes no other caller.
    assert [call(ARN, "one-key"), call(ARN, "other-key"), call(OTHER_ARN, "one-key")] == [None, "CLIENT_LIMIT", None]


def test_the_audit_names_the_caller_by_a_hash_of_the_principal(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        for arn in (ARN, ARN, OTHER_ARN):
            make()(event(arn, x_api_key="callers-own-key"))
    principals = [vars(record)["principal"] for record in caplog.records if hasattr(record, "principal")]
    assert [principals.count(one) for one in principals] == [2, 2, 1]
    assert "arn:aws" not in caplog.text + "".join(principals)
    assert parse_event(event(ARN)).caller == parse_event(event(ARN)).caller != ARN


@pytest.mark.parametrize(
    ("headers", "sent"),
    [
        ({"authorization": SIGNATURE, "x_api_key": "callers-own-key"}, ["callers-own-key"]),
        ({"authorization": "Bearer callers-own-key"}, []),
        ({"authorization": SIGNATURE}, []),
    ],
)
def test_the_signature_is_no_key_and_x_api_key_is(
    make: Make, mock_api: MockApi, headers: dict[str, str], sent: list[str]
) -> None:
    body = json.loads(make()(event(ARN, **headers))["body"])["result"]["structuredContent"]
    assert [dict(request)["apikey"] for request in mock_api.requests] == sent
    assert body.get("error", {}).get("code") == (None if sent else "AUTH_REQUIRED")
