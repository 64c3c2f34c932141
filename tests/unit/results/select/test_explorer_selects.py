"""What the web explorer writes as a ``select`` means what was chosen; its own tests compare with the same file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.results.select.answers import TODAY
from tests.unit.results.select.test_guesses import as_expected, selected
from toolfold.budget import WorkBudget
from toolfold.results.select import evaluator, parser
from toolfold.results.tables import Document, Table

WRITTEN: dict[str, Any] = json.loads(Path("tests/fixtures/explorer/selects.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", WRITTEN["selects"], ids=lambda case: case["select"])
def test_select_of_the_explorer_returns_what_was_chosen(case: dict[str, Any]) -> None:
    assert as_expected(selected(case["answer"], case["select"]), " ") == case["rows"]


@pytest.mark.parametrize(("name", "quoted"), WRITTEN["names"], ids=[name for name, _ in WRITTEN["names"]])
def test_quoted_name_is_a_column_in_every_part(name: str, quoted: str) -> None:
    rows = (("2026-01-13", 1, 2), ("2026-01-12", 3, 4))
    table = Table("", ("timestamp", name, "other"), rows)
    expected: dict[str, list[tuple[Any, ...]]] = {
        quoted: [("2026-01-13", 1), ("2026-01-12", 3)],
        f"other; order by {quoted} desc; limit 1": [("2026-01-12", 4)],
        f"other; {quoted}>2": [("2026-01-12", 4)],
        f"other; top 1 by {quoted}": [("2026-01-12", 4)],
        f"sum({quoted})": [(f"sum({name})", 4)],
    }
    for select, found in expected.items():
        selection = parser.parse_select(select)
        assert selection is not None
        answer = evaluator.evaluate(selection, Document((table,), None), WorkBudget(), TODAY)
        assert [tuple(row[-2:]) for row in answer.tables[0].rows] == found, select
