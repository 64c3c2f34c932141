"""A small OAuth 2.1 authorization server over HTTP, which approves every request at once, and one like Cognito's."""

import base64
import hashlib
import json
import secrets
import ssl
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from tests.support.issuer import Issuer, Reply

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
