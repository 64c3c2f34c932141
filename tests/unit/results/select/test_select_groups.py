"""Groups, counts and ranks in a ``select``: what could be read in a way that answers another question."""

from __future__ import annotations

import pytest

from tests.unit.results.select.test_guesses import as_expected, selected
from toolfold.errors import InvalidArguments


@pytest.mark.parametrize(
    ("answer", "guess", "expected"),
    [
        ("daily", "sum(volume) by year; sum(volume) > 5M", "year,sum(volume): 2026,6200000"),
        ("daily", "sum(volume) as v by year having v < 1M", "year,v: 2024,100000"),
        ("daily", "count by year; count >= 6", "year,count: 2026,6 / 2025,6"),
        ("daily", "sum(volume) by month; top 1", "month,sum(volume): 2026-01,6200000"),
        ("daily", "sum(volume) by year; bottom 1", "year,sum(volume): 2024,100000"),
        ("daily", "mean(close) by year; highest mean(close)", "year,mean(close): 2026,99.3333333333"),
        ("daily", "year, max(close)", "year,max(close): 2026,104 / 2025,96 / 2024,67"),
        ("daily", "count close > 99", "function,value: count,3"),
        ("daily", "how many days close > open", "function,value: count,11"),
        ("options", "type, sum(volume)", "type,sum(volume): call,290 / put,85"),
        ("options", "type; count; strike>=300", "type,count: call,2 / put,2"),
        ("daily", "close; oldest first; 2026", "timestamp,close: 2026-01-06,95 / 2026-01-07,97 / 2026-01-08,98 / "
         "2026-01-09,100 / 2026-01-12,102 / 2026-01-13,104"),
        ("daily", "close; chronological; 2026-01-12..2026-01-13", "timestamp,close: 2026-01-12,102 / 2026-01-13,104"),
    ],
)  # fmt: skip
def test_groups_are_chosen_ranked_and_counted(answer: str, guess: str, expected: str) -> None:
    assert as_expected(selected(answer, guess), expected) == expected


@pytest.mark.parametrize(
    ("answer", "guess", "form"),
    [
        ("daily", "max(close) > 100", "Write close>100 for rows, or max(close) by year for groups."),
        ("daily", "first 3 by volume", "top 3 by volume"),
        ("options", "largest type", "Write top 5 by strike"),
        ("daily", "since 15:40", "2026-01-13 15:40..16:00"),
    ],
)
def test_what_can_be_read_in_two_ways_is_an_error(answer: str, guess: str, form: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        selected(answer, guess)
    assert form in caught.value.suggestion


@pytest.mark.parametrize(
    ("guess", "note"),
    [
        ("close; top 2", '"top 2" took the rows as listed; "top 2 by close" sorts them.'),
        ("order by volume desc; last 2", '"last 2" took the newest rows; "limit 2" takes the first of the order.'),
        ("next 3; close", "No row is of 2026-01-14 or later: timestamp runs from 2024-12-31 to 2026-01-13."),
        ("sum(volume) by year; top 1", '"top 1" is by sum(volume).'),
        ("sum(volume) by year; sum(volume) > 1B", "No group meets the condition."),
    ],
)
def test_note_says_what_was_taken(guess: str, note: str) -> None:
    assert note in selected("daily", guess).notes


@pytest.mark.parametrize("guess", ["last 2; order by volume", "order by date; last 2", "top 2 by close"])
def test_clear_order_has_no_note(guess: str) -> None:
    assert not selected("daily", guess).notes
