"""What ``select`` states about its answers: no rows at all, which end was taken, how a name was read."""

from __future__ import annotations

import pytest

from tests.unit.results.select.test_guesses import selected
from toolfold.errors import InvalidArguments


# F6
@pytest.mark.parametrize(
    ("name", "select", "note"),
    [
        ("options", "type=cal", "0 of 6 rows match: type has call, put."),
        ("options", "type=call; strike>=500", "0 of 6 rows match: strike has 280, 300, 320."),
        ("daily", "close > 500", "0 of 13 rows match: close runs from 67 to 104."),
        ("daily", "2019", "0 of 13 rows match: timestamp runs from 2024-12-31 to 2026-01-13 (daily)."),
        ("daily", "2026-01-10", "0 of 13 rows match: the nearest dates are 2026-01-09 and 2026-01-12 (daily)."),
        ("news", "2019", "0 of 3 rows of feed match: time_published runs from 2026-01-10 to 2026-01-13."),
        ("macro", "1990", "0 of 36 rows of data match: date runs from 2023-01-01 to 2025-12-01 (monthly)."),
        ("options", "strike=280 and last>20 and type=put",
         "0 of 6 rows match: each condition alone matches rows, all of them together match none; strike has 280, 300, "
         "320; last has 25.5, 0.5, 12.5, 9.5, 4.5, 19.5; type has call, put."),
    ],
)  # fmt: skip
def test_answer_without_rows_states_what_there_is(name: str, select: str, note: str) -> None:
    found = selected(name, select)
    assert not any(table.rows for table in found.tables)
    assert note in found.notes


@pytest.mark.parametrize(
    ("name", "select", "note"),
    [
        ("daily", "last 5 days", "last 5 days: 2026-01-07..2026-01-13 (5 dates with data)."),
        ("daily", "ytd", "ytd: 2026-01-01..2026-12-31."),
        ("daily", "last year",
         'last year: 2025-01-01..2025-12-31; "last 1 year" is the one that ends at the newest row.'),
        ("daily", "first 2", '"first 2" took the oldest; "last 2" takes the newest, "[0:2]" as listed.'),
        ("news", "first 2", '"first 2" took the rows as listed, newest first; "oldest 2" exists.'),
        ("daily", "price; last 1", "price is read as close."),
        ("options", "implied_volatility > 25%", "25% is compared as 0.25."),
        ("daily", "-volume; limit 1", 'Sorted by volume, largest first; "without volume" leaves the column out.'),
    ],
)  # fmt: skip
def test_reading_that_is_not_obvious_is_noted(name: str, select: str, note: str) -> None:
    assert note in selected(name, select).notes


@pytest.mark.parametrize("select", ["close; last 5", "2025", "max(close)", "close > 100", "limit 3", "top 2 by volume"])
def test_ordinary_answer_has_no_note(select: str) -> None:
    assert selected("daily", select).notes == ()


# F3
@pytest.mark.parametrize(
    ("name", "select", "columns"),
    [
        ("daily", "close", ("timestamp", "close")),
        ("daily", "high-low as spread", ("timestamp", "spread")),
        ("daily", "close; without date", ("close",)),
        ("movers", "top_gainers; price", ("ticker", "price")),
        ("options", "delta", ("contractID", "expiration", "delta")),
        ("calendar", "estimate", ("symbol", "reportDate", "estimate")),
        ("holdings", "sectors; weight", ("sector", "weight")),
        ("matches", "name", ("symbol", "name")),
    ],
)
def test_dates_and_identifiers_stay_with_their_rows(name: str, select: str, columns: tuple[str, ...]) -> None:
    assert selected(name, select).tables[0].columns == columns


# F5
@pytest.mark.parametrize(
    ("name", "select", "position", "form"),
    [
        ("daily", "close; clos", None, ""),
        ("daily", "close; clsoe", 7, "Did you mean close?"),
        ("options", "calls; last 3", 0, "Write type=call"),
        ("statements", "revenue", 0, "Write totalRevenue"),
        ("daily", "close 5", 6, '"last 5"'),
        ("movers", "from gaines", 5, "Tables: top_gainers, top_losers, most_actively_traded"),
        ("daily", "mode(close)", 0, "mean(close)"),
        ("daily", "volume > high volume", 9, "volume>=100"),
        ("daily", "31/02/2025", 0, "2025-01-31"),
        ("daily", "close=100,200", 6, "Write 100200 or 100|200"),
        ("quote", "last 5", None, "symbol,open"),
    ],
)
def test_error_has_the_position_and_a_form_that_works(name: str, select: str, position: int | None, form: str) -> None:
    if not form:
        assert selected(name, select).tables
        return
    with pytest.raises(InvalidArguments) as caught:
        selected(name, select)
    assert form in caught.value.suggestion
    assert caught.value.details.get("position") == position
