"""The custom resource of CloudFormation is answered in every case."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from toolfold.build import unattended
from toolfold.build.unattended import PHYSICAL_ID, answer, is_custom_resource
from toolfold.errors import CatalogRejected, SettingsError

EVENT = {
    "RequestType": "Create",
    "ResponseURL": "https://cloudformation.example/answer",
    "StackId": "arn:aws:cloudformation:eu-central-1:123456789012:stack/toolfold/1",
    "RequestId": "request-1",
    "LogicalResourceId": "PublishedCatalog",
    "ResourceType": "Custom::ToolfoldCatalog",
    "ResourceProperties": {"ServiceToken": "arn", "Sources": "layer"},
}
Publish = Callable[[Callable[[str], None]], dict[str, str]]


def published(_on_step: Callable[[str], None]) -> dict[str, str]:
    return {"Outcome": "published"}


def ask(publish: Publish = published, remaining_s: float = 60.0, **changes: Any) -> dict[str, Any]:
    """The answer that was sent."""
    sent: list[tuple[str, bytes]] = []
    event = {**EVENT, **changes}
    returned = answer(event, publish, remaining_s, lambda url, body: sent.append((url, body)))
    [(url, body)] = sent
    assert url == EVENT["ResponseURL"]
    assert json.loads(body) == returned
    assert len(body) < 4096
    return returned


def test_events_of_cloudformation_are_recognized() -> None:
    assert is_custom_resource(EVENT)
    for other in ({}, {"source": "aws.events"}, {"RequestType": "Create"}, [], None):
        assert not is_custom_resource(other)


@pytest.mark.parametrize("request_type", ["Create", "Update"])
def test_a_publication_is_a_success_with_its_attributes(request_type: str) -> None:
    assert ask(RequestType=request_type) == {
        "Status": "SUCCESS",
        "PhysicalResourceId": PHYSICAL_ID,
        "StackId": EVENT["StackId"],
        "RequestId": "request-1",
        "LogicalResourceId": "PublishedCatalog",
        "Data": {"Outcome": "published"},
    }


def failing(error: BaseException) -> Publish:
    def publish(_on_step: Callable[[str], None]) -> dict[str, str]:
        raise error

    return publish


def test_a_deletion_succeeds_and_does_nothing() -> None:
    answered = ask(failing(AssertionError()), RequestType="Delete", PhysicalResourceId="made-by-cloudformation")
    assert (answered["Status"], answered["PhysicalResourceId"]) == ("SUCCESS", "made-by-cloudformation")
    assert ask(failing(AssertionError()), RequestType="Delete")["PhysicalResourceId"] == PHYSICAL_ID


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            CatalogRejected("The sources have findings.", "Run: lint"),
            "CATALOG_REJECTED: The sources have findings. Run",
        ),
        (SettingsError("TOOLFOLD_LOG_LEVEL must be DEBUG."), "TOOLFOLD_LOG_LEVEL must be DEBUG."),
        (ModuleNotFoundError("secret"), "ModuleNotFoundError: the log of the publisher has the details."),
        (KeyError("secret"), "KeyError: the log of the publisher has the details."),
        (SystemExit(3), "SystemExit: the log"),
        (CatalogRejected("x" * 9000, ""), "CATALOG_REJECTED: xxx"),
    ],
)
def test_every_failure_is_answered_with_a_reason(error: BaseException, reason: str) -> None:
    for request_type in ("Create", "Update"):
        answered = ask(failing(error), RequestType=request_type)
        assert (answered["Status"], answered["PhysicalResourceId"]) == ("FAILED", PHYSICAL_ID)
        assert answered["Reason"].startswith(reason)
        assert "secret" not in answered["Reason"]


@pytest.mark.parametrize("request_type", ["Import", "", None, ["Create"]])
def test_an_unknown_request_is_answered(request_type: Any) -> None:
    answered = ask(RequestType=request_type)
    assert (answered["Status"], answered["Data"]) == ("FAILED", {})
    assert "is not known" in answered["Reason"]


def test_what_takes_too_long_is_answered_in_time_and_writes_nothing_afterwards() -> None:
    go_on, ended = threading.Event(), threading.Event()

    def publish(on_step: Callable[[str], None]) -> dict[str, str]:
        go_on.wait(20)
        try:
            on_step("Making it the current one …")
        except TimeoutError:
            ended.set()
            raise
        return {}

    answered = ask(publish, remaining_s=unattended._MARGIN_S + 0.05)
    assert (answered["Status"], answered["Reason"]) == (
        "FAILED",
        "The catalog was not published within 0 s. Deploy again.",
    )
    go_on.set()
    assert ended.wait(20)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[Any], list[int]]]:
    """URL of an imitation of S3, what it received, and the statuses that it answers with, one after another."""
    received: list[Any] = []
    statuses: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.append((self.path, self.headers["content-type"], json.loads(body)))
            self.send_response(statuses.pop(0) if statuses else 200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    monkeypatch.setattr(time, "sleep", lambda _: None)
    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}/answer?Signature=abc%2F", received, statuses
    running.shutdown()
    running.server_close()
    thread.join()


def test_the_answer_is_put_with_an_empty_content_type(server: tuple[str, list[Any], list[int]]) -> None:
    url, received, _ = server
    returned = answer({**EVENT, "ResponseURL": url}, published, 60.0)
    assert received == [("/answer?Signature=abc%2F", "", returned)]


@pytest.mark.parametrize(("statuses", "delivered"), [([500, 503], True), ([500, 500, 500], False)])
def test_an_answer_that_is_not_accepted_is_sent_again(
    server: tuple[str, list[Any], list[int]], statuses: list[int], delivered: bool
) -> None:
    url, received, left = server
    left += statuses
    if delivered:
        answer({**EVENT, "ResponseURL": url}, published, 60.0)
    else:  # Lambda starts the function again
        with pytest.raises(OSError, match="could not be sent"):
            answer({**EVENT, "ResponseURL": url}, published, 60.0)
    assert len(received) == 3


@pytest.mark.parametrize("url", ["http://example.com/x", "file:///etc/passwd", ""])
def test_answers_go_to_https_only(url: str) -> None:
    with pytest.raises(OSError, match="not https"):
        answer({**EVENT, "ResponseURL": url}, published, 60.0)
