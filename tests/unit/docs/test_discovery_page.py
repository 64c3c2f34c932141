"""docs/reference/discovery.md: its printed answers, keys and arguments are those of the code."""

import csv
import json
import os
import re
from pathlib import Path

import pytest

from toolfold.meta_tools import definitions, tool_list
from toolfold.meta_tools.definitions import TOOLS
from toolfold.meta_tools.dispatcher import MetaTools

PAGE = Path("docs/reference/discovery.md")
TEXT = PAGE.read_text(encoding="utf-8")
with Path("tests/unit/docs/refusals.csv").open(encoding="utf-8", newline="") as file:
    REFUSALS = [(row["tool"], row["arguments"], row["answer"]) for row in csv.DictReader(file)]


def test_printed_answers_are_current(tools: MetaTools) -> None:
    """Compare each block that begins with a call; with the variable UPDATE_DOCS, write what is answered now."""

    def answered(block: re.Match[str]) -> str:
        return f"> {block[1]} {block[2]}\n{tools.call(block[1], json.loads(block[2])).text}\n"

    current, count = re.subn(r"(?<=```text\n)> (TOOL_LIST|TOOL_GET) (\{.*\})\n(?:.*\n)*?(?=```)", answered, TEXT)
    assert count == 4
    if "UPDATE_DOCS" in os.environ:
        PAGE.write_text(current, encoding="utf-8")
    else:
        assert current == TEXT, "set UPDATE_DOCS=1 to write them"


@pytest.mark.parametrize(("name", "arguments", "answer"), REFUSALS)
def test_errors_say_what_to_send_instead(tools: MetaTools, name: str, arguments: str, answer: str) -> None:
    error = tools.call(name, json.loads(arguments)).structured["error"]
    assert f"{error['message']} {error['suggestion']}" == answer
    assert error["code"] == "INVALID_ARGUMENTS"


def test_page_lists_every_argument_and_key(tools: MetaTools) -> None:
    rows = re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)
    structured = tools.call("TOOL_LIST", {"query": ""}).structured
    assert [*TOOLS["TOOL_LIST"].arguments, *structured, *TOOLS["TOOL_GET"].arguments] == rows


def test_page_states_the_defaults_of_the_code() -> None:
    assert f"| {tool_list.SEARCH_TOOLS} with `query`, else {definitions.MAX_TOOLS} |" in TEXT
    assert f"| {tool_list.SEARCH_TOKENS:,} with `query`, else {tool_list.LISTED_TOKENS:,} |" in TEXT
    assert tool_list.MIN_RELATIVE_SCORE == 0.4
    assert tool_list.MEDIUM_TOOLS == 2
