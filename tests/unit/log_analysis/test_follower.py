"""A log that another process appends to: new lines, rotation, damage, and files that come and go."""

import json
import os
from pathlib import Path

import pytest

from toolfold.log_analysis import follower
from toolfold.log_analysis.follower import LogFollower


def line(number: int) -> str:
    return json.dumps({"timestamp": f"2026-11-23T08:00:{number:02}", "number": number}) + "\n"


def numbers(log: LogFollower) -> list[int]:
    return [found["number"] for found in log.read()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.jsonl"


def append(path: Path, *found: int, text: str = "") -> None:
    with path.open("a") as file:
        file.write("".join(map(line, found)) + text)


def test_each_line_is_read_once_from_when_it_is_complete(path: Path) -> None:
    log = LogFollower(str(path))
    assert numbers(log) == []
    assert (log.problem, log.is_complete) == ("The file does not exist yet.", True)
    append(path, 1, 2)
    assert [numbers(log), numbers(log), log.problem] == [[1, 2], [], ""]
    append(path, 3, text=line(4)[:20])
    assert numbers(log) == [3]
    append(path, text=line(4)[20:])
    assert numbers(log) == [4]
    assert (log.lines, log.problem, log.is_complete) == (4, "", True)


def test_the_file_before_the_rotation_is_read_first_and_once(path: Path) -> None:
    append(path.with_name("calls.jsonl.1"), 1, 2)
    log = LogFollower(str(path))
    assert [numbers(log), numbers(log)] == [[1, 2], []]
    append(path, 3)
    assert [numbers(log), numbers(log)] == [[3], []]


@pytest.mark.parametrize(
    "damage", [b"no JSON", b'{"half": ', b"\0\0", b"[1]", b"[" * 5000, b"", b'\xff{"number": \xff}']
)
def test_damaged_lines_are_left_out(path: Path, damage: bytes) -> None:
    path.write_bytes(line(1).encode() + damage + b"\n")
    append(path, 2)
    assert numbers(LogFollower(str(path))) == [1, 2]


def test_rotation_loses_no_line(path: Path) -> None:
    append(path, 1)
    log = LogFollower(str(path))
    assert numbers(log) == [1]
    append(path, 2)
    path.replace(f"{path}.1")
    append(path, 3)
    assert numbers(log) == [2, 3]
    path.replace(f"{path}.1")
    append(path, 4)
    path.replace(f"{path}.1")  # renamed twice between two reads
    append(path, 5)
    assert numbers(log) == [4, 5]
    append(path, 6)
    path.replace(f"{path}.1")  # and no other one is written for a while
    assert [numbers(log), numbers(log)] == [[6], []]
    append(path, 7)
    assert numbers(log) == [7]


def test_a_file_that_is_made_again_or_truncated_is_read_from_its_beginning(path: Path) -> None:
    append(path, 1, 2)
    log = LogFollower(str(path))
    assert numbers(log) == [1, 2]
    path.unlink()
    assert numbers(log) == []
    assert log.problem
    append(path, 3, 4, 5)  # longer than the file before, and perhaps with its number
    assert numbers(log) == [3, 4, 5]
    assert log.problem == ""
    path.write_text(line(6))  # truncated
    assert numbers(log) == [6]


def test_a_long_log_is_read_in_several_parts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "MAX_READ_BYTES", 100)
    append(path.with_name("calls.jsonl.1"), *range(1, 8))
    append(path, *range(8, 15))
    log, found, reads = LogFollower(str(path)), [], 0
    while len(found) < 14 and reads < 20:
        found += numbers(log)
        reads += 1
    assert found == list(range(1, 15))
    assert reads > 5
    assert log.is_complete


def test_a_line_that_is_too_long_is_left_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "MAX_READ_BYTES", 200)
    append(path, 1, text='{"number": 2, "text": "' + "x" * 500)
    log = LogFollower(str(path))
    assert numbers(log) == [1]
    append(path, text="x" * 300 + '"}\n')
    append(path, 3)
    assert [number for _ in range(9) for number in numbers(log)] == [3]
    assert log.is_complete


@pytest.mark.skipif(os.name == "nt", reason="Windows has no named pipes in folders")
def test_what_is_no_file_is_reported_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        log = LogFollower(str(path))
        assert numbers(log) == []
        assert log.problem
