"""Find the dates that a period means for the rows of a table: ``last 5 days`` ends at the newest row."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from toolfold.dates import add_months, bounds
from toolfold.results.select.selection import Period, invalid_select

FEW_DAYS = 10
"""Days up to which "last 5 days" of daily prices means that many trading days: a week has five of them."""

_SPACINGS = ((0.9, "intraday"), (4.5, "daily"), (20, "weekly"), (45, "monthly"), (200, "quarterly"))
"""Most days between two rows, and what such data is called."""

_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_TIMES = {"hour": datetime.timedelta(hours=1), "minute": datetime.timedelta(minutes=1)}
"""Units that are shorter than a day."""

_MAX_COUNT = 10_000


@dataclass(frozen=True)
class Dates:
    """The dates of a table: what is there, and what "now" is for it.

    Attributes:
        oldest: the first date, ISO 8601.
        newest: the last date.
        distinct: all dates without times, each once, ascending.
        spacing: ``daily``, ``weekly``, …; empty for a single date.
        today: the day on which the question is answered.
    """

    oldest: str
    newest: str
    distinct: Sequence[str]
    spacing: str
    today: datetime.date

    @property
    def anchor(self) -> datetime.date:
        """The day from which relative periods count: that of the newest row, or today where rows lie in the future."""
        return min(bounds(self.newest)[0], self.today)


@dataclass(frozen=True)
class Bounds:
    """The dates of a period, each as precise as it is written; ``""``: open.

    Attributes:
        low: first date.
        high: last date.
        after: ``low`` itself is outside.
        before: ``high`` itself is outside.
        note: the dates of a relative period, for the reader.
    """

    low: str = ""
    high: str = ""
    after: bool = False
    before: bool = False
    note: str = ""

    def contain(self, date: str) -> bool:
        """Return whether a date is inside: 2024-03 is the whole month."""
        if self.low and not (date[: len(self.low)] > self.low if self.after else date >= self.low):
            return False
        return not self.high or (date < self.high if self.before else date[: len(self.high)] <= self.high)


def dates_of(cells: Sequence[str | None], today: datetime.date) -> Dates | None:
    """Return what is known of a column of dates; None for one without any."""
    present = sorted(cell for cell in cells if cell is not None)
    if not present:
        return None
    days = list(dict.fromkeys(cell[:10] for cell in present))
    return Dates(present[0], present[-1], days, _spacing(days, len(present)), today)


def _spacing(days: Sequence[str], rows: int) -> str:
    if len(days) < 2:
        return ""
    numbers = [bounds(day)[0].toordinal() for day in days[-60:]]
    gaps = sorted(second - first for first, second in itertools.pairwise(numbers))
    gap = gaps[len(gaps) // 4]  # most dates of daily prices follow each other, but for holidays
    return next((name for most, name in _SPACINGS if gap <= most), "yearly")


def bounds_of(period: Period, dates: Dates) -> Bounds:
    """Return the dates that a period means.

    Raises:
        InvalidArguments: it is longer than time.
    """
    if not period.relative:
        return Bounds(period.low, period.high, period.after, period.before)
    if period.count > _MAX_COUNT:
        raise invalid_select(f"{period.text[:30]!r} is too long", period.offset, "Write e.g. last 5 years.")
    try:
        return _relative(period, dates)
    except (ValueError, OverflowError):
        raise invalid_select(
            f"{period.text[:30]!r} is out of the calendar", period.offset, "Write e.g. 2024..2025."
        ) from None


def _relative(period: Period, dates: Dates) -> Bounds:
    kind, count, unit, anchor = period.relative, period.count, period.unit, dates.anchor
    if kind == "day":
        day = str(dates.today + datetime.timedelta(count))
        return _noted(period, Bounds(day, day))
    if kind in ("this", "previous", "following", "since"):
        base = dates.today if bounds(dates.newest)[0] > dates.today else anchor
        steps = {"this": 0, "previous": -1, "following": 1, "since": count}[kind]
        low, high = _calendar_unit(base, unit, steps)
        return _noted(period, Bounds(str(low), "" if kind == "since" else str(high)))
    if kind == "next":
        low, high = dates.today, _shift(dates.today, count, unit)
        return _noted(period, Bounds(str(low), str(high)))
    if kind == "first":
        return _noted(period, Bounds(dates.oldest, _first_end(count, unit, dates)))
    if unit in _TIMES:
        newest = datetime.datetime.fromisoformat(dates.newest)
        since = newest - _TIMES[unit] * count
        return _noted(period, Bounds(since.isoformat(), dates.newest, after=True))
    past = [day for day in dates.distinct if day <= str(anchor)]
    if (
        unit == "day"
        and past
        and (kind == "last rows" or (count <= FEW_DAYS and dates.spacing in ("daily", "intraday")))
    ):
        return _noted(period, Bounds(past[-count:][0], past[-1]), _counted(len(past[-count:])))
    if unit in _MONTHS and dates.spacing in ("monthly", "quarterly", "yearly"):
        first = _shift(anchor.replace(day=1), 1 - count * _MONTHS[unit], "month")
        return _noted(period, Bounds(str(first), str(anchor)))
    low = _shift(anchor, -count, unit) + datetime.timedelta(1)
    return _noted(period, Bounds(str(low), str(anchor)))


def _first_end(count: int, unit: str, dates: Dates) -> str:
    """Return the last date of a period that begins at the oldest row; a number of days is one of days with data."""
    oldest = dates.oldest
    if unit in _TIMES:
        return (datetime.datetime.fromisoformat(oldest) + _TIMES[unit] * count).isoformat()
    if unit == "day" and dates.spacing in ("daily", "intraday"):
        return dates.distinct[: max(count, 1)][-1]
    return str(_shift(bounds(oldest)[0], count, unit) - datetime.timedelta(1))


def _counted(dates: int) -> str:
    return f" ({dates} date{'s' if dates != 1 else ''} with data)"


def _noted(period: Period, bounds: Bounds, extra: str = "") -> Bounds:
    text = period.text if period.text.isprintable() else "The period"
    note = f"{text}: {bounds.low[:16]}..{bounds.high[:16]}{extra}."
    if period.relative == "previous" and period.unit != "day":
        note = f'{note[:-1]}; "last 1 {period.unit}" is the one that ends at the newest row.'
    return Bounds(bounds.low, bounds.high, bounds.after, bounds.before, note)


def _calendar_unit(day: datetime.date, unit: str, steps: int) -> tuple[datetime.date, datetime.date]:
    """Return the first and the last day of the week, month, … of a day, or of one before or after it."""
    if unit == "day" or unit in _TIMES:
        moved = day + datetime.timedelta(steps)
        return moved, moved
    if unit == "week":
        monday = day - datetime.timedelta(day.weekday()) + datetime.timedelta(7 * steps)
        return monday, monday + datetime.timedelta(6)
    months = _MONTHS[unit]
    elapsed = day.year * 12 + day.month - 1
    first = _shift(day.replace(day=1), elapsed // months * months - elapsed + steps * months, "month")
    return first, _shift(first, months, "month") - datetime.timedelta(1)


def _shift(day: datetime.date, count: int, unit: str) -> datetime.date:
    if unit in ("day", "week") or unit in _TIMES:
        return day + datetime.timedelta(count * (7 if unit == "week" else 1))
    return add_months(day, count * _MONTHS[unit])
