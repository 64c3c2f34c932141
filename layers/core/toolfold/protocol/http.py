"""HTTP requests and responses without sockets: the checks before a body is parsed, and of its headers against it."""

# Without `from __future__ import annotations`: NamedTuple compiles each annotation that is a string.
import binascii
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from toolfold.execution.credentials import RequestCredentials, read_credentials
from toolfold.protocol import versions
from toolfold.protocol.jsonrpc import JsonRpcError, Message

Headers = tuple[tuple[str, str], ...]

LogFields: TypeAlias = Mapping[str, str | int | float]
"""What the log says of a request: names, codes and figures."""

MAX_BODY_BYTES = 4 * 1024 * 1024
"""Largest request body, as in the protocol's reference server. Real requests have a few hundred bytes."""

WELL_KNOWN, CATALOG_PATH, CARD_PATH = "/.well-known/", "/.well-known/ai-catalog.json", "/mcp/server-card"
"""What is in the paths of metadata (RFC 8615), the AI catalog, and the end of the path of the server card."""

REGISTER_PATH, HEALTH_PATH, SIGN_IN_PATH, TOOLS_PATH = "/register", "/health", "/ui/sign-in/", "/tools/"
"""Where clients register (RFC 7591: the path that those of 2025-03-26 use without metadata), where the state of the
server is read, and what is in the paths of pages on which callers sign in at sources, and of descriptions of tools."""

ENDPOINT = "mcp"
"""The part of a path after which the name of a profile comes. API Gateway may have a stage before it."""

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")

_LOOPBACK_ORIGIN = r"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?"

PREFLIGHT: Headers = (("access-control-allow-headers", "*, authorization"), ("access-control-max-age", "86400"))
"""They answer a preflight request. The asterisk stands for any header but ``Authorization`` (Fetch standard)."""


class Request(NamedTuple):
    """One HTTP request. ``repr`` shows neither headers nor body.

    Attributes:
        method: in capitals; empty for a message that came without HTTP.
        headers: names in lower case, in the order received.
        body: the raw bytes.
        query: the query of the URL, encoded.
        query_api_key: the API key in it, where the settings allow that; else empty. Several are joined with commas.
        deadline: ``time.monotonic()`` at which the response must be complete; None: no limit.
        used_by_gateway: where the gateway in front took a credential from; see ``execution.credentials``.
        path: the path of the URL; empty: the one of the MCP endpoint.
        scopes: what the access token of the caller allows; None: no tokens are required.
        caller: the id of the :class:`Principal` of that token, or of the principal of AWS that signed the request;
            empty where neither is required.
        source_address: the IP address that the request came from; empty: not known.
        profile: the profile whose tools are shown and called; empty: the one of the path without a name.
        opens_urls: whether the client of a handshake version without HTTP opens links for its user.
    """

    method: str
    headers: Headers
    body: bytes
    query: str = ""
    query_api_key: str = ""
    deadline: float | None = None
    used_by_gateway: frozenset[str] = frozenset()
    path: str = ""
    scopes: frozenset[str] | None = None
    caller: str = ""
    source_address: str = ""
    profile: str = ""
    opens_urls: bool = False

    def __repr__(self) -> str:
        return f"Request(method={self.method!r}, deadline={self.deadline!r})"

    def header(self, name: str) -> str | None:
        """Return the first value of a header, stripped, or None when it is absent."""
        values = [value.strip() for key, value in self.headers if key == name]
        return values[0] if values else None

    def credentials(self) -> RequestCredentials:
        """Return the keys that the request carries, and who sends them by which profile."""
        found = read_credentials(
            self.headers, self.query_api_key, self.used_by_gateway, self.scopes, self.caller, self.source_address
        )
        return found._replace(profile=self.profile)


class Exchange(NamedTuple):
    """A request of a client.

    Attributes:
        request: the HTTP request; one without headers for a message that came in another way.
        stateless: whether it is of a stateless version.
        log_fields: what the log says of it; methods add to it.
    """

    request: Request
    message: Message
    stateless: bool
    log_fields: dict[str, str | int | float]


class Response(NamedTuple):
    """One HTTP response; ``log_fields`` describe the request for the log: no content and no keys."""

    status: int
    headers: Headers = ()
    body: bytes = b""
    log_fields: LogFields = MappingProxyType({})


class Principal(NamedTuple):
    """Who calls: a hash of issuer and subject, which may be logged, and what the token allows."""

    id: str
    scopes: frozenset[str]


class OriginPolicy(NamedTuple):
    """Which clients may call. By default, as behind API Gateway, every client except a web page.

    Attributes:
        origins: web origins allowed to call, ``*`` for all; a client that sends no ``Origin`` is no web page and may
            always call.
        hosts: host names under which a local server may be called, in lower case; empty: any.
        port: the port that ``Host`` must name with them; None: any.
        public_host: host and port under which a proxy in front serves this server; empty: none.
        has_page: whether this server has a page, which may call.
    """

    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    port: int | None = None
    public_host: str = ""
    has_page: bool = False


def profile_of(path: str) -> str:
    """Return the profile in the path of the endpoint; empty for the path without a name.

    Example:
        >>> profile_of("/stage/mcp/trading/")
        'trading'
    """
    parts = [part for part in path.split("/") if part]
    if ENDPOINT not in parts:
        return ""  # a proxy in front has another path
    return "/".join(parts[len(parts) - parts[::-1].index(ENDPOINT) :])


def is_of_tool(path: str) -> bool:
    """Return whether a path is that of the description of a tool, which is read; a profile may be called tools."""
    return TOOLS_PATH in path and f"/{ENDPOINT}/" not in path


def json_response(status: int, body: bytes, log_fields: LogFields, headers: Headers = ()) -> Response:
    """Return a response with a JSON body, and with further headers."""
    return Response(status, (("content-type", "application/json"), *headers), body, log_fields)


def error_response(status: int, sentence: str, *headers: tuple[str, str]) -> Response:
    """Return a plain-text error, for requests that fail before their JSON-RPC message is parsed."""
    media_type = ("content-type", "text/plain; charset=utf-8")
    return Response(status, (media_type, *headers), (sentence + "\n").encode(), {"refused": str(status)})


def validate(request: Request, policy: OriginPolicy, stateless: bool) -> Response | None:
    """Check method, headers and size; return the response to send, or None when the body is to be processed."""
    if (refused := refuse_caller(request.headers, policy)) is not None:
        return refused
    is_read = is_of_tool(request.path)
    allowed = "GET, HEAD, OPTIONS" if is_read else "POST, OPTIONS"
    if request.method == "OPTIONS":
        return Response(204, (("access-control-allow-methods", allowed), *PREFLIGHT))
    if request.method not in allowed.split(", "):
        mcp = "Send MCP messages with POST; this server has no streams and no sessions."
        return error_response(405, "Descriptions of tools are read with GET." if is_read else mcp, ("allow", allowed))
    if is_read:
        return None
    if len(request.body) > MAX_BODY_BYTES:
        return error_response(413, f"The body is larger than {MAX_BODY_BYTES} bytes.")
    if request.header("origin") is None and request.header("sec-fetch-site") == "cross-site":
        return error_response(403, "A page of another site must send its Origin.")
    # Two headers, which a proxy may have joined with a comma, must name the same.
    media_types = ",".join([value for name, value in request.headers if name == "content-type"]).split(",")
    if {media_type.partition(";")[0].strip().lower() for media_type in media_types} != {"application/json"}:
        return error_response(400 if stateless else 415, "Content-Type must be application/json.")
    if (request.header("content-encoding") or "identity").lower() != "identity":
        return error_response(415, "Send the body without Content-Encoding.", ("accept-encoding", "identity"))
    accepted = {part.partition(";")[0].strip().lower() for part in (request.header("accept") or "*/*").split(",")}
    if accepted.isdisjoint(("application/json", "application/*", "*/*")):
        return error_response(406, "Accept must allow application/json.")
    return None


def refuse_caller(headers: Headers, policy: OriginPolicy) -> Response | None:
    """Return the response to a request with a wrong ``Host`` or ``Origin``, or None when both are allowed.

    A web page can reach a local server under a name of its own (DNS rebinding); its ``Host`` then has that name.
    """
    if policy.hosts:
        own = {policy.public_host} - {""} | {f"{host}:{policy.port}" for host in policy.hosts}
        own |= set(policy.hosts if policy.port in (None, 80) else ())
        if len(named := _values(headers, "host")) != 1 or named[0].lower() not in own:
            return error_response(421, "This server answers only to its local name.")
    origins = [value.strip() for key, value in headers if key == "origin"]
    if origins and not _allowed_origin(headers, policy) and not is_from_page(headers, policy):
        step = "it belongs to any page" if origins == ["null"] else "set TOOLFOLD_ALLOWED_ORIGINS to allow it"
        return error_response(403, f"This origin is not allowed; {step}.")
    return None


def is_from_page(headers: Headers, policy: OriginPolicy) -> bool:
    """Return whether a request was sent by the page of this server: its ``Origin`` is the server's own."""
    origins = _values(headers, "origin") if policy.has_page else []
    hosts = _values(headers, "host")
    if len(origins) != 1 or len(hosts) != 1:
        return False
    scheme, _, host = origins[0].lower().partition("://")
    return scheme in ("http", "https") and bool(host) and host in (hosts[0].lower(), policy.public_host)


def with_cors_headers(request: Request, response: Response, policy: OriginPolicy) -> Response:
    """Return ``response`` to a request with ``Origin`` with the headers that let an allowed web page read it."""
    origin = _allowed_origin(request.headers, policy)
    headers = (("access-control-allow-origin", origin), ("vary", "Origin")) if origin else ()
    return response._replace(headers=(*response.headers, *headers))


def _values(headers: Headers, name: str) -> list[str]:
    return [value.strip() for key, value in headers if key == name]


def _allowed_origin(headers: Headers, policy: OriginPolicy) -> str:
    """Return the origin in the headers if it may call, else an empty string."""
    origins = _values(headers, "origin")
    origin = origins[0] if len(origins) == 1 else ""
    # A server that checks its Host is a local one: pages served from the same machine may call it.
    is_known = {"*", origin} & {*policy.origins} or (policy.hosts and re.fullmatch(_LOOPBACK_ORIGIN, origin))
    # It is sent back in a header, where a line feed would start another. "null" is that of all pages that hide theirs.
    return origin if is_known and origin.isascii() and origin.isprintable() and origin != "null" else ""


def check_envelope(exchange: Exchange) -> None:
    """Check what a message says of itself, and over HTTP its headers against that, in the order of the specification.

    Raises:
        JsonRpcError: with the code of the first check that fails.
    """
    request, message, meta = exchange.request, exchange.message, exchange.message.meta
    sent = request.header("mcp-protocol-version")
    if not exchange.stateless:
        if message.method != "initialize":  # which negotiates the version: a header sent with it is a guess
            check_version(request, message)
        return
    for name in ("mcp-protocol-version", "mcp-method", "mcp-name"):
        if sum(key == name for key, _ in request.headers) > 1:
            raise JsonRpcError(versions.HEADER_MISMATCH, f"The header {name} was sent more than once.")
    if missing := [key for key in (versions.META_VERSION, versions.META_CAPABILITIES) if key not in meta]:
        raise JsonRpcError(versions.INVALID_PARAMS, f"params._meta lacks {' and '.join(missing)}.")
    version = meta[versions.META_VERSION]
    expected = [("mcp-protocol-version", sent, version), ("mcp-method", request.header("mcp-method"), message.method)]
    if (named := message.params.get(versions.NAME_PARAMETER.get(message.method, ""))) is not None:
        name_sent = request.header("mcp-name")
        if isinstance(named, str) and re.fullmatch(r"=\?base64\?.*\?=", name_sent or ""):
            # Compared as it is encoded: two headers that differ must not name the same tool.
            named = f"=?base64?{binascii.b2a_base64(named.encode(), newline=False).decode()}?="
        expected.append(("mcp-name", name_sent, named))
    for name, header, value in expected if request.method else ():
        if header is None or header != value:
            raise JsonRpcError(versions.HEADER_MISMATCH, f"The header {name} is missing or differs from the body.")
    if not isinstance(version, str):
        raise JsonRpcError(versions.INVALID_PARAMS, f"{versions.META_VERSION} must be a string.")
    if version not in versions.STATELESS:
        raise unsupported_version(version)
    if not isinstance(meta[versions.META_CAPABILITIES], dict):
        raise JsonRpcError(versions.INVALID_PARAMS, f"{versions.META_CAPABILITIES} must be an object.")


def check_version(request: Request, message: Message | None) -> None:
    """Check the version in the header of a message; a response (None) has no request, as this server sends none.

    Raises:
        JsonRpcError: it is not supported, or has no responses from clients.
    """
    version = request.header("mcp-protocol-version")
    if version is None or version in versions.HANDSHAKE:
        return
    if message is None:
        raise JsonRpcError(versions.INVALID_REQUEST, "A response was sent, but this server sends no requests.")
    if version not in versions.STATELESS:
        raise unsupported_version(version)


def unsupported_version(version: str) -> JsonRpcError:
    """Return the error for a version that is not served."""
    data = {"supported": list(versions.STATELESS), "requested": version}
    return JsonRpcError(versions.UNSUPPORTED_VERSION, "This protocol version is not supported.", data)
