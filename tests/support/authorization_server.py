"""Issuers of tokens over HTTP: of OpenID, of OAuth 2.1, one like Cognito; and the Lambda handler with one."""

import base64
import hashlib
import json
import secrets
import ssl
import threading
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from joserfc import jws, jwt
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from tests.support.lambda_handler import http_event
from tests.support.local_server import Handler, LocalServer, Reply
from tests.support.mcp_requests import message
from tests.support.waiting import PATIENCE_S
from toolfold.app import build_app
from toolfold.mock_api.server import MockApi
from toolfold.protocol.http import LogFields
from toolfold.settings import Settings
from toolfold.telemetry import FAILURES, configure
from toolfold.transports.lambda_handler import LambdaHandler

ALGORITHMS = {"RSA": "RS256", "EC": "ES256", "OKP": "Ed25519", "oct": "HS256"}

Key = RSAKey | ECKey | OKPKey | OctKey


_FIRST_KEY = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
"""Of every issuer: making a key takes a tenth of a second."""


class Issuer(LocalServer):
    """Serves metadata and keys, and signs tokens, inside a ``with`` statement.

    Attributes:
        url: The issuer's URL.
        keys: The published keys.
        requests: The paths that were requested.
        is_down: Whether every request is answered with 503.
        metadata: What is added to the metadata, or replaces it.
        replies: Path → status, headers and body that are sent instead.
        is_held: While it is not set, requests wait.
        is_waiting: Set by a request that waits.
    """

    def __init__(self) -> None:
        self.keys: list[Key] = [_FIRST_KEY]
        self.requests: list[str] = []
        self.is_down = False
        self.metadata: dict[str, Any] = {}
        self.replies: dict[str, Reply] = {}
        self.is_held, self.is_waiting = threading.Event(), threading.Event()
        self.is_held.set()
        super().__init__(_Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/tenant"

    def handle(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Return status, headers and body of a response."""
        found = self.respond(path) if method == "GET" else None
        return 404 if found is None else 200, {"content-type": "application/json"}, json.dumps(found).encode()

    def respond(self, path: str) -> Any:
        """Return the document at ``path``, or None."""
        if path == "/tenant/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **self.metadata}
        if path == "/tenant/keys":
            return {"keys": [key.as_dict(private=False) for key in self.keys]}
        return None

    def token(
        self, audience: str, key: Key | None = None, *, header: dict[str, Any] | None = None, **claims: Any
    ) -> str:
        """Sign a token; a claim that is None is left out."""
        key = key or self.keys[-1]
        standard = {
            "iss": self.url,
            "aud": audience,
            "sub": "user-1",
            "exp": int(time.time()) + 300,
            "scope": "tools:read tools:call",
        }
        given = {name: value for name, value in {**standard, **claims}.items() if value is not None}
        algorithm = ALGORITHMS[key.key_type]
        full = {"alg": algorithm, "kid": key.kid, **(header or {})}
        headers = {name: value for name, value in full.items() if value is not None}
        registry = jws.JWSRegistry(algorithms=[algorithm], strict_check_header=False)
        registry.max_header_length = 20_000
        return jwt.encode(headers, given, key, registry=registry)


class _Handler(Handler):
    protocol_version = "HTTP/1.0"
    server: Issuer

    def do_GET(self) -> None:
        issuer = self.server
        issuer.requests.append(self.path)
        if not issuer.is_held.is_set():
            issuer.is_waiting.set()
            issuer.is_held.wait(PATIENCE_S)
        found = (503, {}, b"") if issuer.is_down else issuer.handle("GET", self.path, self.headers, b"")
        self.reply(*issuer.replies.get(self.path, found))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.reply(*self.server.handle("POST", self.path, self.headers, body))


JSON = {"content-type": "application/json", "cache-control": "no-store"}


class Refused(Exception):
    """An error response of OAuth: its code."""


@dataclass
class Grant:
    """What a code or a refresh token stands for."""

    client_id: str
    scope: str
    resource: str
    redirect_uri: str = ""
    challenge: str = ""


class AuthorizationServer(Issuer):
    """Discovery, registration, Client ID Metadata Documents, PKCE, resource indicators, refresh, client credentials.

    Attributes:
        clients: Client id → its metadata (RFC 7591).
        resources: The resources that tokens may be requested for.
        granted_at_first: The scopes of the first authorization; empty: those that are requested.
        lifetimes: Seconds for which the next tokens are valid; 300 when it is empty.
        issues_refresh_tokens: Whether it does.
        documents: The TLS context that Client ID Metadata Documents are fetched with; None: they are not supported.
        events: What happened, as (kind, parameters).
        issued: Every token that left this server.
    """

    def __init__(self, *resources: str) -> None:
        super().__init__()
        self.resources = resources
        self.clients: dict[str, dict[str, Any]] = {}
        self.granted_at_first = ""
        self.lifetimes: list[int] = []
        self.issues_refresh_tokens = True
        self.documents: ssl.SSLContext | None = None
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.issued: list[str] = []
        self._codes: dict[str, Grant] = {}
        self._refresh_tokens: dict[str, Grant] = {}

    def kinds(self) -> list[str]:
        """Return the kinds of events, in order."""
        return [kind for kind, _ in self.events]

    def respond(self, path: str) -> Any:
        """Return the metadata, for OpenID and for OAuth, or the keys."""
        if path in ("/tenant/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/tenant"):
            return self.server_metadata()
        return super().respond(path)

    def server_metadata(self) -> dict[str, Any]:
        """Return the metadata (RFC 8414)."""
        return {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/keys",
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": self.documents is not None,
            **self.metadata,
        }

    def handle(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Return status, headers and body of a response."""
        parts = urlsplit(path)
        try:
            if (method, parts.path) == ("GET", self.authorize_path):
                return 302, {"location": self._authorize(dict(parse_qsl(parts.query)))}, b""
            if (method, parts.path) == ("POST", self.token_path):
                return 200, JSON, json.dumps(self._token(dict(parse_qsl(body.decode())), headers)).encode()
            if (method, parts.path) == ("POST", self.register_path):
                return 201, JSON, json.dumps(self._register(json.loads(body))).encode()
        except Refused as error:
            self.events.append(("refused", {"error": str(error)}))
            return 400, JSON, json.dumps({"error": str(error)}).encode()
        return super().handle(method, path, headers, body)

    authorize_path, token_path, register_path = "/tenant/authorize", "/tenant/token", "/tenant/register"

    def _register(self, metadata: dict[str, Any]) -> dict[str, Any]:
        client = {**metadata, "client_id": f"client-{len(self.clients)}"}
        if metadata.get("token_endpoint_auth_method", "none") != "none":
            client["client_secret"] = secrets.token_urlsafe(16)
        self.clients[client["client_id"]] = client
        self.events.append(("register", metadata))
        return client

    def _client(self, client_id: str) -> dict[str, Any]:
        if client_id.startswith("https://") and self.documents is not None and client_id not in self.clients:
            with urllib.request.urlopen(client_id, context=self.documents, timeout=60) as answer:
                document = json.load(answer)
            if document["client_id"] != client_id:
                raise Refused("invalid_client")
            self.events.append(("document", document))
            self.clients[client_id] = document
        if client_id not in self.clients:
            raise Refused("invalid_client")
        return self.clients[client_id]

    def _authorize(self, query: dict[str, str]) -> str:
        client = self._client(query.get("client_id", ""))
        if query.get("redirect_uri") not in client["redirect_uris"]:
            raise Refused("invalid_redirect_uri")
        self._check_authorization(query)
        self.events.append(("authorize", query))
        is_first = self.kinds().count("authorize") == 1
        scope = (is_first and self.granted_at_first) or query.get("scope", "")
        code = secrets.token_urlsafe(16)
        self._codes[code] = Grant(
            query["client_id"], scope, query.get("resource", ""), query["redirect_uri"], query["code_challenge"]
        )
        returned = {"code": code, "state": query.get("state", ""), **self.response_parameters()}
        return f"{query['redirect_uri']}?{urlencode({name: value for name, value in returned.items() if value})}"

    def response_parameters(self) -> dict[str, str]:
        """Return further parameters of the redirect (RFC 9207)."""
        return {"iss": self.url}

    def _check_authorization(self, query: dict[str, str]) -> None:
        if query.get("response_type") != "code" or query.get("code_challenge_method") != "S256":
            raise Refused("invalid_request")
        if query.get("resource") not in self.resources:
            raise Refused("invalid_target")

    def _token(self, form: dict[str, str], headers: Mapping[str, str]) -> dict[str, Any]:
        grant_type = form.get("grant_type", "")
        client_id = self._authenticate(form, headers, needs_secret=grant_type == "client_credentials")
        if grant_type == "client_credentials":
            grant = Grant(client_id, form.get("scope", ""), form.get("resource", ""))
        elif grant_type == "refresh_token":
            grant = self._refresh_tokens.pop(form.get("refresh_token", ""), None) or _refuse("invalid_grant")
        elif grant_type == "authorization_code":
            grant = self._codes.pop(form.get("code", ""), None) or _refuse("invalid_grant")
            digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != grant.challenge:
                raise Refused("invalid_grant")
            if form.get("redirect_uri") != grant.redirect_uri:
                raise Refused("invalid_grant")
        else:
            raise Refused("unsupported_grant_type")
        if grant.client_id != client_id:
            raise Refused("invalid_grant")
        self.events.append((grant_type, form))
        lifetime = self.lifetimes.pop(0) if self.lifetimes else 300
        claims = self.claims(grant, is_machine=grant_type == "client_credentials")
        answer = {
            "access_token": self.token(claims.pop("aud"), exp=int(time.time()) + lifetime, **claims),
            "token_type": "Bearer",
            "expires_in": max(1, lifetime),
            "scope": grant.scope,
        }
        if self.issues_refresh_tokens and grant_type != "client_credentials":
            answer["refresh_token"] = secrets.token_urlsafe(16)
            self._refresh_tokens[answer["refresh_token"]] = grant
            self.issued.append(answer["refresh_token"])
        self.issued.append(answer["access_token"])
        return answer

    def claims(self, grant: Grant, *, is_machine: bool) -> dict[str, Any]:
        """Return the claims of an access token."""
        claims = {"aud": grant.resource or self.resources[0], "scope": grant.scope, "client_id": grant.client_id}
        return {**claims, "sub": None} if is_machine else claims

    def _authenticate(self, form: dict[str, str], headers: Mapping[str, str], *, needs_secret: bool) -> str:
        scheme, _, value = headers.get("authorization", "").partition(" ")
        if scheme == "Basic":
            client_id, _, secret = base64.b64decode(value).decode().partition(":")
            client_id, secret = unquote(client_id), unquote(secret)
        else:
            client_id, secret = form.get("client_id", ""), form.get("client_secret", "")
        expected = self._client(client_id).get("client_secret", "")
        if secret != expected or (needs_secret and not secret):
            raise Refused("invalid_client")
        return client_id


class CognitoServer(AuthorizationServer):
    """A user pool of Amazon Cognito: what its documentation describes, and MCP clients stumble over.

    Its metadata are those of OpenID only and do not mention PKCE; there is no registration; scopes are named after a
    resource server; the endpoints are at another host than the issuer; access tokens have ``client_id`` and
    ``token_use`` and no ``aud``; the redirect has no ``iss``.
    """

    authorize_path, token_path, register_path = "/oauth2/authorize", "/oauth2/token", "/none"
    client_id = "1example23456789"

    def __init__(self, resource_server: str, *redirect_uris: str) -> None:
        super().__init__()
        self._resource_server = resource_server
        self.clients[self.client_id] = {"redirect_uris": list(redirect_uris)}

    def respond(self, path: str) -> Any:
        """Return the metadata of OpenID, or the keys."""
        return None if "oauth-authorization-server" in path else super().respond(path)

    def server_metadata(self) -> dict[str, Any]:
        """Return the metadata as Cognito has them."""
        domain = f"http://localhost:{self.server_port}"
        return {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/keys",
            "authorization_endpoint": f"{domain}/oauth2/authorize",
            "token_endpoint": f"{domain}/oauth2/token",
            "revocation_endpoint": f"{domain}/oauth2/revoke",
            "userinfo_endpoint": f"{domain}/oauth2/userInfo",
            "end_session_endpoint": f"{domain}/logout",
            "id_token_signing_alg_values_supported": ["RS256"],
            "response_types_supported": ["code", "token"],
            "scopes_supported": ["openid", "email", "phone", "profile"],
            "subject_types_supported": ["public"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        }

    def response_parameters(self) -> dict[str, str]:
        """Return nothing: Cognito does not send ``iss``."""
        return {}

    def _check_authorization(self, query: dict[str, str]) -> None:
        known = {"openid", *(f"{self._resource_server}/{name}" for name in ("tools:read", "tools:call", "tools:write"))}
        if query.get("response_type") != "code" or query.get("code_challenge_method") != "S256":
            raise Refused("invalid_request")
        if not set(query.get("scope", "").split()) <= known:
            raise Refused("invalid_scope")

    def claims(self, grant: Grant, *, is_machine: bool) -> dict[str, Any]:
        """Return the claims of an access token of Cognito."""
        return {
            "aud": None,
            "sub": grant.client_id if is_machine else "11111111-2222-3333-4444-555555555555",
            "client_id": grant.client_id,
            "token_use": "access",
            "scope": grant.scope,
            "auth_time": int(time.time()),
            "version": 2,
            "username": "someone",
        }


def _refuse(code: str) -> Grant:
    raise Refused(code)


RESOURCE = "https://tools.example.com/mcp"

STRANGER = RSAKey.generate_key(2048, {"kid": "first"})
"""A key that the issuer does not have, with the id of the one that it has."""

SECOND = RSAKey.generate_key(2048, {"kid": "same"})


@dataclass
class Gateway:
    """The Lambda handler with an issuer.

    Attributes:
        issuer: The issuer of tokens.
        mock_api: The upstream.
        settings: Further settings.
        failures: The codes that were counted as failures of the deployment.
    """

    issuer: Issuer
    mock_api: MockApi
    settings: Mapping[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    handler: LambdaHandler = field(init=False)

    def __post_init__(self) -> None:
        settings = Settings.from_environment(
            {
                "TOOLFOLD_OAUTH_ISSUER": self.issuer.url,
                "TOOLFOLD_PUBLIC_URL": RESOURCE,
                "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": self.mock_api.url,
                **self.settings,
            }
        )
        self._telemetry = configure(settings)
        self.handler = LambdaHandler(build_app(settings), self._telemetry, self._note)

    def _note(self, fields: LogFields, catalog_age_s: float | None, *, is_probe: bool) -> None:
        self._telemetry.record_request(fields, catalog_age_s, is_probe=is_probe)
        self.failures.extend(code for code in FAILURES if fields.get("error") == code)

    def send(self, token: str | None, tool: str = "TOOL_LIST", arguments: Any = None, **headers: str) -> dict[str, Any]:
        authorization = {} if token is None else {"authorization": f"Bearer {token}"}
        body = message("tools/call", {"name": tool, "arguments": arguments or {}})
        return self.handler(http_event(body, {**authorization, **headers}))

    def get(self, path: str, method: str = "GET") -> dict[str, Any]:
        return self.handler({**http_event(path=path, method=method), "headers": {}})

    def status(self, token: str | None) -> int:
        return int(self.send(token)["statusCode"])
