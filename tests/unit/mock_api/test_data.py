"""The synthetic data: repeatable, in order, consistent between functions, and in plausible ranges."""

import hashlib
import json
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from tests.unit.mock_api.expected_responses import document, handle_query, query
from toolfold.mock_api.market import trading_day

NEWEST = "2026-01-13"


def series(function: str, **more: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = list(document(function, **more).values())[1]
    return found


@pytest.mark.slow  # starts a process
def test_another_process_gives_the_same_bytes() -> None:
    code = (
        "import hashlib; from tests.unit.mock_api.expected_responses import handle_query, query;"
        "print(hashlib.sha256(handle_query(query('TIME_SERIES_DAILY')).body).hexdigest())"
    )
    environment = {"PYTHONHASHSEED": "1", "PYTHONPATH": ":".join(sys.path)}
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, env=environment)
    assert other.stdout.strip() == hashlib.sha256(handle_query(query("TIME_SERIES_DAILY")).body).hexdigest()


def test_weeks_and_months_end_on_their_last_trading_day() -> None:
    for label in list(series("TIME_SERIES_WEEKLY"))[1:]:  # the newest week is not over
        following = trading_day(date.fromisoformat(label) + timedelta(days=1))
        assert following.isocalendar()[:2] != date.fromisoformat(label).isocalendar()[:2]
    for label in list(series("TIME_SERIES_MONTHLY"))[1:]:
        assert trading_day(date.fromisoformat(label) + timedelta(days=1)).month != int(label[5:7])


@pytest.mark.parametrize("symbol", ["IBM", "TSCO.LON", "BRK-B"])
def test_quotes_and_all_series_agree_on_the_newest_price(symbol: str) -> None:
    newest, before = list(series("TIME_SERIES_DAILY", symbol=symbol).values())[:2]
    quote = document("GLOBAL_QUOTE", symbol=symbol)["Global Quote"]
    assert (quote["05. price"], quote["08. previous close"]) == (newest["4. close"], before["4. close"])
    assert float(document("REALTIME_BULK_QUOTES", symbol=symbol)["data"][0]["close"]) == float(newest["4. close"])
    for function in ("WEEKLY", "MONTHLY", "WEEKLY_ADJUSTED", "MONTHLY_ADJUSTED", "DAILY_ADJUSTED"):
        assert next(iter(series(f"TIME_SERIES_{function}", symbol=symbol).values()))["4. close"] == newest["4. close"]
    minutes = series("TIME_SERIES_INTRADAY", symbol=symbol, interval="5min", extended_hours="false", outputsize="full")
    of_day = [bar for label, bar in minutes.items() if label.startswith(NEWEST)]
    assert (of_day[0]["4. close"], of_day[-1]["1. open"]) == (newest["4. close"], newest["1. open"])
    assert max(float(bar["2. high"]) for bar in of_day) <= float(newest["2. high"])
    assert min(float(bar["3. low"]) for bar in of_day) >= float(newest["3. low"])


def test_averages_and_bands_are_those_of_the_prices() -> None:
    closes = [float(bar["4. close"]) for bar in series("TIME_SERIES_DAILY", symbol="KO").values()]
    given = {"symbol": "KO", "interval": "daily", "time_period": "20", "series_type": "close"}
    mean = pytest.approx(sum(closes[:20]) / 20, abs=1e-3)
    assert float(next(iter(series("SMA", **given).values()))["SMA"]) == mean
    bands = {name: float(value) for name, value in next(iter(series("BBANDS", **given).values())).items()}
    assert bands["Real Middle Band"] == mean
    assert bands["Real Lower Band"] < bands["Real Middle Band"] < bands["Real Upper Band"]


def test_a_later_today_keeps_past_values() -> None:
    later: dict[str, Any] = json.loads(handle_query(query("TIME_SERIES_DAILY"), datetime(2026, 3, 2, tzinfo=UTC)).body)
    rows, before = later["Time Series (Daily)"], series("TIME_SERIES_DAILY")
    assert next(iter(rows)) == "2026-03-02"
    both = rows.keys() & before.keys()
    assert len(both) > 50
    assert {day: rows[day] for day in both} == {day: before[day] for day in both}
