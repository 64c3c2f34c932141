"""Put the key of a source into the requests of its MCP server, or into the environment of its program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from toolfold.models import UpstreamResponse
from toolfold.network.errors import TransportError
from toolfold.network.ssrf import address_check
from toolfold.sources.http_api.authentication import SentCredentials, TokenProvider, credentials_to_send
from toolfold.sources.http_api.transport_errors import to_call_error

if TYPE_CHECKING:
    from toolfold.catalog.entries import Auth, Source
    from toolfold.network.session import HttpClient
    from toolfold.sources.http_api.authentication import TokenRequest
    from toolfold.sources.mcp.connection import Connection

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
