"""JMESPath by the names that TOOL_GET shows, and by those that models guess."""

from __future__ import annotations

from typing import Any

import pytest

from toolfold.budget import WorkBudget
from toolfold.errors import InvalidArguments
from toolfold.results.select import jmespath_query

ROWS = [{"date": "2026-01-06", "close": 7}, {"date": "2026-01-05", "close": 9}]


@pytest.mark.parametrize(
    ("expression", "data", "expected"),
    [
        ("rows[0].close", {"rows": ROWS}, 7),  # F9
        ("data[0].close", {"rows": ROWS}, 7),
        ("[0].close", {"rows": ROWS}, 7),
        ("data[0].close", ROWS, 7),
        ("rows[?close > `8`].date | [0]", ROWS, "2026-01-05"),
        ("length(data)", {"rows": ROWS}, 2),
        ("max_by(data, &close).date", {"rows": ROWS}, "2026-01-05"),
        ("sort_by(rows, &close)[0].close", {"name": "GDP", "data": ROWS}, 7),
        ("{n: length(rows), first: rows[0].close}", {"name": "GDP", "data": ROWS}, {"n": 2, "first": 7}),
        ("[data[0].close, Name]", {"name": "GDP", "data": ROWS}, [7, "GDP"]),
        ('"Global Quote".price', {"global_quote": {"price": 5}}, 5),
        ("rows.rows", {"rows": {"rows": 1}}, 1),
    ],
)
def test_names_of_the_root_are_found(expression: str, data: Any, expected: Any) -> None:
    assert jmespath_query.search(expression, data, WorkBudget()) == expected


@pytest.mark.parametrize("expression", ["data", "items[0]"])
def test_a_name_of_one_of_two_lists_is_not_guessed(expression: str) -> None:
    with pytest.raises(InvalidArguments, match="finds nothing"):
        jmespath_query.search(expression, {"annualReports": ROWS, "quarterlyReports": ROWS}, WorkBudget())
