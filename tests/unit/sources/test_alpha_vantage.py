"""A response is fresh until the data behind it can change, and no other module knows of Alpha Vantage."""

import re
from pathlib import Path
from typing import Any

from tests.support.clocks import timestamp
from tests.support.tables import differences
from toolfold.catalog.model import Catalog
from toolfold.sources.alpha_vantage import next_midnight, ttl

MINUTE, HOUR, DAY = 60, 3600, 86400
IBM, LONDON, PAIR = {"symbol": "IBM"}, {"symbol": "TSCO.LON"}, {"symbol": "EURUSD"}
MONTH = {"symbol": "IBM", "interval": "5min", "month": "2024-01"}

# 2026-01-13 is a Tuesday, 2026-01-16 a Friday. Summer time begins on 2026-03-08 and ends on 2026-11-01, both Sundays.
TABLE: list[tuple[str, dict[str, Any], str, int]] = [
    # End-of-day figures of US stocks: until the next close; in the hours after it, by their class.
    ("TIME_SERIES_DAILY", IBM, "2026-01-13 12:00", 4 * HOUR),
    ("TIME_SERIES_DAILY", IBM, "2026-01-13 15:59", MINUTE),
    ("TIME_SERIES_DAILY", IBM, "2026-01-13 16:00", HOUR),
    ("TIME_SERIES_DAILY", IBM, "2026-01-13 23:59", HOUR),
    ("TIME_SERIES_DAILY", IBM, "2026-01-14 05:59", HOUR),
    ("TIME_SERIES_DAILY", IBM, "2026-01-14 06:00", 10 * HOUR),
    ("TIME_SERIES_DAILY", IBM, "2026-01-16 18:00", HOUR),
    ("TIME_SERIES_DAILY", IBM, "2026-01-17 05:00", HOUR),
    ("TIME_SERIES_DAILY", IBM, "2026-01-17 12:00", 2 * DAY + 4 * HOUR),
    ("TIME_SERIES_DAILY", IBM, "2026-01-18 20:00", 20 * HOUR),
    ("TIME_SERIES_DAILY", IBM, "2026-01-19 03:00", 13 * HOUR),
    ("TIME_SERIES_DAILY", {"symbol": "BRK-B"}, "2026-01-17 12:00", 2 * DAY + 4 * HOUR),
    # A clock is put forward over this weekend: an hour less. And back: an hour more.
    ("TIME_SERIES_DAILY", IBM, "2026-03-07 12:00", 2 * DAY + 3 * HOUR),
    ("TIME_SERIES_DAILY", IBM, "2026-10-31 12:00", 2 * DAY + 5 * HOUR),
    # Without entitlement, quotes and minute bars are end-of-day figures too.
    ("GLOBAL_QUOTE", IBM, "2026-01-13 12:00", 4 * HOUR),
    ("TIME_SERIES_INTRADAY", {**IBM, "interval": "5min"}, "2026-01-13 12:00", 4 * HOUR),
    ("SMA", {**IBM, "interval": "5min"}, "2026-01-13 12:00", 4 * HOUR),
    ("TIME_SERIES_WEEKLY", IBM, "2026-01-13 12:00", 4 * HOUR),
    ("TIME_SERIES_WEEKLY", IBM, "2026-01-13 17:00", 6 * HOUR),
    # With it they are live, and go by their class.
    ("GLOBAL_QUOTE", {**IBM, "entitlement": "realtime"}, "2026-01-13 12:00", 15),
    ("GLOBAL_QUOTE", {**IBM, "entitlement": "delayed"}, "2026-01-13 12:00", MINUTE),
    ("GLOBAL_QUOTE", {**IBM, "entitlement": "realtime"}, "2026-01-16 21:00", 15),
    ("TIME_SERIES_DAILY", {**IBM, "entitlement": "delayed"}, "2026-01-13 12:00", MINUTE),
    ("REALTIME_OPTIONS", IBM, "2026-01-13 12:00", 15),
    # Elsewhere markets close at other hours.
    ("TIME_SERIES_DAILY", LONDON, "2026-01-13 12:00", HOUR),
    ("FX_DAILY", {"from_symbol": "EUR", "to_symbol": "USD"}, "2026-01-17 12:00", HOUR),
    ("DIGITAL_CURRENCY_DAILY", {"symbol": "BTC", "market": "USD"}, "2026-01-17 12:00", HOUR),
    ("CRYPTO_INTRADAY", {"symbol": "BTC", "market": "USD", "interval": "5min"}, "2026-01-17 12:00", MINUTE),
    ("CURRENCY_EXCHANGE_RATE", {"from_currency": "BTC", "to_currency": "USD"}, "2026-01-17 12:00", 15),
    # A pair given to a tool for stocks may be one of coins.
    ("SMA", {**PAIR, "interval": "daily"}, "2026-01-17 12:00", HOUR),
    # What has no market hours goes by its class.
    ("MARKET_STATUS", {}, "2026-01-17 12:00", MINUTE),
    ("NEWS_SENTIMENT", {"tickers": "IBM"}, "2026-01-17 12:00", MINUTE),
    ("INCOME_STATEMENT", IBM, "2026-01-17 12:00", DAY),
    ("CPI", {}, "2026-01-17 12:00", 12 * HOUR),
    ("INDEX_CATALOG", {}, "2026-01-17 12:00", 30 * DAY),
    ("TIME_SERIES_INTRADAY", MONTH, "2026-01-13 12:00", 4 * HOUR),
    ("HISTORICAL_OPTIONS", {**IBM, "date": "2025-06-30"}, "2026-01-17 12:00", 2 * DAY + 4 * HOUR),
]


def test_a_response_is_fresh_until_its_data_can_change(catalog: Catalog) -> None:
    def fresh_s(name: str, arguments: dict[str, Any], clock: str) -> int:
        tool = catalog.get(name)
        return ttl(tool, arguments, timestamp(clock), catalog.source(tool.source).freshness)

    assert differences(fresh_s, TABLE) == {}


def test_every_tool_has_a_ttl_at_every_hour_of_a_week(catalog: Catalog) -> None:
    tools = [tool for name in catalog if (tool := catalog.get(name)) is not None]
    alike = {(tool.category, tool.freshness, "entitlement" in str(tool.parameters)): tool for tool in tools}
    for tool in alike.values():
        freshness = catalog.source(tool.source).freshness
        for hour in range(0, 7 * 24, 5):
            seconds = ttl(tool, {"symbol": "IBM"}, timestamp("2026-03-05 00:30") + hour * HOUR, freshness)
            assert 1 <= seconds <= 30 * DAY


def test_the_day_ends_at_midnight_in_new_york() -> None:
    assert next_midnight(timestamp("2026-01-13 12:00")) == timestamp("2026-01-14 00:00")
    assert next_midnight(timestamp("2026-01-14 00:00")) == timestamp("2026-01-15 00:00")
    assert next_midnight(timestamp("2026-03-08 00:00")) - timestamp("2026-03-08 00:00") == 23 * HOUR
    assert next_midnight(timestamp("2026-11-01 00:00")) - timestamp("2026-11-01 00:00") == 25 * HOUR


PACKAGE = Path("layers/core/toolfold")
NAMES = re.compile(r"(?is)alpha.?vantage|new.?york|entitlement|outputsize|datatype")
ALLOWED = {
    "build/lint.py": "the thresholds were chosen on its catalog",
    "cli": "examples in help texts",
    "mock_api": "imitates it",
    "settings/model.py": "the variable and the host of the built-in source, suggested where a name is misspelt",
    "sources/alpha_vantage.py": "is about it",
    "sources/base.py": "the table of adapters",
    "results/select/dialect.py": "a class of sqlglot has the name of a parameter",
    "sources/sql/guard.py": "a class of sqlglot has the name of a parameter",
}
"""Files and folders that may name it → why."""


def test_no_other_module_names_a_source() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): match[0]
        for path in sorted(PACKAGE.rglob("*.py"))
        if (match := NAMES.search(path.read_text(encoding="utf-8")))
    }
    assert all(any(path.startswith(allowed) for path in found) for allowed in ALLOWED)
    others = {
        path: name
        for path, name in found.items()
        if not any(path == allowed or path.startswith(f"{allowed}/") for allowed in ALLOWED)
    }
    assert others == {}
