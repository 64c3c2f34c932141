"""HTTP requests and responses without sockets, and the checks that come before a body is parsed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

Headers = tuple[tuple[str, str], ...]

MAX_BODY_BYTES = 4 * 1024 * 1024
"""Largest request body, as in the protocol's reference server. Real requests have a few hundred bytes."""

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]", "::1")

_JSON: Headers = (("content-type", "application/json"),)
_TEXT: Headers = (("content-type", "text/plain; charset=utf-8"),)
_PREFLIGHT: Headers = (
    ("access-control-allow-methods", "POST, OPTIONS"),
    (
        "access-control-allow-headers",
        "accept, authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, "
        "mcp-session-id, x-api-key",
    ),
    ("access-control-max-age", "86400"),
)


class Request(NamedTuple):
    """One HTTP request. ``repr`` shows neither headers nor body.

    Attributes:
        method: in capitals.
        headers: names in lower case, in the order received.
        body: the raw bytes.
        query_api_key: the API key sent as ``?apikey=``, where the settings allow that; else empty.
        deadline: ``time.monotonic()`` at which the response must be complete; None: no limit.
    """

    method: str
    headers: Headers
    body: bytes
    query_api_key: str = ""
    deadline: float | None = None

    def __repr__(self) -> str:
        return f"Request(method={self.method!r}, deadline={self.deadline!r})"

    def header(self, name: str) -> str | None:
        """Return the first value of a header, stripped, or None when it is absent."""
        for key, value in self.headers:
            if key == name:
                return value.strip()
        return None


class Response(NamedTuple):
    """One HTTP response; ``log_fields`` describe the request for the log: names and codes, no content and no keys."""

    status: int
    headers: Headers = ()
    body: bytes = b""
    log_fields: Mapping[str, str] = MappingProxyType({})


class OriginPolicy(NamedTuple):
    """Which clients may call.

    Attributes:
        origins: web origins allowed to call, ``*`` for all; a client that sends no ``Origin`` is no web page and may
            always call.
        hosts: host names under which a local server may be called; empty: any.
    """

    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


NO_WEB_PAGES = OriginPolicy()
"""The default behind API Gateway: every client except a web page."""


def json_response(status: int, body: bytes, log_fields: Mapping[str, str]) -> Response:
    """Return a response with a JSON body."""
    return Response(status, _JSON, body, log_fields)


def error_response(status: int, sentence: str, *headers: tuple[str, str]) -> Response:
    """Return a plain-text error, for requests that fail before their JSON-RPC message is parsed."""
    return Response(status, (*_TEXT, *headers), (sentence + "\n").encode(), {"refused": str(status)})


def validate(request: Request, policy: OriginPolicy, stateless: bool) -> Response | None:
    """Check method, headers and size; return the response to send when one is wrong or nothing more is needed.

    Args:
        request: the request to check.
        policy: which origins and hosts are allowed.
        stateless: whether the request uses a stateless protocol version (see ``versions``).

    Returns:
        None when the body is to be processed.
    """
    if policy.hosts and _hostname("//" + (request.header("host") or "")) not in policy.hosts:
        return error_response(421, "This server answers only to its local name.")
    origin = request.header("origin")
    if origin is not None and not _is_allowed(origin, policy):
        return error_response(403, "This origin is not allowed; set TOOLFOLD_ALLOWED_ORIGINS to allow it.")
    if request.method == "OPTIONS":
        return Response(204, _PREFLIGHT)
    if request.method != "POST":
        return error_response(
            405, "Send MCP messages with POST; this server has no streams and no sessions.", ("allow", "POST, OPTIONS")
        )
    if len(request.body) > MAX_BODY_BYTES:
        return error_response(413, f"The body is larger than {MAX_BODY_BYTES} bytes.")
    # A proxy may have joined two content-type headers with a comma.
    media_type = (request.header("content-type") or "").partition(";")[0].partition(",")[0].strip().lower()
    if media_type != "application/json":
        return error_response(400 if stateless else 415, "Content-Type must be application/json.")
    if not _accepts_json(request.header("accept")):
        return error_response(406, "Accept must allow application/json.")
    return None


def with_cors_headers(request: Request, response: Response, policy: OriginPolicy) -> Response:
    """Return ``response`` with the headers that let an allowed web page read it."""
    origin = request.header("origin")
    if origin is None or not _is_allowed(origin, policy):
        return response
    headers = (("access-control-allow-origin", origin), ("vary", "Origin"))
    return Response(response.status, (*response.headers, *headers), response.body, response.log_fields)


def _is_allowed(origin: str, policy: OriginPolicy) -> bool:
    # It is sent back in a header: a line feed in it would start another header.
    if not (origin.isascii() and origin.isprintable()):
        return False
    # A server that checks its Host is a local one: pages served from the same machine may call it.
    is_local = bool(policy.hosts) and _hostname(origin) in LOOPBACK_HOSTS
    return is_local or "*" in policy.origins or origin.rstrip("/") in policy.origins


def _hostname(url: str) -> str:
    from urllib.parse import urlsplit  # needed by browsers and local servers only

    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _accepts_json(accept: str | None) -> bool:
    if accept is None:
        return True
    media_types = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    return not media_types.isdisjoint({"application/json", "application/*", "*/*"})
