"""Metadata and registration in front of a user pool of Amazon Cognito."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.authorization_server import RESOURCE, CognitoServer, Gateway, Grant
from tests.support.lambda_handler import http_event
from toolfold.auth import issuer_keys
from toolfold.mock_api.server import MockApi

REDIRECT_URI = "https://claude.ai/api/mcp/auth_callback"
OTHER_URI = "http://localhost:3334/oauth/callback"
ORIGIN = "https://tools.example.com"
METADATA = "/.well-known/oauth-authorization-server"


@pytest.fixture
def pool() -> Iterator[CognitoServer]:
    with CognitoServer("toolfold", REDIRECT_URI, OTHER_URI) as running:
        yield running


@pytest.fixture
def shim(pool: CognitoServer, mock_api: MockApi, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", "operator-key-1")
    return Gateway(
        pool,
        mock_api,
        {
            "TOOLFOLD_OAUTH_COGNITO_CLIENT": pool.client_id,
            "TOOLFOLD_OAUTH_REDIRECT_URIS": f"{REDIRECT_URI},{OTHER_URI}",
            "TOOLFOLD_OAUTH_SCOPE_PREFIX": "toolfold/",
        },
    )


def register(gateway: Gateway, body: Any, method: str = "POST") -> tuple[int, dict[str, Any]]:
    response = gateway.handler(http_event(body, path="/register", method=method))
    is_json = response["headers"].get("content-type") == "application/json"
    return response["statusCode"], json.loads(response["body"]) if is_json else {}


def test_clients_find_this_deployment_as_the_issuer(shim: Gateway) -> None:
    protected = json.loads(shim.get("/.well-known/oauth-protected-resource/mcp")["body"])
    assert protected["authorization_servers"] == [ORIGIN]
    assert protected["scopes_supported"] == ["toolfold/tools:read", "toolfold/tools:call", "toolfold/tools:write"]
    for path in (METADATA, "/.well-known/openid-configuration"):
        metadata = json.loads(shim.get(path)["body"])
        assert metadata["issuer"] == ORIGIN
        assert metadata["code_challenge_methods_supported"] == ["S256"]
        assert metadata["registration_endpoint"] == f"{ORIGIN}/register"
        assert metadata["authorization_endpoint"].endswith("/oauth2/authorize")
        assert metadata["token_endpoint"].endswith("/oauth2/token")
        assert metadata["token_endpoint_auth_methods_supported"] == ["none"]
        # Cognito reads no Client ID Metadata Documents, and does not add "iss" to its redirect.
        assert "client_id_metadata_document_supported" not in metadata
        assert "authorization_response_iss_parameter_supported" not in metadata
        assert "jwks_uri" not in metadata


def test_registration_returns_the_one_client_and_makes_none(shim: Gateway, pool: CognitoServer) -> None:
    before = dict(pool.clients)
    for uris in ([REDIRECT_URI], [OTHER_URI], [REDIRECT_URI, OTHER_URI]):
        status, client = register(shim, {"client_name": "Claude", "redirect_uris": uris, "scope": "admin"})
        assert status == 201
        assert client["client_id"] == pool.client_id
        assert client["redirect_uris"] == uris
        assert client["token_endpoint_auth_method"] == "none"
        assert client["client_name"] == "Claude"
        assert "client_secret" not in client
        assert "admin" not in client["scope"]
    assert pool.clients == before
    assert pool.requests == []


@pytest.mark.parametrize(
    "uris",
    [
        ["https://evil.example.com/callback"],
        [REDIRECT_URI, "https://evil.example.com/callback"],
        [f"{REDIRECT_URI}/"],
        [f"{REDIRECT_URI}?x=1"],
        [REDIRECT_URI.upper()],
        [REDIRECT_URI.replace("claude.ai", "claude.ai.evil.example.com")],
        ["https://claude.ai/api/mcp/../mcp/auth_callback"],
        ["http://localhost:9/oauth/callback"],
        [7],
        [],
        REDIRECT_URI,
        None,
    ],
)
def test_other_redirect_uris_are_refused(shim: Gateway, uris: Any) -> None:
    status, error = register(shim, {"redirect_uris": uris})
    assert (status, error["error"]) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize("body", ["", "{", "[]", "7", "[" * 9_000, '"' + "x" * 100_000 + '"'])
def test_what_is_no_registration_is_refused(shim: Gateway, body: str) -> None:
    status, error = register(shim, body)
    assert (status, error["error"]) == (400, "invalid_client_metadata")


def test_registration_is_posted(shim: Gateway) -> None:
    assert register(shim, "", "GET")[0] == 405
    assert register(shim, "", "OPTIONS")[0] == 204
    assert shim.get(METADATA, "POST")["statusCode"] == 405


def token(pool: CognitoServer, **claims: Any) -> str:
    grant = Grant(pool.client_id, "openid toolfold/tools:read toolfold/tools:call", "")
    given = {**pool.claims(grant, is_machine=False), **claims}
    return pool.token(given.pop("aud"), **given)


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({}, 200),
        ({"aud": RESOURCE}, 200),  # pools with resource binding
        ({"aud": "https://other.example.com"}, 401),
        ({"client_id": "another"}, 401),
        ({"client_id": None}, 401),
        ({"token_use": "id", "aud": CognitoServer.client_id}, 401),
        ({"token_use": "id"}, 401),
        ({"token_use": None}, 401),
        ({"iss": ORIGIN}, 401),
        ({"scope": "other/tools:read"}, 403),
        ({"scope": "aws.cognito.signin.user.admin"}, 403),
    ],
)
def test_tokens_of_cognito_are_checked_by_client_and_use(
    shim: Gateway, pool: CognitoServer, claims: dict[str, Any], status: int
) -> None:
    assert shim.status(token(pool, **claims)) == status


def test_metadata_stay_available_while_cognito_is_down(
    shim: Gateway, pool: CognitoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool.is_down = True
    response = shim.get(METADATA)
    assert (response["statusCode"], response["headers"]["retry-after"]) == (503, "10")
    assert shim.failures == ["ISSUER_UNAVAILABLE"]
    assert register(shim, {"redirect_uris": [REDIRECT_URI]})[0] == 201
    monkeypatch.setattr(issuer_keys, "RETRY_S", 0.0)
    pool.is_down = False
    assert shim.get(METADATA)["statusCode"] == 200
    monkeypatch.setattr(issuer_keys, "MAX_AGE_S", 0.0)
    pool.is_down = True
    assert shim.get(METADATA)["statusCode"] == 200


def test_a_pool_without_a_domain_is_named_in_the_log(
    shim: Gateway, pool: CognitoServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    metadata = {name: value for name, value in pool.server_metadata().items() if "_endpoint" not in name}
    with monkeypatch.context() as patch:
        patch.setattr(pool, "server_metadata", lambda: metadata)
        assert shim.get(METADATA)["statusCode"] == 503
    assert any("a user pool needs a domain" in line for line in caplog.messages)
    assert shim.get(METADATA)["statusCode"] == 503  # what was read is used for a while
    monkeypatch.setattr(issuer_keys, "MIN_INTERVAL_S", 0.0)
    assert shim.get(METADATA)["statusCode"] == 200  # the pool has a domain now
