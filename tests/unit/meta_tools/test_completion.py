"""What a document lacks of the period and the rows that a ``select`` requests."""

from __future__ import annotations

import pytest

from tests.unit.results.select.answers import TODAY, document
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.meta_tools.completion import Gap, GapKind, find_gap
from toolfold.results.select.parser import parse_select
from toolfold.results.select.requested import requested_of

TOOL = FileStore(bundled_path())().get("TIME_SERIES_DAILY")


def gap_of(select: str) -> Gap | None:
    """Return the gap of a call that has all that the tool returns."""
    selection, whole = parse_select(select), document("daily")
    assert TOOL is not None
    assert selection is not None
    arguments = {"symbol": "IBM", "outputsize": "full"}
    return find_gap(TOOL, arguments, requested_of(selection, whole, TODAY), whole, TODAY)


# F1
@pytest.mark.parametrize(
    ("select", "note"),
    [
        ("2024-01-13..2026-01-13; min(close)", "Asked from 2024-01-13; the data begin 2024-12-31."),
        ("close; last 3 years", "Asked from 2023-01-14; the data begin 2024-12-31."),
        ("date >= 2020; max(close)", "Asked from 2020; the data begin 2024-12-31."),
        ("since 2023; last 5", "Asked from 2023; the data begin 2024-12-31."),
        ("last 400", "Asked for 400 rows; the data have 13."),
    ],
)
def test_period_that_the_data_lack_is_noted(select: str, note: str) -> None:
    gap = gap_of(select)
    assert gap is not None
    assert gap.note == note


@pytest.mark.parametrize(
    "select", ["2025; max(close)", "since 2025-01-01", "until 2025", "2026", "last 5", "close > 1"]
)
def test_period_that_the_data_have_needs_no_note(select: str) -> None:
    assert gap_of(select) is None


def test_gap_has_the_dates_and_rows() -> None:
    gap = gap_of("2020-03..2025-02; last 400")
    assert gap is not None
    assert gap.kind is GapKind.BEGINNING
    assert (gap.requested.low, gap.requested.high, gap.requested.row_count) == ("2020-03", "2025-02", 400)
    assert (gap.covered.first, gap.covered.last, gap.covered.row_count) == ("2024-12-31", "2026-01-13", 13)
