"""The adapter of Alpha Vantage: an HTTP API with plans, the hours of US markets and notices in prose.

How long a response stays fresh: until the data behind it can next change.

A pure function of the tool, its arguments and the time. Where little is known, a short time is assumed: a freshness
class is a number of seconds (``freshness`` in ``source.yaml``). End-of-day figures of US stocks change from the close,
16:00 in New York, to 06:00 of the next day; between the two they stay, over a weekend as well. Holidays are not known:
on a holiday a response is fetched again needlessly, and never stale.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from toolfold.sources.base import CachePolicy
from toolfold.sources.http_api.adapter import HttpApiAdapter

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool

NEW_YORK = ZoneInfo("America/New_York")
"""US markets open and close by its wall time. The package ``tzdata`` has it where the system has no time zones."""

_STOCKS = frozenset({"core_stock_apis", "technical_indicators", "index_data", "options_data_apis"})
"""Categories of tools whose ``symbol`` may be a US stock."""

_US_TICKER = re.compile(r"[A-Za-z]{1,5}(-[A-Za-z]{1,2})?\Z")

_CLOSE, _SETTLING = time(16), timedelta(hours=14)
"""By 06:00 of the next day, before trading starts, the upstream is assumed to have finished a day."""


def ttl(tool: Tool, arguments: Mapping[str, Any], now: float, freshness: Mapping[str, int]) -> int:
    """Return the seconds for which the response to a call stays fresh, at least 1."""
    class_ = tool.freshness
    is_live = class_ in ("realtime", "intraday")  # prices, rather than end-of-day figures
    if "entitlement" in tool.parameters.get("properties", ()):
        entitlement = arguments.get("entitlement")
        if entitlement is not None:
            is_live, class_ = True, "realtime" if entitlement == "realtime" else "intraday"
        elif is_live:  # without entitlement these tools serve end-of-day figures, for every length of a bar
            is_live, class_ = False, "daily"
    seconds = freshness.get(class_, freshness[tool.freshness])
    if class_ in ("quarterly", "static"):
        return seconds
    symbols = [item.strip() for item in str(arguments.get("symbol", "")).split(",")]
    if is_live or tool.category not in _STOCKS or not all(map(_US_TICKER.match, symbols)):
        return seconds
    # Without a zone: hours of markets are compared with the wall time.
    clock = datetime.fromtimestamp(now, NEW_YORK).replace(tzinfo=None)
    days = [clock.date() + timedelta(days=day) for day in range(-3, 4)]
    closes = [datetime.combine(day, _CLOSE) for day in days if day.weekday() < 5]
    if clock < max([close for close in closes if close <= clock]) + _SETTLING:
        return seconds
    following = min([close for close in closes if close > clock])
    return max(1, round(following.replace(tzinfo=NEW_YORK).timestamp() - now))


def next_midnight(now: float) -> float:
    """Return when the next day begins in New York, where the vendor's markets are, in seconds since 1970."""
    day = datetime.fromtimestamp(now, NEW_YORK).date() + timedelta(days=1)
    return datetime.combine(day, time(), NEW_YORK).timestamp()


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
