"""How an MCP server is reached: what ``source.yaml`` says, as the compiled catalog has it, with the key of a call.

A catalog may be damaged or hostile, so everything is checked again where it is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Literal

from toolfold.catalog.contract import is_part
from toolfold.catalog.entries import Rule
from toolfold.catalog.reader import damaged
from toolfold.sources.http_api.request import SentCredentials, credentials_to_send, join_url

if TYPE_CHECKING:
    from toolfold.catalog.entries import Auth, Source

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


_Plain = Annotated[str, Rule(maxLength=4000, pattern=r"^[^\x00]*$")]
_Variable = Annotated[str, Rule(pattern="^[A-Za-z_][A-Za-z0-9_]*$")]


@dataclass(frozen=True)
class Connection:
    """One server.

    Attributes:
        url: of a server that is reached over HTTP; empty for a child process.
        command: program and arguments of a child process; empty for HTTP.
        env: variables that the child gets beside those of ``child_process``.
        key_variable: variable of the child that gets the key of the source; empty: none.
        protocol_version: version that the server spoke when the snapshot was written; empty: unknown.
    """

    url: str = ""
    command: Annotated[tuple[_Plain, ...], Rule(maxItems=200)] = ()
    env: Mapping[_Variable, _Plain] = field(default_factory=dict)
    cwd: _Plain = ""
    key_variable: _Variable | Literal[""] = ""
    protocol_version: _Plain = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def endpoint(self) -> str:
        """Where calls go, as one text: answers of another endpoint are other cache entries."""
        return self.url or f"stdio:{' '.join(self.command)}"


@dataclass(frozen=True)
class SessionLimits:
    """Limits of one connection: ``max_bytes`` of one message; for ``is_allowed`` see ``network.ssrf``."""

    connect_timeout_s: float
    max_bytes: int
    is_allowed: Callable[[str, str], bool]


def read_connection(source: Source) -> Connection:
    """Return the connection of a source of the catalog."""
    given = source.connection
    command, key_variable = given.get("command", []), given.get("key_variable", "")
    if (
        not is_part("McpConnection", given)
        or any(map(is_forbidden_variable, (*given.get("env", {}), key_variable)))
        or bool(command) == bool(source.base_url)
        or (command and not command[0].strip())
    ):
        raise damaged(f"the connection of {source.id!a}")
    more = {name: given[name] for name in ("env", "cwd", "protocol_version") if name in given}
    return Connection(source.base_url, tuple(command), key_variable=key_variable, **more)


def is_forbidden_variable(name: str) -> bool:
    """Return whether a source may not give a child the variable ``name``: it changes which program runs."""
    return _FORBIDDEN.fullmatch(name) is not None


def with_key(connection: Connection, url: str, auth: Auth | None, key: str) -> Connection:
    """Return a connection with a key, in what it sends or in the environment of its program.

    Args:
        connection: the server.
        url: where it is; the operator may have set another URL than that of the connection.
        auth: where the key belongs; where it does not say, ``Authorization: Bearer``.
        key: the key, or the access token for ``oauth2``; may be empty.
    """
    if connection.command:
        variables = {connection.key_variable: key} if connection.key_variable and key else {}
        return replace(connection, env={**connection.env, **variables})
    sent = credentials_to_send(auth, key)
    if auth is not None and key and sent == SentCredentials():
        sent = SentCredentials(headers={"Authorization": f"Bearer {key}"})
    cookies = {"Cookie": "; ".join(sent.cookies)} if sent.cookies else {}
    return replace(connection, url=join_url(url, "", sent.query), headers={**sent.headers, **cookies})
