"""An HTTP request that is ready to be sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

__all__ = ["MAX_URL_CHARS", "HttpRequest", "join_url"]

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
