"""The reference page about ``select``: every example in it runs on an answer of the kind that the table names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.results.select.test_guesses import selected
from toolfold.results.select import parser

PAGE = Path("docs/reference/select.md")
ANSWERS = {"daily prices": "daily", "an option chain": "options", "an answer with several tables": "statements"}


def examples() -> list[tuple[str, str]]:
    found, answer = [], ""
    for line in PAGE.read_text().splitlines():
        if heading := re.match(r"\| `select` on (.+?) \|", line):
            answer = ANSWERS[heading[1]]
        elif line.startswith("| `"):
            cell = line.split(" | ")[0].replace("\\|", "|")
            found += [(answer, example) for example in re.findall(r"`([^`]+)`", cell)]
    return found


@pytest.mark.parametrize(("answer", "example"), examples())
def test_example_returns_rows(answer: str, example: str) -> None:
    found = selected(answer, example)
    assert found.metadata or any(table.rows for table in found.tables)


def test_page_states_the_limits() -> None:
    assert f"{parser.MAX_LENGTH} characters" in PAGE.read_text()
    assert f"{parser.MAX_SQL_LENGTH:,} characters" in PAGE.read_text()


# F2
@pytest.mark.parametrize("example", parser.EXAMPLES.strip('"').split('", "'))
def test_examples_of_the_description_are_parsed(example: str) -> None:
    assert parser.parse_select(example) is not None
