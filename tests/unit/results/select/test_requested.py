"""What a ``select`` requests of a series: the answer says what it lacks of it, or the call fetches the rest."""

import datetime

import pytest

from tests.unit.results.select.answers import ANSWERS, document
from toolfold.budget import WorkBudget
from toolfold.models import Requested
from toolfold.results.select import coverage
from toolfold.results.select.engine import requested_of
from toolfold.results.select.grammar import parse_select
from toolfold.results.tables import Document, Table

TODAY = datetime.date(2026, 1, 14)
ROWS = [("2026-01-13", 3), ("2026-01-06", 2), ("2026-01-05", 1)]
PRICES = Document((Table("", ("timestamp", "close"), ROWS),))
OLDEST_FIRST = Document((Table("", ("timestamp", "close"), ROWS[::-1]),))
FAR = [
    Document((Table("", ("expires", "v"), [(day, 1) for day in days]),))
    for days in (("9999-12-31", "2024-01-02"), ("0001-01-01", "0001-01-02"))
]
"""Dates that stand for none, at the ends of the calendar."""


def requested(select: str, answer: Document = PRICES) -> Requested:
    selection = parse_select(select)
    assert selection is not None
    return requested_of(selection, answer, WorkBudget(), TODAY)


def test_order_of_the_rows_says_which_end_a_limit_takes() -> None:
    assert not requested("limit 5").is_oldest_first
    assert requested("limit 5", OLDEST_FIRST).is_oldest_first
    assert not requested("last 5", OLDEST_FIRST).is_oldest_first


@pytest.mark.parametrize(
    ("select", "low", "high"),
    [
        ("avg(close) by month; 2025", "2025", "2025"),
        ("avg(close) by quarter; since 2025-02; last 1", "2025-02", ""),
        ("avg(close) by weekday; 2025", "", ""),
        ("max(close); 2025", "", ""),
        ("SELECT count(*) FROM data WHERE timestamp > date('2024-11')", "2024-11", ""),
        (
            "SELECT close FROM data WHERE timestamp >= DATE '2024-11-05' AND timestamp < datetime('2025')",
            "2024-11-05",
            "2025",
        ),
    ],
)
def test_period_is_read_of_conditions_and_of_groups_of_dates(select: str, low: str, high: str) -> None:
    found = requested(select)
    assert (found.low, found.high, found.is_filtered) == (low, high, False)


@pytest.mark.parametrize(("select", "low"), [("last 1 day", "2026-01-12"), ("last 2 days", "2026-01-08")])
def test_days_that_have_rows_begin_before_a_weekend(select: str, low: str) -> None:
    monday = Document((Table("", ("time", "close"), [("2026-01-12 11:00", 2), ("2026-01-12 10:00", 1)]),))
    assert requested(select, monday).low == low


def test_table_functions_and_columns_are_named() -> None:
    statements = document("statements")
    assert requested("annualReports: netIncome", statements).table == "annualReports"
    assert requested("from quarterlyReports; last 8", statements).table == "quarterlyReports"
    assert requested("SELECT max(netIncome) FROM annualReports", statements).table == "annualReports"
    found = requested("max(close), first(open)")
    assert (found.functions, found.columns) == ({"max", "first"}, {"close", "open"})


@pytest.mark.parametrize("select", ["last 400; close > 5", "1990..1991", "max(nothing) by nothing", "from nothing",
                                    "last 5 days", "next 5 years",
                                    "SELECT nothing FROM nothing ORDER BY 1 LIMIT 2"])  # fmt: skip
def test_any_answer_can_be_compared_with_any_request(select: str) -> None:
    for whole in (*map(document, ANSWERS), *FAR):
        found = requested(select, whole)
        covered = coverage.coverage_of(whole, found.table)
        if covered is None:
            continue
        assert coverage.lacks_end(found, covered, TODAY) in (True, False)
        for lacks_part in (coverage.lacks_beginning, coverage.is_too_coarse):
            assert lacks_part(found, covered) in (True, False)
        assert coverage.lacked_rows(found, covered) <= found.needed_rows


@pytest.mark.parametrize(
    ("cells", "first", "last"),
    [
        (["2026-01-13", "2026-01-05"], "2026-01-05", "2026-01-13"),
        (["2026-01-13T13:00", "2026-01-13T12:00"], "2026-01-13T12:00:00", "2026-01-13T13:00:00"),
        (["02/15/2024", "01/31/2024"], "2024-01-31", "2024-02-15"),
        ([20240215, 20240214], "2024-02-14", "2024-02-15"),
        (["2024Q2", "2024Q1"], "2024-01-01", "2024-04-01"),
        (["2024-01-01T23:30:00-05:00", "2024-01-02T03:00:00+09:00"], "2024-01-01T18:00:00", "2024-01-02T04:30:00"),
    ],
)
def test_answer_covers_the_dates_of_its_rows_in_any_form(cells: list[str | int], first: str, last: str) -> None:
    covered = coverage.coverage_of(Document((Table("", ("v", "day"), [(1, cell) for cell in cells]),)))
    assert (covered.first, covered.last, len(covered.dates)) == (first, last, 2)
