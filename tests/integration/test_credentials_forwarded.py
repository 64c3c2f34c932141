"""Which credential of a request reaches which source, through the Lambda handler."""

import base64
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.lambda_handler import http_event, make_handler
from tests.support.mcp_requests import tool_call
from tests.support.upstream import Upstream
from toolfold.build.compiler import compile_folder
from toolfold.transports.lambda_handler import LambdaHandler

OPERATORS_KEY, CALLERS_KEY = "OPERATORSKEY0123", "CALLERSKEY012345"


def part(value: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


JWT = f"{part({'alg': 'RS256', 'typ': 'JWT'})}.{part({'sub': 'somebody'})}.c2lnbmF0dXJl"
JWE = f"{part({'alg': 'RSA-OAEP', 'enc': 'A256GCM'})}.a2V5.aXY.Y2lwaGVy.dGFn"
SIGV4 = (
    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20260114/eu-central-1/execute-api/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
)


@pytest.fixture
def handler(alpha_vantage: Upstream) -> LambdaHandler:
    return make_handler({"TOOLFOLD_CACHE": "off", "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": alpha_vantage.url})


def event(
    headers: Mapping[str, str | list[str]], context: Mapping[str, Any] | None = None, tool: str = "CPI", **more: Any
) -> dict[str, Any]:
    """Return the event of a call; lists are repeated headers."""
    joined = {name: value if isinstance(value, str) else ",".join(value) for name, value in headers.items()}
    sent = http_event(tool_call(tool, more.pop("arguments", {})), joined, **more)
    sent["requestContext"].update(context or {})
    return sent


def error(handler: LambdaHandler, called: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(handler(called)["body"])["result"]
    assert result["isError"]
    error: dict[str, Any] = result["structuredContent"]["error"]
    return error


# R4
BEARER, X_API_KEY = {"authorization": f"Bearer {CALLERS_KEY}"}, {"x-api-key": CALLERS_KEY}

NOT_FORWARDED: list[tuple[str, dict[str, str | list[str]], dict[str, Any] | None]] = [
    ("JWT as bearer", {"authorization": f"Bearer {JWT}"}, None),
    ("encrypted JWT as bearer", {"authorization": f"bearer {JWE}"}, None),
    ("JWT as x-api-key", {"x-api-key": JWT}, None),
    ("SigV4", {"authorization": SIGV4}, None),
    ("Basic", {"authorization": "Basic dXNlcjpwYXNzd29yZA=="}, None),
    ("scheme without name", {"authorization": CALLERS_KEY}, None),
    ("opaque token, JWT authorizer", {**BEARER}, {"authorizer": {"jwt": {"claims": {}}}}),
    ("opaque token, IAM", {**BEARER}, {"authorizer": {"iam": {"accountId": "1"}}}),
    ("bearer, Lambda authorizer", {**BEARER}, {"authorizer": {"lambda": {"tenant": "a"}}}),
    ("x-api-key, Lambda authorizer", {**X_API_KEY}, {"authorizer": {"lambda": None}}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("headers", "context"), [case[1:] for case in NOT_FORWARDED], ids=[c[0] for c in NOT_FORWARDED]
)
def test_a_token_that_is_not_the_sources_is_not_forwarded(
    handler: LambdaHandler,
    alpha_vantage: Upstream,
    monkeypatch: pytest.MonkeyPatch,
    headers: dict[str, str | list[str]],
    context: dict[str, Any] | None,
) -> None:
    monkeypatch.delenv("ALPHA_VANTAGE_API_KEY", raising=False)
    found = error(handler, event(headers, context))
    assert found["code"] == "AUTH_REQUIRED"
    assert "not passed on" in found["message"]
    assert "X-API-Key-alpha-vantage" in found["suggestion"]
    assert alpha_vantage.requests == []
    # A key for the source itself is.
    handler(event({**headers, "X-API-Key-Alpha-Vantage": "NAMEDKEY01234567"}, context))
    assert [query["apikey"] for query in alpha_vantage.requests] == ["NAMEDKEY01234567"]
    # So is the operator's.
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", OPERATORS_KEY)
    handler(event(headers, context))
    assert alpha_vantage.requests[-1]["apikey"] == OPERATORS_KEY
    assert all(token not in repr(alpha_vantage.headers) for token in (CALLERS_KEY, JWT, JWE, "AKIA"))


@pytest.mark.parametrize(
    ("headers", "context"),
    [
        ({**BEARER}, None),
        ({**X_API_KEY}, {"authorizer": {"jwt": {"claims": {"sub": "1"}}}}),
        ({"authorization": f"Bearer {JWT}", "x-api-key": CALLERS_KEY}, None),
        ({"x-api-key-alpha_vantage": CALLERS_KEY}, None),
        ({"x-source-alpha-vantage": CALLERS_KEY}, None),
        ({"X-Source-Alpha_Vantage": CALLERS_KEY}, None),
        ({"authorization": "Bearer a.b.c", "x-api-key-alpha-vantage": CALLERS_KEY}, None),
    ],
)  # fmt: skip
def test_a_key_of_the_caller_is_forwarded(
    handler: LambdaHandler, alpha_vantage: Upstream, headers: dict[str, str | list[str]], context: dict[str, Any] | None
) -> None:
    handler(event(headers, context))
    assert [query["apikey"] for query in alpha_vantage.requests] == [CALLERS_KEY]


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": ["Bearer FIRSTKEY01234567", "Bearer SECONDKEY0123456"]},
        {"authorization": ["Basic dXNlcjpwYXNzd29yZA==", "Bearer SECONDKEY0123456"]},
        {"x-api-key": ["FIRSTKEY01234567", "SECONDKEY0123456"]},
        {"x-api-key-alpha-vantage": ["FIRSTKEY01234567", "SECONDKEY0123456"]},
        {"x-api-key-alpha-vantage": "FIRSTKEY01234567", "x-api-key-alpha_vantage": "SECONDKEY0123456"},
        {"x-api-key-alpha-vantage": "FIRSTKEY01234567", "x-source-alpha-vantage": "SECONDKEY0123456"},
        {"x-api-key": "kéy-0123456789"},
        {"authorization": "Bearer \ud800key0123456789"},
        {"x-api-key": "K" * 5000},
    ],
)
def test_credentials_that_leave_a_choice_are_an_error_also_with_a_key_of_the_operator(
    handler: LambdaHandler,
    alpha_vantage: Upstream,
    monkeypatch: pytest.MonkeyPatch,
    headers: dict[str, str | list[str]],
) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", OPERATORS_KEY)
    found = error(handler, event(headers))
    assert (found["code"], alpha_vantage.requests) == ("AUTH_REQUIRED", [])
    assert "X-API-Key-alpha-vantage" in found["suggestion"]
    assert not any(key in json.dumps(found) for key in ("FIRSTKEY", "SECONDKEY"))


def test_a_repeated_key_in_the_query_string_is_an_error(alpha_vantage: Upstream) -> None:
    settings = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": alpha_vantage.url, "TOOLFOLD_ALLOW_KEY_IN_QUERY": "true"}
    handler = make_handler({"TOOLFOLD_CACHE": "off", **settings})
    called = event({}, rawQueryString="apikey=FIRSTKEY01234567&apikey=SECONDKEY0123456")
    assert error(handler, called)["code"] == "AUTH_REQUIRED"
    assert alpha_vantage.requests == []


@pytest.fixture(scope="module")
def catalog_of_two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog of two sources that take callers' keys."""
    folder = tmp_path_factory.mktemp("two") / "sources"
    shutil.copytree("catalog/alpha_vantage", folder / "alpha_vantage")
    shutil.copytree("tests/fixtures/sources/tides", folder / "tides")
    described = yaml.safe_load((folder / "tides/source.yaml").read_text())
    described["auth"] = {"environment": "TOOLFOLD_SOURCE_TIDES_KEY", "query_key": "token", "caller_key": True}
    (folder / "tides/source.yaml").write_text(yaml.safe_dump(described))
    catalog = folder.with_name("catalog.json")
    catalog.write_text(compile_folder(folder))
    return catalog


@pytest.fixture
def two_sources(alpha_vantage: Upstream, tides: Upstream, catalog_of_two: Path) -> LambdaHandler:
    return make_handler(
        {
            "TOOLFOLD_CACHE": "off",
            "TOOLFOLD_CATALOG": str(catalog_of_two),
            "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": alpha_vantage.url,
            "TOOLFOLD_SOURCE_TIDES_URL": tides.url,
        }
    )


HARBOUR = {"tool": "HIGH_WATER", "arguments": {"harbour": "Bergen"}}


@pytest.mark.parametrize("name", ["authorization", "x-api-key"])
def test_with_several_sources_a_key_must_name_its_own(
    two_sources: LambdaHandler, alpha_vantage: Upstream, tides: Upstream, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", OPERATORS_KEY)
    headers: dict[str, Any] = {name: f"Bearer {CALLERS_KEY}" if name == "authorization" else CALLERS_KEY}
    for called, header in ((event(headers), "alpha-vantage"), (event(headers, **HARBOUR), "tides")):
        found = error(two_sources, called)
        assert (found["code"], f"X-API-Key-{header}" in found["suggestion"]) == ("AUTH_REQUIRED", True)
    assert alpha_vantage.requests == tides.requests == []


def test_a_named_key_reaches_its_source_and_no_other(
    two_sources: LambdaHandler, alpha_vantage: Upstream, tides: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ALPHA_VANTAGE_API_KEY", raising=False)
    both = {"x-api-key-tides": "TIDESKEY01234567", "x-api-key-alpha-vantage": CALLERS_KEY}
    two_sources(event(both))
    two_sources(event(both, **HARBOUR))
    assert [query["apikey"] for query in alpha_vantage.requests] == [CALLERS_KEY]
    assert [query["token"] for query in tides.requests] == ["TIDESKEY01234567"]
    assert error(two_sources, event({"x-api-key-tides": "TIDESKEY01234567"}))["code"] == "AUTH_REQUIRED"


# R16
@pytest.mark.parametrize("value", [b"\xff\xfe-not-utf-8", b"line\nfeed", b"K" * 5000])
def test_a_key_in_the_environment_that_cannot_be_sent_is_an_error_with_the_variable(
    handler: LambdaHandler, alpha_vantage: Upstream, monkeypatch: pytest.MonkeyPatch, value: bytes
) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", value.decode("utf-8", "surrogateescape"))
    found = error(handler, event({}))
    assert (found["code"], alpha_vantage.requests) == ("AUTH_REQUIRED", [])
    assert "ALPHA_VANTAGE_API_KEY" in found["suggestion"]


def test_a_preflight_request_may_ask_for_the_header_of_a_source() -> None:
    handler = make_handler({"TOOLFOLD_ALLOWED_ORIGINS": "https://app.example"})
    headers = {"origin": "https://app.example", "access-control-request-headers": "x-api-key-tides"}
    preflight = event(headers, method="OPTIONS")
    # A key is no credential of the browser: for such requests the asterisk stands for every header but one.
    assert handler(preflight)["headers"]["access-control-allow-headers"] == "*, authorization"
