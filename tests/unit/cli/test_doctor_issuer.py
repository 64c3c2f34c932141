"""``toolfold doctor`` compares the settings about access tokens with what the issuer publishes."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.authorization_server import AuthorizationServer, CognitoServer
from toolfold.cli.doctor import diagnose_issuer
from toolfold.settings import Settings

CALLBACK = "https://client.example.com/callback"


@pytest.fixture
def server() -> Iterator[AuthorizationServer]:
    with AuthorizationServer() as running:
        yield running


def findings(server: AuthorizationServer, **settings: str) -> list[tuple[str, str, str]]:
    """The findings; the public URL is that of the server itself, which has no metadata of a resource."""
    public_url = server.url.replace("/tenant", "/mcp")
    required = {"TOOLFOLD_OAUTH_ISSUER": server.url, "TOOLFOLD_PUBLIC_URL": public_url}
    names = {f"TOOLFOLD_{name}": value for name, value in settings.items()}
    found = diagnose_issuer(Settings.from_environment({**required, **names}))
    return [(one.status, one.text, one.next_step) for one in found]


def test_an_issuer_in_order_has_no_problem(server: AuthorizationServer) -> None:
    path = "/.well-known/oauth-protected-resource/mcp"
    public_url = server.url.replace("/tenant", "/mcp")
    server.replies[path] = (200, {}, f'{{"resource": "{public_url}"}}'.encode())
    assert [status for status, _, _ in findings(server)] == ["ok", "ok", "ok"]


@pytest.mark.parametrize(
    ("metadata", "settings", "status", "text"),
    [
        ({"code_challenge_methods_supported": None}, {}, "problem", "does not announce PKCE"),
        ({"registration_endpoint": None}, {}, "note", "neither reads Client ID Metadata Documents"),
        ({"client_id_metadata_document_supported": True}, {}, "ok", "clients need no registration"),
        ({"scopes_supported": ["openid"]}, {}, "note", "does not announce the scope tools:read"),
        ({"scopes_supported": ["x/tools:read"]}, {"OAUTH_SCOPE_PREFIX": "y/"}, "note", "the scope y/tools:read"),
        ({}, {"OAUTH_AUDIENCE": "api://x"}, "note", "Tokens must be for api://x"),
        ({}, {}, "note", "cannot be read: HTTP status 404"),
        ({"issuer": "https://other.example.com"}, {}, "problem", "name the issuer 'https://other.example.com'"),
        ({"jwks_uri": "http://keys.example.com"}, {}, "problem", "not one of HTTPS"),
        ({"jwks_uri": None}, {}, "problem", "a URL in it is missing"),
    ],
)
def test_each_finding_is_a_sentence_with_a_next_step(
    server: AuthorizationServer, metadata: dict[str, Any], settings: dict[str, str], status: str, text: str
) -> None:
    server.metadata = metadata
    [(found, step)] = [(one[0], one[2]) for one in findings(server, **settings) if text in one[1]]
    assert found == status
    assert bool(step) == (status != "ok")


def test_a_slash_at_the_end_of_the_issuer_is_explained(server: AuthorizationServer) -> None:
    server.metadata = {"issuer": f"{server.url}/"}
    [(status, text, step)] = findings(server)
    assert status == "problem"
    assert f"'{server.url}/', not '{server.url}'" in text
    assert "slash" in step


def test_an_issuer_that_is_down_or_without_keys_is_a_problem(server: AuthorizationServer) -> None:
    server.keys = []
    assert any("no key that can verify" in text for _, text, _ in findings(server))
    server.is_down = True
    [(status, text, _)] = findings(server)
    assert (status, "HTTP status 503" in text) == ("problem", True)


def test_a_public_url_of_another_deployment_is_a_problem(server: AuthorizationServer) -> None:
    server.replies["/.well-known/oauth-protected-resource/mcp"] = (
        200,
        {},
        b'{"resource": "https://other.example.com"}',
    )
    assert any(status == "problem" and "describes 'https://other" in text for status, text, _ in findings(server))


def test_a_user_pool_needs_its_client_and_a_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    with CognitoServer("toolfold", CALLBACK) as pool:
        assert any("does not announce PKCE" in text for _, text, _ in findings(pool))
        client = {"OAUTH_COGNITO_CLIENT": pool.client_id, "OAUTH_REDIRECT_URIS": CALLBACK}
        assert any("get the client of the user pool" in text for _, text, _ in findings(pool, **client))
        metadata = {name: value for name, value in pool.server_metadata().items() if name != "token_endpoint"}
        monkeypatch.setattr(pool, "server_metadata", lambda: metadata)
        assert any("has no token_endpoint" in text for _, text, _ in findings(pool, **client))
