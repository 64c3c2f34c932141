"""The command line, as a person meets it: a catalog, calls, and what ends with an error."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.catalogs import BUNDLED_TOOLS
from tests.support.commands import Run
from tests.unit.build.test_schema import written
from toolfold.mock_api.server import MockApi

Terminal = Callable[[int], None]


def plain(text: str) -> str:
    return re.sub(r"\x1b\[\d+m", "", text)


@pytest.mark.parametrize("width", [40, 140])
@pytest.mark.parametrize(
    "command",
    [("list",), ("get", "GLOBAL_QUOTE", "SMA", "NOPE"), ("search", "oil", "price")],
    ids=lambda command: command[0],
)
def test_screen_fits_the_terminal(run: Run, terminal: Terminal, width: int, command: tuple[str, ...]) -> None:
    terminal(width)
    _, out, err = run("catalog", *command)
    lines = plain(out + err).splitlines()
    allowed = {line for line in lines if len(line.split()) <= 2}  # a name that is longer than the line
    assert [line for line in lines if len(line) > width and line not in allowed] == []


def test_list_on_a_terminal_is_grouped_by_category(run: Run, terminal: Terminal) -> None:
    terminal(100)
    code, out, err = run("catalog", "list", "--category", "forex")
    lines = plain(out).splitlines()
    assert (code, err) == (0, "# 4 tools.\n")
    assert lines[0] == "forex"
    assert lines[1].split()[0] == "FX_INTRADAY"
    assert "# 2 of 4 tools." in run("catalog", "list", "--category", "forex", "--limit", "2")[2]


def test_search_on_a_terminal_is_a_table_that_counts_what_it_leaves_out(run: Run, terminal: Terminal) -> None:
    terminal(70)
    _, out, err = run("catalog", "search", "oil", "price", "--limit", "3")
    lines = plain(out).splitlines()
    assert (lines[0].split(), lines[2].split()[0]) == (["tool", "what", "it", "returns"], "WTI")
    assert re.fullmatch(r"# \d+ weaker ones: --limit N\.\n", err)


def test_get_on_a_terminal_shows_arguments_and_an_example(run: Run, terminal: Terminal) -> None:
    terminal(100)
    code, out, _ = run("catalog", "get", "SMA")
    shown = plain(out)
    assert code == 0
    assert re.search(r"^  symbol +string\. ", shown, re.M)
    assert re.search(r"^  month\? +string\. ", shown, re.M)
    assert re.search(r"^example +toolfold call SMA symbol=", shown, re.M)


def test_long_answer_is_a_preview_and_saved_in_a_file(run: Run) -> None:
    code, out, err = run("call", "TIME_SERIES_DAILY", "symbol=IBM", "--max-tokens", "600")
    assert code == 0
    assert out.startswith("timestamp,open")
    assert err.startswith("# Preview: ")
    (kept,) = Path(os.environ["XDG_CACHE_HOME"], "toolfold/toolfold-answers").glob("answer-*")
    assert str(kept) in err
    assert len(kept.read_text().splitlines()) == 101


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("call GLOBAL_QUOTE symbol=IBM --max-tokens 0", 1, "--max-tokens 0 is too small: integer, ≥1"),
        ("call GLOBAL_QUOTE --symbol IBM", 2, "The arguments of a tool are key=value, such as symbol=IBM"),  # N11
        ("call SMA symbol=IBM interval=2h", 1, "INVALID_ARGUMENTS: SMA: interval '2h' is not an allowed value"),
        ("call SMA symbol=IBM interval=2h", 1, "time_period is missing: integer, ≥1"),
        ("catalog get NOPE", 1, "TOOL_NOT_FOUND: There is no tool named 'NOPE'.\n`toolfold catalog search WORD …`"),
        ("catalog list --category forex --tag metal", 1, "`toolfold catalog list`"),
        ("catalog search zzzz", 1, "toolfold catalog list"),
        ("mock-api --latency-ms -5", 2, ""),
        ("mock-api --port {port}", 1, "Port {port} cannot be used"),
        ("mock-api --port seventy", 2, ""),
        ("serve --port {port}", 1, "Port {port} cannot be used"),
        ("serve --port seventy", 2, ""),
        ("serve --host 0.0.0.0 --port 0", 1, "TOOLFOLD_ANYONE_MAY_USE_THE_KEY=true"),
    ],
)
def test_command_that_cannot_be_run_says_why(run: Run, mock_api: MockApi, command: str, code: int, said: str) -> None:
    port = mock_api.url.split(":")[2].split("/")[0]
    found, out, err = run(*command.format(port=port).split())
    assert (found, out) == (code, "")
    assert said.format(port=port) in err
    assert "NONFARM" not in err


def test_catalog_get_prints_the_known_entries(run: Run) -> None:  # N11
    code, out, err = run("catalog", "get", "GLOBAL_QUOT", "CPI")
    assert (code, json.loads(out)["name"]) == (1, "CPI")
    assert "Did you mean GLOBAL_QUOTE(symbol, " in err
    assert len(json.loads(run("catalog", "get", "SMA", "CPI", "--json")[1])["tools"]) == 2
    for command in (("catalog", "get"), ("call",)):
        code, out, _ = run(*command, "NOPE", "--json")
        found = json.loads(out)
        assert (code, found.get("tools", [found])[0]["error"]["code"]) == (1, "TOOL_NOT_FOUND")


def test_catalog_list_and_search_have_a_line_for_each_tool_in_a_pipe(run: Run) -> None:
    lines = [line.split("\t") for line in run("catalog", "list")[1].splitlines()]
    assert (len(lines), {len(line) for line in lines}) == (BUNDLED_TOOLS, {4})
    assert ["GLOBAL_QUOTE", "core_stock_apis", "mixed"] in [line[:3] for line in lines]
    assert len(json.loads(run("catalog", "list", "--json")[1])["tools"]) == BUNDLED_TOOLS
    assert {line.split("\t")[2] for line in run("catalog", "list", "--access", "premium")[1].splitlines()} == {
        "premium"
    }
    assert run("catalog", "search", "balance", "sheet")[1].startswith("BALANCE_SHEET\tBalance sheet")
    assert json.loads(run("catalog", "search", "unemployment", "--json")[1])["tools"][0]["name"] == "UNEMPLOYMENT"
    code, out, err = run("catalog", "search", " ", "--limit", "2")
    assert (code, len(out.splitlines()), err) == (0, 2, "")


def test_repeated_key_is_a_list(run: Run, mock_api: MockApi) -> None:
    arguments = ["symbols=AAPL,IBM", "range=2023-07-01", "range=2023-08-31", "interval=daily", "calculations=MEAN"]
    assert run("call", "ANALYTICS_FIXED_WINDOW", *arguments)[0] == 0
    assert [value for name, value in mock_api.requests[-1] if name == "RANGE"] == ["2023-07-01", "2023-08-31"]


@pytest.mark.parametrize("command", [["list"], ["search", "exchange", "rate", "history", "currency"]])
def test_list_and_search_accept_filters(run: Run, command: list[str]) -> None:
    narrowed = json.loads(
        run("catalog", *command, "--category", "Forex", "--tag", "daily", "--tag", "weekly", "--json")[1]
    )
    assert {tool["name"] for tool in narrowed["tools"]} == {"FX_DAILY", "FX_WEEKLY"}
    free = json.loads(run("catalog", *command, "--access", "free", "--limit", "3", "--json")[1])
    assert len(free["tools"]) == 3
    assert all(tool.get("access", "mixed") == "mixed" for tool in free["tools"])  # F8
    code, out, err = run("catalog", *command, "--category", "forx")
    assert (code, out) == (1, "")
    assert "Did you mean forex?" in err


def test_catalog_compile_writes_and_checks(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "catalog.json"
    compile_ = ("catalog", "compile", "--folder", str(written(tmp_path)), "--output", str(output))
    assert run(*compile_, "--check")[0] == 1
    code, out, _ = run(*compile_)
    assert code == 0
    assert ": 1 tool, " in out
    assert "unchanged" in run(*compile_)[1]
    assert run(*compile_, "--check")[0] == 0
    output.write_text("stale")
    code, _, err = run(*compile_, "--check")
    assert code == 1
    assert "is out of date" in err


@pytest.mark.parametrize("width", [40, 140])
def test_demo_answers_the_question_and_fits_the_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:  # N14
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, err = run("demo")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= width
    assert '"give me aapl price"' in out
    assert "The model answers: AAPL stands at " in out
    assert '"changePercent":' in out  # no line ends within a key
    assert "Two stocks are compared in one call:" in out


@pytest.mark.parametrize(
    ("command", "code", "problem"),
    [
        ("catalog list | head -1", 0, ""),
        ("catalog list >&-", 1, "The output cannot be written: it is closed. It is not complete.\n"),
        ("--version >&- 2>&-", 1, ""),
        ("catalog get NOPE 2>&-", 1, ""),
    ],
)
def test_only_output_that_was_closed_from_the_start_is_an_error(command: str, code: int, problem: str) -> None:
    shell = f"{sys.executable} -m toolfold {command}"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, problem)
