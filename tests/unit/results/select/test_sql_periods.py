"""What a statement requests of a series: the answer says what it lacks of it, or the call fetches the rest."""

from __future__ import annotations

import datetime

import pytest

from toolfold.results.select.sql_periods import RequestedPeriod, requested_period
from toolfold.results.tables import Document, Table

PRICES = Document((Table("", ("timestamp", "close"), [("2026-01-06", 2), ("2026-01-05", 1)]),))
TODAY = datetime.datetime.now(datetime.UTC).date()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT close FROM data", RequestedPeriod()),
        # F1
        ("SELECT min(close) FROM data WHERE date >= '2025-01-13'", RequestedPeriod("2025-01-13", is_summary=True)),
        ("SELECT close FROM data WHERE date BETWEEN '2025-01' AND '2025-02'", RequestedPeriod("2025-01", "2025-02")),
        ("SELECT close FROM data WHERE timestamp = 2025-01-13", RequestedPeriod("2025-01-13", "2025-01-13")),
        ("SELECT close FROM data WHERE timestamp < '2025'", RequestedPeriod("", "2025")),
        ("SELECT close FROM data WHERE close > 5 ORDER BY date DESC LIMIT 200", RequestedPeriod(row_count=200)),
        ("SELECT close FROM data ORDER BY date LIMIT 3", RequestedPeriod(row_count=3, is_oldest_first=True)),
        ("SELECT close FROM data ORDER BY close LIMIT 3", RequestedPeriod()),
        ("SELECT 'open FROM data", RequestedPeriod()),
        ("SELECT 1 FROM data WHERE date > date((SELECT '2020-01-01'))", RequestedPeriod()),
        (
            "SELECT close FROM data WHERE date > CURRENT_DATE - INTERVAL '10 days'",
            RequestedPeriod((TODAY - datetime.timedelta(days=10)).isoformat()),
        ),
    ],
)
def test_bounds_on_dates_are_found(statement: str, expected: RequestedPeriod) -> None:
    assert requested_period(statement, PRICES) == expected
