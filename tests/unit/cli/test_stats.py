"""``toolfold stats``, compared with figures that are counted from the answers of a generated day."""

import io
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.commands import CommandLine
from tests.support.http import KEY
from tests.support.mcp_requests import message
from toolfold.app import build_app
from toolfold.log_analysis.figures import MAX_LINE_BYTES
from toolfold.meta_tools.definitions import detail_level_of
from toolfold.meta_tools.tool_get import LEVELS
from toolfold.mock_api.server import MockApi
from toolfold.protocol import jsonrpc
from toolfold.settings import Settings

DAY = datetime(2026, 1, 14, tzinfo=UTC)
SEARCHES = ("stock price", "oil", "moving average of a share", "inflation in the united states", "zzqqxx yyzzqq")
SYMBOLS = ("IBM", "AAPL", "MSFT", "TSLA")


class Day(NamedTuple):
    """A day of requests.

    Attributes:
        lines: the log.
        expected: the figures, counted from the answers.
    """

    lines: list[dict[str, Any]]
    expected: dict[str, Any]


def requests(number: int = 160) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the requests of some agents, the same at every run."""
    chance = random.Random(20260114)
    for _ in range(number):
        match chance.choices(("search", "list", "get", "call", "mistake"), (30, 3, 15, 45, 7))[0]:
            case "search":
                yield "TOOL_LIST", {"query": chance.choice(SEARCHES)}
            case "list":
                yield "TOOL_LIST", {"category": "forex"}
            case "get":
                detail = chance.choice(("full", "medium", "minimal"))
                yield "TOOL_GET", {"tool_name": chance.sample(["RSI", "WTI", "CPI"], 2), "detail": detail}
            case "call":
                yield "TOOL_CALL", {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": chance.choice(SYMBOLS)}}
            case "mistake":
                yield "TOOL_CALL", {"tool_name": "NO_SUCH_TOOL"}


@pytest.fixture(scope="module")
def day(mock_api: MockApi, tmp_path_factory: pytest.TempPathFactory) -> Day:
    """Answer the requests with the server of stdio, which writes the log; count from what it answers."""
    log = tmp_path_factory.mktemp("log") / "calls.jsonl"
    settings = {"TOOLFOLD_CALL_LOG": str(log), "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url}
    server = build_app(Settings.from_environment(settings)).server
    definitions = server.tools.catalog().definition_tokens
    tiers: Counter[int] = Counter()
    counted: Counter[str] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
        for name, arguments in requests():
            body = json.dumps(message("tools/call", {"name": name, "arguments": arguments})).encode()
            answer = json.loads(server.handle_message(jsonrpc.parse_message(body)))["result"]["structuredContent"]
            counted[name] += 1
            if "error" in answer:
                counted["failed"] += 1
            elif "query" in arguments:
                tiers.update(LEVELS[detail_level_of(entry)] for entry in answer["tools"])
                counted["searches"] += 1
                counted["empty"] += answer["returned"] == 0
                counted["search tokens"] += answer["tokens"]
            elif name == "TOOL_GET" and arguments["detail"] != "minimal":
                counted["loaded"] += len(answer["tools"])
            elif name == "TOOL_CALL":
                counted["calls"] += 1
                counted["cached"] += answer["cached"]
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for number, line in enumerate(lines):
        line["timestamp"] = (DAY + timedelta(days=number / len(lines))).isoformat(timespec="milliseconds")
    searches = counted["searches"]
    expected = {
        "figures": {
            "tokens_per_query": round(counted["search tokens"] / searches, 2),
            "token_reduction_percent": round(
                100 * (1 - counted["search tokens"] / ((searches - counted["empty"]) * definitions)), 1
            ),
            "full_per_query": round(tiers[1] / searches, 2),
            "medium_per_query": round(tiers[2] / searches, 2),
            "minimal_per_query": round(tiers[3] / searches, 2),
            "loaded_on_demand": counted["loaded"],
            "cache_hit_percent": round(100 * counted["cached"] / counted["calls"], 1),
        },
        "requests": {
            "by_tool": {name: counted[name] for name in ("TOOL_LIST", "TOOL_GET", "TOOL_CALL")},
            "failed": counted["failed"],
        },
        "searches": {"total": searches, "found_nothing": counted["empty"]},
        "calls": {"total": counted["calls"], "by_code": {"OK": counted["calls"]}},
        "cache": {"cacheable": counted["calls"], "hits": counted["cached"]},
        "tools": {"GLOBAL_QUOTE": counted["calls"]},
    }
    assert min(tiers[1], tiers[2], counted["cached"], counted["empty"], counted["failed"]) > 0
    return Day(lines, expected)


def write(path: Path, lines: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def stats(command_line: CommandLine, *options: str) -> dict[str, Any]:
    return dict(json.loads(command_line("stats", "--json", *options).out))


class TestReplayedDay:
    def test_the_figures_of_a_file_are_those_of_the_answers(
        self, day: Day, tmp_path: Path, command_line: CommandLine
    ) -> None:
        found = stats(command_line, "--log", write(tmp_path / "day.log", day.lines))
        assert {name: found[name] for name in day.expected} == day.expected
        assert found["first"] == day.lines[0]["timestamp"]
        assert found["last"] == day.lines[-1]["timestamp"]

    def test_lines_that_have_a_request_and_its_call_count_for_both(
        self, day: Day, tmp_path: Path, command_line: CommandLine
    ) -> None:
        """The function writes such lines, and separate ones for requests with several calls."""
        joined: list[dict[str, Any]] = []
        for line in day.lines:
            before = joined[-1] if joined else {}
            if line["message"] == "request" and before.get("message") == "call" and len(joined) % 5:
                joined[-1] = {**before, **line}
            else:
                joined.append(line)
        assert len(joined) < len(day.lines) - 30
        found = stats(command_line, "--log", write(tmp_path / "day.log", joined))
        assert {name: found[name] for name in day.expected} == day.expected

    def test_a_person_gets_the_same_figures(self, day: Day, tmp_path: Path, command_line: CommandLine) -> None:
        out = command_line("stats", "--log", write(tmp_path / "day.log", day.lines)).out
        shown = dict(re.split(" {2,}", line, maxsplit=1) for line in out.splitlines())
        for name, value in day.expected["figures"].items():
            assert shown[name.replace("_", " ")] == f"{value:,}"
        assert shown["tools GLOBAL_QUOTE"] == shown["calls total"] == f"{day.expected['calls']['total']:,}"
        assert f"{day.expected['requests']['by_tool']['TOOL_GET']} TOOL_GET" in shown["requests by tool"]


class TestForms:
    def test_files_may_be_several_and_those_of_the_setting_or_stdin(
        self, day: Day, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command_line: CommandLine
    ) -> None:
        def figures(*options: str) -> Any:
            return stats(command_line, *options)["figures"]

        first = write(tmp_path / "first", day.lines[:50])
        assert figures("--log", first, write(tmp_path / "rest", day.lines[50:])) == day.expected["figures"]
        # Other tools print something before a line.
        text = "".join(f"2026-01-14T10:00:00 2026/01/14/[1]ab {json.dumps(line)}\n" for line in day.lines)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert figures("--log", "-") == day.expected["figures"]
        write(tmp_path / "calls.jsonl.1", day.lines[:50])  # the file before
        monkeypatch.setenv("TOOLFOLD_CALL_LOG", write(tmp_path / "calls.jsonl", day.lines[50:]))
        assert figures() == day.expected["figures"]

    @pytest.mark.parametrize(
        ("options", "code", "said"),
        [
            ("", 1, "TOOLFOLD_CALL_LOG"),
            ("--log /no/such/file", 1, "cannot be read: No such file"),
            ("--log /", 1, "cannot be read: Is a directory"),
        ],
    )
    def test_what_cannot_be_read_says_why(
        self, options: str, code: int, said: str, monkeypatch: pytest.MonkeyPatch, command_line: CommandLine
    ) -> None:
        assert said in command_line("stats", *options.split(), code=code).err
        monkeypatch.setenv("TOOLFOLD_CALL_LOG", "/nowhere/none")
        assert options or "Nothing has been logged yet" in command_line("stats", code=1).err

    def test_other_lines_are_skipped(self, tmp_path: Path, command_line: CommandLine) -> None:
        path = tmp_path / "odd.log"
        odd = ["", "START RequestId", "{", "[1]", '{"message": "call"}', '{"message": {"a": 1}}', '{"_aws": {}}']
        odd += ['{"message": "request", "tool": "TOOL_GET", "tokens": "many", "tokens_saved": NaN}', "{" * 9999]
        path.write_bytes("\n".join(odd).encode() + b"\n\xff\xfe{\n")
        found = stats(command_line, "--log", str(path))
        assert (found["requests"]["by_tool"], found["tokens"]["answered"]) == ({"TOOL_GET": 1}, 0)
        assert found["figures"]["tokens_per_query"] is None

    def test_a_tool_may_be_called_search_or_request(self, tmp_path: Path, command_line: CommandLine) -> None:
        named = [{"message": "request", "tool": tool, "tokens": 7} for tool in ("search", "request", "TOOL_CALL")]
        searched = {"message": "request", "tool": "TOOL_LIST", "tokens": 5, "searched": 1}
        found = stats(command_line, "--log", write(tmp_path / "names.log", [*named, searched]))
        assert (found["tokens"]["answered"], found["figures"]["tokens_per_query"]) == (26, 5)

    def test_nothing_is_explained(self, tmp_path: Path, command_line: CommandLine) -> None:
        path = write(tmp_path / "empty.log", [])
        captured = command_line("stats", "--log", path)
        assert captured.out == ""
        assert f"There is no request and no call in {path}." in captured.err


def test_a_line_without_an_end_is_refused(tmp_path: Path, command_line: CommandLine) -> None:
    path = tmp_path / "long.log"
    path.write_bytes(bytes(MAX_LINE_BYTES + 1))
    err = command_line("stats", "--log", str(path), code=1).err
    assert err == f"{path} has a line of more than 1 MB, so it is not a log of toolfold.\n"
