"""Texts that mean dates and periods, and what they mean: for arguments, ``select``, notes and logs."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfold.dates import Reading, bounds, impossible_date, moved, parse_date, parse_period, spellings

TODAY = date(2026, 3, 15)

DAY, MONTH, QUARTER, HALF, YEAR = "2024-02-15", "2024-02", "2024Q1", "2024H1", "2024"
TEXTS: dict[str, list[str | int]] = {
    DAY: [
        *("2024-02-15", "2024-2-15", "2024/02/15", 20240215, " 2024-02-15 ", "15.02.2024", "02/15/2024", "2024-W07-4"),
        *("February 15th, 2024", "Feb. 15 2024", "Feb-15-2024", "FEBRUARY 15 2024", "Feb 15,2024", "15Feb2024"),
        *("15th of February 2024", "15 February, 2024", "2024-Feb-15", "Thu, 15 Feb 2024", "Thursday, Feb 15, 2024"),
    ],
    MONTH: ["2024-02", "2024-2", "202402", "02/2024", "2.2024", "Feb 2024", "February, 2024", "2024-Feb", "Feb2024"],
    QUARTER: ["2024Q1", "2024 q1", "Q1/2024", "q1, 2024", "1Q2024", "1st quarter of 2024", "2024 quarter 1"],
    HALF: ["2024H1", "2024-H1", "H1 2024", "h12024"],
    YEAR: ["2024", 2024],
    "2024-02-15T10:30": ["2024-02-15T10:30", "2024-02-15 10:30", "20240215T1030", "20240215 10:30", "2024-02-15T10:30Z",
                         "2024-02-15T12:30+02:00", "2024-02-15T05:30-05", "Feb 15, 2024 10:30", "15/02/2024 10:30",
                         "Feb 15, 2024, 10:30 AM", "February 15, 2024 at 10:30 a.m.", "02/15/2024 10:30am"],
    "2024-02-15T00:15": ["2024-02-15 12:15 AM"],
    "2024-02-15T13:05": ["Feb 15, 2024, 1:05 PM"],
    "2024-02-15T10:30:00": ["2024-02-15T10:30:00", "2024-02-15 10:30:00.123", "2024-02-15T10:30:00,5 UTC",
                            "20240215T103000", "2024-02-15T16:00:00+0530", 1707993000, "1707993000000",
                            "Thu, 15 Feb 2024 10:30:00 GMT", "Thu, 15 Feb 2024 12:30:00 +0200",
                            "15/Feb/2024:10:30:00 +0000"],
    "1871-01": ["1871-01", "January 1871"],
    "0394-08-30": ["0394-08-30"],
}  # fmt: skip
ENDS = {MONTH: "2024-02-29", QUARTER: "2024-03-31", HALF: "2024-06-30", YEAR: "2024-12-31", "1871-01": "1871-01-31"}
STARTS = {MONTH: "2024-02-01", QUARTER: "2024-01-01", HALF: "2024-01-01", YEAR: "2024-01-01", "1871-01": "1871-01-01"}
PRECISIONS = {MONTH: "month", QUARTER: "quarter", HALF: "half", YEAR: "year", "1871-01": "month"}


def span(first: str, last: str) -> tuple[datetime, datetime]:
    """Return the first second of a day or time in UTC, and the last one of another."""
    low, high = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (first, last))
    length = timedelta(days=1) if len(last) == 10 else timedelta(minutes=1) if len(last) == 16 else timedelta(seconds=1)
    return low, high + length - timedelta(seconds=1)


@pytest.mark.parametrize(("meaning", "text"), [(meaning, text) for meaning, texts in TEXTS.items() for text in texts])
def test_text_with_one_meaning(meaning: str, text: str | int) -> None:
    (reading,) = parse_date(text)
    assert (reading.low, reading.high) == span(STARTS.get(meaning, meaning), ENDS.get(meaning, meaning))
    assert reading.precision == PRECISIONS.get(meaning, {10: "day", 16: "minute"}.get(len(meaning), "second"))
    assert not reading.is_relative


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("today", "2026-03-15", "2026-03-15"), ("Now", "2026-03-15", "2026-03-15"),
        ("yesterday", "2026-03-14", "2026-03-14"), ("tomorrow", "2026-03-16", "2026-03-16"),
        ("3 days ago", "2026-03-12", "2026-03-12"), ("2 weeks ago", "2026-03-01", "2026-03-01"),
        ("1 month ago", "2026-02-15", "2026-02-15"), ("2 years ago", "2024-03-15", "2024-03-15"),
        ("this month", "2026-03-01", "2026-03-31"), ("last month", "2026-02-01", "2026-02-28"),
        ("previous quarter", "2025-10-01", "2025-12-31"), ("last year", "2025-01-01", "2025-12-31"),
    ],
)  # fmt: skip
def test_text_that_depends_on_today(text: str, first: str, last: str) -> None:
    (reading,) = parse_date(text, TODAY)
    assert (reading.low, reading.high, reading.is_relative) == (*span(first, last), True)
    assert parse_date(text) == []


@pytest.mark.parametrize("text", ["01/02/2024", "1.2.2024", "02-01-2024", "01/02/2024 10:30"])
def test_text_with_two_meanings(text: str) -> None:
    assert {str(reading.low.date()) for reading in parse_date(text)} == {"2024-01-02", "2024-02-01"}


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30", "15/13/2024", "2024-13", "2024-00", "2024-02-00", "00/2024", "2024-01-01T25:00", "20000000",
        "2024-01-01 13:00 PM",
        "2024115", "20241", "2024-01/15", "15.01-2024", "20240115th", "Mayhem 3, 2024", "soon", "", " ", "12", "1024x",
        "9999999999", "9999999999999", "2024-Q5", "2024Q0", "H3 2024", "monday", "99999 years ago", "9999 years ago",
        "0001-01-01T00:00+05:00", "2024" * 100_000, "٢٠٢٤-٠١-٠١", None, True, 1.5, ["2024"],
    ],
)  # fmt: skip
def test_what_is_no_date(text: object) -> None:
    assert parse_date(text, TODAY) == []


@pytest.mark.parametrize(
    ("text", "problem", "nearest"),
    [
        ("2025-06-31", "that month ends on 2025-06-30", "2025-06-30"),
        ("2023-02-29T10:00", "that month ends on 2023-02-28", "2023-02-28T10:00"),
        ("20250631T0930", "that month ends on 2025-06-30", "20250630T0930"),
        ("June 31, 2025", "that month ends on 2025-06-30", "June 30, 2025"),
        ("31.06.2025", "that month ends on 2025-06-30", "30.06.2025"),
        ("06/31/2025", "that month ends on 2025-06-30", "06/30/2025"),
        ("2025-06-00", "that month begins on 2025-06-01", "2025-06-01"),
        ("2025-13-01", "a month is from 01 to 12", ""), ("2025-00-01", "a month is from 01 to 12", ""),
        ("20250630T2460", "is not a time of day: it is from 00:00 to 23:59", ""),
    ],
)  # fmt: skip
def test_day_that_the_calendar_does_not_have(text: str, problem: str, nearest: str) -> None:
    found = impossible_date(text)
    assert (found.problem.removeprefix("is not in the calendar: "), found.nearest) == (problem, nearest)


@pytest.mark.parametrize("text", ["2025-06-30", "2025-13", "20250630", "Mayhem 31, 2025", "soon", "", None, 12])
def test_text_that_is_right_or_no_day_is_no_impossible_date(text: object) -> None:
    assert impossible_date(text) is None


@pytest.mark.parametrize(
    ("text", "first", "last", "length"),
    [
        ("2025", "2025-01-01", "2025-12-31", None), ("2025-12", "2025-12-01", "2025-12-31", None),
        ("2025-01..2025-03", "2025-01-01", "2025-03-31", None), ("2025-01..", "2025-01-01", "", None),
        ("..2025-01", "", "2025-01-31", None), ("since 2025-06-01", "2025-06-01", "", None),
        ("from Jan 2, 2025 to 2025-03", "2025-01-02", "2025-03-31", None), ("until 2024", "", "2024-12-31", None),
        ("between 2025-01-02 and yesterday", "2025-01-02", "2026-03-14", None),
        ("Jan - 2025", "2025-01-01", "2025-01-31", None), ("2025-01-02 - 2025-01-03", "2025-01-02", "2025-01-03", None),
        ("last 30 days", "", "", (30, "day")), ("6mo", "", "", (6, "month")), ("6m", "", "", (6, "month")),
        ("past year", "", "", (1, "year")), ("1-week", "", "", (1, "week")), ("ytd", "", "", (0, "year")),
        ("last month", "", "", (1, "month")),
    ],
)  # fmt: skip
def test_period(text: str, first: str, last: str, length: tuple[int, str] | None) -> None:
    period = parse_period(text, TODAY)
    assert (period.count, period.unit) == (length or (0, ""))
    assert (str(period.low.low.date()) if period.low else "") == first
    assert (str(period.high.high.date()) if period.high else "") == last


@pytest.mark.parametrize(
    "text", ["01/02/2024", "2024-03..2024-01", "..", "0 days", "14", "soon", "", "2024 to soon", "since 01/02/2024"]
)
def test_text_that_is_no_period(text: str) -> None:
    assert parse_period(text, TODAY) is None


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2024", "2024-01-01", "2024-12-31"), ("2024-02", "2024-02-01", "2024-02-29"),
        ("2024-02-15T10:30", "2024-02-15", "2024-02-15"), ("2024-02-31T10:00", "2024-02-29", "2024-02-29"),
        ("2024-13-40", "2024-12-31", "2024-12-31"), ("0000-00-00", "0001-01-01", "0001-01-01"),
        ("1988-ve", "1988-01-01", "1988-01-31"), ("n/a", "0001-01-01", "0001-12-31"),
    ],
)  # fmt: skip
def test_bounds_of_a_part_of_a_date_or_of_a_damaged_one(text: str, first: str, last: str) -> None:
    assert tuple(map(str, bounds(text))) == (first, last)


def test_the_same_day_of_another_month_is_its_last_one_where_it_is_shorter() -> None:
    assert moved(date(2024, 1, 31), 1, "month") == date(2024, 2, 29)
    assert moved(datetime(2024, 1, 31, 9, 30), -11, "month") == datetime(2023, 2, 28, 9, 30)
    with pytest.raises(ValueError, match="calendar"):
        moved(date(9999, 12, 1), 1, "month")


FORMATS = (
    "%Y-%m-%d", "%Y%m%d", "%Y/%m/%d", "%Y.%m.%d", "%Y %m %d", "%b %d, %Y", "%B %d %Y", "%d %b %Y", "%d-%b-%Y", "%d%b%Y",
    "%A, %d %B %Y", "%a %d %b %Y", "%Y-%b-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y%m%dT%H%M", "%Y%m%dT%H%M%SZ",
    "%Y-%m-%dT%H:%M:%S+00:00", "%d %B %Y %H:%M",
)  # fmt: skip
TIMES = st.datetimes(datetime(1500, 1, 1), datetime(2199, 12, 31)).map(lambda at: at.replace(microsecond=0, tzinfo=UTC))


@pytest.mark.hypothesis
@given(TIMES, st.sampled_from(FORMATS))
def test_what_is_written_is_read_again(at: datetime, form: str) -> None:
    (reading,) = parse_date(at.strftime(form))
    assert reading.low <= at <= reading.high
    assert reading.low.date() == reading.high.date()


@pytest.mark.hypothesis
@given(TIMES)
def test_day_of_month_and_month_of_day_are_kept_apart(at: datetime) -> None:
    for form in ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y"):
        days = [reading.low.date() for reading in parse_date(at.strftime(form))]
        assert at.date() in days
        assert len(days) == (1 if at.day > 12 or at.day == at.month else 2)


@pytest.mark.hypothesis
@given(st.sampled_from([text for texts in TEXTS.values() for text in texts]), st.sampled_from(["", "start", "end"]))
def test_spellings_are_read_as_what_they_spell(text: str | int, bound: str) -> None:
    (reading,) = parse_date(text)
    for spelled, says_less in spellings(reading, bound):  # type: ignore[arg-type]  # one of the bounds
        found = parse_date(spelled)
        assert len(found) == (reading.low.year > 1000 or "-" in spelled), spelled
        if found and not says_less:
            assert found[0].low >= reading.low.replace(second=0)
            assert found[0].high <= reading.high.replace(second=59)


@pytest.mark.hypothesis
@given(
    st.text(max_size=24) | st.from_regex(r"[0-9a-zA-Z ]{1,5}[-/. :,][0-9a-zA-Z]{1,4}[-/. ,]?[0-9]{0,4}", fullmatch=True)
)
def test_no_text_fails_and_no_reading_is_reversed(text: str) -> None:
    for reading in parse_date(text, TODAY):
        assert isinstance(reading, Reading)
        assert reading.low <= reading.high
    period = parse_period(text, TODAY)
    assert period is None or period.low is None or period.high is None or period.low.low <= period.high.high
    assert impossible_date(text) is None or not parse_date(text)
    first, last = bounds(text)
    assert first <= last
