"""A request that is ready to be sent, and what sends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from toolfold.network.errors import TransportError
from toolfold.network.ssrf import address_check
from toolfold.sources.http_api.transport_errors import to_call_error, upstream_timeout
from toolfold.version import __version__

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source
    from toolfold.network.session import Response
    from toolfold.sources.base import AdapterContext

MAX_URL_CHARS = 16_000
"""Servers accept from 8 KB (nginx, Apache) to 16 KB (Node, Amazon CloudFront) before they answer with an error page."""


@dataclass(frozen=True)
class HttpRequest:
    """A request to be sent. ``repr`` hides what may contain the API key."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)


def join_url(base_url: str, path: str, query: Sequence[str]) -> str:
    """Return ``base_url`` with ``path`` after its own path, and ``query`` after its own query.

    Args:
        base_url: the address of a source.
        path: percent-encoded, with a slash at its beginning; empty to keep the path of ``base_url``.
        query: percent-encoded pairs.

    >>> join_url("https://a.example/v1/?version=2", "/pets", ["id=7"])
    'https://a.example/v1/pets?version=2&id=7'
    """
    parts = urlsplit(base_url)
    joined = "&".join(part for part in (parts.query, *query) if part)
    whole = f"{parts.path.rstrip('/')}{path}" if path else parts.path
    return parts._replace(path=whole, query=joined, fragment="").geturl()


Exchange = Callable[[HttpRequest, float], "Response"]
"""Sends a request once, before a deadline, and returns the response. Redirects are not followed."""


def exchange_for(source: Source, context: AdapterContext, smaller_response_hint: str) -> Exchange:
    """Return what sends the requests of a source, within the limits of the settings, and of its own if those are less.

    Its responses may have any status; it raises the errors of :func:`.transport_errors.to_call_error`.
    """
    settings = context.settings
    max_bytes = min(
        settings.max_response_bytes, source.connection.get("max_response_bytes") or settings.max_response_bytes
    )

    def exchange(request: HttpRequest, deadline: float) -> Response:
        if time.monotonic() >= deadline:
            raise upstream_timeout(source)
        try:
            return context.get_http_client().request(
                request.method,
                request.url,
                headers={"User-Agent": f"toolfold/{__version__}", "Accept": "*/*", **request.headers},
                body=request.body,
                deadline=deadline,
                connect_timeout_s=settings.connect_timeout_s,
                max_bytes=max_bytes,
                is_allowed=address_check(settings.private_hosts, source.id, request.url),
            )
        except TransportError as error:
            raise to_call_error(error, source, max_bytes, smaller_response_hint) from None

    return exchange
