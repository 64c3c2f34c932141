"""What an issuer publishes: its metadata and other JSON documents, and its public keys, which are cached."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from toolfold.errors import IssuerUnavailable
from toolfold.network.errors import TransportError
from toolfold.network.ssrf import LOOPBACK, is_allowed_address
from toolfold.protocol.http import Response, error_response

if TYPE_CHECKING:
    from joserfc.jwk import Key

    from toolfold.network.session import HttpClient

TIMEOUT_S = 5.0
"""Seconds in which all documents of one reading must arrive: a request waits for them."""

MAX_BYTES = 1 << 20
"""A thousand keys with their certificates have half of it."""


class UnusableDocument(Exception):
    """A document of the issuer cannot be read or used; the text says why, for the log and for ``toolfold doctor``."""


class IssuerDocuments:
    """Read documents of ``issuer``, the URL that its tokens have in ``iss``."""

    def __init__(self, issuer: str, get_http_client: Callable[[], HttpClient]) -> None:
        self.issuer, self.http_client = issuer, get_http_client

    def metadata(self, deadline: float) -> Mapping[str, Any]:
        """Return the metadata: of OpenID Connect Discovery 1.0, else of RFC 8414. ``deadline`` is monotonic.

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
        if found != self.issuer:
            # RFC 8414, section 3.3: compared as they are. A slash at the end is the most common difference.
            raise UnusableDocument(f"its metadata name the issuer {str(found)[:200]!a}, not {self.issuer[:200]!a}")
        return dict(metadata)

    def json(
        self,
        url: Any,
        deadline: float,
        sent: Mapping[str, Any] | None = None,
        *,
        is_form: bool = False,
    ) -> Any:
        """Return the JSON document at ``url``, which may come from another document of the issuer.

        Args:
            url: Its URL.
            deadline: When it must be complete, by ``time.monotonic``.
            sent: What is sent with POST, as JSON or as a form; None: nothing, with GET.
            is_form: See above.

        Raises:
            UnusableDocument: It cannot be read.
        """
        try:
            parts, issuer_host = urlsplit(str(url)), urlsplit(self.issuer).hostname
        except ValueError:
            raise UnusableDocument("a URL in it is malformed") from None
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise UnusableDocument("a URL in it is not one of HTTPS")
        # The operator has named the issuer, which may be in a private network; a host that the issuer names may not.
        is_allowed = None if parts.hostname == issuer_host else is_allowed_address
        headers, body = {"accept": "application/json"}, None
        if sent is not None:
            encode, kind = (urlencode, "x-www-form-urlencoded") if is_form else (json.dumps, "json")
            headers["content-type"], body = f"application/{kind}", encode(sent).encode()
        try:
            response = self.http_client().request(
                "GET" if body is None else "POST",
                url,
                headers=headers,
                body=body,
                deadline=deadline,
                connect_timeout_s=TIMEOUT_S / 2,
                max_bytes=MAX_BYTES,
                is_allowed=is_allowed,
            )
        except TransportError as error:
            raise UnusableDocument(type(error).__name__) from None
        if response.status not in (200, 201):  # a redirect could lead anywhere
            raise UnusableDocument(f"HTTP status {response.status}")
        try:
            return json.loads(response.body)
        except (ValueError, RecursionError):
            raise UnusableDocument("it is not JSON") from None


def new_deadline() -> float:
    """Return the deadline of documents that are read now."""
    return time.monotonic() + TIMEOUT_S


logger = logging.getLogger("toolfold")

MAX_AGE_S = 3600.0
"""Seconds after which what is cached is read again."""

MAX_STALE_S = 86_400.0
"""Seconds for which it is used where it cannot be read again: an issuer that is down must not lock every caller out,
but an attacker who blocks the way to it must not keep a withdrawn key in use for ever."""

MIN_INTERVAL_S = 60.0
"""Seconds between two readings: a token that names an unknown key must not make this process flood the issuer."""

RETRY_S = 10.0
"""Seconds after a reading has failed, where a caller needs what is not cached."""

MIN_RSA_BITS = 2048
"""RFC 7518, section 3.3."""

MAX_KEYS = 2000
"""Far more than any issuer has, and importing them takes a fraction of a second."""

MAX_CANDIDATES = 50
"""Keys that are tried for a token that names none."""

_KEY_TYPES = ("RSA", "EC", "OKP")  # never "oct": a secret must not be published


class IssuerUnreachable(Exception):
    """What an issuer publishes cannot be read, and is not cached; it is read again in ``retry_after_s`` seconds."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__()
        self.retry_after_s = retry_after_s

    def response(self) -> Response:
        """Return the response to a request that needs it."""
        retry = "retry-after", str(round(self.retry_after_s))
        refusal = error_response(503, "The issuer of access tokens cannot be reached.", retry)
        return refusal._replace(log_fields={**refusal.log_fields, "error": IssuerUnavailable.code})


class Issuer:
    """Metadata and keys of an issuer, read when they are first needed, every hour, and for a token with an unknown key.

    Safe to use from many threads.
    """

    def __init__(self, documents: IssuerDocuments) -> None:
        self.documents = documents
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Drop what is cached."""
        self._metadata: Mapping[str, Any] = {}
        self._keys: list[Key] = []
        self._read_at = self._tried_at = float("-inf")
        self._has_failed = True

    def metadata(self, *needed: str) -> Mapping[str, Any]:
        """Return the metadata. Those that lack a name that is ``needed`` are read again: an operator may have added it.

        Raises:
            IssuerUnreachable: They are not cached, or lack it, and cannot be read.
        """
        self._read()
        if not self._metadata.keys() >= set(needed):
            self._read(renew=True)
        return self._metadata

    def find_keys(self, key_type: str, key_id: str | None) -> Iterator[Key]:
        """Yield the keys of a type (``kty``) that may have signed a token, which names a key or, None, does not.

        They are the cached ones; where no such key is cached, or named, also those that are published now.

        Raises:
            IssuerUnreachable: None are cached, or they have been tried, and they cannot be read.
        """
        for renew in (False, True):
            self._read(renew=renew)
            found = [key for key in self._keys if key.key_type == key_type and key_id in (None, key.kid)]
            yield from found[:MAX_CANDIDATES]
            if found and key_id is not None:
                return

    def _read(self, *, renew: bool = False) -> None:
        """Read what is not cached or too old; ``renew``: what is cached was tried."""
        if self._keys and not renew and self._age_s() < MAX_AGE_S:
            return
        # What is cached is used while another thread reads.
        if self._lock.acquire(blocking=renew or not self._keys or self._age_s() >= MAX_STALE_S):
            try:
                self._read_if_due(MIN_INTERVAL_S if self._keys and not (renew and self._has_failed) else RETRY_S)
            finally:
                self._lock.release()
        if not self._keys or self._age_s() >= MAX_STALE_S or (renew and self._has_failed):
            raise IssuerUnreachable(max(1.0, RETRY_S - (time.monotonic() - self._tried_at)))

    def _age_s(self) -> float:
        return time.monotonic() - self._read_at

    def _read_if_due(self, interval_s: float) -> None:
        if time.monotonic() - self._tried_at < interval_s:
            return
        deadline, self._has_failed = new_deadline(), True
        try:
            metadata = self.documents.metadata(deadline)
            keys = usable_keys(self.documents.json(metadata.get("jwks_uri"), deadline))
            if not keys:
                raise UnusableDocument("it publishes no key that can verify a signature")
            self._metadata, self._keys = metadata, keys
            self._read_at, self._has_failed = time.monotonic(), False
        except UnusableDocument as error:
            logger.error("the issuer cannot be read: %s: %s", self.documents.issuer, error)
        finally:
            self._tried_at = time.monotonic()


def usable_keys(published: Any) -> list[Key]:
    """Return the keys of a JWK set that can verify signatures.

    Those that are malformed, or of a type that is not known, do not spoil the others (RFC 7517, section 5).
    """
    given = published.get("keys") if isinstance(published, dict) else None
    return list(filter(None, map(_import_key, given[:MAX_KEYS]))) if isinstance(given, list) else []


def _import_key(given: Any) -> Key | None:
    from joserfc.errors import JoseError
    from joserfc.jwk import RSAKey, import_key

    if not isinstance(given, dict) or given.get("kty") not in _KEY_TYPES or given.get("use", "sig") != "sig":
        return None
    try:
        key = import_key(given)
        size = key.raw_value.key_size if isinstance(key, RSAKey) else MIN_RSA_BITS
    except (JoseError, ValueError, TypeError, KeyError, OverflowError):
        return None
    return key if size >= MIN_RSA_BITS else None
