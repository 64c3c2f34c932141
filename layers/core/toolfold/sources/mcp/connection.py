"""How an MCP server is reached: what ``source.yaml`` says, as the compiled catalog has it, with the key of a call.

A catalog may be damaged or hostile, so everything is checked again where it is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolfold.catalog.reader import damaged
from toolfold.models import UpstreamResponse
from toolfold.network.errors import TransportError
from toolfold.network.ssrf import LOOPBACK, address_check
from toolfold.sources.http_api.authentication import SentCredentials, TokenProvider, credentials_to_send
from toolfold.sources.http_api.transport_errors import to_call_error

if TYPE_CHECKING:
    from toolfold.catalog.entries import Auth, Source
    from toolfold.network.session import HttpClient
    from toolfold.sources.http_api.authentication import TokenRequest

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_FORBIDDEN = re.compile(
    r"PATH|IFS|ENV|BASH_ENV|SHELLOPTS|LD_.*|DYLD_.*|PYTHON.*|NODE_.*|NPM_.*|UV_.*|PIP_.*|PERL.*|RUBY.*|GEM_.*|JAVA_.*|"
    r"_JAVA_.*|JDK_.*|CLASSPATH|DOTNET_.*|GIT_.*|SSH_.*|EDITOR|VISUAL|PAGER|BROWSER|PROMPT_COMMAND|GLIBC_.*|GCONV_PATH|"
    r"MALLOC_.*|BUN_.*|DENO_.*|PATHEXT|COMSPEC",
    re.IGNORECASE,
)
"""Variables by which a catalog could make an allowed command run another program."""

NO_HTTP_SSE = (
    "the HTTP+SSE transport of 2024-11-05 is not supported: put mcp-remote before the server "
    "(transport: stdio, command: npx, args: [-y, mcp-remote, URL])"
)

_MAX_ARGUMENTS = 200
_MAX_CHARS = 4_000


@dataclass(frozen=True)
class Connection:
    """One server.

    Attributes:
        url: of a server that is reached over HTTP; empty for a child process.
        command: program and arguments of a child process; empty for HTTP.
        environment: variables that the child gets beside those of ``child_process``.
        cwd: folder of the child; empty: that of this process.
        key_variable: variable of the child that gets the key of the source; empty: none.
        protocol_version: version that the server spoke when the snapshot was written; empty: unknown.
        max_response_bytes: most bytes of one answer; None: as the settings say.
    """

    url: str = ""
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    key_variable: str = ""
    protocol_version: str = ""
    max_response_bytes: int | None = None

    @property
    def endpoint(self) -> str:
        """Where calls go, as one text: answers of another endpoint are other cache entries."""
        return self.url or f"stdio:{' '.join(self.command)}"


def read_connection(source: Source) -> Connection:
    """Return the connection of a source of the catalog.

    Raises:
        CatalogUnavailable: the catalog is damaged.
    """
    given = source.connection
    command = given.get("command", [])
    environment = given.get("env", {})
    max_bytes = given.get("max_response_bytes")
    texts = [given.get(name, "") for name in ("cwd", "key_variable", "protocol_version")]
    is_sound = (
        isinstance(command, list)
        and len(command) <= _MAX_ARGUMENTS
        and all(map(_is_text, command))
        and (not command or command[0].strip())
        and all(map(_is_text, texts))
        and _is_environment(environment)
        and (max_bytes is None or (type(max_bytes) is int and 0 < max_bytes <= 1 << 30))
        and (not texts[1] or _is_environment({texts[1]: ""}))
        and bool(command) != bool(source.base_url)
    )
    if not is_sound:
        raise damaged(f"the connection of {source.id!a}")
    cwd, key_variable, protocol_version = texts
    return Connection(source.base_url, tuple(command), environment, cwd, key_variable, protocol_version, max_bytes)


def is_forbidden_variable(name: str) -> bool:
    """Return whether a source may not give a child the variable ``name``: it changes which program runs."""
    return _FORBIDDEN.fullmatch(name) is not None


def is_usable_url(url: str) -> bool:
    """Return whether ``url`` is one of HTTPS, or of this machine."""
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
    except ValueError:
        return False


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_CHARS and "\0" not in value


def _is_environment(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and _VARIABLE.fullmatch(name) and not is_forbidden_variable(name) and _is_text(text)
        for name, text in value.items()
    )


_MAX_TOKEN_BYTES = 100_000


def with_key(
    connection: Connection, url: str, auth: Auth | None, key: str
) -> tuple[Connection, Mapping[str, str], Mapping[str, str]]:
    """Return how a server is reached with a key: the connection, headers of HTTP, and variables of a program.

    Args:
        connection: the server.
        url: where it is; the operator may have set another URL than that of the connection.
        auth: where the key belongs; where it does not say, ``Authorization: Bearer``.
        key: the key, or the access token for ``oauth2``; may be empty.
    """
    if connection.command:
        variables = {connection.key_variable: key} if connection.key_variable and key else {}
        return connection, {}, variables
    sent = credentials_to_send(auth, key)
    if auth is not None and key and sent == SentCredentials():
        sent = SentCredentials(headers={"Authorization": f"Bearer {key}"})
    parts = urlsplit(url)
    query = "&".join(part for part in (parts.query, *sent.query) if part)
    headers = dict(sent.headers)
    if sent.cookies:
        headers["Cookie"] = "; ".join(sent.cookies)
    return replace(connection, url=parts._replace(query=query, fragment="").geturl()), headers, {}


def token_provider(
    source: Source,
    get_http_client: Callable[[], HttpClient],
    connect_timeout_s: float,
    private_hosts: Collection[str],
) -> TokenProvider | None:
    """Return what gets access tokens for a source with ``oauth2``; None for any other."""
    if source.auth is None or source.auth.oauth2 is None:
        return None

    def send(request: TokenRequest, deadline: float) -> UpstreamResponse:
        try:
            response = get_http_client().request(
                "POST",
                request.url,
                headers=request.headers,
                body=request.body,
                deadline=deadline,
                connect_timeout_s=connect_timeout_s,
                max_bytes=_MAX_TOKEN_BYTES,
                idempotent=False,
                is_allowed=address_check(private_hosts, source.id, request.url),
            )
        except TransportError as error:
            raise to_call_error(error, source, _MAX_TOKEN_BYTES) from None
        return UpstreamResponse(response.status, response.body.decode("utf-8", errors="replace"))

    return TokenProvider(source, send)
