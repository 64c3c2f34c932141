"""toolfold as an OAuth resource server: what a caller without a valid token is answered, and the metadata for it.

The MCP specification requires RFC 9728: a 401 names the URL of the protected-resource metadata, which names the issuer.
Function URLs rename ``WWW-Authenticate``, so the body repeats it, and the metadata is at the well-known path as well.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolfold.auth.issuer_keys import RETRY_S, Issuer, IssuerDocuments, IssuerUnreachable
from toolfold.auth.token_verifier import InvalidToken, TokenVerifier
from toolfold.protocol.http import REGISTER_PATH, Principal, Request, Response, error_response, json_response
from toolfold.protocol.public_documents import json_document

if TYPE_CHECKING:
    from toolfold.network.session import HttpClient
    from toolfold.settings import Settings


logger = logging.getLogger("toolfold")

WELL_KNOWN = "/.well-known/oauth-protected-resource"

SCOPES = ("tools:read", "tools:call", "tools:write")
"""To list and describe tools; to call those that only read; to call those that write."""

PREMIUM_SCOPE = "tools:premium"
"""To call tools that need a premium plan, where the settings require it. Not every issuer has it, and a client that
requests a scope which the issuer does not have may get no token at all."""


class ResourceServer:
    """Check the bearer token of each request, by the settings. Nothing is read from the issuer before the first.

    Attributes:
        issuer: has what the issuer publishes.
        verifier: checks the access tokens of callers.
    """

    def __init__(self, settings: Settings, get_http_client: Callable[[], HttpClient]) -> None:
        self.issuer = Issuer(IssuerDocuments(settings.oauth_issuer, get_http_client))
        self.verifier = TokenVerifier(settings, self.issuer)
        self._scopes = (*SCOPES, PREMIUM_SCOPE) if settings.oauth_premium_scope else SCOPES
        self._scope_prefix = settings.oauth_scope_prefix
        requested = self._named(self._scopes).split()
        parts = urlsplit(settings.public_url)
        origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
        has_shim = bool(settings.oauth_cognito_client)
        self._shim = CognitoShim(origin, self.issuer, settings, ["openid", *requested]) if has_shim else None
        self._metadata_url = f"{origin}{WELL_KNOWN}{path}"
        self._metadata_paths = (WELL_KNOWN, WELL_KNOWN + path)
        self._metadata = {
            "resource": settings.public_url,
            "authorization_servers": [origin if has_shim else settings.oauth_issuer],
            "scopes_supported": requested,
            "bearer_methods_supported": ["header"],
            "resource_name": "toolfold",
        }

    def reset(self) -> None:
        """Drop what was read from the issuer."""
        self.issuer.reset()

    def respond_without_token(self, request: Request) -> Response | None:
        """Return the response to a request that needs no token, or None for one of another path."""
        path = request.path.rstrip("/")
        # That of a profile, one level below, is the same resource: its tokens are for the endpoint.
        if path in self._metadata_paths or path.rpartition("/")[0] == self._metadata_paths[1] != WELL_KNOWN:
            return json_document(request, self._metadata)
        if self._shim is not None and path in self._shim.paths:
            return self._shim.respond(request)
        return None

    def authenticate(self, request: Request) -> Principal | Response:
        """Return who calls, or the response to a request without a valid token."""
        given = [value.strip() for name, value in request.headers if name == "authorization"]
        scheme, _, token = (given[0] if len(given) == 1 else "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return self._challenge(401, "", "Send an access token of the issuer as Authorization: Bearer TOKEN.")
        try:
            return self.verifier.verify(token.strip())
        except InvalidToken as error:
            return self._challenge(401, "invalid_token", str(error))
        except IssuerUnreachable as error:
            return error.response()

    def forbid(self, scope: str, caller: Principal) -> Response:
        """Return the response to a valid token that lacks ``scope``, one or several (RFC 6750, section 3.1).

        It names all that the next token needs: some clients request exactly that, and would lose what they have.
        """
        needed = self._named({*caller.scopes, *scope.split(), SCOPES[0]})
        return self._challenge(403, "insufficient_scope", f"The token lacks the scope {scope}.", needed)

    def _named(self, scopes: Collection[str]) -> str:
        """Return those of our scopes that are in ``scopes``, as clients request them."""
        return " ".join(f"{self._scope_prefix}{one}" for one in self._scopes if one in scopes)

    def _challenge(self, status: int, error: str, description: str, scope: str = "") -> Response:
        scope = scope or self._named(SCOPES[:2])  # what a client should request at first
        fields = {"resource_metadata": self._metadata_url, "scope": scope}
        if error:
            fields |= {"error": error, "error_description": description}
        quotable = {name: value.replace("\\", "").replace('"', "'") for name, value in fields.items()}
        challenge = "Bearer " + ", ".join(f'{name}="{value}"' for name, value in quotable.items())
        body = {"error": error or "missing_token", "error_description": description, **fields}
        headers = ("www-authenticate", challenge), ("access-control-expose-headers", "WWW-Authenticate")
        return json_response(status, json.dumps(body).encode(), {"refused": str(status)}, headers)


MAX_BODY_BYTES = 64 << 10

_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "revocation_endpoint", "userinfo_endpoint")
_REQUIRED = _ENDPOINTS[:2]
_GRANTS = ("authorization_code", "refresh_token")


class CognitoShim:
    """An authorization server's metadata and registration in front of Amazon Cognito.

    The metadata of a user pool lack ``code_challenge_methods_supported``, without which MCP clients refuse it, although
    Cognito supports PKCE. It has no registration (RFC 7591). So for clients this deployment is the issuer: its metadata
    (RFC 8414) name the endpoints of Cognito, and its registration returns one public client of the user pool, to every
    client whose redirect URIs are on a list. No client is created, no token is seen here, and the ``iss`` of the tokens
    stays that of Cognito.

    Args:
        url: That of this deployment, without a path.
        issuer: Has the metadata of the user pool.
        settings: Name the public client of the user pool, and where it may send users.
        scopes: The scopes that clients request.
    """

    paths = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", REGISTER_PATH)

    def __init__(self, url: str, issuer: Issuer, settings: Settings, scopes: list[str]) -> None:
        self._url, self._issuer, self._settings, self._scopes = url, issuer, settings, scopes

    def respond(self, request: Request) -> Response:
        """Return the response to a request for one of :attr:`paths`."""
        if request.path.rstrip("/") == REGISTER_PATH:
            return self._register(request)
        try:
            metadata = self._issuer.metadata(*_REQUIRED)
        except IssuerUnreachable as error:
            return error.response()
        endpoints = {name: metadata[name] for name in _ENDPOINTS if isinstance(metadata.get(name), str)}
        if not endpoints.keys() >= set(_REQUIRED):
            logger.error("the issuer cannot be used: its metadata lack endpoints; a user pool needs a domain")
            return IssuerUnreachable(RETRY_S).response()
        return json_document(
            request,
            {
                "issuer": self._url,
                **endpoints,
                "registration_endpoint": f"{self._url}{REGISTER_PATH}",
                "scopes_supported": self._scopes,
                "response_types_supported": ["code"],
                "response_modes_supported": ["query"],
                "grant_types_supported": list(_GRANTS),
                "token_endpoint_auth_methods_supported": ["none"],
                "code_challenge_methods_supported": ["S256"],
            },
        )

    def _register(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return json_document(request, None)
        if request.method != "POST":
            return error_response(405, "Send POST.", ("allow", "POST, OPTIONS"))
        try:
            wanted = json.loads(request.body) if len(request.body) <= MAX_BODY_BYTES else None
        except (ValueError, RecursionError):
            wanted = None
        if not isinstance(wanted, dict):
            return _refuse("invalid_client_metadata", "Send a JSON object.")
        given, allowed = wanted.get("redirect_uris"), self._settings.oauth_redirect_uris
        redirect_uris = given if isinstance(given, list) else []
        # Compared as they are (RFC 9700, section 2.1): a pattern would let a code be sent to another machine.
        if not redirect_uris or not all(one in allowed for one in redirect_uris):
            return _refuse("invalid_redirect_uri", "Send redirect_uris, all on the list of the operator.")
        client: dict[str, Any] = {
            "client_id": self._settings.oauth_cognito_client,
            "redirect_uris": redirect_uris,
            "token_endpoint_auth_method": "none",
            "grant_types": list(_GRANTS),
            "response_types": ["code"],
            "scope": " ".join(self._scopes),
        }
        if isinstance(wanted.get("client_name"), str):
            client["client_name"] = wanted["client_name"][:200]
        return _registration_response(201, client)


def _refuse(error: str, description: str) -> Response:
    return _registration_response(400, {"error": error, "error_description": description}, refused="400")


def _registration_response(status: int, body: Mapping[str, Any], **log_fields: str) -> Response:
    headers = ("cache-control", "no-store"), ("access-control-allow-origin", "*")
    return json_response(status, json.dumps(body).encode(), {"rpc": "register", **log_fields}, headers)
