"""Documents that anyone may read: the server card (SEP-2127) at ``/mcp/server-card``, and the AI catalog that names it.

Clients and directories read them before they connect. What the server can do for a client is not in them: it says that
itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from toolfold.protocol import versions
from toolfold.protocol.http import CATALOG_PATH, PREFLIGHT, Request, Response, error_response
from toolfold.version import __version__

NAME = "io.github.toolfold/toolfold"
"""The name in the registry of MCP servers. Its first part is whose GitHub account publishes."""

DESCRIPTION = "Hundreds of API tools behind three: TOOL_LIST, TOOL_GET and TOOL_CALL."
"""At most 100 characters."""

_ICON = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='7' fill='#2f5fd0'/>"
    "<path d='M8 9h16M8 16h11M8 23h6' stroke='#fff' stroke-width='3.4' stroke-linecap='round'/></svg>"
)
ABOUT: Mapping[str, Any] = {
    "title": "toolfold",
    "description": DESCRIPTION,
    "websiteUrl": "https://github.com/toolfold/toolfold",
    "icons": [{"src": f"data:image/svg+xml,{quote(_ICON)}", "mimeType": "image/svg+xml", "sizes": ["any"]}],
}
"""What clients show of the server, in ``serverInfo`` as well."""

_CARD_TYPE = "application/mcp-server-card+json"
_ANY_ORIGIN = ("access-control-allow-origin", "*")


def json_document(request: Request, document: object, media_type: str = "application/json") -> Response:
    """Return the response to a request for a public document, which any web page may read."""
    if request.method == "OPTIONS":
        # Clients in web pages send the protocol version with requests for metadata, which makes browsers ask first.
        methods = ("access-control-allow-methods", "GET, HEAD, POST, OPTIONS")
        return Response(204, (_ANY_ORIGIN, methods, *PREFLIGHT), b"", {"rpc": "metadata"})
    if request.method not in ("GET", "HEAD"):
        return error_response(405, "Send GET.", ("allow", "GET, HEAD, OPTIONS"))
    body = json.dumps(document).encode()
    kept = ("cache-control", "public, max-age=3600")
    return cached_response(request, media_type, body, hashlib.sha256(body).hexdigest()[:16], kept, _ANY_ORIGIN)


def cached_response(
    request: Request, media_type: str, body: bytes, version: str, *headers: tuple[str, str]
) -> Response:
    """Return the response to a GET or HEAD: 304 where ``version`` is what the client has."""
    tag, known = f'"{version}"', request.header("if-none-match") or ""
    is_known = tag in known or known == "*"  # the weak comparison: RFC 9110, section 13.1.2
    exposed = ("access-control-expose-headers", "ETag")
    sent = b"" if is_known or request.method == "HEAD" else body
    headers = (("content-type", media_type), ("etag", tag), exposed, *headers)
    return Response(304 if is_known else 200, headers, sent, {"rpc": "metadata"})


def describe_server(request: Request, url: str) -> Response:
    """Return the response to a request for the server card or the AI catalog; ``url`` is the endpoint, if known."""
    if not url:
        return error_response(404, "The address of this server is not known: its operator sets TOOLFOLD_PUBLIC_URL.")
    url = url.rstrip("/")
    if request.path == CATALOG_PATH:
        name = f"urn:air:{urlsplit(url).hostname}:mcp:toolfold"
        entry = {"identifier": name, "type": _CARD_TYPE, "url": f"{url}/server-card"}
        return json_document(request, {"specVersion": "1.0", "entries": [entry]}, "application/ai-catalog+json")
    served = [*versions.HANDSHAKE, *versions.STATELESS]
    remote = {"type": "streamable-http", "url": url, "supportedProtocolVersions": served}
    schema = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
    card = {"$schema": schema, "name": NAME, "version": __version__, **ABOUT, "remotes": [remote]}
    return json_document(request, card, _CARD_TYPE)
