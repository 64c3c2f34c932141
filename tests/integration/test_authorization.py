"""Access tokens of an issuer with real keys: who is answered, and what a caller without a token learns."""

import base64
import hmac
import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import ECKey, OKPKey, RSAKey

from tests.support.authorization_server import RESOURCE, STRANGER, Gateway, Issuer
from tests.support.lambda_handler import http_event
from tests.support.mcp_requests import message
from toolfold.execution.call import CallContext, CallResult
from toolfold.execution.executor import ToolExecutor
from toolfold.execution.pipeline import run_call
from toolfold.meta_tools import answer_reader
from toolfold.mock_api.server import MockApi

QUOTE = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}
SENTINEL = "sentinel-in-the-token"


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


def _part(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def _with_own_key(issuer: Issuer, **header: Any) -> str:
    return issuer.token(RESOURCE, STRANGER, header=header)


def _with_payload(issuer: Issuer, change: Callable[[bytes], bytes]) -> str:
    """Sign what no library would write, with the key of the issuer."""
    claims = {"iss": issuer.url, "aud": RESOURCE, "sub": "user-1", "exp": int(time.time()) + 300}
    return jws.serialize_compact({"alg": "RS256", "kid": "first"}, change(json.dumps(claims).encode()), issuer.keys[0])  # type: ignore[arg-type]


def _forged(issuer: Issuer, algorithm: str, sign: Callable[[bytes], bytes], **further: Any) -> str:
    claims = {"iss": issuer.url, "aud": RESOURCE, "sub": "user-1", "exp": int(time.time()) + 300}
    header = {"alg": algorithm, "kid": "first", **further}
    content = f"{_part(json.dumps(header).encode())}.{_part(json.dumps(claims).encode())}"
    return f"{content}.{_part(sign(content.encode()))}"


def _with_the_public_key_as_secret(issuer: Issuer) -> str:
    secret = issuer.keys[0].as_pem(private=False)  # type: ignore[union-attr]
    return _forged(issuer, "HS256", lambda content: hmac.digest(secret, content, "sha256"))


FORGERIES = {
    "not signed": lambda issuer: _forged(issuer, "none", lambda _: b""),
    "HS256 with the public key as its secret": _with_the_public_key_as_secret,
    "a key of somebody else": lambda issuer: issuer.token(RESOURCE, STRANGER),
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
    "its own key in the header": lambda issuer: _with_own_key(issuer, jwk=STRANGER.as_dict(private=False)),
    "the address of its own keys": lambda issuer: _with_own_key(issuer, jku=f"{issuer.url}/elsewhere"),
    "a key id that is a path": lambda issuer: issuer.token(RESOURCE, header={"kid": "../../../../dev/null"}),
    "a key id that is a number": lambda issuer: _forged(issuer, "RS256", lambda _: b"x", kid=7),
    "a critical extension": lambda issuer: issuer.token(RESOURCE, header={"crit": ["kid"]}),
    "a payload that is not encoded": lambda issuer: _forged(issuer, "RS256", lambda _: b"x", b64=False, crit=["b64"]),
    "a header that is a list": lambda issuer: ".".join(map(_part, (b'["alg"]', b"{}", b"x"))),
    "a header that is a text": lambda issuer: ".".join(map(_part, (b'"alg"', b"{}", b"x"))),
    "an ID token by its type": lambda issuer: issuer.token(RESOURCE, header={"typ": "id_token+jwt"}),
    "a type of something else": lambda issuer: issuer.token(RESOURCE, header={"typ": "dpop+jwt"}),
    "a refresh token of Keycloak": lambda issuer: issuer.token(RESOURCE, typ="Refresh"),
    "bound to a key of its owner": lambda issuer: issuer.token(RESOURCE, cnf={"jkt": "thumbprint"}),
    "a list of other audiences": lambda issuer: issuer.token(["https://tools.example.com", "x"]),  # type: ignore[arg-type]
    "an audience that begins like ours": lambda issuer: issuer.token(f"{RESOURCE}2"),
    "an audience that is an object": lambda issuer: issuer.token({RESOURCE: RESOURCE}),  # type: ignore[arg-type]
    "an empty audience": lambda issuer: issuer.token(RESOURCE, aud=[]),
    "an issuer with a slash": lambda issuer: issuer.token(RESOURCE, iss=f"{issuer.url}/"),
    "without an issuer": lambda issuer: issuer.token(RESOURCE, iss=None),
    "issued in the future": lambda issuer: issuer.token(RESOURCE, iat=int(time.time()) + 600),
    "an end that never comes": lambda issuer: issuer.token(RESOURCE, exp=float("inf")),
    "an end that is true": lambda issuer: issuer.token(RESOURCE, exp=True),
    "a subject that is empty": lambda issuer: issuer.token(RESOURCE, sub=""),
    "a subject that is an object": lambda issuer: issuer.token(RESOURCE, sub={"id": 1}),
    "a subject beside a client that is a list": lambda issuer: issuer.token(RESOURCE, sub=None, client_id=["c"]),
    "a claim twice": lambda issuer: _with_payload(issuer, lambda claims: claims[:-1] + b', "aud": "x"}'),
    "a list of claims": lambda issuer: _with_payload(issuer, lambda claims: b"[" + claims + b"]"),
    "claims that are nested deeply": lambda issuer: _with_payload(issuer, lambda _: b"[" * 9_000),
    "two parts": lambda issuer: issuer.token(RESOURCE).rpartition(".")[0],
    "without a signature": lambda issuer: issuer.token(RESOURCE).rpartition(".")[0] + ".",
    "very long": lambda issuer: "a." * 20_000,
    "not ASCII": lambda issuer: "ü.ü.ü",
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_token_that_is_not_good_is_refused_and_nothing_is_sent(gateway: Gateway, name: str) -> None:
    response = gateway.send(FORGERIES[name](gateway.issuer), "TOOL_CALL", QUOTE)
    assert response["statusCode"] == 401
    assert 'error="invalid_token"' in response["headers"]["www-authenticate"]
    assert gateway.mock_api.requests == []
    assert "/tenant/elsewhere" not in gateway.issuer.requests


ACCEPTED: dict[str, Callable[[Issuer], str]] = {
    "the type of RFC 9068": lambda issuer: issuer.token(RESOURCE, header={"typ": "at+jwt"}),
    "its other spelling": lambda issuer: issuer.token(RESOURCE, header={"typ": "application/AT+JWT"}),
    "a header that is not known": lambda issuer: issuer.token(RESOURCE, header={"pi.atm": "1"}),
    "a certificate in the header": lambda issuer: issuer.token(RESOURCE, header={"x5c": ["A" * 2000]}),
    "expired within the leeway": lambda issuer: issuer.token(RESOURCE, exp=int(time.time()) - 30),
    "issued by a clock that is ahead": lambda issuer: issuer.token(RESOURCE, iat=int(time.time()) + 30),
    "times with fractions": lambda issuer: issuer.token(RESOURCE, exp=time.time() + 60.5),
    "an audience with a slash": lambda issuer: issuer.token(f"{RESOURCE}/"),
    "several audiences": lambda issuer: issuer.token(["elsewhere", RESOURCE]),  # type: ignore[arg-type]
    "the type of Keycloak": lambda issuer: issuer.token(RESOURCE, typ="Bearer"),
    "a machine without a subject": lambda issuer: issuer.token(RESOURCE, sub=None, client_id="machine"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_good_token_is_accepted_in_the_forms_that_issuers_write(gateway: Gateway, name: str) -> None:
    assert gateway.status(ACCEPTED[name](gateway.issuer)) == 200


def test_a_token_in_the_query_is_no_token(gateway: Gateway) -> None:
    token = gateway.issuer.token(RESOURCE)
    event = http_event(message("tools/list", {}), rawQueryString=f"access_token={token}")
    assert gateway.handler(event)["statusCode"] == 401


def test_a_machine_is_not_a_user_of_the_same_name(gateway: Gateway, capsys: pytest.CaptureFixture[str]) -> None:
    gateway.status(gateway.issuer.token(RESOURCE, sub="one"))
    gateway.status(gateway.issuer.token(RESOURCE, sub=None, client_id="one"))
    callers = [json.loads(line).get("caller") for line in capsys.readouterr().out.splitlines()]
    assert len({caller for caller in callers if caller}) == 2


def test_only_clients_on_the_list_are_accepted(issuer: Issuer, mock_api: MockApi) -> None:
    gateway = Gateway(issuer, mock_api, {"TOOLFOLD_OAUTH_CLIENT_IDS": "one, two"})
    for claim in ("client_id", "azp", "appid", "cid"):
        assert gateway.status(issuer.token(RESOURCE, **{claim: "two"})) == 200
        assert gateway.status(issuer.token(RESOURCE, **{claim: "three"})) == 401
    assert gateway.status(issuer.token(RESOURCE)) == 401
    # No audience: only of a known client, and only where the token says what it is for.
    assert gateway.status(issuer.token(RESOURCE, aud=None, client_id="one", token_use="access")) == 200
    assert gateway.status(issuer.token(RESOURCE, aud=None, client_id="one")) == 401
    assert gateway.status(issuer.token(RESOURCE, aud=None, client_id="one", token_use="id")) == 401
    assert gateway.status(issuer.token(RESOURCE, aud="x", client_id="one", token_use="access")) == 401


def test_a_prefix_of_scopes_is_requested_and_understood(issuer: Issuer, mock_api: MockApi) -> None:
    gateway = Gateway(issuer, mock_api, {"TOOLFOLD_OAUTH_SCOPE_PREFIX": "api://toolfold/"})
    assert (
        'scope="api://toolfold/tools:read api://toolfold/tools:call"'
        in gateway.send(None)["headers"]["www-authenticate"]
    )
    assert gateway.status(issuer.token(RESOURCE, scope="api://toolfold/tools:read")) == 200
    assert gateway.status(issuer.token(RESOURCE, scope="tools:read")) == 200
    assert gateway.status(issuer.token(RESOURCE, scope="api://other/tools:read")) == 403


def test_premium_tools_need_a_scope_of_their_own_where_that_is_set(issuer: Issuer, mock_api: MockApi) -> None:
    premium = {"tool_name": "TIME_SERIES_INTRADAY", "arguments": {"symbol": "IBM", "interval": "5min"}}
    gateway = Gateway(
        issuer, mock_api, {"TOOLFOLD_OAUTH_PREMIUM_SCOPE": "true", "ALPHA_VANTAGE_API_KEY": "operator-key-1"}
    )
    metadata = json.loads(gateway.get("/.well-known/oauth-protected-resource")["body"])
    assert metadata["scopes_supported"][-1] == "tools:premium"
    reader = issuer.token(RESOURCE, scope="tools:read")
    refused = gateway.send(reader, "TOOL_CALL", premium)
    assert refused["statusCode"] == 403
    assert 'scope="tools:read tools:call tools:premium"' in refused["headers"]["www-authenticate"]
    caller = issuer.token(RESOURCE, scope="tools:read tools:call")
    assert gateway.send(caller, "TOOL_CALL", premium)["statusCode"] == 403
    assert gateway.send(caller, "TOOL_CALL", QUOTE)["statusCode"] == 200
    assert not mock_api.requests or all("INTRADAY" not in str(sent) for sent in mock_api.requests)
    payer = issuer.token(RESOURCE, scope="tools:read tools:call tools:premium")
    assert gateway.send(payer, "TOOL_CALL", premium)["statusCode"] == 200


def test_two_authorization_headers_are_refused(gateway: Gateway) -> None:
    token = gateway.issuer.token(RESOURCE)
    several = {"authorization": f"Bearer {token},Bearer other"}
    assert gateway.handler(http_event("{}", several))["statusCode"] == 401


@pytest.mark.parametrize(
    ("headers", "key"), [({}, "operator-key-1"), ({"x-api-key": "callers-own-key"}, "callers-own-key")]
)
def test_the_token_never_reaches_the_upstream_and_a_key_does(
    gateway: Gateway, headers: dict[str, str], key: str
) -> None:
    token = gateway.issuer.token(RESOURCE, note=SENTINEL)
    response = gateway.send(token, "TOOL_CALL", QUOTE, **headers)
    assert not json.loads(response["body"])["result"]["isError"]
    (sent,) = gateway.mock_api.requests
    assert key in str(sent)
    assert token not in str(sent)


def test_a_call_knows_its_caller_by_issuer_and_subject(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    callers: list[str] = []

    def recorded(executor: ToolExecutor, context: CallContext) -> CallResult:
        callers.append(context.credentials.caller)
        return run_call(executor, context)

    monkeypatch.setattr(answer_reader, "run_call", recorded)
    for subject in ("user-1", "user-1", "user-2"):
        gateway.send(gateway.issuer.token(RESOURCE, sub=subject), "TOOL_CALL", QUOTE)
    same, again, other = callers
    assert same == again != other
    assert "" not in callers


@pytest.mark.parametrize(
    ("scope", "tool", "needed"),
    [
        ("", "TOOL_LIST", "tools:read"),
        ("other:read", "TOOL_LIST", "tools:read"),
        ("elsewhere/tools:read", "TOOL_LIST", "tools:read"),
        ("tools:call", "TOOL_LIST", "tools:read tools:call"),
        ("tools:read", "TOOL_CALL", "tools:read tools:call"),
        ("tools:read tools:write", "TOOL_CALL", "tools:read tools:call tools:write"),
        ("tools:read", "GLOBAL_QUOTE", "tools:read tools:call"),
    ],
)
def test_a_token_without_the_scope_is_refused_and_learns_all_that_it_needs(
    gateway: Gateway, scope: str, tool: str, needed: str
) -> None:
    arguments = QUOTE["arguments"] if tool == "GLOBAL_QUOTE" else QUOTE
    response = gateway.send(gateway.issuer.token(RESOURCE, scope=scope), tool, arguments)
    assert response["statusCode"] == 403
    assert f'scope="{needed}"' in response["headers"]["www-authenticate"]
    assert json.loads(response["body"])["scope"] == needed
    assert gateway.mock_api.requests == []


@pytest.mark.parametrize(
    "claims",
    [
        {"scope": None, "scp": ["tools:read"]},
        {"scope": None, "scp": "tools:read other"},
        {"scope": ["tools:read"]},
        {"scope": None, "roles": ["tools:read"]},
        {"scope": "https://tools.example.com/mcp/tools:read"},
    ],
)
def test_scopes_in_the_forms_of_other_issuers_are_understood(gateway: Gateway, claims: dict[str, Any]) -> None:
    assert gateway.status(gateway.issuer.token(RESOURCE, **claims)) == 200


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/.well-known/x", "/register"])
def test_what_is_not_served_is_not_found(gateway: Gateway, path: str) -> None:
    assert gateway.get(path)["statusCode"] == 404


def test_web_pages_may_read_the_metadata(gateway: Gateway) -> None:
    response = gateway.get("/.well-known/oauth-protected-resource/mcp", "OPTIONS")
    assert (response["statusCode"], response["headers"]["access-control-allow-origin"]) == (204, "*")
    assert response["headers"]["access-control-allow-headers"] == "*, authorization"


@pytest.mark.parametrize(("scope", "status"), [(None, 401), ("other:read", 403), ("tools:read", 200)])
def test_a_tool_is_described_over_http_to_who_may_call_tool_get(
    gateway: Gateway, scope: str | None, status: int
) -> None:
    token = {} if scope is None else {"authorization": f"Bearer {gateway.issuer.token(RESOURCE, scope=scope)}"}
    response = gateway.handler({**http_event(path="/tools/GLOBAL_QUOTE", method="GET"), "headers": token})
    assert response["statusCode"] == status
    assert ("symbol" in response["body"]) == (status == 200)
