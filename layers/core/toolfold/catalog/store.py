"""Open the catalog: the one in the package, a file, or an object in S3.

A file, and a small object, is read as a whole. Of a large object the head is read at first, and the blocks on demand
(``catalog.reader``). Each block is compared with the hash in the head.

In S3 a catalog is immutable, and its name contains its hash: ``<prefix>/catalogs/<sha256>.json``. The pointer
``<prefix>/current.json`` names the current catalog: ``{"sha256", "bytes", "head": {"bytes", "sha256"}, …}``. The store
reads the pointer again when its catalog is older than the settings allow. It keeps the loaded catalog when that fails.
Before anything is published there is no pointer: then the catalog of the package is the current one.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from toolfold.aws.clients import AwsClients, error_code
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.entries import FORMAT
from toolfold.catalog.model import Catalog
from toolfold.catalog.reader import CachedBlockReader, MemoryBlocks, parse_head, unavailable
from toolfold.errors import CATALOG_NOT_REFRESHED, CatalogUnavailable, SettingsError
from toolfold.extras import install_command
from toolfold.messages import NO_CATALOG, PUBLISH, TELL_OPERATOR_TO

if TYPE_CHECKING:
    from pathlib import Path

    from toolfold.catalog.reader import BlockReader
    from toolfold.settings import Settings

    T = TypeVar("T")

logger = logging.getLogger("toolfold")

POINTER = "current.json"
SMALL = 2 << 20
"""Maximum bytes of a catalog that is read as a whole, about 700 tools: one request to S3 instead of one per block."""

_MAX_HEAD_BYTES = 4 << 20
"""In bytes; the head of a catalog with 100,000 tools has about 200,000. Parsed, it takes up to twenty times as much."""

_MAX_POINTER_BYTES = 64 << 10

_GAP_BYTES = 64 << 10
_HASH_CHARACTERS, _HASH_LENGTH = frozenset("0123456789abcdef"), 64
_RETRY_S = 5.0
"""Seconds between a failed request to S3 and the next, so that not every request waits for a timeout in an outage."""


class NotPublished(CatalogUnavailable):
    """An object of the catalog does not exist."""


def object_name(sha256: str) -> str:
    """Return the name of the object of a catalog, below the prefix."""
    return f"catalogs/{sha256}.json"


def open_store(settings: Settings) -> FileStore | S3Store:
    """Return what returns the current catalog of ``settings.catalog`` when called, and refuses what they do not allow.

    Nothing is read before the first call, or :meth:`S3Store.start_reading`. A call raises :class:`CatalogUnavailable`
    when the catalog cannot be read.

    Raises:
        SettingsError: The location is neither a path nor ``s3://bucket/prefix``.
    """
    location, allow_list = settings.catalog, AllowList(settings)
    if location.startswith("s3://"):
        embedded = FileStore(_bundled(), allow_list)
        return S3Store(location, settings.catalog_max_age_s, settings.s3_timeout_s, allow_list, embedded)
    if "://" in location:
        raise SettingsError(f"TOOLFOLD_CATALOG must be empty, a path or s3://bucket/prefix, not {location!r}.")
    return FileStore(catalog_path(settings), allow_list)


def catalog_path(settings: Settings) -> str:
    """Return the path of the catalog of ``settings``, as it is where that is an address."""
    return os.path.expanduser(settings.catalog) if settings.catalog else _bundled()


def bundled_path() -> Path:
    """Return the path of the catalog in the package, or in a checkout the one in ``catalog/``."""
    from pathlib import Path  # slow to import; the first response does not need it

    return Path(_bundled())


def _bundled() -> str:
    here = os.path.dirname(os.path.abspath(__file__))
    packaged = os.path.join(here, "catalog.json")
    return packaged if os.path.exists(packaged) else os.path.join(here, *[os.pardir] * 4, "catalog", "catalog.json")


class FileStore:
    """Reads the catalog in a file at the first call, and returns it at every call.

    Args:
        path: The file.
        allow_list: What its sources may name; None: not checked here.

    Attributes:
        path: The file.
    """

    published_at: float | None = None
    """Not known of a file; see :class:`S3Store`."""

    def __init__(self, path: str | os.PathLike[str], allow_list: AllowList | None = None) -> None:
        self.path, self._allow_list = path, allow_list
        self._catalog: Catalog | None = None

    def __call__(self) -> Catalog:
        """Return the catalog.

        Raises:
            CatalogUnavailable: The file cannot be read, or is not a compiled catalog.
        """
        if self._catalog is None:
            try:
                with open(open_regular_file(self.path), "rb") as file:
                    content = file.read()
            except (OSError, ValueError) as error:
                known = getattr(error, "strerror", None) or type(error).__name__
                reason = known if isinstance(error, OSError) else "it has no valid name"
                logger.error("catalog file %s cannot be read: %s", ascii(os.path.abspath(self.path)), reason)
                raise unavailable("cannot be read", NO_CATALOG) from None
            is_packaged = os.fspath(self.path) == _bundled()
            self._catalog = parse_catalog(content, "", self._allow_list, is_packaged)
        return self._catalog


def open_regular_file(path: str | os.PathLike[str], more_flags: int = 0) -> int:
    """Open a file for reading and return its descriptor. A device has no end, and a FIFO may have no writer.

    Raises:
        OSError: It cannot be opened, or is not a regular file.
        ValueError: Its name contains a NUL.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags | more_flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file")
    return descriptor


class S3Store:
    """Reads the catalog that the pointer in S3 names.

    Args:
        location: ``s3://bucket/prefix``.
        max_age_s: Seconds after which the pointer is read again.
        timeout_s: Maximum seconds of one request to S3, including retries.
        allow_list: What the sources of the catalog may name; None: not checked here.
        embedded: Returns the catalog to use while there is no pointer; None: that is an error.

    Attributes:
        aws: Provides credentials that are not in the environment.
        on_failure: Called with ``CATALOG_NOT_REFRESHED`` when S3 cannot be read and the last catalog is used.
        published_at: When the current catalog was published, in seconds since 1970; None before it was read.

    Raises:
        SettingsError: ``location`` has no bucket.
    """

    def __init__(
        self,
        location: str,
        max_age_s: float,
        timeout_s: float = 5.0,
        allow_list: AllowList | None = None,
        embedded: Callable[[], Catalog] | None = None,
    ) -> None:
        self.aws, self._allow_list, self._embedded = AwsClients(), allow_list, embedded
        self._bucket, _, prefix = location.removeprefix("s3://").partition("/")
        if not self._bucket:
            raise SettingsError(f"TOOLFOLD_CATALOG must name a bucket: s3://bucket/prefix, not {location!r}.")
        self._prefix = prefix.strip("/")
        self._max_age_s, self._timeout_s = max_age_s, timeout_s
        self.on_failure: Callable[[str], None] | None = None
        self._reading: Thread | None = None
        self._client: Any = None
        self._catalog: Catalog | None = None
        self._checked_at = self._check_again_s = 0.0
        self.published_at: float | None = None

    def __call__(self) -> Catalog:
        """Return the current catalog, or the last one when S3 cannot be read.

        Raises:
            CatalogUnavailable: There is no catalog that can be read.
        """
        self.wait()
        # A negative age is possible: the clock of an environment that is restored from a snapshot may be earlier.
        if self._catalog is not None and 0 <= time.monotonic() - self._checked_at < self._check_again_s:
            return self._catalog
        try:
            self._catalog, self._check_again_s = self._load_current(), self._max_age_s
        except CatalogUnavailable:
            if self._catalog is None:
                raise
            self._check_again_s = _RETRY_S
            logger.warning("the catalog in S3 cannot be read; using the last one")
            if self.on_failure is not None:
                self.on_failure(CATALOG_NOT_REFRESHED)
        self._checked_at = time.monotonic()
        return self._catalog

    def start_reading(self) -> None:
        """Read the catalog in a thread, while this process imports what it needs besides.

        Each of the two requests waits for S3. When one fails, the next call sends it again.
        """

        def read() -> None:
            with suppress(Exception):  # the next call meets the same error, and reports it when logs are set up
                self._catalog = self._load_published(self._get(POINTER, _MAX_POINTER_BYTES))
                self._checked_at, self._check_again_s = time.monotonic(), self._max_age_s

        self._reading = Thread(target=read, name="catalog", daemon=True)
        self._reading.start()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait, at most ``timeout_s``, until the thread of :meth:`start_reading` has ended; requests have time-outs."""
        reading = self._reading
        if reading is not None:
            reading.join(timeout_s)
            if not reading.is_alive():
                self._reading = None

    def invalidate(self) -> None:
        """Close the connections to S3, and read the pointer again at the next request."""
        self._client, self._check_again_s = None, 0.0

    def _load_current(self) -> Catalog:
        try:
            pointer = self._get(POINTER, _MAX_POINTER_BYTES)
        except NotPublished:
            # Access that is denied, a pointer that is damaged, or a bucket that does not exist never leads here: an
            # operator must see it.
            if self._embedded is None:
                raise
            if self._catalog is None:
                logger.warning("no catalog has been published; using the one of the package")
            return self._embedded()
        return self._load_published(pointer)

    def _load_published(self, pointer: bytes) -> Catalog:
        try:
            named = json.loads(pointer)
        except (ValueError, RecursionError):
            named = None
        match named:
            case {"sha256": str(sha256), "bytes": int(size), "head": {"bytes": int(length), "sha256": str(of_head)}}:
                is_hash = len(sha256) == _HASH_LENGTH and _HASH_CHARACTERS.issuperset(sha256)
                known = is_hash and 0 < length <= min(size, _MAX_HEAD_BYTES)
            case _:
                known = False
        if not known:
            logger.error("catalog pointer is malformed")
            raise unavailable("has a malformed pointer")
        if self._catalog is not None and self._catalog.sha256 == sha256:
            return self._catalog
        name = object_name(sha256)
        if size <= SMALL:
            content = self._get(name, size)
            _check_hash(content, sha256)
            catalog = parse_catalog(content, sha256, self._allow_list)
        else:
            line = self._ranges(name, [0], [length])[0]
            _check_hash(line, of_head)
            read = CachedBlockReader(partial(self._ranges, name), len(line))
            catalog = _open_catalog(line, size, read, sha256, self._allow_list)
        self._embedded = None  # a published catalog stays, even if its pointer is deleted
        return catalog

    def _get(self, name: str, max_bytes: int) -> bytes:
        def get(obstore: Any, client: Any) -> bytes:
            found = obstore.get(client, name)
            if name == POINTER:
                self.published_at = found.meta["last_modified"].timestamp()
            return b"" if found.meta["size"] > max_bytes else bytes(found.bytes())

        return self._request(name, get)

    def _ranges(self, name: str, starts: Sequence[int], lengths: Sequence[int]) -> list[bytes]:
        def get_ranges(obstore: Any, client: Any) -> list[bytes]:
            # Up to ten requests in parallel. Ranges are merged when reading the gap takes less than a millisecond.
            found = obstore.get_ranges(client, name, starts=starts, lengths=lengths, coalesce=_GAP_BYTES)
            return [bytes(content) for content in found]

        return self._request(name, get_ranges)

    def _request(self, name: str, send: Callable[[Any, Any], T]) -> T:
        """Call ``send`` with the module ``obstore`` and the bucket, and log failures."""
        try:
            import obstore
        except ImportError:
            logger.error("obstore is not installed")
            step = TELL_OPERATOR_TO.filled(do=f"run: {install_command('aws')}")
            raise unavailable("is in S3, and the S3 reader is not installed", step) from None
        try:
            if self._client is None:
                bucket, prefix = self._bucket, self._prefix
                self._client = self.aws.open_bucket(bucket, prefix, timeout_s=self._timeout_s)
            return send(obstore, self._client)
        except FileNotFoundError as error:
            # Never the text: it contains the address.
            if error_code(error) == "NoSuchBucket":
                logger.error("catalog bucket does not exist")
                raise unavailable("is in a bucket that does not exist") from None
            if name != POINTER or self._embedded is None:
                logger.error("catalog object %s does not exist", name)
            raise NotPublished("The tool catalog has not been published.", PUBLISH) from None
        except Exception as error:  # noqa: BLE001 - obstore's errors have no base but Exception
            logger.error("catalog object %s cannot be read: %s", name, error_code(error))
            raise unavailable("cannot be read from S3") from None


def parse_catalog(
    content: bytes, sha256: str = "", allow_list: AllowList | None = None, is_packaged: bool = False
) -> Catalog:
    """Return the catalog in ``content``.

    Args:
        content: The whole file.
        sha256: Its hash, if known. It is not checked here.
        allow_list: What its sources may name; None: not checked here, as for a catalog that is not called.
        is_packaged: Whether it belongs to this package, and its values need no checks.

    Raises:
        CatalogUnavailable: It is not a compiled catalog, or is incomplete.
    """
    line = content[: content.find(b"\n") + 1]
    return _open_catalog(line, len(content), MemoryBlocks(content, len(line)), sha256, allow_list, is_packaged)


def _open_catalog(
    line: bytes, size: int, read: BlockReader, sha256: str, allow_list: AllowList | None, is_packaged: bool = False
) -> Catalog:
    next_step = PUBLISH if sha256 else NO_CATALOG  # a published one has a hash
    try:
        head = parse_head(line)
    except (ValueError, RecursionError):
        logger.error("catalog is not readable: its first line is not JSON")
        raise unavailable("is not a compiled catalog (not JSON)", next_step) from None
    try:
        catalog = Catalog(head, read, sha256, is_packaged)
        if head.get("bytes") != size - len(line):
            raise ValueError("it is incomplete")
    except ValueError as error:
        logger.error("catalog is not readable: %s", error)
        is_known = isinstance(head, dict) and head.get("format") == FORMAT
        problem = "is damaged" if is_known else "was compiled by another version of toolfold"
        raise unavailable(problem, next_step) from None
    if allow_list is not None:
        allow_list.check_all(catalog.sources)
    return catalog


def _check_hash(content: bytes, sha256: str) -> None:
    import hashlib

    if hashlib.sha256(content).hexdigest() != sha256:
        logger.error("catalog does not match its hash %s", sha256)
        raise unavailable("does not match its hash")
