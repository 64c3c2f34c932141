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

from toolfold.build.catalog_bucket import Author, CatalogBucket, Pointer, Writer, explained, point_to
from toolfold.build.preparation import Refresh, check_catalog, prepare_catalog
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.store import POINTER, object_name
from toolfold.errors import CatalogDamaged, PublishError

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
    """The result of a publication: what it did, and the pointer after it."""

    outcome: Outcome
    pointer: Pointer


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
        author: Who publishes. The schedule does not replace the catalog of a person.
        automatic: Whether the schedule may replace this one all the same.
        now: The time to write into the pointer; None: the present.
        on_step: Called with a sentence before each request that writes. What it raises ends the publication.

    Raises:
        SettingsError: ``content`` is not a compiled catalog.
        PublishConflict: Another publisher was faster; its catalog stays current.
        CatalogDamaged: The bucket has another object under the name of this catalog, or a damaged pointer, which a
            person replaces.
        botocore.exceptions.BotoCoreError: S3 cannot be reached, or there are no credentials.
        botocore.exceptions.ClientError: S3 refuses.
    """
    tools, stored = len(check_catalog(content)), bucket.read_pointer()
    current = stored.pointer
    if author.writer is Writer.SCHEDULE and stored.etag is not None:
        if current is None:
            step = f"Publish with: toolfold catalog publish {bucket.location}"
            raise CatalogDamaged(f"The pointer of {bucket.location} is damaged.", step)
        if current.writer is not Writer.SCHEDULE and not current.automatic:
            return Publication(Outcome.KEPT, current)
    pointer = point_to(content, tools, author, now=now or datetime.now(UTC), former=current, automatic=automatic)
    on_step(f"Uploading {len(content):,} bytes to {bucket.url(object_name(pointer.sha256))} …")
    bucket.store_catalog(content)
    if current is not None and current.sha256 == pointer.sha256:
        confirmed = current.model_copy(update={"automatic": current.automatic or automatic})
        if confirmed != current:
            bucket.replace_pointer(confirmed, stored)
        return Publication(Outcome.UNCHANGED, confirmed)
    on_step(f"Making it the current one: {bucket.url(POINTER)} …")
    bucket.replace_pointer(pointer, stored)
    return Publication(Outcome.PUBLISHED, pointer)


class Run(NamedTuple):
    """What one run did.

    ``outcome`` is ``published``, ``unchanged``, ``kept`` or ``failed``; ``age_s`` the seconds since the current catalog
    was published or found up to date, None: unknown.
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
        with explained(f"Nothing was published to {bucket.location}"):
            outcome, pointer = publish_catalog(content, bucket, Author(Writer.SCHEDULE), now=now())
        age_s = max(0.0, (now() - pointer.published_at).total_seconds()) if outcome is Outcome.KEPT else 0.0
        run = Run(str(outcome), "", pointer.sha256, pointer.tools, age_s)
    except BaseException as error:
        run = run._replace(code=error.code if isinstance(error, PublishError) else type(error).__name__)
        raise
    finally:
        fields = {**run._asdict(), "ms": round((time.perf_counter() - started) * 1000)}
        shown = {name: value for name, value in fields.items() if value not in ("", None)}
        logger.log(logging.ERROR if run.outcome == "failed" else logging.INFO, "publish", extra=shown)
        on_run(run)
    return run
