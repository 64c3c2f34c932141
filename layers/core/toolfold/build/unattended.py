"""Publish without a person: when a stack is deployed, and on a schedule."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from toolfold.build.aws_errors import explained
from toolfold.build.catalog_bucket import CatalogBucket
from toolfold.build.pointer import Pointer, Writer
from toolfold.build.preparation import Refresh, prepare_catalog
from toolfold.build.publisher import Author, OnStep, Outcome, publish_catalog
from toolfold.catalog.allow_list import AllowList
from toolfold.errors import BucketUnavailable, CatalogDamaged, PublishConflict, PublishError

__all__ = ["Run", "UnattendedPublisher"]

logger = logging.getLogger("toolfold")

_DENIED = ("AccessDenied", "403")
_DENIED_PAUSES_S = 5.0, 10.0, 20.0
"""Seconds between attempts of a deployment that S3 denies: a new role is known everywhere after some seconds."""


class Run(NamedTuple):
    """What one run did.

    Attributes:
        trigger: ``deployment`` or ``schedule``.
        outcome: ``published``, ``unchanged``, ``kept``, ``conflict`` or ``failed``.
        code: The code of the error, or empty.
        sha256: The catalog that is current, if known.
        tools: How many tools it has.
        age_s: Seconds since the current catalog was published or last found up to date; None: unknown.
    """

    trigger: str
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
        refreshes: Update the sources before a run on the schedule. A deployment publishes the sources of its build.
        on_run: Called with the result of every run, also of one that fails.
        sleep: Waits some seconds.
        now: Returns the present.
    """

    def __init__(
        self,
        folder: Path,
        bucket: CatalogBucket,
        allow_list: AllowList,
        *,
        refreshes: Sequence[Refresh] = (),
        on_run: Callable[[Run], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._folder, self._bucket, self._allow_list = folder, bucket, allow_list
        self._refreshes, self._on_run, self._sleep, self._now = refreshes, on_run, sleep, now

    def deploy(self, stack: str, on_step: OnStep) -> Mapping[str, str]:
        """Publish at a deployment of ``stack``, unless a person or the schedule published the current catalog.

        Returns:
            The attributes of the custom resource: ``Outcome``, ``Sha256``, ``Tools``.

        Raises:
            PublishError: Nothing was published.
        """
        author = Author(Writer.DEPLOYMENT, stack)
        for pause_s in (*_DENIED_PAUSES_S, None):
            try:
                done = self._run(author, on_step)
                break
            except BucketUnavailable as error:
                if error.aws_code not in _DENIED or pause_s is None:
                    raise
                self._sleep(pause_s)
                on_step("Trying again …")
        if done.outcome == Outcome.KEPT:
            logger.warning("the deployment left the catalog as it is: a person or the schedule published it")
        return {"Outcome": done.outcome, "Sha256": done.sha256, "Tools": str(done.tools)}

    def refresh(self) -> Run:
        """Publish on a schedule, unless a person published the current catalog.

        Raises:
            PublishError: Nothing was published, so that Lambda tries again and then reports the failure.
        """
        return self._run(Author(Writer.SCHEDULE, "schedule"), lambda _: None)

    def _run(self, author: Author, on_step: OnStep) -> Run:
        started = time.perf_counter()
        try:
            run = self._publish(author, on_step)
        except BaseException as error:
            code = error.code if isinstance(error, PublishError) else type(error).__name__
            self._report(Run(str(author.writer), "failed", code), started)
            raise
        self._report(run, started)
        return run

    def _publish(self, author: Author, on_step: OnStep) -> Run:
        on_step(f"Compiling {self._folder} …")
        refreshes = self._refreshes if author.writer is Writer.SCHEDULE else ()
        content = prepare_catalog(self._folder, self._allow_list, refreshes)
        with explained(f"Nothing was published to {self._bucket.location}"):
            try:
                done = publish_catalog(content, self._bucket, author, now=self._now(), on_step=on_step)
            except PublishConflict as conflict:
                logger.warning("another publisher was faster")
                found = self._bucket.read_pointer().pointer
                return _describe(author.writer, "conflict", found, self._now())._replace(code=conflict.code)
        if done.pointer is None and author.writer is Writer.SCHEDULE:
            raise CatalogDamaged(
                f"The pointer of {self._bucket.location} is damaged.",
                f"Publish with: toolfold catalog publish {self._bucket.location}",
            )
        return _describe(author.writer, done.outcome, done.pointer, self._now())

    def _report(self, run: Run, started: float) -> None:
        fields = {**run._asdict(), "ms": round((time.perf_counter() - started) * 1000)}
        level = logging.ERROR if run.outcome == "failed" else logging.INFO
        logger.log(level, "publish", extra={name: value for name, value in fields.items() if value not in ("", None)})
        if self._on_run is not None:
            self._on_run(run)


def _describe(trigger: Writer, outcome: str, pointer: Pointer | None, now: datetime) -> Run:
    if pointer is None:
        return Run(str(trigger), str(outcome))
    current = pointer.current
    try:
        confirmed_at = datetime.fromisoformat(pointer.checked_at or current.published_at)
        age_s = max(0.0, (now - confirmed_at).total_seconds())
    except (ValueError, TypeError):  # edited by hand
        age_s = None
    return Run(str(trigger), str(outcome), "", current.sha256, current.tools, age_s)
