"""What is answered to a request for a public document, and to one that needs the issuer while it cannot be reached."""

from __future__ import annotations

import json

from toolfold.errors import IssuerUnavailable
from toolfold.protocol.http import Headers, Request, Response, error_response

_PREFLIGHT: Headers = (
    ("access-control-allow-origin", "*"),
    ("access-control-allow-methods", "GET, HEAD, POST, OPTIONS"),
    ("access-control-allow-headers", "accept, content-type, mcp-protocol-version"),
    ("access-control-max-age", "86400"),
)
"""Clients in web pages send the protocol version with requests for metadata, which makes browsers ask first."""


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
