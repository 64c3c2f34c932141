"""Sources that are plain HTTP APIs: one GET with everything in the query string.

What sends it is imported by the first call, not by the first response.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from toolfold.errors import CallError, UpstreamError, UpstreamTimeout
from toolfold.models import UpstreamResponse
from toolfold.sources.errors import ConnectionFailed, ConnectTimeout

if TYPE_CHECKING:
    from toolfold.catalog.model import Source, Tool
    from toolfold.settings import Settings

Query = list[tuple[str, str]]

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

_HEADERS = {"Accept-Encoding": "gzip, deflate", "Accept": "*/*", "Connection": "keep-alive"}
"""Sent with every request. No other packing is asked for: these two are unpacked within bounds (``unpack``)."""


def build_query(source: Source, tool: Tool, arguments: Mapping[str, Any]) -> Query:
    """The query string's pairs, without the key: the function first, then the arguments in the schema's order.

    ``arguments`` are checked ones (``execution.validation``). Booleans are sent in lower case; an array sends its key once
    per item; a default that differs from the upstream's own is sent even when the caller left it out.
    """
    call = tool.call
    values = {**call.get("sends", {}), **arguments}
    query: Query = [(source.function_key, call["function"])]
    for name in tool.parameters["properties"]:
        if name in values:
            value = values[name]
            key = call.get("query", {}).get(name, name)
            query += [(key, _spelled(item)) for item in (value if isinstance(value, list) else [value])]
    return query


def _spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def base_url_for(source: Source, settings: Settings) -> str:
    """Where calls to this source are sent."""
    return settings.source_urls.get(source.id, source.base_url)


def call(
    source: Source, tool: Tool, arguments: Mapping[str, Any], key: str, settings: Settings, deadline: float
) -> UpstreamResponse:
    """Send one call and read the whole reply, before ``deadline`` (``time.monotonic``) and within the settings' size.

    Raises:
        ConnectTimeout: no connection in time; another try may mend it.
        UpstreamTimeout: no complete reply in time.
        ConnectionFailed: not reachable, or cut off; another try may mend it.
        UpstreamError: an address that may not be used, a proxy that is set wrongly, or a reply larger than allowed.
    """
    from toolfold import __version__
    from toolfold.network.outbound import proof
    from toolfold.network.session import TransportError, send
    from toolfold.network.ssrf import is_allowed_address
    from toolfold.network.unpack import TooLarge, Undecodable, unpack

    address = base_url_for(source, settings)
    _check_address(address)
    query = [*build_query(source, tool, arguments), (source.auth["query_key"], key)]
    if time.monotonic() >= deadline:
        raise UpstreamTimeout(*_too_slow(source), retryable=True)
    headers = {"User-Agent": f"toolfold/{__version__}", **_HEADERS}
    if known := proof(address):
        headers["Authorization"] = known
    limit = settings.max_response_bytes
    try:
        answer = send(
            "GET",
            _with_query(address, query),
            headers,
            None,
            connect_s=settings.connect_timeout_s,
            deadline=deadline,
            limit=limit,
            again=True,
            allowed=is_allowed_address,
        )
        body = unpack(answer.body, answer.headers.get("content-encoding", ""), limit, deadline)
    except TransportError as error:
        raise _failure(error.code, source, limit) from None
    except TooLarge as error:
        raise _harmful(source) if error.harmful else _too_large(limit) from None
    except Undecodable:
        raise _failure("ProtocolError", source, limit) from None
    except TimeoutError:
        raise _failure("ReadTimeoutError", source, limit) from None
    # Bytes that are no UTF-8 become U+FFFD: one bad letter in a company's name must not cost the whole answer, and the
    # replacement shows.
    text = body.decode("utf-8", errors="replace")
    return UpstreamResponse(answer.status, text, _seconds(answer.headers.get("retry-after")))


def _with_query(address: str, query: Query) -> str:
    """``address`` with ``query`` after what it already asks for."""
    parts = urlsplit(address)
    asked = "&".join(part for part in (parts.query, urlencode(query)) if part)
    return parts._replace(query=asked, fragment="").geturl()


def _failure(code: str, source: Source, limit: int) -> CallError:
    """What a code of ``exchange.TransportError`` means."""
    if code == "ForbiddenAddressError":
        return UpstreamError(
            f"The name of {source.title}'s server leads into a private network, so nothing was sent.",
            "Tell the operator: the name service of this machine, or the address set for the source, is wrong.",
        )
    if code == "ProxySchemeError":
        return UpstreamError(
            "The proxy that is set for this machine is none for plain HTTP, and no other kind can be used.",
            "Tell the operator to set HTTPS_PROXY, or ALL_PROXY, to an address that begins with http://.",
        )
    if code == "ProxyAuthenticationError":
        return UpstreamError(
            "The proxy that is set for this machine wants a name and a password, or others.",
            "Tell the operator: they belong into the address of the proxy, http://name:password@host:port.",
        )
    if code == "SSLError":
        return ConnectionFailed(
            f"Whoever answers for {source.title} cannot prove who they are, so nothing was sent.",
            "Tell the operator: a proxy that reads along needs its certificate in the file that SSL_CERT_FILE names, "
            "and that file must be there.",
            retryable=True,
        )
    if code == "ReplyTooLarge":
        return _too_large(limit)
    if code == "ConnectTimeoutError":
        return ConnectTimeout(*_too_slow(source), retryable=True)
    if code == "ReadTimeoutError":
        return UpstreamTimeout(*_too_slow(source), retryable=True)
    return ConnectionFailed(
        f"{source.title} could not be reached, or broke off its answer.",
        "Try again in a moment; if it keeps failing, tell the user that the service is down or out of reach.",
        retryable=True,
    )


def _too_large(limit: int) -> UpstreamError:
    return UpstreamError(
        f"The answer is larger than {limit / 1e6:g} MB.",
        "Ask for less: a shorter span, outputsize=compact, or datatype=csv where the tool has them.",
    )


def _harmful(source: Source) -> UpstreamError:
    from toolfold.network.unpack import RATIO

    return UpstreamError(
        f"{source.title} sent an answer that unpacks to more than {RATIO} times its size.",
        "Do not call this again; tell the user that the service sends harmful answers.",
    )


def _too_slow(source: Source) -> tuple[str, str]:
    return (
        f"{source.title} did not answer in time.",
        "Try again in a moment, or ask for less; if it keeps failing, tell the user that the service is slow.",
    )


def _check_address(address: str) -> None:
    with suppress(ValueError):  # it is no address at all
        parts = urlsplit(address)
        if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK):
            return
    raise UpstreamError(
        "The address set for this source is not https, so the key is not sent to it.",
        "Tell the operator to set an https address (http is allowed for this machine alone).",
    )


def _seconds(retry_after: str | None) -> int | None:
    if retry_after is None or len(retry_after) > 9 or not (retry_after.isascii() and retry_after.isdigit()):
        return None
    return int(retry_after)
