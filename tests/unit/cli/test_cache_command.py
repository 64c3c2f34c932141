"""``toolfold cache``."""

import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import CommandLine, Run
from toolfold.cache.base import increment
from toolfold.cache.sqlite import SQLiteStore
from toolfold.results.offload import FOLDER, AnswerStore


@pytest.fixture
def run(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Exit code, stdout and stderr of ``toolfold cache`` with a cache and a folder in ``tmp_path``."""
    monkeypatch.setenv("TOOLFOLD_CACHE", str(tmp_path / "own" / "responses.sqlite"))
    monkeypatch.setenv("TOOLFOLD_OFFLOAD", str(tmp_path))
    return partial(command_line.run, "cache")


@pytest.fixture
def store(tmp_path: Path) -> SQLiteStore:
    """Return a cache of a running server, with two values, one of them expired, and a counter."""
    store = SQLiteStore(tmp_path / "own" / "responses.sqlite", 10_000_000, 1.0)
    now = time.time()
    store.put("new", b"x" * 100_000, now, now + 60)
    store.put("old", b"y", now - 90, now - 60)
    increment(store, "requests", now + 60)
    return store


def info(run: Run) -> dict[str, Any]:
    return {place["kind"]: place for place in json.loads(run("info", "--json")[1])}


def test_info_changes_nothing_where_there_is_nothing(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("info")
    assert code == 0
    assert out.count("not made yet") == 2
    assert list(tmp_path.iterdir()) == []


def test_info_has_place_number_and_size(run: Run, tmp_path: Path, store: SQLiteStore) -> None:
    AnswerStore(str(tmp_path)).save("a,b\n1,2\n", "csv")
    (tmp_path / FOLDER / "notes.txt").write_text("mine")
    found = info(run)
    cache, answers = found["cache"], found["answers"]
    assert (cache["location"], cache["answers"]) == (str(tmp_path / "own" / "responses.sqlite"), 2)
    assert cache["total_bytes"] > 0
    assert (answers["answers"], answers["total_bytes"]) == (1, 8)
    assert "1 answer, 8 bytes" in run("info")[1]


def test_clear_deletes_what_is_toolfolds_while_a_server_runs(run: Run, tmp_path: Path, store: SQLiteStore) -> None:
    AnswerStore(str(tmp_path)).save("a,b\n1,2\n", "csv")
    (tmp_path / FOLDER / "notes.txt").write_text("mine")
    before = info(run)["cache"]["total_bytes"]
    assert run("clear", "--yes")[0] == 0
    after = info(run)
    assert (after["cache"]["answers"], after["answers"]["answers"]) == (0, 0)
    assert after["cache"]["total_bytes"] < before
    assert (tmp_path / FOLDER / "notes.txt").read_text() == "mine"
    assert store.get("new") is None
    now = time.time()
    store.put("next", b"z", now, now + 60)
    assert store.get("next") == b"z"


def test_clear_without_a_terminal_needs_yes(run: Run, store: SQLiteStore) -> None:
    code, _, err = run("clear")
    assert code == 1
    assert "Add --yes" in err
    assert info(run)["cache"]["answers"] == 2


@pytest.mark.parametrize(("answer", "left"), [("n\n", 2), ("y\n", 0), ("", 2)])
def test_clear_asks_at_a_terminal(
    run: Run, store: SQLiteStore, monkeypatch: pytest.MonkeyPatch, answer: str, left: int
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdin.readline", lambda: answer)
    assert run("clear")[0] == (0 if left == 0 else 1)
    assert info(run)["cache"]["answers"] == left


def test_files_of_others_are_refused(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.sqlite"
    own.write_bytes(b"SQLite format 3\0" + b"\0" * 100)
    monkeypatch.setenv("TOOLFOLD_CACHE", str(own))
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "answer.csv").write_text("mine")
    code, _, err = run("clear", "--yes")
    assert code == 1
    assert "was not made by toolfold" in err
    monkeypatch.setenv("TOOLFOLD_CACHE", "off")
    (tmp_path / FOLDER).chmod(0o777)
    assert "not used" in run("clear", "--yes")[1]
    assert own.exists()
    assert (tmp_path / FOLDER / "answer.csv").exists()


def test_shared_places_are_named_and_not_cleared(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLFOLD_CACHE", "dynamodb://table-1")
    monkeypatch.setenv("TOOLFOLD_OFFLOAD", "s3://bucket/offload")
    code, out, err = run("clear", "--yes")
    assert code == 0
    assert "DynamoDB table table-1" in out
    assert "s3://bucket/offload" in out
    assert "nothing on this machine" in err
