"""How long an answer stays good: until the data behind it can next change.

A pure function of the tool, its arguments and the clock. Where less is known, less is assumed: a freshness class is a
number of seconds (``freshness`` in ``source.yaml``), and the calendar only ever says that nothing can change *before* a
moment. Holidays are not known: on one, an answer is fetched again for nothing, and is never too old.

========  =====================================  ==================================================================
market    which                                  when its data can change (New York time)
========  =====================================  ==================================================================
US        a plain US ticker, US indices,         live prices: weekdays 04:00 to 20:30;
          US options                             end-of-day figures: from the close, 16:00, to 06:00 of the next day
WORLD     a ticker with a venue (TSCO.LON)       always, but from Saturday 06:00 (live: Friday 20:30) to Sunday 20:00
FX        the tools for currency pairs           Sunday 17:00 to Friday 17:00
(none)    crypto, and everything else            always
========  =====================================  ==================================================================

Within those hours an answer lives as long as its class says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from toolfold.catalog.json_schema import properties
from toolfold.sources.alpha_vantage import new_york

if TYPE_CHECKING:
    from toolfold.catalog.model import Tool

DAY_S = 86400
NEVER_CHANGES_S = 30 * DAY_S
"""What is past stays as it is; but mistakes get corrected, so no entry is kept for ever."""

ADJUSTED_S = 7 * DAY_S
"""Past bars that are adjusted change with every split and dividend after them."""

_CATEGORIES: Mapping[str, str] = {
    "core_stock_apis": "TICKER",
    "technical_indicators": "TICKER",
    "index_data": "US",
    "options_data_apis": "US",
    "forex": "FX",
}
"""Category → market; TICKER: the symbol decides. What is not here keeps no hours."""

_US_TICKER = re.compile(r"[A-Za-z]{1,5}(-[A-Za-z]{1,2})?\Z")
_VENUE_TICKER = re.compile(r"[A-Za-z0-9-]+\.[A-Za-z]{1,4}\Z")

_PREMARKET, _CLOSE, _AFTER_HOURS, _SETTLED = time(4), time(16), time(20, 30), time(6)
"""Extended hours are 04:00 to 20:00, and half an hour for the last trades to arrive. By 06:00, before anybody trades,
the upstream is taken to be done with the day before."""


def ttl(tool: Tool, arguments: Mapping[str, Any], now: float, freshness: Mapping[str, int]) -> int:
    """Seconds for which the answer to this call, fetched at ``now`` (seconds since 1970), stays good; at least 1."""
    clock = new_york.wall(now)
    settled = _settled(tool, arguments, clock)
    if settled:
        return settled
    live, class_ = _rhythm(tool, arguments)
    seconds = freshness.get(class_, freshness[tool.freshness])
    if class_ in ("quarterly", "static"):
        return seconds
    changes = _next_change(_market(tool, arguments), live, clock)
    if changes is None:
        return seconds
    return max(1, min(round(new_york.moment(changes) - now), NEVER_CHANGES_S))


def _settled(tool: Tool, arguments: Mapping[str, Any], clock: datetime) -> int:
    """Seconds for an answer about a time that is over; 0 when it is not."""
    month, day = arguments.get("month"), arguments.get("date")
    try:
        if isinstance(month, str):
            first = date.fromisoformat(f"{month}-01")
            after = (first + timedelta(days=32)).replace(day=1)
            # One day more: the last session of the month is still being settled on the first of the next.
            if clock.date() <= after:
                return 0
            raw = arguments.get("adjusted") is False
            return NEVER_CHANGES_S if raw else ADJUSTED_S
        if isinstance(day, str) and clock.date() - date.fromisoformat(day) > timedelta(days=7):
            return NEVER_CHANGES_S
    except (ValueError, OverflowError):  # a date that does not exist: the upstream will say so
        pass
    return 0


def _rhythm(tool: Tool, arguments: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether prices come live rather than once a day, and the freshness class that holds."""
    if "entitlement" in properties(tool.parameters):
        asked = arguments.get("entitlement")
        if asked is not None:
            return True, "realtime" if asked == "realtime" else "intraday"
        # Without entitlement these tools serve end-of-day figures, whatever the length of a bar.
        return False, "daily" if tool.freshness in ("realtime", "intraday") else tool.freshness
    return tool.freshness in ("realtime", "intraday"), tool.freshness


def _market(tool: Tool, arguments: Mapping[str, Any]) -> str | None:
    market = _CATEGORIES.get(tool.category)
    if market != "TICKER":
        return market
    symbols = [item.strip() for item in str(arguments.get("symbol", "")).split(",")]
    if all(_US_TICKER.match(symbol) for symbol in symbols):
        return "US"
    if all(_US_TICKER.match(symbol) or _VENUE_TICKER.match(symbol) for symbol in symbols):
        return "WORLD"
    return None  # a pair of currencies or coins written as one word, or no symbol at all


def _next_change(market: str | None, live: bool, clock: datetime) -> datetime | None:
    """The moment before which nothing changes; None when it can change at once."""
    if market == "US":
        return _us(live, clock)
    if market == "WORLD":
        # Toronto closes last on Friday, Shanghai opens first on Monday.
        friday, saturday = (4, _AFTER_HOURS), (5, _SETTLED)
        return _over_the_weekend(clock, friday if live else saturday, time(20))
    if market == "FX":
        return _over_the_weekend(clock, (4, time(17)), time(17))
    return None


def _us(live: bool, clock: datetime) -> datetime | None:
    weekday, of_day = clock.weekday(), clock.time()
    if live:
        if weekday < 5 and _PREMARKET <= of_day < _AFTER_HOURS:
            return None
        return _next_weekday_at(_PREMARKET, clock)
    if weekday < 5 and of_day >= _CLOSE:
        return None
    if 1 <= weekday <= 5 and of_day < _SETTLED:  # the night after a session
        return None
    return _next_weekday_at(_CLOSE, clock)


def _next_weekday_at(of_day: time, clock: datetime) -> datetime:
    found = datetime.combine(clock.date(), of_day)
    while found <= clock or found.weekday() > 4:
        found += timedelta(days=1)
    return found


def _over_the_weekend(clock: datetime, ends: tuple[int, time], opens: time) -> datetime | None:
    """Sunday at ``opens`` when it is between ``ends`` (weekday, time) and then."""
    sunday = datetime.combine(clock.date() + timedelta(days=6 - clock.weekday()), opens)
    weekday, of_day = ends
    closed = datetime.combine(sunday.date() - timedelta(days=6 - weekday), of_day)
    return sunday if closed <= clock < sunday else None
