"""Opening the catalog: the one in the package, a file, or S3.

A small catalog is read whole. Of a large one the head is read, and blocks of the rest when they are asked for
(``catalog.block_cache``), each held against the hash that the head tells.

In S3 a catalog is immutable and named by its hash: ``<prefix>/catalogs/<sha256>.json``. The pointer
``<prefix>/current.json`` = ``{"sha256", "bytes", "head": {"bytes", "sha256"}, …}`` tells which one is current. A reader
looks at the pointer again when its catalog is older than the settings allow, and keeps serving the one it has when that
fails.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from toolfold.aws.clients import AwsClients, error_code
from toolfold.catalog.model import Catalog, OtherFormat
from toolfold.catalog.reader import MemoryBlocks, parse_head, unavailable
from toolfold.errors import CatalogUnavailable, SettingsError

if TYPE_CHECKING:
    from pathlib import Path

    from toolfold.catalog.reader import BlockReader
    from toolfold.settings import Settings

    T = TypeVar("T")

logger = logging.getLogger("toolfold")

POINTER = "current.json"
SMALL = 2 << 20
"""Bytes up to which a catalog is read whole, some 700 tools: one request to S3 instead of one for every block."""

_LONGEST_HEAD = 16 << 20
"""Bytes; the head of 100,000 tools is some 200 thousand."""

_GAP_BYTES = 64 << 10
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_RETRY_S = 5.0
"""Seconds after a failed request to S3 before the next: an outage must not cost every request a time-out."""


def object_name(sha256: str) -> str:
    """Where the catalog of that hash is, below the prefix."""
    return f"catalogs/{sha256}.json"


def open_store(settings: Settings, aws: AwsClients | None = None) -> Callable[[], Catalog]:
    """Return a function that returns the current catalog of ``settings.catalog``. Nothing is read before its call.

    The function raises :class:`CatalogUnavailable` when there is no catalog to serve.

    Raises:
        SettingsError: the location is neither a path nor ``s3://bucket/prefix``.
    """
    location = settings.catalog
    if location.startswith("s3://"):
        return S3Store(location, settings.catalog_max_age_s, settings.s3_timeout_s, aws)
    if "://" in location:
        raise SettingsError(f"TOOLFOLD_CATALOG must be empty, a path or s3://bucket/prefix, not {location!r}.")
    return FileStore(location or _bundled())


def bundled_path() -> Path:
    """Return the catalog in the package; in a checkout, the one in ``catalog/`` that the package is built with."""
    from pathlib import Path  # costs time that a first response need not wait for

    return Path(_bundled())


def _bundled() -> str:
    here = os.path.dirname(os.path.abspath(__file__))
    packaged = os.path.join(here, "catalog.json")
    return packaged if os.path.exists(packaged) else os.path.join(here, *[os.pardir] * 4, "catalog", "catalog.json")


class FileStore:
    """A catalog in a file: opened once, when it is first asked for.

    A small file is trusted as the code beside it is; its lines are checked when they are parsed. A large one stays
    open, and what is read of it is held against its hashes: it may be replaced by another, but not written over.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._catalog: Catalog | None = None

    def __call__(self) -> Catalog:
        if self._catalog is None:
            try:
                self._catalog = self._open()
            except OSError as error:
                logger.error("catalog file cannot be read: %s", error.strerror)
                raise unavailable("cannot be read") from None
        return self._catalog

    def _open(self) -> Catalog:
        with open(self._path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size <= SMALL:
                return parse_catalog(file.read())
            line = file.readline(_LONGEST_HEAD)
            descriptor = os.dup(file.fileno())

        lock = Lock()  # os.pread would need none, and is not there on Windows

        def part(start: int, length: int) -> bytes:
            with lock:
                os.lseek(descriptor, start, os.SEEK_SET)
                return os.read(descriptor, length)

        def fetch(starts: Sequence[int], lengths: Sequence[int]) -> list[bytes]:
            try:
                return list(map(part, starts, lengths))
            except OSError as error:
                logger.error("catalog file cannot be read: %s", error.strerror)
                raise unavailable("cannot be read") from None

        from toolfold.catalog.block_cache import CachedBlockReader

        try:
            return _opened(line, size, CachedBlockReader(fetch, len(line)), "")
        except CatalogUnavailable:
            os.close(descriptor)
            raise


class S3Store:
    """Returns the catalog that the pointer in S3 names.

    Args:
        location: ``s3://bucket/prefix``.
        max_age_s: seconds after which the pointer is read again.
        timeout_s: seconds that one request to S3 may take, retries included.
        aws: where credentials come from that are not in the environment.

    Raises:
        SettingsError: ``location`` has no bucket.
    """

    def __init__(self, location: str, max_age_s: float, timeout_s: float = 5.0, aws: AwsClients | None = None) -> None:
        self._aws = aws or AwsClients()
        self._bucket, _, prefix = location.removeprefix("s3://").partition("/")
        if not self._bucket:
            raise SettingsError(f"TOOLFOLD_CATALOG must name a bucket: s3://bucket/prefix, not {location!r}.")
        self._prefix = prefix.strip("/")
        self._max_age_s, self._timeout_s = max_age_s, timeout_s
        self._client: Any = None
        self._catalog: Catalog | None = None
        self._checked_at = self._check_again_s = 0.0

    def __call__(self) -> Catalog:
        # Not below 0: the clock of an environment that was restored from a snapshot may be earlier.
        if self._catalog is not None and 0 <= time.monotonic() - self._checked_at < self._check_again_s:
            return self._catalog
        try:
            self._catalog, self._check_again_s = self._load_current(), self._max_age_s
        except CatalogUnavailable:
            if self._catalog is None:
                raise
            logger.warning("the catalog in S3 cannot be read; using the last one")
            self._check_again_s = _RETRY_S
        self._checked_at = time.monotonic()
        return self._catalog

    def invalidate(self) -> None:
        """Close the connections to S3, and read the pointer again at the next request."""
        self._client, self._check_again_s = None, 0.0

    def _load_current(self) -> Catalog:
        match _parsed(self._get(POINTER)):
            case {"sha256": str(sha256), "bytes": int(size), "head": {"bytes": int(length), "sha256": str(of_head)}}:
                known = _SHA256.match(sha256) and 0 < length <= _LONGEST_HEAD
            case _:
                known = False
        if not known:
            logger.error("catalog pointer is malformed")
            raise unavailable("has a malformed pointer")
        if self._catalog is not None and self._catalog.sha256 == sha256:
            return self._catalog
        name = object_name(sha256)
        if size <= SMALL:
            content = self._get(name)
            _check(content, sha256)
            return parse_catalog(content, sha256)
        line = self._ranges(name, [0], [length])[0]
        _check(line, of_head)

        def fetch(starts: Sequence[int], lengths: Sequence[int]) -> list[bytes]:
            return self._ranges(name, starts, lengths)

        from toolfold.catalog.block_cache import CachedBlockReader

        return _opened(line, size, CachedBlockReader(fetch, len(line)), sha256)

    def _get(self, name: str) -> bytes:
        return self._request(name, lambda obstore, client: bytes(obstore.get(client, name).bytes()))

    def _ranges(self, name: str, starts: Sequence[int], lengths: Sequence[int]) -> list[bytes]:
        def get_ranges(obstore: Any, client: Any) -> list[bytes]:
            # Up to ten requests at a time; one for two ranges if the bytes between them are read in a millisecond.
            found = obstore.get_ranges(client, name, starts=starts, lengths=lengths, coalesce=_GAP_BYTES)
            return [bytes(content) for content in found]

        return self._request(name, get_ranges)

    def _request(self, name: str, send: Callable[[Any, Any], T]) -> T:
        """Call ``send`` with the module ``obstore`` and the bucket; log what fails.

        Raises:
            CatalogUnavailable: The object ``name`` is not there or cannot be read.
        """
        try:
            import obstore
        except ImportError:
            logger.error("obstore is not installed; pip install 'toolfold[aws]'")
            raise unavailable("is in S3, and the S3 reader is not installed") from None
        try:
            if self._client is None:
                from toolfold.aws.s3 import open_bucket

                self._client = open_bucket(
                    self._bucket, self._prefix, timeout_s=self._timeout_s, max_retries=2, aws=self._aws
                )
            return send(obstore, self._client)
        except FileNotFoundError:
            logger.error("catalog object %s does not exist", name)
            raise unavailable("has not been published") from None
        except Exception as error:  # noqa: BLE001 - obstore's errors have no base but Exception
            logger.error("catalog object %s cannot be read: %s", name, error_code(error))
            raise unavailable("cannot be read from S3") from None


def parse_catalog(content: bytes, sha256: str = "") -> Catalog:
    """Return the catalog in ``content``, whose hash, where that is known, is ``sha256``.

    Raises:
        CatalogUnavailable: it is none, or not all of it.
    """
    line = content[: content.find(b"\n") + 1]
    return _opened(line, len(content), MemoryBlocks(content, len(line)), sha256)


def _opened(line: bytes, size: int, read: BlockReader, sha256: str) -> Catalog:
    try:
        head = parse_head(line)
    except (ValueError, RecursionError):
        logger.error("catalog is not readable: its first line is not JSON")
        raise unavailable("is not a compiled catalog (not JSON)") from None
    try:
        catalog = Catalog(head, read, sha256)
        if head.get("bytes") != size - len(line):
            raise ValueError("it is not all there")
    except OtherFormat as error:
        logger.error("catalog is not readable: %s", error)
        raise unavailable("was compiled by another version of toolfold") from None
    except ValueError as error:
        logger.error("catalog is not readable: %s", error)
        raise unavailable("is damaged") from None
    return catalog


def _check(content: bytes, sha256: str) -> None:
    import hashlib

    if hashlib.sha256(content).hexdigest() != sha256:
        logger.error("catalog does not match its hash %s", sha256)
        raise unavailable("does not match its hash")


def _parsed(pointer: bytes) -> Any:
    try:
        return json.loads(pointer)
    except (ValueError, RecursionError):
        return None
