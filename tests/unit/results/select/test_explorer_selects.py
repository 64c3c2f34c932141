"""What the web explorer writes as a ``select`` means what was chosen; its own tests compare with the same file."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.results.select.outcomes import select_from, selected, written
from toolfold.results.tables import Document, Table

WRITTEN: dict[str, Any] = json.loads(Path("tests/fixtures/explorer/selects.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", WRITTEN["selects"], ids=lambda case: case["select"])
def test_select_of_the_explorer_returns_what_was_chosen(case: dict[str, Any]) -> None:
    assert written(selected(case["answer"], case["select"]), " ") == case["rows"]


@pytest.mark.parametrize(("name", "quoted"), WRITTEN["names"], ids=[name for name, _ in WRITTEN["names"]])
def test_quoted_name_is_a_column_in_every_part(name: str, quoted: str) -> None:
    rows = (("2026-01-13", 1, 2), ("2026-01-12", 3, 4))
    table = Table("", ("timestamp", name, "other"), rows)
    expected: dict[str, list[tuple[Any, ...]]] = {
        quoted: [("2026-01-13", 1), ("2026-01-12", 3)],
        f"{quoted} > 2; other": [("2026-01-12", 4)],
        f"sum(other) by {quoted}; limit 1": [(1, 2)],
    }
    for select, found in expected.items():
        answer = select_from(Document((table,), None), select)
        assert [tuple(row[-2:]) for row in answer.tables[0].rows] == found, select
