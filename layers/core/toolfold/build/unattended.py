"""Publish without a person, on a schedule."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from toolfold.build.catalog_bucket import CatalogBucket, explained
from toolfold.build.pointer import Author, Pointer, Writer
from toolfold.build.preparation import Refresh, prepare_catalog
from toolfold.build.publisher import publish_catalog
from toolfold.catalog.allow_list import AllowList
from toolfold.errors import CatalogDamaged, PublishConflict, PublishError

logger = logging.getLogger("toolfold")


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


class UnattendedPublisher:
    """Publishes the catalog of the sources in a folder.

    Args:
        folder: The YAML of the sources.
        bucket: Where to publish.
        allow_list: What the gateway allows sources to name.
        refresh: Updates the sources before a run.
        on_run: Called with the result of every run, also of one that fails.
        now: Returns the present.
    """

    def __init__(
        self,
        folder: Path,
        bucket: CatalogBucket,
        allow_list: AllowList,
        *,
        refresh: Refresh | None = None,
        on_run: Callable[[Run], None] = lambda _: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._folder, self._bucket, self._allow_list = folder, bucket, allow_list
        self._refresh, self._on_run, self._now = refresh, on_run, now

    def run(self) -> Run:
        """Publish, unless a person published the current catalog.

        Raises:
            PublishError: Nothing was published, so that Lambda tries again and then reports the failure.
        """
        started, run = time.perf_counter(), Run("failed")
        try:
            run = self._publish()
        except BaseException as error:
            run = run._replace(code=error.code if isinstance(error, PublishError) else type(error).__name__)
            raise
        finally:
            fields = {**run._asdict(), "ms": round((time.perf_counter() - started) * 1000)}
            shown = {name: value for name, value in fields.items() if value not in ("", None)}
            logger.log(logging.ERROR if run.outcome == "failed" else logging.INFO, "publish", extra=shown)
            self._on_run(run)
        return run

    def _publish(self) -> Run:
        content, author = prepare_catalog(self._folder, self._allow_list, self._refresh), Author(Writer.SCHEDULE)
        with explained(f"Nothing was published to {self._bucket.location}"):
            try:
                outcome, pointer = publish_catalog(content, self._bucket, author, now=self._now())
            except PublishConflict as conflict:
                logger.warning("another publisher was faster")
                found = self._bucket.read_pointer().pointer
                return _describe("conflict", found, self._now())._replace(code=conflict.code)
        if pointer is None:
            raise CatalogDamaged(
                f"The pointer of {self._bucket.location} is damaged.",
                f"Publish with: toolfold catalog publish {self._bucket.location}",
            )
        return _describe(outcome, pointer, self._now())


def _describe(outcome: str, pointer: Pointer | None, now: datetime) -> Run:
    if pointer is None:
        return Run(str(outcome))
    try:
        confirmed_at = datetime.fromisoformat(pointer.checked_at or pointer.published_at)
        age_s = max(0.0, (now - confirmed_at).total_seconds())
    except (ValueError, TypeError):  # edited by hand
        age_s = None
    return Run(str(outcome), "", pointer.sha256, pointer.tools, age_s)
