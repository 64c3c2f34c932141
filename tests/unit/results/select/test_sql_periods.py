"""What a statement requests of a series: the answer says what it lacks of it, or the call fetches the rest."""

from __future__ import annotations

import datetime

import pytest

from toolfold.results.coverage import Requested
from toolfold.results.select.sql_periods import requested_by_sql
from toolfold.results.tables import Document, Table

PRICES = Document((Table("", ("timestamp", "close"), [("2026-01-06", 2), ("2026-01-05", 1)]),))
TODAY = datetime.datetime.now(datetime.UTC).date()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT close FROM data", ("", "", 0, False)),
        # F1
        ("SELECT min(close) FROM data WHERE date >= '2025-01-13'", ("2025-01-13", "", 0, False)),
        ("SELECT close FROM data WHERE date BETWEEN '2025-01' AND '2025-02'", ("2025-01", "2025-02", 0, False)),
        ("SELECT close FROM data WHERE timestamp = 2025-01-13", ("2025-01-13", "2025-01-13", 0, False)),
        ("SELECT close FROM data WHERE timestamp < '2025'", ("", "2025", 0, False)),
        ("SELECT close FROM data WHERE close > 5 ORDER BY date DESC LIMIT 200", ("", "", 200, False)),
        ("SELECT close FROM data ORDER BY date LIMIT 3", ("", "", 3, True)),
        ("SELECT close FROM data ORDER BY close LIMIT 3", ("", "", 0, False)),
        ("SELECT 'open FROM data", ("", "", 0, False)),
        ("SELECT 1 FROM data WHERE date > date((SELECT '2020-01-01'))", ("", "", 0, False)),
        (
            "SELECT close FROM data WHERE date > CURRENT_DATE - INTERVAL '10 days'",
            ((TODAY - datetime.timedelta(days=10)).isoformat(), "", 0, False),
        ),
    ],
)
def test_bounds_on_dates_are_found(statement: str, expected: tuple[str, str, int, bool]) -> None:
    found = requested_by_sql(statement, PRICES)
    assert (found.low, found.high, found.row_count, found.is_oldest_first) == expected


@pytest.mark.parametrize("statement", ["SELECT 'open FROM data", "SELECT close FROM data"])
def test_statement_without_conditions_requests_nothing(statement: str) -> None:
    assert requested_by_sql(statement, PRICES) in (Requested(), Requested(columns=frozenset({"close", "data"})))
