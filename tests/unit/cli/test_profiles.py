"""``toolfold profiles most-used``: the tools of a real call log, as profiles.yaml takes them."""

from pathlib import Path

import pytest
import yaml

from tests.support.commands import CommandLine
from tests.support.http import KEY
from toolfold.build.profiles import ProfilesFile
from toolfold.mock_api.server import MockApi


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
    printed = command_line("profiles", "most-used", "--log", str(log)).out
    assert printed.splitlines() == ["most_used:", "  - TIME_SERIES_DAILY # 3", "  - CPI # 2", "  - GLOBAL_QUOTE # 1"]
    monkeypatch.setenv("TOOLFOLD_CALL_LOG", "~/calls.jsonl")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "calls.jsonl.1").write_bytes(log.read_bytes())  # the file before
    out = command_line("profiles", "most-used", "--limit", "1").out
    assert out.splitlines() == ["most_used:", "  - TIME_SERIES_DAILY # 6"]
    taken = ProfilesFile.model_validate(yaml.safe_load(printed))
    assert taken.most_used == ["TIME_SERIES_DAILY", "CPI", "GLOBAL_QUOTE"]


@pytest.mark.parametrize(
    ("content", "problem"), [(None, "cannot be read"), ("", "There are no calls in"), ("{}\nx\n", "no calls in")]
)
def test_a_log_without_calls_is_an_error(
    content: str | None, problem: str, tmp_path: Path, command_line: CommandLine
) -> None:
    log = tmp_path / "calls.jsonl"
    if content is not None:
        log.write_text(content)
    assert problem in command_line("profiles", "most-used", "--log", str(log), code=1).err


def test_the_log_must_be_named(command_line: CommandLine) -> None:
    assert "Name files with --log" in command_line("profiles", "most-used", code=1).err
