"""Days, parts of dates and nulls in SQL, which SQLite takes otherwise without a word."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.results.select.test_guesses import selected


def rows(statement: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in selected("daily", statement).tables[0].rows]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT count(*) FROM data WHERE date > (SELECT max(date) FROM data) - 7", 5),
        ("SELECT count(*) FROM data WHERE date > (SELECT max(date) FROM data) - 2 * 7", 7),
        ("SELECT max(date) - min(date) FROM data", 378),
        ("SELECT date - 1 FROM data LIMIT 1", "2026-01-12"),
        ("SELECT date + 1 FROM data LIMIT 1", "2026-01-14"),
        ("SELECT date - lag(date) OVER (ORDER BY date) AS gap FROM data ORDER BY date DESC LIMIT 1", 1),
        ("SELECT close - lag(close) OVER (ORDER BY date) AS d FROM data ORDER BY d LIMIT 1", -1),
        ("SELECT count(*) FROM data WHERE date >= date('2026-01-09', '-1 day')", 4),
        ("SELECT count(*) FROM data WHERE date > CURRENT_DATE - 100000", 13),
        ("SELECT count(*) FROM data WHERE strftime('%m', date) = 12", 3),
        ("SELECT count(*) FROM data WHERE strftime('%m', date) IN (7, 9)", 2),
        ("SELECT count(*) FROM data WHERE substr(date, 1, 4) = 2025", 6),
        ("SELECT count(*) FROM data WHERE year(date) = '2025'", 6),
        ("SELECT count(*) FROM data WHERE month(date) BETWEEN '7' AND '9'", 2),
        ("SELECT strftime('%Y', date) AS y, count(*) FROM data GROUP BY y HAVING y = 2024", "2024"),
        ("SELECT count(*) FROM data WHERE dayname(date) = 'Mon'", 3),
        ("SELECT count(*) FROM data WHERE dayname(date) = 'monday'", 3),
        ("SELECT high - low AS a FROM data ORDER BY a DESC LIMIT 1", 5),
    ],
)
def test_dates_and_their_parts_are_calculated_and_compared_by_their_meaning(statement: str, expected: Any) -> None:
    assert rows(statement)[0][0] == expected


def test_nulls_come_last() -> None:
    statement = "SELECT date, close - lag(close) OVER (ORDER BY date) AS d FROM data ORDER BY d{} LIMIT 1"
    assert rows(statement.format("")) == [("2026-01-06", -1)]
    assert rows(statement.format(" DESC"))[0][1] is not None
    assert rows(statement.format(" NULLS FIRST")) == [("2024-12-31", None)]


def test_null_that_where_makes_of_lag_is_explained() -> None:
    found = selected("daily", "SELECT date, lag(close) OVER (ORDER BY date) FROM data WHERE date = '2026-01-13'")
    assert found.notes[0].startswith("lag and lead read only the rows that WHERE keeps")
    assert not selected("daily", "SELECT date, lag(close) OVER (ORDER BY date) FROM data").notes
