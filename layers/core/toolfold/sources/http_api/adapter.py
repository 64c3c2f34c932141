"""Sources that are plain HTTP APIs: one GET with everything in the query string.

What sends it is imported by the first call, not by the first response.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from toolfold.catalog.json_schema import properties
from toolfold.errors import UpstreamError
from toolfold.models import UpstreamResponse
from toolfold.network.ssrf import LOOPBACK

if TYPE_CHECKING:
    from toolfold.catalog.model import Source, Tool
    from toolfold.network.session import HttpClient
    from toolfold.settings import Settings

Query = list[tuple[str, str]]


def build_query(source: Source, tool: Tool, arguments: Mapping[str, Any]) -> Query:
    """The query string's pairs, without the key: the function first, then the arguments in the schema's order.

    ``arguments`` are checked ones (``execution.validation``). Booleans are sent in lower case; an array sends its key once
    per item, and an object is sent as JSON; a default that differs from the upstream's own is sent even when the caller left it out.
    """
    call = tool.call
    values = {**call.get("sends", {}), **arguments}
    query: Query = [(source.function_key, call["function"])]
    for name in dict.fromkeys((*properties(tool.parameters), *values)):
        value = values.get(name)
        if value is not None:
            key = call.get("query", {}).get(name, name)
            query += [(key, _spelled(item)) for item in (value if isinstance(value, list) else [value])]
    return query


def _spelled(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")) if isinstance(value, bool | dict | list | None) else str(value)


def base_url_for(source: Source, settings: Settings) -> str:
    """Where calls to this source are sent."""
    return settings.source_urls.get(source.id, source.base_url)


def call(
    source: Source,
    tool: Tool,
    arguments: Mapping[str, Any],
    key: str,
    settings: Settings,
    deadline: float,
    http_client: HttpClient,
) -> UpstreamResponse:
    """Send one call and return the response, complete before ``deadline`` (``time.monotonic``).

    Raises:
        ConnectTimeout: No connection in time; a retry may help.
        ConnectionFailed: No connection, or a broken one; a retry may help.
        UpstreamTimeout: No complete response in time.
        UpstreamError: A base URL or a proxy that cannot be used, or a response larger than allowed.
    """
    from toolfold import __version__
    from toolfold.network.errors import TransportError
    from toolfold.sources.http_api.transport_errors import to_call_error, upstream_timeout

    url = base_url_for(source, settings)
    _check_scheme(url)
    query = [*build_query(source, tool, arguments), (source.auth["query_key"], key)]
    if time.monotonic() >= deadline:
        raise upstream_timeout(source)
    try:
        response = http_client.request(
            "GET",
            _with_query(url, query),
            headers={"User-Agent": f"toolfold/{__version__}", "Accept": "*/*"},
            deadline=deadline,
            connect_timeout_s=settings.connect_timeout_s,
            max_bytes=settings.max_response_bytes,
            idempotent=True,
        )
    except TransportError as error:
        raise to_call_error(error, source, settings.max_response_bytes) from None
    # Bytes that are not UTF-8 become U+FFFD: one bad letter in a company's name must not cost the whole response, and
    # the replacement shows.
    text = response.body.decode("utf-8", errors="replace")
    return UpstreamResponse(response.status, text, _seconds(response.headers.get("retry-after")))


def _with_query(url: str, query: Query) -> str:
    """Return ``url`` with ``query`` added to its own."""
    parts = urlsplit(url)
    joined = "&".join(part for part in (parts.query, urlencode(query)) if part)
    return parts._replace(query=joined, fragment="").geturl()


def _check_scheme(url: str) -> None:
    with suppress(ValueError):  # not a URL
        parts = urlsplit(url)
        if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK):
            return
    raise UpstreamError(
        "The URL set for this source is not https, so the key is not sent to it.",
        "Tell the operator to set an https URL (http is allowed for this machine only).",
    )


def _seconds(retry_after: str | None) -> int | None:
    if retry_after is None or len(retry_after) > 9 or not (retry_after.isascii() and retry_after.isdigit()):
        return None
    return int(retry_after)
