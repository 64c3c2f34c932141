"""The reference page about ``select``: every example in it runs on an answer of the kind that the table names."""

import inspect
import re
from pathlib import Path

import pytest

from tests.unit.results.select.outcomes import selected
from toolfold.meta_tools.definitions import SELECT
from toolfold.results.select import grammar
from toolfold.results.select.names import EXAMPLES

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
    page = PAGE.read_text()
    assert f"{grammar.MAX_CHARS:,} characters and {grammar.MAX_STEPS} steps" in page
    assert page.count("\n") <= 120


def test_page_has_the_grammar_as_it_stands_in_the_code() -> None:
    shown = PAGE.read_text().partition("```text\n")[2].partition("```")[0].strip()
    assert shown in inspect.cleandoc(grammar.__doc__ or "")
    assert 15 <= len(re.findall(r"^\w+ +=", shown, re.MULTILINE)) <= 30


# F2
@pytest.mark.parametrize("example", re.findall(r'"([^"]+)"', f"{EXAMPLES} {SELECT}"))
def test_examples_of_errors_and_of_the_description_are_read(example: str) -> None:
    assert grammar.parse_select(example) is not None
