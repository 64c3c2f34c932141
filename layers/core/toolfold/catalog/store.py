"""Opening the catalog: the one in the package, a file, or S3.

In S3 a catalog is immutable and named by its hash: ``<prefix>/catalogs/<sha256>.json``. The pointer
``<prefix>/current.json`` = ``{"sha256": …}`` tells which one is current. A reader looks at the pointer again when its
catalog is older than the settings allow, and keeps serving the one it has when that fails.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolfold.catalog.model import Catalog
from toolfold.errors import CatalogUnavailable, SettingsError

if TYPE_CHECKING:
    from toolfold.settings import Settings

logger = logging.getLogger("toolfold")

POINTER = "current.json"
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_LOOK_AGAIN_S = 5.0
"""After a failed look at S3, seconds before the next: an outage must not cost every request a time-out."""


def object_name(sha256: str) -> str:
    """Where the catalog of that hash is, below the prefix."""
    return f"catalogs/{sha256}.json"


def open_store(settings: Settings) -> Callable[[], Catalog]:
    """A function that returns the current catalog, for ``settings.catalog``. Nothing is read before it is called.

    The function raises :class:`CatalogUnavailable` when there is no catalog to serve.

    Raises:
        SettingsError: the place is neither a path nor ``s3://bucket/prefix``.
    """
    place = settings.catalog
    if place.startswith("s3://"):
        return S3Store(place, settings.catalog_max_age_s)
    if "://" in place:
        raise SettingsError(f"TOOLFOLD_CATALOG must be empty, a path or s3://bucket/prefix, not {place!r}.")
    return FileStore(Path(place) if place else embedded_path())


def embedded_path() -> Path:
    """The catalog in the package; in a checkout, the one in ``catalog/`` that the package is built with."""
    packaged = Path(__file__).with_name("catalog.json")
    return packaged if packaged.exists() else Path(__file__).parents[4] / "catalog" / "catalog.json"


class FileStore:
    """A catalog in a file: read once, when it is first asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._catalog: Catalog | None = None

    def __call__(self) -> Catalog:
        if self._catalog is None:
            try:
                content = self._path.read_bytes()
            except OSError as error:
                logger.error("catalog file cannot be read: %s", error.strerror)
                raise _unavailable("cannot be read") from None
            self._catalog = _opened(content, hashlib.sha256(content).hexdigest())
        return self._catalog


class S3Store:
    """The catalog that a pointer in S3 names."""

    def __init__(self, place: str, max_age_s: float) -> None:
        parts = urlsplit(place)
        if not parts.netloc:
            raise SettingsError(f"TOOLFOLD_CATALOG must name a bucket: s3://bucket/prefix, not {place!r}.")
        self._bucket, self._prefix = parts.netloc, parts.path.strip("/")
        self._max_age_s = max_age_s
        self._client: Any = None
        self._catalog: Catalog | None = None
        self._look_again_at = 0.0

    def __call__(self) -> Catalog:
        now = time.monotonic()
        if self._catalog is not None and now < self._look_again_at:
            return self._catalog
        try:
            self._catalog = self._fetch()
            self._look_again_at = time.monotonic() + self._max_age_s
        except CatalogUnavailable:
            if self._catalog is None:
                raise
            logger.warning("serving the catalog at hand: the one in S3 is not to be had")
            self._look_again_at = time.monotonic() + _LOOK_AGAIN_S
        return self._catalog

    def _fetch(self) -> Catalog:
        pointer = self._get(POINTER)
        try:
            sha256 = json.loads(pointer)["sha256"]
        except (ValueError, KeyError, TypeError, RecursionError):
            sha256 = None
        if not isinstance(sha256, str) or not _SHA256.match(sha256):
            logger.error("catalog pointer is malformed")
            raise _unavailable("has a malformed pointer")
        if self._catalog is not None and self._catalog.sha256 == sha256:
            return self._catalog
        content = self._get(object_name(sha256))
        if hashlib.sha256(content).hexdigest() != sha256:
            logger.error("catalog does not match its hash %s", sha256)
            raise _unavailable("does not match its hash")
        return _opened(content, sha256)

    def _get(self, name: str) -> bytes:
        try:
            import obstore
        except ImportError:
            logger.error("obstore is not installed; pip install 'toolfold[aws]'")
            raise _unavailable("is in S3, and the S3 reader is not installed") from None
        try:
            if self._client is None:
                self._client = _s3_client(self._bucket, self._prefix)
            return bytes(obstore.get(self._client, name).bytes())
        except FileNotFoundError:
            logger.error("catalog object %s does not exist", name)
            raise _unavailable("has not been published") from None
        except Exception as error:  # noqa: BLE001 - obstore's errors have no base but Exception
            logger.error("catalog object %s cannot be read: %s", name, type(error).__name__)
            raise _unavailable("cannot be read from S3") from None


def _s3_client(bucket: str, prefix: str) -> Any:
    from datetime import timedelta

    from obstore.store import S3Store as ObjectStore

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    options: dict[str, Any] = {} if endpoint is None else {"endpoint": endpoint, "virtual_hosted_style_request": False}
    if not os.environ.get("AWS_ACCESS_KEY_ID") and not os.environ.get("AWS_LAMBDA_FUNCTION_NAME"):
        # On a laptop credentials are in profiles, which boto3 knows how to read.
        from obstore.auth.boto3 import Boto3CredentialProvider

        options["credential_provider"] = Boto3CredentialProvider()
    return ObjectStore(
        bucket,
        prefix=prefix or None,
        region=os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1",
        # Seconds, far inside a request's: a slow S3 must not eat the time of the call.
        client_options={"timeout": "5s", "connect_timeout": "2s", "allow_http": endpoint is not None},
        retry_config={"max_retries": 2, "retry_timeout": timedelta(seconds=6)},
        **options,
    )


def _opened(content: bytes, sha256: str) -> Catalog:
    try:
        return Catalog(json.loads(content), sha256)
    except (ValueError, TypeError, RecursionError) as error:
        logger.error("catalog is not readable: %s", error)
        raise _unavailable("is damaged or of another format") from None


def _unavailable(problem: str) -> CatalogUnavailable:
    return CatalogUnavailable(
        f"The tool catalog {problem}.",
        "Try again in a minute; the operator can publish it with: toolfold catalog publish s3://bucket/prefix",
    )
