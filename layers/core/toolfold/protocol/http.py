"""HTTP without sockets: requests, responses, and the checks that come before any JSON is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Headers = tuple[tuple[str, str], ...]

BODY_LIMIT = 4 * 1024 * 1024
"""Bytes of a request; the limit of the protocol's reference server. Ours are a few hundred bytes."""

LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")

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


@dataclass(frozen=True)
class Request:
    """One HTTP request: header names in lower case, in the order sent; ``key_in_query`` is what ``?apikey=`` held.

    ``deadline`` is when the response must be there, by ``time.monotonic``; None where nobody ends the wait.
    """

    method: str
    headers: Headers = field(repr=False)
    body: bytes = field(repr=False)
    key_in_query: str = field(default="", repr=False)
    deadline: float | None = None

    def header(self, name: str) -> str | None:
        """The first value of a header, trimmed."""
        for key, value in self.headers:
            if key == name:
                return value.strip()
        return None


@dataclass(frozen=True)
class Response:
    """One HTTP response. ``about`` describes the exchange for the log: names and codes, never content or keys."""

    status: int
    headers: Headers = ()
    body: bytes = b""
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class OriginPolicy:
    """Who may call: ``origins`` of web pages (``*`` for every one), ``hosts`` by which a local server may be called."""

    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


ANYONE = OriginPolicy()
"""Any caller but a web page: what stands behind API Gateway by default."""


def json_response(status: int, body: bytes, about: Mapping[str, str]) -> Response:
    return Response(status, _JSON, body, about)


def refuse(status: int, sentence: str, *headers: tuple[str, str]) -> Response:
    """A refusal in plain text: for what fails before there is any JSON-RPC to answer."""
    return Response(status, (*_TEXT, *headers), (sentence + "\n").encode(), {"refused": str(status)})


def check(request: Request, access: OriginPolicy, stateless: bool) -> Response | None:
    """The answer to a request that HTTP alone decides; None for one that deserves to be read."""
    if access.hosts and _hostname("//" + (request.header("host") or "")) not in access.hosts:
        return refuse(421, "This server answers only to its local name.")
    origin = request.header("origin")
    if origin is not None and not _may_call(origin, access):
        return refuse(403, "This origin is not allowed; set TOOLFOLD_ALLOWED_ORIGINS to allow it.")
    if request.method == "OPTIONS":
        return Response(204, _PREFLIGHT)
    if request.method != "POST":
        return refuse(
            405, "MCP is spoken with POST here; there is no stream and no session.", ("allow", "POST, OPTIONS")
        )
    if len(request.body) > BODY_LIMIT:
        return refuse(413, f"The body is larger than {BODY_LIMIT} bytes.")
    # A comma: a proxy has joined two headers into one.
    media = (request.header("content-type") or "").partition(";")[0].partition(",")[0].strip().lower()
    if media != "application/json":
        return refuse(400 if stateless else 415, "Content-Type must be application/json.")
    if not _accepts_json(request.header("accept")):
        return refuse(406, "Accept must allow application/json.")
    return None


def with_cors(request: Request, response: Response, access: OriginPolicy) -> Response:
    """``response`` readable by the web page that asked, where its origin is allowed."""
    origin = request.header("origin")
    if origin is None or not _may_call(origin, access):
        return response
    headers = (("access-control-allow-origin", origin), ("vary", "Origin"))
    return Response(response.status, (*response.headers, *headers), response.body, response.about)


def _may_call(origin: str, access: OriginPolicy) -> bool:
    # It is sent back in a header, which nothing in it may end.
    if not (origin.isascii() and origin.isprintable()):
        return False
    # A server that checks its Host is a local one: pages served from this machine may call it.
    local = bool(access.hosts) and _hostname(origin) in LOOPBACK
    return local or "*" in access.origins or origin.rstrip("/") in access.origins


def _hostname(address: str) -> str:
    from urllib.parse import urlsplit  # for browsers and local servers alone

    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _accepts_json(accept: str | None) -> bool:
    if accept is None:
        return True
    offered = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    return not offered.isdisjoint({"application/json", "application/*", "*/*"})
