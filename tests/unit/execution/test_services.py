"""What calls share: equal calls at the same time, circuit breakers, the health of sources, and the log in a file."""

import json
import logging
import os
import threading
import time
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.clocks import Clock
from tests.support.threads import run_concurrently
from toolfold.budget import SingleFlight
from toolfold.cache.stores import FailSafeStore
from toolfold.errors import (
    CallError,
    InvalidArguments,
    NoData,
    RateLimited,
    SourceChanged,
    UpstreamError,
    UpstreamTimeout,
)
from toolfold.execution import audit
from toolfold.execution.audit import CallLogFile
from toolfold.execution.call import CallLog
from toolfold.execution.credentials import NO_CREDENTIALS, RequestCredentials
from toolfold.execution.services import KEPT_REQUEST_S, KEPT_S, KeptRequests, SourceHealth
from toolfold.execution.upstream import Circuit, CircuitBreaker
from toolfold.sources.base import ConnectionFailed, ConnectionNotPossible, ConnectTimeout, NotConnected


def follow(leader_s: float, failure: CallError) -> str:
    """Return what a call gets that joins an equal one, which has ``leader_s`` seconds and fails."""
    flights: SingleFlight[str] = SingleFlight()
    started, may_end = threading.Event(), threading.Event()

    def fails() -> str:
        started.set()
        assert may_end.wait(60)
        raise failure

    def lead() -> None:
        with pytest.raises(type(failure)):
            flights.run("name", fails, leader_s)

    leader = threading.Thread(target=lead)
    leader.start()
    assert started.wait(60)
    threading.Timer(0.06, may_end.set).start()
    try:
        return flights.run("name", lambda: "its own", 5.0)
    except CallError as error:
        return error.code
    finally:
        leader.join()


@pytest.mark.parametrize(
    ("leader_s", "failure", "expected"),
    [
        (5.0, RateLimited("no", "wait"), "RATE_LIMITED"),
        (60.0, UpstreamTimeout("late", "again"), "UPSTREAM_TIMEOUT"),
        (0.05, UpstreamTimeout("late", "again"), "its own"),
    ],
)
def test_a_failure_is_shared_unless_the_time_of_the_first_call_was_over(
    leader_s: float, failure: CallError, expected: str
) -> None:
    assert follow(leader_s, failure) == expected


def test_a_success_resets_the_count_of_failures() -> None:
    breaker = CircuitBreaker(max_failures=3, cooldown_s=30.0, clock=lambda: 100.0)
    for _ in range(5):
        for _ in range(2):
            assert breaker.find().wait_s == 0
            breaker.record(is_failure=True)
        breaker.record(is_failure=False)
    assert breaker.find() == Circuit("closed")


def tool(name: str = "a__x", source: str = "a") -> Any:
    return SimpleNamespace(name=name, source=source)


@pytest.mark.parametrize(
    ("failure", "trouble"),
    [
        (NotConnected, "could not be reached"),
        (ConnectionNotPossible, "could not be reached"),
        (ConnectTimeout, "could not be reached"),
        (ConnectionFailed, "could not serve"),
        (UpstreamTimeout, "did not answer the last call in time"),
        (SourceChanged, "has changed a__x"),
        (UpstreamError, None),
        (InvalidArguments, None),
        (NoData, None),
    ],
)
def test_a_failure_counts_that_no_caller_can_cause(failure: type[CallError], trouble: str | None) -> None:
    health = SourceHealth(lambda: 0.0)
    health.record_failure(tool(), failure("It failed.", ""))
    found = health.troubles()
    assert found.keys() == ({"a"} if trouble else set())
    assert trouble is None or trouble in found["a"]


def test_a_failure_is_forgotten() -> None:
    now = 0.0
    health = SourceHealth(lambda: now)
    health.record_failure(tool(), NotConnected("It is down.", ""))
    now = KEPT_S + 1
    assert not health.troubles()


def test_a_request_is_kept_for_a_while_and_used_once() -> None:
    clock = Clock("2026-01-13 12:00")
    broken: Any = object()  # without a method of a store
    kept = KeptRequests(FailSafeStore(broken, 30.0, clock.monotonic), clock.clocks(), "salt")
    assert kept.add({"text": "x"}) is None
    assert not kept.use_once("A" * 22)  # of a store that says nothing
    of_others = KeptRequests(None, clock.clocks(), "")
    assert of_others.add({"text": "x" * 300_000}) is None
    id_, request = of_others.add({"text": "x"}) or ("", {})
    assert of_others.get(id_) == request
    assert [of_others.use_once(id_) for _ in range(2)] == [True, False]
    clock.now += KEPT_REQUEST_S
    assert of_others.get(id_) is None
    assert kept.caller(NO_CREDENTIALS) == ""
    caller = RequestCredentials(x_api_key="x")
    assert kept.caller(caller) != of_others.caller(caller)  # without the salt, keys could be found by trying


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_request_and_call_is_a_line_of_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    log = CallLogFile(str(path))
    log.record_request({"rpc": "tools/call", "tool": "TOOL_CALL", "ms": 1.5})
    log.record_call(CallLog("WTI", cache="memory"))
    request, call = lines(path)
    assert abs(datetime.fromisoformat(request.pop("timestamp")).timestamp() - time.time()) < 60
    assert request == {"level": "INFO", "message": "request", "rpc": "tools/call", "tool": "TOOL_CALL", "ms": 1.5}
    assert (call["message"], call["inner_tool"], call["cache"]) == ("call", "WTI", "memory")
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX links")
@pytest.mark.parametrize("kind", ["notes", "link", "folder", "no folder"])
def test_a_file_that_is_not_a_log_is_left_as_it_is(tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    path, notes = tmp_path / "calls.jsonl", tmp_path / "notes.txt"
    notes.write_text("my notes\n")
    if kind == "notes":
        path.write_text("my notes\n")
    elif kind == "link":
        path.symlink_to(notes)
    elif kind == "folder":
        path.mkdir()
    before = notes.read_text()
    log = CallLogFile(str(path if kind != "no folder" else path / "none" / "calls.jsonl"))
    with caplog.at_level(logging.WARNING, "toolfold"):
        log.record_request({})
        log.record_request({})
    assert notes.read_text() == before
    assert len([record for record in caplog.records if "TOOLFOLD_CALL_LOG is not written" in record.message]) == 1


@pytest.mark.parametrize("made", [(b'{"timestamp":',), (audit.HEADER, audit.HEADER)])
def test_a_file_that_is_emptied_on_a_full_disk_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: tuple[bytes, ...]
) -> None:
    path, write = tmp_path / "calls.jsonl", os.write
    log = audit.LineFile("TOOLFOLD_CALL_LOG", str(path), *made)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:9]))
        log.write({"timestamp": 1})
    path.write_bytes(b"")
    log.write({"timestamp": 2})
    log.write({"timestamp": 3})
    assert lines(path)[-2:] == [{"timestamp": 2, "lost": 1}, {"timestamp": 3}]


def test_a_full_file_becomes_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "MAX_BYTES", 300)
    path = tmp_path / "calls.jsonl"
    log = CallLogFile(str(path))
    for number in range(11):
        log.record_request({"number": number})
    assert sorted(os.listdir(tmp_path)) == ["calls.jsonl", "calls.jsonl.1"]
    kept = [line["number"] for line in (*lines(tmp_path / "calls.jsonl.1"), *lines(path))]
    assert kept == list(range(kept[0], 11))


def test_threads_divide_no_line(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    logs = [CallLogFile(str(path)) for _ in range(4)]
    run_concurrently([lambda log=log: [log.record_request({"a": 1}) for _ in range(25)] for log in logs])
    assert len(lines(path)) == 100
