"""toolfold as an OAuth resource server: what a caller without a valid token is answered, and the metadata for it.

The MCP specification requires RFC 9728: a 401 names the URL of the protected-resource metadata, which names the issuer.
API Gateway's REST APIs and function URLs rename ``WWW-Authenticate``, so the body repeats it, and the metadata is at
the well-known path as well.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from toolfold.auth.issuer_keys import IssuerUnreachable
from toolfold.auth.token_verifier import InvalidToken
from toolfold.errors import IssuerUnavailable
from toolfold.protocol.http import Headers, Principal, Request, Response, error_response

if TYPE_CHECKING:
    from toolfold.auth.cognito_shim import CognitoShim
    from toolfold.auth.issuer_keys import IssuerKeys
    from toolfold.auth.token_verifier import TokenVerifier

__all__ = ["PREMIUM_SCOPE", "SCOPES", "WELL_KNOWN", "ResourceServer", "json_document", "unavailable"]

WELL_KNOWN = "/.well-known/oauth-protected-resource"

SCOPES = ("tools:read", "tools:call", "tools:write")
"""To list and describe tools; to call those that only read; to call those that write."""

PREMIUM_SCOPE = "tools:premium"
"""To call tools that need a premium plan, where the settings require it. Not every issuer has it, and a client that
requests a scope which the issuer does not have may get no token at all."""

_FIRST_SCOPES = frozenset(SCOPES[:2])
"""What a client should request at first."""

_PREFLIGHT: Headers = (
    ("access-control-allow-origin", "*"),
    ("access-control-allow-methods", "GET, HEAD, POST, OPTIONS"),
    ("access-control-allow-headers", "accept, content-type, mcp-protocol-version"),
    ("access-control-max-age", "86400"),
)
"""Clients in web pages send the protocol version with requests for metadata, which makes browsers ask first."""


class ResourceServer:
    """Check the bearer token of each request.

    Args:
        public_url: The URL of the MCP endpoint as clients know it: the ``resource``.
        issuer: The URL of the authorization server, for clients.
        keys: The keys of the issuer.
        verifier: Checks tokens.
        scopes: The scopes that calls may need.
        scope_prefix: What clients write before each scope.
        shim: Answers for Amazon Cognito; None: the issuer is another.
    """

    def __init__(
        self,
        public_url: str,
        issuer: str,
        keys: IssuerKeys,
        verifier: TokenVerifier,
        *,
        scopes: Sequence[str] = SCOPES,
        scope_prefix: str = "",
        shim: CognitoShim | None = None,
    ) -> None:
        self._keys, self._verifier, self._shim = keys, verifier, shim
        self._scopes, self._scope_prefix = scopes, scope_prefix
        parts = urlsplit(public_url)
        self._metadata_url = f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}{parts.path.rstrip('/')}"
        self._metadata_paths = (WELL_KNOWN, WELL_KNOWN + parts.path.rstrip("/"))
        self._metadata = {
            "resource": public_url,
            "authorization_servers": [issuer],
            "scopes_supported": self._named(scopes).split(),
            "bearer_methods_supported": ["header"],
            "resource_name": "toolfold",
        }

    def reset(self) -> None:
        """Drop what was read from the issuer."""
        self._keys.reset()
        if self._shim is not None:
            self._shim.reset()

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
            return self._verifier.verify(token.strip())
        except InvalidToken as error:
            return self._challenge(401, "invalid_token", str(error))
        except IssuerUnreachable as error:
            return unavailable(error.retry_after_s)

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
        fields = {"resource_metadata": self._metadata_url, "scope": scope or self._named(_FIRST_SCOPES)}
        if error:
            fields |= {"error": error, "error_description": description}
        challenge = "Bearer " + ", ".join(f'{name}="{_quotable(value)}"' for name, value in fields.items())
        body = {"error": error or "missing_token", "error_description": description, **fields}
        headers: Headers = (
            ("content-type", "application/json"),
            ("www-authenticate", challenge),
            ("access-control-expose-headers", "WWW-Authenticate"),
        )
        return Response(status, headers, json.dumps(body).encode(), {"refused": str(status)})


def json_document(request: Request, document: object) -> Response:
    """Return the response to a request for a public document, which any web page may read."""
    if request.method == "OPTIONS":
        return Response(204, _PREFLIGHT, b"", {"rpc": "metadata"})
    if request.method not in ("GET", "HEAD"):
        return error_response(405, "Send GET.", ("allow", "GET, HEAD, OPTIONS"))
    headers: Headers = (
        ("content-type", "application/json"),
        ("cache-control", "public, max-age=3600"),
        ("access-control-allow-origin", "*"),
    )
    body = json.dumps(document).encode() if request.method == "GET" else b""
    return Response(200, headers, body, {"rpc": "metadata"})


def unavailable(retry_after_s: float) -> Response:
    """Return the response to a request that needs the issuer while it cannot be reached."""
    refusal = error_response(
        503, "The issuer of access tokens cannot be reached.", ("retry-after", str(round(retry_after_s)))
    )
    return refusal._replace(log_fields={**refusal.log_fields, "error": IssuerUnavailable.code})


def _quotable(text: str) -> str:
    return text.replace("\\", "").replace('"', "'")
