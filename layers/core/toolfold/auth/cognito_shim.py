"""An authorization server's metadata and registration in front of Amazon Cognito.

The metadata of a user pool lack ``code_challenge_methods_supported``, without which MCP clients refuse it, although
Cognito supports PKCE. It has no registration (RFC 7591) and reads no Client ID Metadata Documents. So for clients
this deployment is the issuer: its metadata (RFC 8414) name the endpoints of Cognito, and its registration
returns one public client of the user pool, to every client whose redirect URIs are on a list. No client is created, no
token is seen here, and the ``iss`` of the tokens stays that of Cognito.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from toolfold.auth.issuer_keys import IssuerDocuments, UnusableDocument, new_deadline, unavailable
from toolfold.protocol.http import REGISTER_PATH, Headers, Request, Response, error_response
from toolfold.protocol.public_documents import json_document

__all__ = ["METADATA_PATHS", "CognitoShim"]

logger = logging.getLogger("toolfold")

METADATA_PATHS = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")

MAX_AGE_S = 3600.0
"""Seconds after which the endpoints of Cognito are read again."""

RETRY_S = 10.0
"""Seconds between two readings that fail."""

MAX_BODY_BYTES = 64 << 10

_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "revocation_endpoint", "userinfo_endpoint")
_REQUIRED = _ENDPOINTS[:2]
_GRANTS = ("authorization_code", "refresh_token")


class CognitoShim:
    """Answer for the user pool.

    Args:
        issuer: The URL of this deployment, without a path.
        documents: Reads the metadata of the user pool.
        client_id: The public client of the user pool.
        redirect_uris: Where that client may send users, as the user pool has them.
        scopes: The scopes that clients request.
        monotonic: The clock.
    """

    paths = (*METADATA_PATHS, REGISTER_PATH)

    def __init__(
        self,
        issuer: str,
        documents: IssuerDocuments,
        client_id: str,
        redirect_uris: tuple[str, ...],
        scopes: tuple[str, ...],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._issuer, self._documents, self._monotonic = issuer, documents, monotonic
        self._client_id, self._redirect_uris, self._scopes = client_id, redirect_uris, scopes
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Drop the endpoints of Cognito."""
        self._endpoints: Mapping[str, str] | None = None
        self._read_at = self._tried_at = float("-inf")

    def respond(self, request: Request) -> Response:
        """Return the response to a request for one of :attr:`paths`."""
        if request.path.rstrip("/") == REGISTER_PATH:
            return self._register(request)
        endpoints = self._read_endpoints()
        if endpoints is None:
            return unavailable(RETRY_S)
        return json_document(
            request,
            {
                "issuer": self._issuer,
                **endpoints,
                "registration_endpoint": f"{self._issuer}{REGISTER_PATH}",
                "scopes_supported": list(self._scopes),
                "response_types_supported": ["code"],
                "response_modes_supported": ["query"],
                "grant_types_supported": list(_GRANTS),
                "token_endpoint_auth_methods_supported": ["none"],
                "code_challenge_methods_supported": ["S256"],
            },
        )

    def _read_endpoints(self) -> Mapping[str, str] | None:
        """Return the endpoints of the user pool, the last known ones while it cannot be reached, or None."""
        with self._lock:
            now = self._monotonic()
            if now - self._read_at >= MAX_AGE_S and now - self._tried_at >= RETRY_S:
                self._tried_at = now
                try:
                    metadata = self._documents.metadata(new_deadline())
                    self._endpoints, self._read_at = _endpoints(metadata), now
                except UnusableDocument as error:
                    logger.error("endpoints of the issuer cannot be read: %s: %s", self._documents.issuer, error)
            return self._endpoints

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
        redirect_uris = wanted.get("redirect_uris")
        if not isinstance(redirect_uris, list) or not redirect_uris:
            return _refuse("invalid_redirect_uri", "redirect_uris is missing.")
        # Compared as they are (RFC 9700, section 2.1): a pattern would let a code be sent to another machine.
        if not all(isinstance(one, str) and one in self._redirect_uris for one in redirect_uris):
            return _refuse("invalid_redirect_uri", "A redirect URI is not on the list of the operator.")
        client: dict[str, Any] = {
            "client_id": self._client_id,
            "redirect_uris": redirect_uris,
            "token_endpoint_auth_method": "none",
            "grant_types": list(_GRANTS),
            "response_types": ["code"],
            "scope": " ".join(self._scopes),
        }
        if isinstance(wanted.get("client_name"), str):
            client["client_name"] = wanted["client_name"][:200]
        return _registration_response(201, client)


def _endpoints(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the endpoints that clients need.

    Raises:
        UnusableDocument: One is missing: the user pool has no domain.
    """
    missing = [name for name in _REQUIRED if not isinstance(metadata.get(name), str)]
    if missing:
        raise UnusableDocument(f"its metadata lack {' and '.join(missing)}; a user pool needs a domain")
    return {name: metadata[name] for name in _ENDPOINTS if isinstance(metadata.get(name), str)}


def _refuse(error: str, description: str) -> Response:
    return _registration_response(400, {"error": error, "error_description": description})


def _registration_response(status: int, body: Mapping[str, Any]) -> Response:
    headers: Headers = (
        ("content-type", "application/json"),
        ("cache-control", "no-store"),
        ("access-control-allow-origin", "*"),
    )
    log_fields = {"rpc": "register", **({"refused": str(status)} if status != 201 else {})}
    return Response(status, headers, json.dumps(body).encode(), log_fields)
