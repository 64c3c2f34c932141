"""``toolfold catalog list``, ``get``, ``stats`` and ``search`` on a terminal and in a pipe."""

import json
import re
from collections.abc import Callable

import pytest

from tests.support.catalogs import BUNDLED_TOOLS
from tests.support.commands import Run

Terminal = Callable[[int], None]


def plain(text: str) -> str:
    return re.sub(r"\x1b\[\d+m", "", text)


def test_unknown_name_is_an_error_on_stderr(run: Run) -> None:  # N11
    code, out, err = run("catalog", "get", "NOPE")
    assert (code, out) == (1, "")
    assert err.startswith("TOOL_NOT_FOUND: There is no tool named 'NOPE'.\n`toolfold catalog search WORD …`")
    assert "NONFARM" not in err


def test_unknown_name_beside_a_known_one_keeps_the_known_one(run: Run) -> None:  # N11
    code, out, err = run("catalog", "get", "GLOBAL_QUOT", "CPI")
    assert (code, json.loads(out)["name"]) == (1, "CPI")
    assert "Did you mean `toolfold catalog get GLOBAL_QUOTE`?" in err
    code, out, _ = run("catalog", "get", "NOPE", "--json")
    assert (code, json.loads(out)["tools"][0]["error"]["code"]) == (1, "TOOL_NOT_FOUND")


@pytest.mark.parametrize("width", [40, 140])
@pytest.mark.parametrize(
    "command",
    [("list",), ("get", "GLOBAL_QUOTE", "SMA", "NOPE"), ("stats",), ("search", "oil", "price")],
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


def test_list_in_a_pipe_has_four_columns(run: Run) -> None:
    lines = run("catalog", "list", "--access", "premium")[1].splitlines()
    assert {len(line.split("\t")) for line in lines} == {4}
    assert {line.split("\t")[2] for line in lines} == {"premium"}
    code, out, err = run("catalog", "list", "--category", "forex", "--tag", "metal")
    assert (code, out) == (1, "")
    assert "catalog stats" in err


def test_get_on_a_terminal_shows_arguments_and_an_example(run: Run, terminal: Terminal) -> None:
    terminal(100)
    code, out, _ = run("catalog", "get", "SMA")
    shown = plain(out)
    assert code == 0
    assert re.search(r"^  symbol +string\. ", shown, re.M)
    assert re.search(r"^  month\? +string\. ", shown, re.M)
    assert re.search(r"^example +toolfold call SMA symbol=", shown, re.M)


def test_stats_count_every_tool_once(run: Run) -> None:
    lines = [line.split() for line in run("catalog", "stats")[1].splitlines()]
    assert lines[0] == ["category", "tools", "free", "mixed", "premium"]
    sums = [sum(int(line[column]) for line in lines[1:-1]) for column in range(1, 5)]
    assert lines[-1] == ["total", *map(str, sums)]
    assert sums[0] == sum(sums[1:]) == BUNDLED_TOOLS
    counted = json.loads(run("catalog", "stats", "--json")[1])
    assert counted["tools"] == BUNDLED_TOOLS
    assert counted["categories"]["forex"] == {"tools": 4, "free": 3, "mixed": 0, "premium": 1}


def test_option_of_a_tool_is_explained(run: Run) -> None:  # N11
    code, _, err = run("call", "GLOBAL_QUOTE", "--symbol", "IBM")
    assert code == 2
    assert "The arguments of a tool are key=value: symbol=IBM." in err
