"""What a ``select`` requests of a series: the answer says what it lacks of it, or the call fetches the rest."""

from __future__ import annotations

import datetime

import pytest

from tests.unit.results.select.answers import ANSWERS, document
from toolfold.results.select import coverage
from toolfold.results.select.coverage import Requested
from toolfold.results.select.grammar import parse_select
from toolfold.results.select.requested import requested_of
from toolfold.results.tables import Document, Table

TODAY = datetime.date(2026, 1, 14)
ROWS = [("2026-01-13", 3), ("2026-01-06", 2), ("2026-01-05", 1)]
PRICES = Document((Table("", ("timestamp", "close"), ROWS),))
OLDEST_FIRST = Document((Table("", ("timestamp", "close"), ROWS[::-1]),))


def requested(select: str, answer: Document = PRICES) -> Requested:
    selection = parse_select(select)
    assert selection is not None
    return requested_of(selection, answer, TODAY)


@pytest.mark.parametrize(
    ("select", "low", "high", "row_count", "is_oldest_first"),
    [
        ("close", "", "", 0, False),
        ("2025", "2025", "2025", 0, False),
        ("2025Q2", "2025-04", "2025-06", 0, False),
        ("2025-01..2025-03", "2025-01", "2025-03", 0, False),
        ("since 2025-01; until 2025-03; min(close)", "2025-01", "2025-03", 0, False),
        ("since 2025-01; since 2024", "2025-01", "", 0, False),
        ("before 2025-06-30", "", "2025-06-30", 0, False),
        ("last 6 months", "2025-07-14", "", 0, False),
        ("ytd", "2026-01-01", "2026-12-31", 0, False),
        ("last year", "2025-01-01", "2025-12-31", 0, False),
        ("next 7 days", "2026-01-15", "2026-01-21", 0, False),
        ("date >= 2025-01-13", "2025-01-13", "", 0, False),
        ("timestamp < 2025 and close > 5", "", "2025", 0, False),
        ("date between 2025-01 and 2025-02", "2025-01", "2025-02", 0, False),
        ("year = 2025", "2025", "2025", 0, False),
        ("year(date) >= 2024", "2024", "", 0, False),
        ("last 200", "", "", 200, False),
        ("first 3", "", "", 3, True),
        ("close > 5; last 200", "", "", 200, False),
        ("last 200; last 5", "", "", 200, False),
        ("limit 5 offset 20", "", "", 25, False),
        ("[10:40]", "", "", 50, False),
        ("order by date; limit 3", "", "", 3, True),
        ("order by date desc; limit 3", "", "", 3, False),
        ("oldest first; limit 3", "", "", 3, True),
        ("order by close; limit 3", "", "", 0, False),
        ("SELECT close FROM data", "", "", 0, False),
        ("SELECT min(close) FROM data WHERE date >= '2025-01-13'", "2025-01-13", "", 0, False),
        ("SELECT close FROM data WHERE '2025-01-13' <= date", "2025-01-13", "", 0, False),
        ("SELECT close FROM data WHERE date BETWEEN '2025-01' AND '2025-02'", "2025-01", "2025-02", 0, False),
        ("SELECT close FROM data WHERE date IN ('2025-01-13', '2025-03-01')", "2025-01-13", "2025-03-01", 0, False),
        ("SELECT close FROM data WHERE date LIKE '2025-01%'", "2025-01", "2025-01", 0, False),
        ("SELECT close FROM data WHERE timestamp < '2025'", "", "2025", 0, False),
        ("SELECT close FROM data WHERE close > 5 ORDER BY date DESC LIMIT 200", "", "", 200, False),
        ("SELECT close FROM data ORDER BY date LIMIT 3", "", "", 3, True),
        ("SELECT TOP 3 close FROM data ORDER BY date", "", "", 3, True),
        ("SELECT close FROM data ORDER BY date FETCH FIRST 3 ROWS ONLY", "", "", 3, True),
        ("SELECT close FROM data ORDER BY close LIMIT 3", "", "", 0, False),
        ("SELECT close FROM data LIMIT 5 OFFSET 20", "", "", 25, False),
        ("SELECT 1 FROM data WHERE date > date((SELECT '2020-01-01'))", "", "", 0, False),
    ],
)
def test_bounds_on_dates_and_rows_are_found(
    select: str, low: str, high: str, row_count: int, is_oldest_first: bool
) -> None:
    found = requested(select)
    assert (found.low, found.high, found.row_count, found.is_oldest_first) == (low, high, row_count, is_oldest_first)


@pytest.mark.parametrize(
    ("select", "is_summary", "is_filtered"),
    [
        ("close", False, False),
        ("close > 5", False, True),
        ("close > avg(close)", True, True),
        ("max(close) by year", True, False),
        ("top 5 by close", True, False),
        ("distinct close", True, False),
        ("order by close", True, False),
        ("last 5; max(close)", False, False),
        ("last(close)", False, False),
        ("change(close)", False, False),
        ("2025 or close > 5", False, True),
        ("SELECT close FROM data WHERE close > 5", False, True),
        ("SELECT DISTINCT close FROM data", True, False),
        ("SELECT close FROM data GROUP BY close", True, False),
        ("SELECT rank() OVER (ORDER BY close) FROM data", True, False),
        ("WITH t AS (SELECT close c FROM data) SELECT c FROM t", True, False),
        ("SELECT close FROM data UNION SELECT 1", True, False),
    ],
)
def test_summaries_and_filters_are_found(select: str, is_summary: bool, is_filtered: bool) -> None:
    found = requested(select)
    assert (found.is_summary, found.is_filtered) == (is_summary, is_filtered)
    assert found.depends_on_length is (is_summary or is_filtered or found.row_count > 0)


def test_order_of_the_rows_says_which_end_a_limit_takes() -> None:
    assert not requested("limit 5").is_oldest_first
    assert requested("limit 5", OLDEST_FIRST).is_oldest_first
    assert not requested("last 5", OLDEST_FIRST).is_oldest_first


def test_table_functions_and_columns_are_named() -> None:
    statements = document("statements")
    assert requested("annualReports: netIncome", statements).table == "annualReports"
    assert requested("from quarterlyReports; last 8", statements).table == "quarterlyReports"
    assert requested("SELECT max(netIncome) FROM annualReports", statements).table == "annualReports"
    found = requested("max(close), first(open)")
    assert (found.functions, found.columns) == ({"max", "first"}, {"close", "open"})


@pytest.mark.parametrize("select", ["last 400; close > 5", "1990..1991", "max(nothing) by nothing", "from nothing",
                                    "next 5 years", "SELECT nothing FROM nothing ORDER BY 1 LIMIT 2"])  # fmt: skip
@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_any_answer_can_be_compared_with_any_request(select: str, name: str) -> None:
    whole = document(name)
    found = requested(select, whole)
    if (covered := coverage.coverage_of(whole, found.table)) is not None:
        for lacks in (coverage.lacks_end, coverage.lacks_future):
            assert lacks(found, covered, TODAY) in (True, False)
        for lacks_part in (coverage.lacks_beginning, coverage.lacks_rows, coverage.is_too_coarse):
            assert lacks_part(found, covered) in (True, False)
