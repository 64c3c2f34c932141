"""Answer the events of a CloudFormation custom resource, in every case.

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
from typing import Any

__all__ = ["PHYSICAL_ID", "answer", "is_custom_resource"]

logger = logging.getLogger("toolfold")

PHYSICAL_ID = "toolfold-catalog"
"""Always the same: with another one CloudFormation would delete the former resource after an update."""

_MARGIN_S = 15.0
"""Seconds before the end of the invocation at which a failure is reported; sending it may take three attempts."""

_ATTEMPTS, _SEND_TIMEOUT_S, _PAUSE_S = 3, 4.0, 0.5
_MAX_REASON = 1000
"""Characters of a reason. CloudFormation accepts 4,096 bytes for the whole answer."""

OnStep = Callable[[str], None]


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
    """Return status, reason and data of ``publish``, which is given ``timeout_s`` seconds."""
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
    from toolfold.errors import PublishError, ToolfoldError

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
