"""Keys of an issuer of access tokens, and metadata and registration in front of a user pool of Amazon Cognito."""

import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from joserfc.jwk import ECKey, RSAKey

from tests.support.authorization_server import RESOURCE, SECOND, STRANGER, CognitoServer, Gateway, Grant
from tests.support.lambda_handler import http_event
from toolfold.auth import issuer_keys
from toolfold.mock_api.server import MockApi
from toolfold.transports import snapstart


def _part(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def test_a_new_key_is_found_at_its_first_token(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issuer_keys, "MIN_INTERVAL_S", 0.0)
    assert gateway.status(gateway.issuer.token(RESOURCE)) == 200
    gateway.issuer.keys.append(RSAKey.generate_key(2048, {"kid": "second"}))
    assert gateway.status(gateway.issuer.token(RESOURCE)) == 200


def test_a_new_key_that_cannot_be_read_yet_is_no_wrong_token(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    old = gateway.issuer.token(RESOURCE)
    assert gateway.status(old) == 200
    monkeypatch.setattr(issuer_keys, "MIN_INTERVAL_S", 0.0)
    gateway.issuer.keys.append(RSAKey.generate_key(2048, {"kid": "second"}))
    new, gateway.issuer.is_down = gateway.issuer.token(RESOURCE), True
    for _ in range(2):  # the second is answered without a request to the issuer
        assert (gateway.status(new), gateway.status(old)) == (503, 200)
        monkeypatch.setattr(issuer_keys, "MIN_INTERVAL_S", 60.0)
    gateway.issuer.is_down = False
    monkeypatch.setattr(issuer_keys, "RETRY_S", 0.0)
    assert gateway.status(new) == 200


def test_unknown_keys_do_not_flood_the_issuer(gateway: Gateway) -> None:
    stranger = RSAKey.generate_key(2048, {"kid": "unknown"})
    for _ in range(5):
        assert gateway.status(gateway.issuer.token(RESOURCE, stranger)) == 401
    assert gateway.issuer.requests.count("/tenant/keys") == 1


def test_an_issuer_that_was_never_reached_is_a_503(gateway: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    gateway.issuer.is_down = True
    response = gateway.send(gateway.issuer.token(RESOURCE))
    assert (response["statusCode"], response["headers"]["retry-after"]) == (503, "10")
    assert any(line.startswith("the issuer cannot be read") for line in caplog.messages)
    assert gateway.failures == ["ISSUER_UNAVAILABLE"]
    assert gateway.get("/.well-known/oauth-protected-resource")["statusCode"] == 200
    assert gateway.status(None) == 401


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


@pytest.mark.parametrize("kid", [None, "same"])
def test_keys_without_an_id_or_with_the_same_are_tried(gateway: Gateway, kid: str | None) -> None:
    parameters: Any = {"kid": kid} if kid else {}
    gateway.issuer.keys = [ECKey.generate_key("P-256", parameters), RSAKey.generate_key(2048, parameters), SECOND]
    for key in gateway.issuer.keys:
        assert gateway.status(gateway.issuer.token(RESOURCE, key, header={"kid": key.kid if kid else None})) == 200


def test_a_key_without_an_id_is_renewed_when_no_signature_fits(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuer_keys, "MIN_INTERVAL_S", 0.0)
    assert gateway.status(gateway.issuer.token(RESOURCE)) == 200
    gateway.issuer.keys = [SECOND]
    assert gateway.status(gateway.issuer.token(RESOURCE, header={"kid": None})) == 200


def test_a_key_that_was_withdrawn_is_refused_an_hour_later(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    token = gateway.issuer.token(RESOURCE)
    assert gateway.status(token) == 200
    gateway.issuer.keys = [SECOND]
    assert gateway.status(token) == 200
    monkeypatch.setattr(issuer_keys, "MIN_INTERVAL_S", 0.0)
    monkeypatch.setattr(issuer_keys, "MAX_AGE_S", 0.0)
    assert gateway.status(token) == 401


def test_known_keys_are_good_for_a_day_while_the_issuer_is_down(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = gateway.issuer.token(RESOURCE)
    assert gateway.status(token) == 200
    gateway.issuer.is_down = True
    for name, status in (("MIN_INTERVAL_S", 200), ("MAX_AGE_S", 200), ("MAX_STALE_S", 503)):
        monkeypatch.setattr(issuer_keys, name, 0.0)
        assert gateway.status(token) == status


USELESS: dict[str, Any] = {
    "no list": {"keys": 7},
    "an array": [],
    "secrets": {"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "first"}]},
    "for encryption": {"keys": [{**STRANGER.as_dict(private=False), "use": "enc"}]},
    "malformed": {"keys": [7, {"kty": "RSA"}, {"kty": "RSA", "n": "AQAB", "e": "AQAB"}, {"kty": "EC", "crv": "P-1"}]},
    "too short": {"keys": [{"kty": "RSA", "kid": "first", "e": "AQAB", "n": _part(b"\xc1" + b"\x01" * 127)}]},
    "empty": {"keys": []},
}


@pytest.mark.parametrize("name", USELESS)
def test_useless_keys_are_not_used_and_the_log_says_so(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    respond = gateway.issuer.respond
    monkeypatch.setattr(gateway.issuer, "respond", lambda path: USELESS[name] if "keys" in path else respond(path))
    assert gateway.status(gateway.issuer.token(RESOURCE, STRANGER)) == 503
    assert any("it publishes no key that can verify a signature" in line for line in caplog.messages)


def test_a_key_that_is_malformed_does_not_spoil_the_others(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {"keys": [*USELESS["malformed"]["keys"], *({"kty": "new", "kid": str(n)} for n in range(500))]}
    keys["keys"].append(gateway.issuer.keys[0].as_dict(private=False))
    respond = gateway.issuer.respond
    monkeypatch.setattr(gateway.issuer, "respond", lambda path: keys if "keys" in path else respond(path))
    assert gateway.status(gateway.issuer.token(RESOURCE)) == 200


def test_an_issuer_that_is_spelt_otherwise_is_named_in_the_log(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    gateway.issuer.metadata = {"issuer": f"{gateway.issuer.url}/"}
    assert gateway.status(gateway.issuer.token(RESOURCE)) == 503
    assert any(f"name the issuer '{gateway.issuer.url}/', not '{gateway.issuer.url}'" in one for one in caplog.messages)


@pytest.mark.parametrize(
    ("status", "headers", "size", "reason"),
    [
        (302, {"location": "http://127.0.0.1:9/"}, 0, "HTTP status 302"),
        (200, {}, 2_000_000, "ResponseTooLarge"),
        (200, {}, 10, "it is not JSON"),
    ],
)
def test_answers_that_are_no_keys_are_not_used(
    gateway: Gateway, caplog: pytest.LogCaptureFixture, status: int, headers: dict[str, str], size: int, reason: str
) -> None:
    gateway.issuer.replies["/tenant/keys"] = (status, headers, b"x" * size)
    assert gateway.status(gateway.issuer.token(RESOURCE)) == 503
    assert any(reason in line for line in caplog.messages)


def test_known_keys_serve_while_another_request_reads_them_again(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = gateway.issuer.token(RESOURCE)
    assert gateway.status(token) == 200
    monkeypatch.setattr(issuer_keys, "MIN_INTERVAL_S", 0.0)
    monkeypatch.setattr(issuer_keys, "MAX_AGE_S", 0.0)
    gateway.issuer.is_held.clear()
    with ThreadPoolExecutor() as threads:
        threads.submit(gateway.status, token)
        try:
            assert gateway.issuer.is_waiting.wait(60)
            assert gateway.status(token) == 200
        finally:
            gateway.issuer.is_held.set()


def test_a_snapshot_is_warm_although_requests_need_tokens(gateway: Gateway) -> None:
    answered: list[str] = []
    server = gateway.handler.app.server
    handle = server.handle_message
    server.handle_message = lambda message: answered.append(message.method) or handle(message)  # type: ignore[func-returns-value, method-assign]
    snapstart.prepare(gateway.handler.app)
    assert answered.count("tools/call") == 3
    assert gateway.issuer.requests == []


def test_a_restored_snapshot_reads_the_keys_again(gateway: Gateway) -> None:
    assert gateway.status(gateway.issuer.token(RESOURCE)) == 200
    gateway.handler.app.reset()
    assert gateway.status(gateway.issuer.token(RESOURCE)) == 200
    assert gateway.issuer.requests.count("/tenant/keys") == 2


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
        [REDIRECT_URI.replace("claude.ai", "claude.ai.evil.example.com")],
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
