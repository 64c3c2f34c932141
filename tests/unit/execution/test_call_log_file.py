"""The log of requests and calls in a file of the user."""

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.threads import run_concurrently
from toolfold.execution import audit
from toolfold.execution.audit import CallLogFile
from toolfold.execution.call import CallLog


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_request_and_call_is_a_line_of_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    log = CallLogFile(str(path), now=lambda: 1_768_384_800.5)
    log.record_request({"rpc": "tools/call", "tool": "TOOL_CALL", "ms": 1.5})
    log.record_call(CallLog("WTI", cache="memory"))
    request, call = lines(path)
    assert request == {
        "timestamp": "2026-01-14T10:00:00.500+00:00", "level": "INFO", "message": "request",
        "rpc": "tools/call", "tool": "TOOL_CALL", "ms": 1.5,
    }  # fmt: skip
    assert (call["message"], call["inner_tool"], call["cache"]) == ("call", "WTI", "memory")
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX links")
@pytest.mark.parametrize("kind", ["notes", "link", "folder"])
def test_a_file_that_is_not_a_log_is_left_as_it_is(tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    path, notes = tmp_path / "calls.jsonl", tmp_path / "notes.txt"
    notes.write_text("my notes\n")
    if kind == "notes":
        path.write_text("my notes\n")
    elif kind == "link":
        path.symlink_to(notes)
    else:
        path.mkdir()
    before = notes.read_text()
    log = CallLogFile(str(path))
    with caplog.at_level(logging.WARNING, "toolfold"):
        log.record_request({})
        log.record_request({})
    assert notes.read_text() == before
    assert len([record for record in caplog.records if "TOOLFOLD_CALL_LOG is not written" in record.message]) == 1


def test_a_folder_that_does_not_exist_stops_no_call(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    CallLogFile(str(tmp_path / "none" / "calls.jsonl")).record_call(CallLog("WTI"))
    assert "TOOLFOLD_CALL_LOG is not written, calls go on: No such file or directory (1 lines lost)" in caplog.text


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
