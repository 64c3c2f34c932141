"""The adapter of plain HTTP APIs: one GET with everything in the query string.

What sends it is imported by the first call, not by the first response.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlencode, urlsplit

from toolfold import __version__
from toolfold.catalog.json_schema import properties
from toolfold.errors import InvalidArguments, UpstreamError
from toolfold.models import ParsedResponse, SourceCredentials, UpstreamResponse
from toolfold.network.errors import TransportError
from toolfold.network.ssrf import LOOPBACK
from toolfold.sources.base import CachePolicy
from toolfold.sources.http_api.faults import ResponseParser
from toolfold.sources.http_api.transport_errors import SMALLER_RESPONSE_HINT, to_call_error, upstream_timeout

if TYPE_CHECKING:
    from toolfold.catalog.model import Source, Tool
    from toolfold.sources.base import AdapterContext

Query = list[tuple[str, str]]

MAX_URL_CHARS = 16_000
"""Servers accept from 8 KB (nginx, Apache) to 16 KB (Node, Amazon CloudFront) before they answer with an error page."""

MAX_RETRY_AFTER_S = 86_400
"""The longest wait that a response can ask for. No quota is reset less often than once a day."""


@dataclass(frozen=True)
class HttpRequest:
    """A request to be sent. ``repr`` hides what may contain the API key."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)


class HttpApiAdapter:
    """Call an HTTP API. See :class:`toolfold.sources.base.SourceAdapter`.

    A source with habits of its own extends this class; what may differ are the methods and attributes without
    underscore.

    Attributes:
        parser_type: interprets responses.
        smaller_response_hint: the next step after a response that is too large.
    """

    parser_type: ClassVar[type[ResponseParser]] = ResponseParser
    smaller_response_hint: ClassVar[str] = SMALLER_RESPONSE_HINT

    def __init__(self, source: Source, context: AdapterContext) -> None:
        self.source = source
        self._settings, self._get_http_client = context.settings, context.get_http_client
        self._parser = self.parser_type(source)

    @property
    def endpoint(self) -> str:
        """Where calls are sent: the source's address, or the one that the operator set."""
        return self._settings.source_urls.get(self.source.id, self.source.base_url)

    def build_request(self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials) -> HttpRequest:
        """Return the request of one call, with the API key."""
        query = build_query(self.source, tool, arguments)
        if self.source.auth is not None and self.source.auth.query_key is not None:
            query.append((self.source.auth.query_key, credentials.api_key))
        return HttpRequest("GET", _with_query(self.endpoint, query))

    def check_call(self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials) -> None:
        """Raise an error for arguments that do not fit into a URL.

        Raises:
            InvalidArguments: the URL is longer than :data:`MAX_URL_CHARS`.
        """
        length = len(self.build_request(tool, arguments, credentials).url)
        if length > MAX_URL_CHARS:
            raise InvalidArguments(
                f"{tool.name}: the arguments make a URL of {length:,} characters; {MAX_URL_CHARS:,} are allowed.",
                "Shorten the longest argument, or split the call into several with fewer items; nothing was sent.",
            )

    def call(
        self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials, deadline: float
    ) -> UpstreamResponse:
        """Send one call and read the whole response, before ``deadline`` and within the settings' size.

        Raises:
            ConnectTimeout: no connection in time; a retry may help.
            UpstreamTimeout: no complete response in time.
            ConnectionFailed: not reachable, or cut off; a retry may help.
            UpstreamError: a URL or a proxy that cannot be used, or a response that is not valid.
            AnswerTooLarge: a response larger than allowed.
        """
        _check_scheme(self.endpoint)
        request = self.build_request(tool, arguments, credentials)
        return self._send(request, deadline, idempotent=tool.effect == "read")

    def parse(
        self, tool: Tool, arguments: Mapping[str, Any], response: UpstreamResponse, credentials: SourceCredentials
    ) -> ParsedResponse:
        """Return the data in ``response``, unaltered. See :meth:`ResponseParser.parse`."""
        return self._parser.parse(tool, arguments, response, credentials)

    def cache_policy(self, tool: Tool, arguments: Mapping[str, Any], now: float) -> CachePolicy:
        """Keep a response as long as the freshness class says; for its key alone where callers bring their own."""
        auth = self.source.auth
        return CachePolicy(self.source.freshness[tool.freshness], auth is not None and auth.caller_key)

    def quota_resets_at(self, now: float) -> float:
        """Return the next midnight in UTC."""
        tomorrow = datetime.fromtimestamp(now, UTC).date() + timedelta(days=1)
        return datetime.combine(tomorrow, time_of_day(), UTC).timestamp()

    def _send(self, request: HttpRequest, deadline: float, *, idempotent: bool) -> UpstreamResponse:
        if time.monotonic() >= deadline:
            raise upstream_timeout(self.source)
        max_bytes = self._settings.max_response_bytes
        try:
            response = self._get_http_client().request(
                request.method,
                request.url,
                headers={"User-Agent": f"toolfold/{__version__}", "Accept": "*/*", **request.headers},
                body=request.body,
                deadline=deadline,
                connect_timeout_s=self._settings.connect_timeout_s,
                max_bytes=max_bytes,
                idempotent=idempotent,
            )
        except TransportError as error:
            raise to_call_error(error, self.source, max_bytes, self.smaller_response_hint) from None
        # Bytes that are not UTF-8 become U+FFFD: one bad letter in a company's name must not cost the whole response,
        # and the replacement shows.
        text = response.body.decode("utf-8", errors="replace")
        wait_s = parse_retry_after(response.headers.get("retry-after", ""), response.headers.get("date", ""))
        return UpstreamResponse(response.status, text, wait_s)


def build_query(source: Source, tool: Tool, arguments: Mapping[str, Any]) -> Query:
    """Return the query string's pairs, without the key: the function first, then the arguments in the schema's order.

    Booleans are sent in lower case; an array sends its key once per item, and an object is sent as JSON; a default that
    differs from the upstream's own is sent even when the caller left it out.

    Args:
        source: the source of ``tool``.
        tool: the tool that is called.
        arguments: the validated arguments (``execution.validation``).
    """
    call = tool.call
    values = {**call.get("sends", {}), **arguments}
    query: Query = [(source.function_key, call["function"])]
    for name in dict.fromkeys((*properties(tool.parameters), *values)):
        value = values.get(name)
        if value is not None:
            key = call.get("query", {}).get(name, name)
            query += [(key, _as_text(item)) for item in (value if isinstance(value, list) else [value])]
    return query


def _as_text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")) if isinstance(value, bool | dict | list | None) else str(value)


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


def parse_retry_after(value: str, date: str = "") -> int | None:
    """Return the seconds that ``Retry-After`` names, from 0 to :data:`MAX_RETRY_AFTER_S` (RFC 9110, 10.2.3).

    Args:
        value: a number of seconds, or an HTTP date.
        date: the ``Date`` of the response, against which a date counts: the clocks of two machines may differ.

    Returns:
        None where it is neither: the header is then ignored. A time that is over is 0.
    """
    value = value.strip()
    if value.isascii() and value.replace(".", "", 1).isdigit():
        whole, _, fraction = value.partition(".")
        digits = whole.lstrip("0") or "0"
        seconds = int(digits) if len(digits) < 10 else MAX_RETRY_AFTER_S
        return min(seconds + any(digit != "0" for digit in fraction), MAX_RETRY_AFTER_S)
    until = _parse_http_date(value)
    if until is None:
        return None
    now = _parse_http_date(date) or datetime.now(UTC)
    return min(max(0, math.ceil((until - now).total_seconds())), MAX_RETRY_AFTER_S)


def _parse_http_date(value: str) -> datetime | None:
    from email.utils import parsedate_to_datetime

    try:
        parsed = parsedate_to_datetime(value)
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
