"""Access tokens of an issuer with real keys: who is answered, and what a caller without a token learns."""

from __future__ import annotations

import base64
import hmac
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from joserfc.jwk import ECKey, OKPKey, RSAKey

from tests.support.issuer import Issuer
from tests.support.mcp_requests import message
from toolfold.app import build_app
from toolfold.auth import issuer_keys
from toolfold.errors import SettingsError
from toolfold.execution.executor import ToolExecutor
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings
from toolfold.telemetry import configure
from toolfold.transports.lambda_handler import LambdaHandler

RESOURCE = "https://tools.example.com/mcp"
QUOTE = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}
SENTINEL = "sentinel-in-the-token"


@dataclass
class Gateway:
    """The Lambda handler with an issuer.

    Attributes:
        issuer: The issuer of tokens.
        mock_api: The upstream.
    """

    issuer: Issuer
    mock_api: MockApi
    handler: LambdaHandler = field(init=False)

    def __post_init__(self) -> None:
        settings = Settings.from_environment(
            {
                "TOOLFOLD_OAUTH_ISSUER": self.issuer.url,
                "TOOLFOLD_PUBLIC_URL": RESOURCE,
                "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": self.mock_api.url,
            }
        )
        self.handler = LambdaHandler(build_app(settings), configure(settings))

    def send(self, token: str | None, tool: str = "TOOL_LIST", arguments: Any = None, **headers: str) -> dict[str, Any]:
        authorization = {} if token is None else {"authorization": f"Bearer {token}"}
        body = json.dumps(message("tools/call", {"name": tool, "arguments": arguments or {}}))
        return self.handler(
            {
                "version": "2.0",
                "rawPath": "/mcp",
                "headers": {"content-type": "application/json", **authorization, **headers},
                "requestContext": {"http": {"method": "POST"}},
                "body": body,
            }
        )

    def get(self, path: str) -> dict[str, Any]:
        http = {"http": {"method": "GET"}}
        return self.handler({"version": "2.0", "rawPath": path, "headers": {}, "requestContext": http})

    def status(self, token: str | None) -> int:
        return int(self.send(token)["statusCode"])


@pytest.fixture(scope="module")
def mock_api() -> Iterator[MockApi]:
    with MockApi() as server:
        yield server


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as one:
        yield one


@pytest.fixture
def gateway(issuer: Issuer, mock_api: MockApi, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", "operator-key-1")
    mock_api.clear_requests()
    return Gateway(issuer, mock_api)


@pytest.mark.parametrize("path", ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"])
def test_metadata_name_the_resource_and_its_issuer_without_a_token(gateway: Gateway, path: str) -> None:
    response = gateway.get(path)
    metadata = json.loads(response["body"])
    assert response["statusCode"] == 200
    assert metadata["resource"] == RESOURCE
    assert metadata["authorization_servers"] == [gateway.issuer.url]
    assert metadata["scopes_supported"] == ["tools:read", "tools:call", "tools:write"]


def test_a_request_without_a_token_learns_where_to_get_one(gateway: Gateway) -> None:
    response = gateway.send(None)
    challenge = response["headers"]["www-authenticate"]
    url = "https://tools.example.com/.well-known/oauth-protected-resource/mcp"
    assert response["statusCode"] == 401
    assert f'resource_metadata="{url}"' in challenge
    assert 'scope="tools:read tools:call"' in challenge
    assert "error=" not in challenge  # RFC 6750: no error code where there were no credentials
    assert json.loads(response["body"])["resource_metadata"] == url  # some gateways rename the header


@pytest.mark.parametrize("make", [RSAKey, ECKey, OKPKey])
def test_tokens_of_every_kind_of_public_key_are_accepted(gateway: Gateway, make: Any) -> None:
    sizes = {RSAKey: 2048, ECKey: "P-256", OKPKey: "Ed25519"}
    gateway.issuer.keys = [make.generate_key(sizes[make], {"kid": "only"})]
    assert gateway.status(gateway.issuer.token(RESOURCE)) == 200
    assert gateway.status(gateway.issuer.token(["elsewhere", RESOURCE])) == 200  # type: ignore[arg-type]


def _part(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def _forged(issuer: Issuer, algorithm: str, sign: Callable[[bytes], bytes]) -> str:
    claims = {"iss": issuer.url, "aud": RESOURCE, "sub": "user-1", "exp": int(time.time()) + 300}
    header = {"alg": algorithm, "kid": "first"}
    content = f"{_part(json.dumps(header).encode())}.{_part(json.dumps(claims).encode())}"
    return f"{content}.{_part(sign(content.encode()))}"


def _with_the_public_key_as_secret(issuer: Issuer) -> str:
    secret = issuer.keys[0].as_pem(private=False)  # type: ignore[union-attr]
    return _forged(issuer, "HS256", lambda content: hmac.digest(secret, content, "sha256"))


FORGERIES = {
    "not signed": lambda issuer: _forged(issuer, "none", lambda _: b""),
    "HS256 with the public key as its secret": _with_the_public_key_as_secret,
    "a key of somebody else": lambda issuer: issuer.token(RESOURCE, RSAKey.generate_key(2048, {"kid": "first"})),
    "a key that the issuer does not have": lambda issuer: issuer.token(
        RESOURCE, RSAKey.generate_key(2048, {"kid": "unknown"})
    ),
    "for another resource": lambda issuer: issuer.token("https://other.example.com/mcp"),
    "without an audience": lambda issuer: issuer.token(RESOURCE, aud=None),
    "of another issuer": lambda issuer: issuer.token(RESOURCE, iss="https://issuer.example.com"),
    "expired": lambda issuer: issuer.token(RESOURCE, exp=int(time.time()) - 120),
    "without an end": lambda issuer: issuer.token(RESOURCE, exp=None),
    "not valid yet": lambda issuer: issuer.token(RESOURCE, nbf=int(time.time()) + 600),
    "an ID token": lambda issuer: issuer.token(RESOURCE, token_use="id"),
    "without a subject": lambda issuer: issuer.token(RESOURCE, sub=None),
    "times that are no numbers": lambda issuer: issuer.token(RESOURCE, exp="tomorrow"),
    "its payload changed": lambda issuer: re.sub(r"\.(.)", r".A", issuer.token(RESOURCE), count=1),
    "no token": lambda issuer: "operator-key-1",
    "very long": lambda issuer: "a." * 20_000,
    "not ASCII": lambda issuer: "ü.ü.ü",
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_token_that_is_not_good_is_refused_and_nothing_is_sent(gateway: Gateway, name: str) -> None:
    response = gateway.send(FORGERIES[name](gateway.issuer), "TOOL_CALL", QUOTE)
    assert response["statusCode"] == 401
    assert 'error="invalid_token"' in response["headers"]["www-authenticate"]
    assert gateway.mock_api.requests == []


def test_two_authorization_headers_are_refused(gateway: Gateway) -> None:
    token = gateway.issuer.token(RESOURCE)
    several = {"authorization": [f"Bearer {token}", "Bearer other"], "content-type": ["application/json"]}
    event = {"httpMethod": "POST", "path": "/mcp", "multiValueHeaders": several, "requestContext": {}, "body": "{}"}
    assert gateway.handler(event)["statusCode"] == 401


def test_the_token_never_reaches_the_upstream_and_the_operators_key_does(gateway: Gateway) -> None:
    token = gateway.issuer.token(RESOURCE, note=SENTINEL)
    response = gateway.send(token, "TOOL_CALL", QUOTE)
    assert not json.loads(response["body"])["result"]["isError"]
    (sent,) = gateway.mock_api.requests
    assert "operator-key-1" in str(sent)
    assert token not in str(sent)


def test_a_callers_own_key_is_used_beside_the_token(gateway: Gateway) -> None:
    gateway.send(gateway.issuer.token(RESOURCE), "TOOL_CALL", QUOTE, **{"x-api-key": "callers-own-key"})
    (sent,) = gateway.mock_api.requests
    assert "callers-own-key" in str(sent)


def test_a_call_knows_its_caller_by_issuer_and_subject(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    callers: list[str] = []
    call = ToolExecutor.call

    def recorded(self: ToolExecutor, catalog: Any, tool: Any, arguments: Any, credentials: Any, **how: Any) -> Any:
        callers.append(credentials.caller)
        return call(self, catalog, tool, arguments, credentials, **how)

    monkeypatch.setattr(ToolExecutor, "call", recorded)
    for subject in ("user-1", "user-1", "user-2"):
        gateway.send(gateway.issuer.token(RESOURCE, sub=subject), "TOOL_CALL", QUOTE)
    same, again, other = callers
    assert same == again != other
    assert "" not in callers


@pytest.mark.parametrize(
    ("scope", "tool", "lacking"),
    [
        ("", "TOOL_LIST", "tools:read"),
        ("tools:call", "TOOL_LIST", "tools:read"),
        ("tools:read", "TOOL_CALL", "tools:call"),
        ("tools:read tools:write", "TOOL_CALL", "tools:call"),
    ],
)
def test_a_token_without_the_scope_is_refused_and_learns_it(
    gateway: Gateway, scope: str, tool: str, lacking: str
) -> None:
    response = gateway.send(gateway.issuer.token(RESOURCE, scope=scope), tool, QUOTE)
    assert response["statusCode"] == 403
    assert f'scope="{lacking}"' in response["headers"]["www-authenticate"]
    assert gateway.mock_api.requests == []


@pytest.mark.parametrize(
    "claims", [{"scope": None, "scp": ["tools:read"]}, {"scope": "https://tools.example.com/mcp/tools:read"}]
)
def test_scopes_in_the_forms_of_other_issuers_are_understood(gateway: Gateway, claims: dict[str, Any]) -> None:
    assert gateway.status(gateway.issuer.token(RESOURCE, **claims)) == 200


def test_a_new_key_is_found_at_its_first_token(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issuer_keys, "MIN_INTERVAL_S", 0.0)
    assert gateway.status(gateway.issuer.token(RESOURCE)) == 200
    gateway.issuer.keys.append(RSAKey.generate_key(2048, {"kid": "second"}))
    assert gateway.status(gateway.issuer.token(RESOURCE)) == 200


def test_unknown_keys_do_not_flood_the_issuer(gateway: Gateway) -> None:
    stranger = RSAKey.generate_key(2048, {"kid": "unknown"})
    for _ in range(5):
        assert gateway.status(gateway.issuer.token(RESOURCE, stranger)) == 401
    assert gateway.issuer.requests.count("/tenant/keys") == 1


def test_known_keys_stay_valid_while_the_issuer_is_down(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issuer_keys, "MIN_INTERVAL_S", 0.0)
    monkeypatch.setattr(issuer_keys, "MAX_AGE_S", 0.0)
    token = gateway.issuer.token(RESOURCE)
    assert gateway.status(token) == 200
    gateway.issuer.is_down = True
    assert gateway.status(token) == 200


def test_an_issuer_that_was_never_reached_is_a_503(gateway: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    gateway.issuer.is_down = True
    response = gateway.send(gateway.issuer.token(RESOURCE))
    assert (response["statusCode"], response["headers"]["retry-after"]) == (503, "60")
    assert any(line.startswith("keys of the issuer cannot be read") for line in caplog.messages)


@pytest.mark.parametrize(
    "metadata", [{"issuer": "https://issuer.example.com"}, {"jwks_uri": "http://keys.example.com"}, {"jwks_uri": 7}]
)
def test_metadata_that_lead_elsewhere_are_not_used(gateway: Gateway, metadata: dict[str, Any]) -> None:
    gateway.issuer.metadata = metadata
    assert gateway.status(gateway.issuer.token(RESOURCE)) == 503
    assert "/tenant/keys" not in gateway.issuer.requests


def test_metadata_of_rfc_8414_are_found(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"issuer": gateway.issuer.url, "jwks_uri": f"{gateway.issuer.url}/keys"}
    respond = gateway.issuer.respond

    def respond_as_oauth(path: str) -> Any:
        if path == "/.well-known/oauth-authorization-server/tenant":
            return found
        return None if "openid" in path else respond(path)

    monkeypatch.setattr(gateway.issuer, "respond", respond_as_oauth)
    assert gateway.status(gateway.issuer.token(RESOURCE)) == 200


def test_an_issuer_needs_the_public_url() -> None:
    with pytest.raises(SettingsError, match="TOOLFOLD_PUBLIC_URL"):
        Settings.from_environment({"TOOLFOLD_OAUTH_ISSUER": "https://issuer.example.com"})
