"""toolfold as an OAuth resource server: what a caller without a valid token is answered, and the metadata for it.

The MCP specification requires RFC 9728: a 401 names the URL of the protected-resource metadata, which names the issuer.
API Gateway's REST APIs and function URLs rename ``WWW-Authenticate``, so the body repeats it, and the metadata is at
the well-known path as well.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from toolfold.auth.issuer_keys import IssuerUnavailable
from toolfold.auth.token_verifier import InvalidToken
from toolfold.protocol.http import Headers, Principal, Request, Response, error_response

if TYPE_CHECKING:
    from toolfold.auth.token_verifier import TokenVerifier

__all__ = ["SCOPES", "WELL_KNOWN", "ResourceServer"]

WELL_KNOWN = "/.well-known/oauth-protected-resource"

SCOPES = ("tools:read", "tools:call", "tools:write")
"""To list and describe tools; to call those that only read; to call those that write."""

_REALM_SCOPE = " ".join(SCOPES[:2])
"""What a client should request at first."""


class ResourceServer:
    """Check the bearer token of each request.

    Args:
        public_url: The URL of the MCP endpoint as clients know it: the ``resource``.
        issuer: The URL of the authorization server.
        verifier: Checks tokens.
    """

    def __init__(self, public_url: str, issuer: str, verifier: TokenVerifier) -> None:
        self._verifier = verifier
        parts = urlsplit(public_url)
        self._metadata_url = f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}{parts.path.rstrip('/')}"
        self._metadata_paths = (WELL_KNOWN, WELL_KNOWN + parts.path.rstrip("/"))
        self._metadata = json.dumps(
            {
                "resource": public_url,
                "authorization_servers": [issuer],
                "scopes_supported": list(SCOPES),
                "bearer_methods_supported": ["header"],
                "resource_name": "toolfold",
            }
        ).encode()

    def metadata_response(self, request: Request) -> Response | None:
        """Return the metadata, which needs no token, or None for a request of another path."""
        if request.path.rstrip("/") not in self._metadata_paths:
            return None
        if request.method not in ("GET", "HEAD", "OPTIONS"):
            return error_response(405, "Send GET.", ("allow", "GET, HEAD, OPTIONS"))
        headers: Headers = (
            ("content-type", "application/json"),
            ("cache-control", "public, max-age=3600"),
            ("access-control-allow-origin", "*"),
        )
        return Response(200, headers, self._metadata if request.method == "GET" else b"", {"rpc": "metadata"})

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
        except IssuerUnavailable:
            return error_response(503, "The issuer of access tokens cannot be reached.", ("retry-after", "60"))

    def forbid(self, scope: str) -> Response:
        """Return the response to a valid token that lacks a scope (RFC 6750, section 3.1)."""
        return self._challenge(403, "insufficient_scope", f"The token lacks the scope {scope}.", scope)

    def _challenge(self, status: int, error: str, description: str, scope: str = _REALM_SCOPE) -> Response:
        fields = {"resource_metadata": self._metadata_url, "scope": scope}
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


def _quotable(text: str) -> str:
    return text.replace("\\", "").replace('"', "'")
