"""Publish a compiled catalog to S3: what a person compiled, or the sources of a folder on a schedule.

The immutable object is written first and the pointer to it last, so a reader finds a complete catalog at any moment,
and a process that ends in between changes nothing that a reader sees. The pointer is replaced only if it is still the
one that was read at the start: of two publishers at once one succeeds, and the other fails.
"""

from __future__ import annotations

import enum
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from toolfold.build.catalog_bucket import (
    Author,
    CatalogBucket,
    Pointer,
    StoredPointer,
    Writer,
    explained,
    format_time,
    point_to,
)
from toolfold.build.preparation import Refresh, check_catalog, prepare_catalog
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.store import POINTER, object_name
from toolfold.errors import CatalogDamaged, PublishConflict, PublishError

logger = logging.getLogger("toolfold")

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
        news = {"automatic": current.automatic or automatic, "checked_at": checked_at}
        confirmed = current.model_copy(update=news)
        if confirmed != current:
            current = _replace(bucket, confirmed, stored).pointer
        return Publication(Outcome.UNCHANGED, current)
    on_step(f"Making it the current one: {bucket.url(POINTER)} …")
    return _replace(bucket, pointer, stored)


def _replace(bucket: CatalogBucket, pointer: Pointer, stored: StoredPointer) -> Publication:
    try:
        bucket.replace_pointer(pointer, stored)
    except PublishConflict as conflict:
        if conflict.detail != pointer.sha256:
            raise
        return Publication(Outcome.UNCHANGED, bucket.read_pointer().pointer)
    return Publication(Outcome.PUBLISHED, pointer)


class Run(NamedTuple):
    """What one run did.

    ``outcome`` is ``published``, ``unchanged``, ``kept``, ``conflict`` or ``failed``; ``age_s`` the seconds since the
    current catalog was published or last found up to date, None: unknown.
    """

    outcome: str
    code: str = ""
    sha256: str = ""
    tools: int = 0
    age_s: float | None = None


def publish_unattended(
    folder: Path,
    bucket: CatalogBucket,
    allow_list: AllowList,
    *,
    refresh: Refresh | None = None,
    on_run: Callable[[Run], None] = lambda _: None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Run:
    """Publish the catalog of the sources in a folder, unless a person published the current one.

    Args:
        folder: The YAML of the sources.
        bucket: Where to publish.
        allow_list: What the gateway allows sources to name.
        refresh: Updates the sources first.
        on_run: Called with the result, also of a run that fails.
        now: Returns the present.

    Raises:
        PublishError: Nothing was published, so that Lambda tries again and then reports the failure.
    """
    started, run = time.perf_counter(), Run("failed")
    try:
        content = prepare_catalog(folder, allow_list, refresh)
        run = _publish(content, bucket, now())
    except BaseException as error:
        run = run._replace(code=error.code if isinstance(error, PublishError) else type(error).__name__)
        raise
    finally:
        fields = {**run._asdict(), "ms": round((time.perf_counter() - started) * 1000)}
        shown = {name: value for name, value in fields.items() if value not in ("", None)}
        logger.log(logging.ERROR if run.outcome == "failed" else logging.INFO, "publish", extra=shown)
        on_run(run)
    return run


def _publish(content: bytes, bucket: CatalogBucket, now: datetime) -> Run:
    with explained(f"Nothing was published to {bucket.location}"):
        try:
            outcome, pointer = publish_catalog(content, bucket, Author(Writer.SCHEDULE), now=now)
        except PublishConflict as conflict:
            logger.warning("another publisher was faster")
            found = bucket.read_pointer().pointer
            return _describe("conflict", found, now)._replace(code=conflict.code)
    if pointer is None:
        raise CatalogDamaged(
            f"The pointer of {bucket.location} is damaged.", f"Publish with: toolfold catalog publish {bucket.location}"
        )
    return _describe(outcome, pointer, now)


def _describe(outcome: str, pointer: Pointer | None, now: datetime) -> Run:
    if pointer is None:
        return Run(str(outcome))
    try:
        confirmed_at = datetime.fromisoformat(pointer.checked_at or pointer.published_at)
        age_s = max(0.0, (now - confirmed_at).total_seconds())
    except (ValueError, TypeError):  # edited by hand
        age_s = None
    return Run(str(outcome), "", pointer.sha256, pointer.tools, age_s)
