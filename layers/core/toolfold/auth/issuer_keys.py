"""The public keys of an issuer, found through its metadata and cached."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolfold.network.errors import TransportError
from toolfold.network.ssrf import LOOPBACK, is_allowed_address

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

    from toolfold.network.session import HttpClient

__all__ = ["IssuerKeys", "IssuerUnavailable"]

logger = logging.getLogger("toolfold")

MAX_AGE_S = 3600.0
"""Seconds after which the keys are read again."""

MIN_INTERVAL_S = 60.0
"""Seconds between two reads: a token that names an unknown key must not make this process flood the issuer."""

_TIMEOUT_S = 4.0
_MAX_BYTES = 256 << 10


class IssuerUnavailable(Exception):
    """The issuer's keys cannot be read, and none are cached."""


class IssuerKeys:
    """Read the keys of ``issuer`` at the first token, every hour, and when a token names an unknown one.

    Args:
        issuer: The issuer's URL, as its tokens have it in ``iss``.
        get_http_client: Returns the HTTP client.
        monotonic: The clock.
    """

    def __init__(
        self, issuer: str, get_http_client: Callable[[], HttpClient], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._issuer, self._get_http_client, self._monotonic = issuer, get_http_client, monotonic
        self._lock = threading.Lock()
        self._keys: KeySet | None = None
        self._read_at = self._tried_at = -MAX_AGE_S

    def with_key(self, key_id: str | None) -> KeySet:
        """Return the issuer's keys, read again if they lack ``key_id``.

        Raises:
            IssuerUnavailable: They have never been read.
        """
        with self._lock:
            now = self._monotonic()
            is_known = self._keys is not None and (key_id is None or any(key.kid == key_id for key in self._keys.keys))
            is_due = now - self._read_at >= MAX_AGE_S or not is_known
            if is_due and (self._keys is None or now - self._tried_at >= MIN_INTERVAL_S):
                self._tried_at = now
                try:
                    self._keys, self._read_at = self._read(), now
                except (TransportError, ValueError, KeyError, TypeError) as error:
                    # The keys that are cached stay valid: an issuer that is down must not lock every caller out.
                    logger.error("keys of the issuer cannot be read: %s", type(error).__name__)
            if self._keys is None:
                raise IssuerUnavailable
            return self._keys

    def _read(self) -> KeySet:
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        found = self._get_json(self._metadata()["jwks_uri"])
        supported = {"RSA", "EC", "OKP"}  # never "oct": a secret must not be published
        given = [key for key in found["keys"] if isinstance(key, dict) and key.get("kty") in supported]
        try:
            return KeySet.import_key_set({"keys": given})
        except JoseError:
            raise ValueError("a key is malformed") from None

    def _metadata(self) -> Mapping[str, Any]:
        """Return the metadata of the issuer: OpenID Connect Discovery 1.0, else RFC 8414.

        Raises:
            ValueError: It is that of another issuer.
        """
        base = self._issuer.rstrip("/")
        parts = urlsplit(base)
        oauth = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-authorization-server{parts.path}"
        try:
            metadata = self._get_json(f"{base}/.well-known/openid-configuration")
        except (TransportError, ValueError):
            metadata = self._get_json(oauth)
        if not isinstance(metadata, dict) or metadata["issuer"] != self._issuer:
            raise ValueError("the metadata is that of another issuer")
        return metadata

    def _get_json(self, url: Any) -> Any:
        """Return the JSON document at ``url``, which may come from a document of the issuer."""
        if not isinstance(url, str):
            raise TypeError
        parts, issuer_host = urlsplit(url), urlsplit(self._issuer).hostname
        if parts.scheme != "https" and parts.hostname not in LOOPBACK:
            raise ValueError("it is not HTTPS")
        # The operator has named the issuer, which may be in a private network; a host that the issuer names may not.
        is_allowed = None if parts.hostname == issuer_host else is_allowed_address
        response = self._get_http_client().request(
            "GET",
            url,
            headers={"accept": "application/json"},
            deadline=time.monotonic() + _TIMEOUT_S,
            connect_timeout_s=_TIMEOUT_S / 2,
            max_bytes=_MAX_BYTES,
            idempotent=True,
            is_allowed=is_allowed,
        )
        if response.status != 200:
            raise ValueError("status")
        try:
            return json.loads(response.body)
        except RecursionError:
            raise ValueError("nested too deeply") from None
