"""``toolfold cache``, ``toolfold settings``, and the tools that ``toolfold stats`` counts."""

import json
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import CommandLine, Run
from tests.support.http import KEY
from toolfold.cache.sqlite import SQLiteStore
from toolfold.cache.stores import increment
from toolfold.mock_api.server import MockApi
from toolfold.results.offload import FOLDER, AnswerStore
from toolfold.settings import VARIABLES


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
    assert "dynamodb://table-1" in out
    assert "s3://bucket/offload" in out
    assert "nothing on this machine" in err


URL = "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL"


def test_every_setting_is_printed_with_its_value_and_origin(command_line: CommandLine) -> None:
    os.environ["TOOLFOLD_MAX_TOKENS"] = "2000"
    code, out, _ = command_line.run("settings", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert code == 0
    assert {name for name in VARIABLES if "<" not in name} <= set(rows)
    assert (rows["TOOLFOLD_MAX_TOKENS"]["value"], rows["TOOLFOLD_MAX_TOKENS"]["origin"]) == ("2000", "environment")
    assert rows["TOOLFOLD_MAX_TOKENS"]["default"] == "8000"
    assert (rows["TOOLFOLD_RETRIES"]["value"], rows["TOOLFOLD_RETRIES"]["origin"]) == ("2", "default")
    assert rows["TOOLFOLD_CACHE"]["value"].endswith("responses.sqlite")
    assert command_line.run("settings", "--set")[1] == "TOOLFOLD_MAX_TOKENS               2000  [environment]\n"


def test_secrets_are_not_printed(command_line: CommandLine) -> None:
    os.environ |= {
        "ALPHA_VANTAGE_API_KEY": "HIDDEN1",
        **{name: f"HIDDEN2 {'x' * 40}" for name in VARIABLES if name.endswith(("_SECRET", "_SALT"))},
        URL: "https://user:HIDDEN3@host.test/query?apikey=HIDDEN4",
        "TOOLFOLD_SOURCE_X_KEY": "HIDDEN5",
        "TOOLFOLD_SOURCE_KEYS": '{"x": "HIDDEN6"}',
    }
    for form in ([], ["--json"]):
        _, out, err = command_line.run("settings", *form)
        assert "HIDDEN" not in out + err
        assert "https://host.test/query?(hidden)" in out


def test_wrong_values_and_names_are_shown_beside_the_right_ones(command_line: CommandLine) -> None:
    os.environ |= {"TOOLFOLD_TIMEOUT_S": "soon", "TOOLFOLD_CACH": "off"}
    code, out, err = command_line.run("settings")
    assert code == 1
    assert "TOOLFOLD_RETRIES" in out
    assert "TOOLFOLD_TIMEOUT_S must be a number above 0" in err
    assert "Did you mean TOOLFOLD_CACHE?" in err


def make_calls(log: Path, url: str) -> None:
    """Make calls that a server writes into its log: three, one in a batch of two, one that is refused."""
    from tests.support.exposure import app_of, call

    app = app_of(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=url, TOOLFOLD_CALL_LOG=str(log))
    for name, arguments in (
        ("TIME_SERIES_DAILY", {"symbol": "IBM"}),
        ("TIME_SERIES_DAILY", {"symbol": "IBM"}),
        ("TIME_SERIES_DAILY", {"symbol": "AAPL"}),
        ("CPI", {}),
        ("GLOBAL_QUOTE", {}),
    ):
        call(app, "/mcp", "TOOL_CALL", {"tool_name": name, "arguments": arguments})
    calls = [{"id": "a", "tool_name": "CPI"}, {"id": "b", "tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}]
    call(app, "/mcp", "TOOL_CALL", {"tool_name": "TOOL_BATCH", "arguments": {"calls": calls}})


def test_calls_are_counted_once_and_by_the_tool_that_ran(
    tmp_path: Path, mock_api: MockApi, monkeypatch: pytest.MonkeyPatch, command_line: CommandLine
) -> None:
    log = tmp_path / "calls.jsonl"
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
    make_calls(log, mock_api.url)
    counted = json.loads(command_line("stats", "--json", "--log", str(log)).out)["tools"]
    assert list(counted.items()) == [("TIME_SERIES_DAILY", 3), ("CPI", 2), ("GLOBAL_QUOTE", 1)]
    monkeypatch.setenv("TOOLFOLD_CALL_LOG", "~/calls.jsonl")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "calls.jsonl.1").write_bytes(log.read_bytes())  # the file before
    assert json.loads(command_line("stats", "--json").out)["tools"]["TIME_SERIES_DAILY"] == 6
