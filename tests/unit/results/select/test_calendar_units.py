"""Days of the week, months and quarters of every year, minutes and decades in a ``select``."""

from __future__ import annotations

import pytest

from tests.unit.results.select.test_guesses import selected
from toolfold.errors import InvalidArguments


@pytest.mark.parametrize(
    ("guess", "dates"),
    [
        ("weekday = Monday", ["2026-01-12", "2025-12-15", "2025-01-13"]),
        ("weekday in (mon, Fridays)", ["2026-01-12", "2026-01-09", "2025-12-15", "2025-01-13"]),
        ("weekday = Mon; 2025", ["2025-12-15", "2025-01-13"]),
        ("month = 12", ["2025-12-31", "2025-12-15", "2024-12-31"]),
        ("month = December", ["2025-12-31", "2025-12-15", "2024-12-31"]),
        ("month = Dec 2025", ["2025-12-31", "2025-12-15"]),
        ("month = 2025-12", ["2025-12-31", "2025-12-15"]),
        ("month between 7 and 9", ["2025-09-30", "2025-07-15"]),
        ("quarter = 4", ["2025-12-31", "2025-12-15", "2024-12-31"]),
        ("quarter = Q3", ["2025-09-30", "2025-07-15"]),
        ("quarter = Q4 2025", ["2025-12-31", "2025-12-15"]),
        ("day(date) = 31", ["2025-12-31", "2024-12-31"]),
    ],
)
def test_unit_of_the_calendar_is_that_of_every_year(guess: str, dates: list[str]) -> None:
    assert [row[0] for row in selected("daily", guess).tables[0].rows] == dates


@pytest.mark.parametrize(
    ("guess", "form"),
    [
        ("weekday < Wed", "weekday in (Mon, Tue)"),
        ("month = 13", "month = 12, or 2025-12"),
        ("month = Monday", "month = 12, or 2025-12"),
        ("weekday = 8th", "weekday = Mon"),
        ("week = 3", "2025-12-29..2026-01-04"),
    ],
)
def test_other_value_is_an_error_with_the_form_that_works(guess: str, form: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        selected("daily", guess)
    assert form in caught.value.suggestion


def test_this_decade_is_that_of_the_calendar() -> None:
    found = selected("daily", "this decade")
    assert len(found.tables[0].rows) == 13
    assert found.notes == ("this decade: 2020-01-01..2029-12-31.",)


def test_minutes_are_counted_from_the_newest_row() -> None:
    (note,) = selected("daily", "last 20 minutes").notes
    assert note == "last 20 minutes: 2026-01-12T23:40..2026-01-13."
