"""Publish a compiled catalog to S3.

The immutable object is written first and the pointer to it last, so a reader finds a complete catalog at any moment,
and a process that ends in between changes nothing that a reader sees. The pointer is replaced only if it is still the
one that was read at the start: of two publishers at once one succeeds, and the other fails.
"""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from toolfold.build.catalog_bucket import CatalogBucket, StoredPointer
from toolfold.build.pointer import Author, Pointer, Writer, format_time, point_to
from toolfold.catalog.model import Catalog
from toolfold.catalog.reader import CachedBlockReader, parse_head
from toolfold.catalog.store import POINTER, object_name
from toolfold.errors import CatalogUnavailable, PublishConflict, SettingsError

OnStep = Callable[[str], None]


class Outcome(enum.StrEnum):
    """What a publication did."""

    PUBLISHED = "published"
    UNCHANGED = "unchanged"
    """The catalog was the current one already."""
    KEPT = "kept"
    """Another catalog stays current, because a person published it."""


class Publication(NamedTuple):
    """The result of a publication: what it did, and the pointer after it (None: one that cannot be read)."""

    outcome: Outcome
    pointer: Pointer | None


def publish_catalog(
    content: bytes,
    bucket: CatalogBucket,
    author: Author,
    *,
    automatic: bool = False,
    now: datetime | None = None,
    on_step: OnStep = lambda _: None,
) -> Publication:
    """Make ``content`` the current catalog of ``bucket``, unless ``author`` may not replace the one that is.

    Can be repeated. Every line and every hash is checked first: a reader checks only what it reads, when it reads it.

    Args:
        content: A compiled catalog.
        bucket: Where to.
        author: Who publishes; :meth:`Pointer.may_be_replaced_by` has the rule.
        automatic: Whether the schedule may replace the catalog of a person.
        now: The time to write into the pointer; None: the present.
        on_step: Called with a sentence before each request that writes. What it raises ends the publication.

    Raises:
        SettingsError: ``content`` is not a compiled catalog.
        PublishConflict: Another publisher was faster; its catalog stays current.
        CatalogDamaged: The bucket has another object under the name of this catalog.
        botocore.exceptions.BotoCoreError: S3 cannot be reached, or there are no credentials.
        botocore.exceptions.ClientError: S3 refuses.
    """
    tools, moment = len(check_catalog(content)), now or datetime.now(UTC)
    stored = bucket.read_pointer()
    current = stored.pointer
    # Who wrote a damaged pointer is not known.
    is_kept = stored.etag is not None if current is None else not current.may_be_replaced_by(author.writer)
    if is_kept and author.writer is not Writer.TERMINAL:
        return Publication(Outcome.KEPT, current)
    pointer = point_to(content, tools, author, now=moment, former=current, automatic=automatic)
    on_step(f"Uploading {len(content):,} bytes to {bucket.url(object_name(pointer.sha256))} …")
    bucket.store_catalog(content)
    if current is not None and current.sha256 == pointer.sha256:
        checked_at = format_time(moment) if author.writer is Writer.SCHEDULE else current.checked_at
        confirmed = dataclasses.replace(current, automatic=current.automatic or automatic, checked_at=checked_at)
        if confirmed != current:
            current = _replace(bucket, confirmed, stored).pointer
        return Publication(Outcome.UNCHANGED, current)
    on_step(f"Making it the current one: {bucket.url(POINTER)} …")
    return _replace(bucket, pointer, stored)


def _replace(bucket: CatalogBucket, pointer: Pointer, stored: StoredPointer) -> Publication:
    try:
        bucket.replace_pointer(pointer, stored)
    except PublishConflict as conflict:
        if conflict.current_sha256 != pointer.sha256:
            raise
        return Publication(Outcome.UNCHANGED, bucket.read_pointer().pointer)
    return Publication(Outcome.PUBLISHED, pointer)


def check_catalog(content: bytes) -> Catalog:
    """Check every line, tool and hash of ``content``, and return the catalog.

    Raises:
        SettingsError: It is not a compiled catalog.
    """
    head_line = content[: content.find(b"\n") + 1]

    def fetch(starts: Sequence[int], lengths: Sequence[int]) -> list[bytes]:
        return [content[start : start + length] for start, length in zip(starts, lengths, strict=True)]

    try:
        head = parse_head(head_line)
        catalog = Catalog(head, CachedBlockReader(fetch, len(head_line)))
        if head.get("bytes") != len(content) - len(head_line):
            raise ValueError("incomplete")
        catalog.verify()
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise SettingsError("The file is not a compiled catalog (not JSON).") from None
    except ValueError as error:
        raise SettingsError(f"The file is not a compiled catalog ({error}).") from None
    except CatalogUnavailable:
        raise SettingsError("The file is not a compiled catalog (parts of it are damaged).") from None
    return catalog
