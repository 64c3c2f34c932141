"""The adapter of Alpha Vantage: an HTTP API with plans, market hours and notices in prose.

How long a response stays fresh: until the data behind it can next change.

A pure function of the tool, its arguments and the time. Where little is known, a short time is assumed: a freshness
class is a number of seconds (``freshness`` in ``source.yaml``), and the calendar only says that nothing can change
*before* a certain time. Holidays are not known: on a holiday a response is fetched again needlessly, and never stale.

========  =====================================  ==================================================================
market    tools                                  when the data can change (New York time)
========  =====================================  ==================================================================
US        a plain US ticker, US indices,         live prices: weekdays 04:00 to 20:30;
          US options                             end-of-day figures: from the close, 16:00, to 06:00 of the next day
WORLD     a ticker with a venue (TSCO.LON)       always, but from Saturday 06:00 (live: Friday 20:30) to Sunday 20:00
FX        the tools for currency pairs           Sunday 17:00 to Friday 17:00
(none)    crypto, and everything else            always
========  =====================================  ==================================================================

Within those hours a response is fresh for as long as its class says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from toolfold.dates import parse_date
from toolfold.sources.base import CachePolicy
from toolfold.sources.http_api.adapter import HttpApiAdapter

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool

NEW_YORK = ZoneInfo("America/New_York")
"""US markets open and close by its wall time. The package ``tzdata`` has it where the system has no time zones."""

DAY_S = 86400
NEVER_CHANGES_S = 30 * DAY_S
"""Past figures stay as they are. But mistakes are corrected, so no entry is kept for ever."""

ADJUSTED_S = 7 * DAY_S
"""Past bars that are adjusted change with every later split and dividend."""

_MARKETS: Mapping[str, str] = {
    "core_stock_apis": "TICKER",
    "technical_indicators": "TICKER",
    "index_data": "US",
    "options_data_apis": "US",
    "forex": "FX",
}
"""Category → market. TICKER: the symbol decides. A category that is not listed has no hours."""

_US_TICKER = re.compile(r"[A-Za-z]{1,5}(-[A-Za-z]{1,2})?\Z")
_VENUE_TICKER = re.compile(r"[A-Za-z0-9-]+\.[A-Za-z]{1,4}\Z")

_WEEK_H = 168
_LAST_TRADES_H, _SETTLED_H = 20.5, 30
"""Extended hours are 04:00 to 20:00, with half an hour for the last trades to arrive. By 06:00 of the next day, before
trading starts, the upstream is assumed to have finished a day."""

_FRIDAY_H, _SUNDAY_H = 4 * 24, 6 * 24 - _WEEK_H
_WEEKLY: Mapping[tuple[str, bool], Sequence[tuple[float, float]]] = {
    ("US", True): [(24 * day + 4, 24 * day + _LAST_TRADES_H) for day in range(5)],
    ("US", False): [(24 * day + 16, 24 * day + _SETTLED_H) for day in range(5)],
    # Shanghai opens first on Monday, Toronto closes last on Friday.
    ("WORLD", True): [(_SUNDAY_H + 20, _FRIDAY_H + _LAST_TRADES_H)],
    ("WORLD", False): [(_SUNDAY_H + 20, _FRIDAY_H + _SETTLED_H)],
    ("FX", True): [(_SUNDAY_H + 17, _FRIDAY_H + 17)],
    ("FX", False): [(_SUNDAY_H + 17, _FRIDAY_H + 17)],
}
"""Market, and whether prices are live → when its data can change: hours from Monday 00:00 in New York."""

_CHANGES = {
    market: [(begins + week, ends + week) for week in (0, _WEEK_H) for begins, ends in spans]
    for market, spans in _WEEKLY.items()
}
"""The same for this week and the next, in order."""


def ttl(tool: Tool, arguments: Mapping[str, Any], now: float, freshness: Mapping[str, int]) -> int:
    """Return the seconds for which the response to a call stays fresh, at least 1."""
    clock = _wall_time(now)
    if ("month" in arguments or "date" in arguments) and (past_s := _past_ttl(arguments, clock)):
        return past_s
    is_live, class_ = _freshness_class(tool, arguments)
    seconds = freshness.get(class_, freshness[tool.freshness])
    if class_ in ("quarterly", "static"):
        return seconds
    market = _market(tool, arguments)
    if market is None:
        return seconds
    monday = datetime.combine(clock.date() - timedelta(days=clock.weekday()), time())
    hour = (clock - monday) / timedelta(hours=1)
    begins = next(begins for begins, ends in _CHANGES[market, is_live] if hour < ends)
    if begins <= hour:
        return seconds
    next_change = _timestamp(monday + timedelta(hours=begins))
    return max(1, min(round(next_change - now), NEVER_CHANGES_S))


def next_midnight(now: float) -> float:
    """Return when the next day begins in New York, where the vendor's markets are, in seconds since 1970."""
    return _timestamp(datetime.combine(_wall_time(now).date() + timedelta(days=1), time()))


def _wall_time(moment: float) -> datetime:
    """Return the wall time in New York, without a zone: hours of markets are compared with it."""
    return datetime.fromtimestamp(moment, NEW_YORK).replace(tzinfo=None)


def _timestamp(wall_time: datetime) -> float:
    return wall_time.replace(tzinfo=NEW_YORK).timestamp()


def _past_ttl(arguments: Mapping[str, Any], clock: datetime) -> int:
    """Return the seconds for a response about a time that is over; 0 when it is not."""
    month, day = arguments.get("month"), arguments.get("date")
    readings = parse_date(month if isinstance(month, str) else day)
    if not readings:  # a date that does not exist: the upstream will report it
        return 0
    days_over = (clock.date() - readings[0].high.date()).days
    if isinstance(month, str):
        # One day more: the last session of the month is still being settled on the first of the next.
        is_raw = arguments.get("adjusted") is False
        return 0 if days_over <= 1 else NEVER_CHANGES_S if is_raw else ADJUSTED_S
    return NEVER_CHANGES_S if days_over > 7 else 0


def _freshness_class(tool: Tool, arguments: Mapping[str, Any]) -> tuple[bool, str]:
    """Return whether prices are live rather than end-of-day, and the freshness class that applies."""
    if "entitlement" in tool.parameters.get("properties", ()):
        entitlement = arguments.get("entitlement")
        if entitlement is not None:
            return True, "realtime" if entitlement == "realtime" else "intraday"
        # Without entitlement these tools serve end-of-day figures, for every length of a bar.
        return False, "daily" if tool.freshness in ("realtime", "intraday") else tool.freshness
    return tool.freshness in ("realtime", "intraday"), tool.freshness


def _market(tool: Tool, arguments: Mapping[str, Any]) -> str | None:
    market = _MARKETS.get(tool.category)
    if market != "TICKER":
        return market
    symbols = [item.strip() for item in str(arguments.get("symbol", "")).split(",")]
    if all(map(_US_TICKER.match, symbols)):
        return "US"
    if all(_US_TICKER.match(symbol) or _VENUE_TICKER.match(symbol) for symbol in symbols):
        return "WORLD"
    return None  # a pair of currencies or coins written as one word, or no symbol at all


class AlphaVantageAdapter(HttpApiAdapter):
    """Call Alpha Vantage."""

    states_forms = True
    quota_resets_at = staticmethod(next_midnight)  # the vendor documents no hour
    smaller_response_hint = "Ask for less: a shorter span, outputsize=compact, or datatype=csv where the tool has them."

    def cache_policy(self, tool: Tool, arguments: Mapping[str, Any], now: float) -> CachePolicy:
        """Keep a response until the data can change; for its key alone where the plan may decide what is returned.

        So may a key that the vendor does not know: where the form of the data is not known, a message looks like it.
        """
        ttl_s = ttl(tool, arguments, now, self.source.freshness)
        varies_by_plan = tool.access != "free" or "entitlement" in arguments
        has_known_form = tool.answer["csv"] is not None or any(tool.answer["rows"])
        return CachePolicy(ttl_s, varies_by_plan or not has_known_form)
