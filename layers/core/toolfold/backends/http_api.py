"""Sources that are plain HTTP APIs: one GET with everything in the query string.

``urllib3`` is imported by the first call, not by the first response: it costs more than all else together.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from toolfold.backends.transient import BrokenOff, NoConnection
from toolfold.errors import CallError, UpstreamError, UpstreamTimeout
from toolfold.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from urllib3 import BaseHTTPResponse

    from toolfold.catalog.model import Source, Tool
    from toolfold.settings import Settings

Query = list[tuple[str, str]]

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

_CHUNK = 65536
_SMALL = 1_000_000
_RATIO = 100
"""Prices as JSON shrink to a tenth at best, so what unpacks to a hundredfold, and to over 1 MB, is made to do harm."""


class Reply(Record):
    """What the upstream sent: HTTP status, the body as text, ``Retry-After`` in seconds where it was given."""

    status: int
    body: str
    retry_after_s: int | None = None


def build_query(source: Source, tool: Tool, arguments: Mapping[str, Any]) -> Query:
    """The query string's pairs, without the key: the function first, then the arguments in the schema's order.

    ``arguments`` are checked ones (``calling.validate``). Booleans are sent in lower case; an array sends its key once
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


def address_of(source: Source, settings: Settings) -> str:
    """Where calls to this source are sent."""
    return settings.source_urls.get(source.id, source.base_url)


def call(
    source: Source, tool: Tool, arguments: Mapping[str, Any], key: str, settings: Settings, deadline: float
) -> Reply:
    """Send one call and read the whole reply, before ``deadline`` (``time.monotonic``) and within the settings' size.

    Raises:
        NoConnection: no connection in time; another try may mend it.
        UpstreamTimeout: no complete reply in time.
        BrokenOff: not reachable, or cut off; another try may mend it.
        UpstreamError: an address that may not be used, or a reply larger than allowed.
    """
    from urllib3.exceptions import HTTPError

    from toolfold.backends import connections
    from toolfold.backends.checked import ForbiddenAddress

    address = address_of(source, settings)
    _check_address(address)
    query = [*build_query(source, tool, arguments), (source.auth["query_key"], key)]
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise UpstreamTimeout(*_too_slow(source), retryable=True)
    try:
        response = connections.get(address, query, min(settings.connect_timeout_s, remaining), remaining)
        try:
            body = _read(response, settings.max_answer_bytes, deadline, source)
        finally:
            response.close()
            response.release_conn()
    # The exceptions' own texts hold the address with the key in it: nothing of them is passed on.
    except (ForbiddenAddress, HTTPError, OSError) as error:
        raise _failure(error, source, deadline) from None
    return Reply(response.status, body, _seconds(response.headers.get("Retry-After")))


def _failure(error: Exception, source: Source, deadline: float) -> CallError:
    """What it means that a call ended in ``error``."""
    from urllib3.exceptions import ConnectTimeoutError, NewConnectionError, ReadTimeoutError

    from toolfold.backends.checked import ForbiddenAddress

    if isinstance(error, ForbiddenAddress):
        return UpstreamError(
            f"The name of {source.title}'s server leads into a private network, so nothing was sent.",
            "Tell the operator: the name service of this machine, or the address set for the source, is wrong.",
        )
    # A connection that is refused counts as one that timed out, to urllib3 alone.
    if isinstance(error, ConnectTimeoutError) and not isinstance(error, NewConnectionError):
        return NoConnection(*_too_slow(source), retryable=True)
    if isinstance(error, ReadTimeoutError) or time.monotonic() >= deadline:
        return UpstreamTimeout(*_too_slow(source), retryable=True)
    return BrokenOff(
        f"{source.title} could not be reached, or broke off its answer.",
        "Try again in a moment; if it keeps failing, tell the user that the service is down.",
        retryable=True,
    )


def _read(response: BaseHTTPResponse, limit: int, deadline: float, source: Source) -> str:
    """The decoded body, or the error of a body that is too large or too slow.

    Bytes that are no UTF-8 become U+FFFD: one bad letter in a company's name must not cost the whole answer, and the
    replacement shows.
    """
    body = bytearray()
    while True:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise UpstreamTimeout(*_too_slow(source), retryable=True)
        # The socket's own time-out starts anew with every packet; only the deadline bounds a dripping upstream.
        sock = getattr(response.connection, "sock", None)
        if sock is not None:
            sock.settimeout(remaining)
        chunk = response.read1(_CHUNK, decode_content=True)
        if not chunk:
            return body.decode("utf-8", errors="replace")
        body += chunk
        if len(body) > max(_SMALL, response.tell() * _RATIO):
            raise UpstreamError(
                f"{source.title} sent an answer that unpacks to more than {_RATIO} times its size.",
                "Do not call this again; tell the user that the service sends harmful answers.",
            )
        if len(body) > limit:
            raise UpstreamError(
                f"The answer is larger than {limit / 1e6:g} MB.",
                "Ask for less: a shorter span, outputsize=compact, or datatype=csv where the tool has them.",
            )


def _too_slow(source: Source) -> tuple[str, str]:
    return (
        f"{source.title} did not answer in time.",
        "Try again in a moment, or ask for less; if it keeps failing, tell the user that the service is slow.",
    )


def _check_address(address: str) -> None:
    parts = urlsplit(address)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK):
        return
    raise UpstreamError(
        "The address set for this source is not https, so the key is not sent to it.",
        "Tell the operator to set an https address (http is allowed for this machine alone).",
    )


def _seconds(retry_after: str | None) -> int | None:
    return int(retry_after) if retry_after is not None and retry_after.isdigit() else None
