"""The metadata of an issuer, and other JSON documents that it publishes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolfold.network.errors import TransportError
from toolfold.network.ssrf import LOOPBACK, is_allowed_address

if TYPE_CHECKING:
    from toolfold.network.session import HttpClient

__all__ = ["IssuerDocuments", "UnusableDocument"]

TIMEOUT_S = 5.0
"""Seconds in which all documents of one reading must arrive: a request waits for them."""

MAX_BYTES = 1 << 20
"""A thousand keys with their certificates have half of it."""


class UnusableDocument(Exception):
    """A document of the issuer cannot be read or used; the text says why, for the log and for ``toolfold doctor``."""


class IssuerDocuments:
    """Read documents of ``issuer``.

    Args:
        issuer: The issuer's URL, as its tokens have it in ``iss``.
        get_http_client: Returns the HTTP client.
    """

    def __init__(self, issuer: str, get_http_client: Callable[[], HttpClient]) -> None:
        self.issuer, self.http_client = issuer, get_http_client

    def metadata(self, deadline: float) -> Mapping[str, Any]:
        """Return the metadata: of OpenID Connect Discovery 1.0, else of RFC 8414.

        Args:
            deadline: When they must be complete, by ``time.monotonic``.

        Raises:
            UnusableDocument: They cannot be read, or are those of another issuer.
        """
        base = self.issuer.rstrip("/")
        parts = urlsplit(base)
        oauth = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-authorization-server{parts.path}"
        try:
            metadata = self.json(f"{base}/.well-known/openid-configuration", deadline)
        except UnusableDocument as error:
            try:
                metadata = self.json(oauth, deadline)
            except UnusableDocument:
                raise UnusableDocument(f"its metadata cannot be read: {error}") from None
        found = metadata.get("issuer") if isinstance(metadata, dict) else None
        if not isinstance(found, str):
            raise UnusableDocument("its metadata do not name an issuer")
        if found != self.issuer:
            # RFC 8414, section 3.3: compared as they are. A slash at the end is the most common difference.
            raise UnusableDocument(f"its metadata name the issuer {_shown(found)}, not {_shown(self.issuer)}")
        return dict(metadata)

    def json(self, url: Any, deadline: float) -> Any:
        """Return the JSON document at ``url``, which may come from another document of the issuer.

        Raises:
            UnusableDocument: It cannot be read.
        """
        if not isinstance(url, str):
            raise UnusableDocument("a URL in it is missing")
        try:
            parts, issuer_host = urlsplit(url), urlsplit(self.issuer).hostname
        except ValueError:
            raise UnusableDocument("a URL in it is malformed") from None
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise UnusableDocument("a URL in it is not one of HTTPS")
        # The operator has named the issuer, which may be in a private network; a host that the issuer names may not.
        is_allowed = None if parts.hostname == issuer_host else is_allowed_address
        try:
            response = self.http_client().request(
                "GET",
                url,
                headers={"accept": "application/json"},
                deadline=deadline,
                connect_timeout_s=TIMEOUT_S / 2,
                max_bytes=MAX_BYTES,
                idempotent=True,
                is_allowed=is_allowed,
            )
        except TransportError as error:
            raise UnusableDocument(type(error).__name__) from None
        if response.status != 200:  # a redirect as well: it could lead anywhere
            raise UnusableDocument(f"HTTP status {response.status}")
        try:
            return json.loads(response.body)
        except (ValueError, RecursionError):
            raise UnusableDocument("it is not JSON") from None


def new_deadline() -> float:
    """Return the deadline of documents that are read now."""
    return time.monotonic() + TIMEOUT_S


def _shown(url: str) -> str:
    return ascii(url[:200])
