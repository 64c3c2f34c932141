"""Publish without a person: when a stack is deployed, and on a schedule.

Answer the events of a CloudFormation custom resource, in every case.

A deployment waits until its custom resource was answered, up to an hour. So nothing that can fail is imported or done
outside of the part whose exceptions are caught, and an answer is sent before Lambda ends the invocation.
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref.html
"""

from __future__ import annotations

import json
import logging
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from toolfold.build.catalog_bucket import CatalogBucket, explained
from toolfold.build.pointer import Author, Pointer, Writer
from toolfold.build.preparation import Refresh, prepare_catalog
from toolfold.build.publisher import OnStep, Outcome, publish_catalog
from toolfold.catalog.allow_list import AllowList
from toolfold.errors import BucketUnavailable, CatalogDamaged, PublishConflict, PublishError, ToolfoldError

PHYSICAL_ID = "toolfold-catalog"
"""Always the same: with another one CloudFormation would delete the former resource after an update."""

_MARGIN_S = 15.0
"""Seconds before the end of the invocation at which a failure is reported; sending it may take three attempts."""

_ATTEMPTS, _SEND_TIMEOUT_S, _PAUSE_S = 3, 4.0, 0.5
_MAX_REASON = 1000
"""Characters of a reason. CloudFormation accepts 4,096 bytes for the whole answer."""


def is_custom_resource(event: Any) -> bool:
    """Return whether ``event`` comes from CloudFormation."""
    return isinstance(event, dict) and "RequestType" in event and "ResponseURL" in event


def answer(
    event: Mapping[str, Any],
    publish: Callable[[OnStep], Mapping[str, str]],
    remaining_s: float,
    send: Callable[[str, bytes], None] | None = None,
) -> dict[str, Any]:
    """Publish for ``Create`` and ``Update``, do nothing for ``Delete``, send the answer, and return it.

    Args:
        event: The event.
        publish: Publishes, and returns what the template can read with ``GetAtt``. It calls its argument before each
            step, which raises ``TimeoutError`` once a failure has been reported.
        remaining_s: Seconds until Lambda ends the invocation.
        send: Sends the answer to a URL; None: by HTTP.

    Raises:
        OSError: The answer could not be sent.
    """
    status, reason, data = "SUCCESS", "", dict[str, str]()
    request = event["RequestType"]
    if request in ("Create", "Update"):
        status, reason, data = _run(publish, remaining_s - _MARGIN_S)
    elif request != "Delete":
        status, reason = "FAILED", f"RequestType {str(request)[:40]!r} is not known."
    body: dict[str, Any] = {
        "Status": status,
        "PhysicalResourceId": (event.get("PhysicalResourceId") if request == "Delete" else "") or PHYSICAL_ID,
        **{name: event.get(name, "") for name in ("StackId", "RequestId", "LogicalResourceId")},
        "Data": data,
    }
    if reason:
        body["Reason"] = reason[:_MAX_REASON]
    (send or _send)(str(event["ResponseURL"]), json.dumps(body).encode())
    return body


def _run(publish: Callable[[OnStep], Mapping[str, str]], timeout_s: float) -> tuple[str, str, dict[str, str]]:
    is_late = threading.Event()
    done: list[tuple[str, str, dict[str, str]]] = []

    def check_time(_step: str) -> None:
        if is_late.is_set():
            raise TimeoutError

    def run() -> None:
        try:
            done.append(("SUCCESS", "", dict(publish(check_time))))
        except BaseException as error:  # noqa: BLE001 - a deployment must not wait for an answer
            done.append(("FAILED", _reason(error), {}))

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    worker.join(max(timeout_s, 0.0))
    is_late.set()
    if done:
        return done[0]
    return "FAILED", f"The catalog was not published within {max(timeout_s, 0):.0f} s. Deploy again.", {}


def _reason(error: BaseException) -> str:
    if isinstance(error, PublishError):
        return f"{error.code}: {error}"
    if isinstance(error, ToolfoldError):
        return str(error)
    logger.error("publish failed: %s", type(error).__name__, exc_info=error)
    return f"{type(error).__name__}: the log of the publisher has the details."


def _send(url: str, body: bytes) -> None:
    """Send the answer to ``url``, which is a presigned URL of S3. Its signature covers an empty content type."""
    if not url.startswith(("https://", "http://127.0.0.1:")):
        raise OSError("The URL of CloudFormation is not https.")
    for attempt in range(_ATTEMPTS):
        request = urllib.request.Request(url, body, {"content-type": ""}, method="PUT")  # noqa: S310 - checked above
        try:
            with urllib.request.urlopen(request, timeout=_SEND_TIMEOUT_S):  # noqa: S310 - as above
                return
        except OSError as error:
            logger.warning("answer to CloudFormation not sent: %s", type(error).__name__)
            if attempt == _ATTEMPTS - 1:
                raise OSError("The answer to CloudFormation could not be sent.") from None
            time.sleep(_PAUSE_S * 2**attempt)


logger = logging.getLogger("toolfold")

_DENIED = ("AccessDenied", "403")
_DENIED_PAUSES_S = 5.0, 10.0, 20.0
"""Seconds between attempts of a deployment that S3 denies: a new role is known everywhere after some seconds."""


class Run(NamedTuple):
    """What one run did.

    ``outcome`` is ``published``, ``unchanged``, ``kept``, ``conflict`` or ``failed``; ``age_s`` the seconds since the
    current catalog was published or last found up to date, None: unknown.
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
        refresh: Updates the sources before a run on the schedule. A deployment publishes the sources of its build.
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
        refresh: Refresh | None = None,
        on_run: Callable[[Run], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._folder, self._bucket, self._allow_list = folder, bucket, allow_list
        self._refresh, self._on_run, self._sleep, self._now = refresh, on_run, sleep, now

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
        started, run = time.perf_counter(), Run(str(author.writer), "failed")
        try:
            run = self._publish(author, on_step)
        except BaseException as error:
            run = run._replace(code=error.code if isinstance(error, PublishError) else type(error).__name__)
            raise
        finally:
            fields = {**run._asdict(), "ms": round((time.perf_counter() - started) * 1000)}
            shown = {name: value for name, value in fields.items() if value not in ("", None)}
            logger.log(logging.ERROR if run.outcome == "failed" else logging.INFO, "publish", extra=shown)
            if self._on_run is not None:
                self._on_run(run)
        return run

    def _publish(self, author: Author, on_step: OnStep) -> Run:
        on_step(f"Compiling {self._folder} …")
        refresh = self._refresh if author.writer is Writer.SCHEDULE else None
        content = prepare_catalog(self._folder, self._allow_list, refresh)
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


def _describe(trigger: Writer, outcome: str, pointer: Pointer | None, now: datetime) -> Run:
    if pointer is None:
        return Run(str(trigger), str(outcome))
    try:
        confirmed_at = datetime.fromisoformat(pointer.checked_at or pointer.published_at)
        age_s = max(0.0, (now - confirmed_at).total_seconds())
    except (ValueError, TypeError):  # edited by hand
        age_s = None
    return Run(str(trigger), str(outcome), "", pointer.sha256, pointer.tools, age_s)
