"""docs/reference/discovery.md: its printed answers, keys and arguments are those of the code."""

import csv
import json
import os
import re
from pathlib import Path

import pytest

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
