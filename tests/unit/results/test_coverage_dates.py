"""Dates of damaged answers do not end the look at their period."""

from __future__ import annotations

import datetime

from toolfold.results import coverage


def test_what_only_begins_like_a_date_is_a_day() -> None:
    assert coverage._day("1988-ve") == datetime.date(1988, 1, 1)
    assert coverage._day("2024-02-31T10:00") == datetime.date(2024, 2, 29)
