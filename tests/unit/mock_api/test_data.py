"""The synthetic data: repeatable, in order, consistent between functions, and in plausible ranges."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from tests.unit.mock_api.expected_responses import EXPECTED, document, query
from toolfold.mock_api import handle_query
from toolfold.mock_api.price_series import holidays, is_trading_day

NEWEST = "2026-01-13"
SPLIT_TWICE = ("IBM", "MSFT", "TSLA")


def series(function: str, **more: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = list(document(function, **more).values())[1]
    return found


@pytest.mark.parametrize("function", EXPECTED)
def test_the_same_query_gives_the_same_bytes(function: str) -> None:
    assert handle_query(query(function)) == handle_query(query(function))


def test_another_process_gives_the_same_bytes() -> None:
    code = (
        "import sys, hashlib; from toolfold.mock_api import handle_query;"
        "q=[('function','TIME_SERIES_DAILY'),('symbol','IBM'),('apikey','x'),('outputsize','full')];"
        "print(hashlib.sha256(handle_query(q).body).hexdigest())"
    )
    digests = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, env=env).stdout
        for env in ({"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)} for seed in ("1", "2"))
    }
    assert len(digests) == 1


@pytest.mark.parametrize("function", [name for name, facts in EXPECTED.items() if facts["kind"] == "map"])
def test_series_are_newest_first(function: str) -> None:
    stamps = list(series(function))
    assert stamps == sorted(stamps, reverse=True)
    assert len(stamps) > 20


@pytest.mark.parametrize("function", ["WTI", "CPI", "INDEX_DATA", "DIVIDENDS", "INSIDER_TRANSACTIONS"])
def test_lists_are_newest_first(function: str) -> None:
    rows = document(function)["data"]
    dates = [next(value for key, value in row.items() if "date" in key) for row in rows]
    assert dates == sorted(dates, reverse=True)


def test_bars_are_consistent_and_on_trading_days() -> None:
    days = series("TIME_SERIES_DAILY", outputsize="full")
    assert len(days) > 5000
    assert next(iter(days)) == NEWEST
    for label, bar in days.items():
        opening, high, low, close = (float(value) for value in list(bar.values())[:4])
        assert low <= min(opening, close) <= max(opening, close) <= high
        assert is_trading_day(date.fromisoformat(label))
    assert len(series("TIME_SERIES_DAILY")) == 100


def test_holidays_follow_the_exchange_calendar() -> None:
    closed = {"2025-04-18", "2025-05-26", "2025-07-04", "2025-11-27", "2023-01-02", "2021-12-24", "2022-06-20"}
    assert all(date.fromisoformat(day) in holidays(int(day[:4])) for day in closed)
    assert is_trading_day(date(2021, 12, 31))  # a Saturday New Year is not moved into the old year
    assert len(holidays(2025)) == 10
    assert not is_trading_day(date(2026, 1, 10))


def test_weeks_end_on_fridays_and_months_on_their_last_trading_day() -> None:
    weeks = list(series("TIME_SERIES_WEEKLY"))[1:]  # the newest week is not over
    odd = [day for day in weeks if date.fromisoformat(day).weekday() != 4]
    assert all(not is_trading_day(date.fromisoformat(day) + timedelta(days=1)) for day in odd)
    assert len(odd) < len(weeks) / 20
    for day in list(series("TIME_SERIES_MONTHLY"))[1:]:
        following = date.fromisoformat(day) + timedelta(days=1)
        while not is_trading_day(following):
            following += timedelta(days=1)
        assert following.day <= 5
    assert all(row["date"].endswith("-01") for row in document("UNEMPLOYMENT")["data"])


def test_the_quote_is_the_newest_day_of_the_series() -> None:
    for symbol in ("IBM", "AAPL", "TSCO.LON", "WHATEVER"):
        newest, before = list(series("TIME_SERIES_DAILY", symbol=symbol).values())[:2]
        quote = document("GLOBAL_QUOTE", symbol=symbol)["Global Quote"]
        assert quote["05. price"] == newest["4. close"]
        assert quote["08. previous close"] == before["4. close"]
        bulk = document("REALTIME_BULK_QUOTES", symbol=symbol)["data"][0]
        assert float(bulk["close"]) == float(newest["4. close"])
        minutes = series("TIME_SERIES_INTRADAY", symbol=symbol, interval="5min", extended_hours="false")
        assert next(iter(minutes.values()))["4. close"] == newest["4. close"]
        assert next(iter(series("TIME_SERIES_WEEKLY", symbol=symbol).values()))["4. close"] == newest["4. close"]


def test_the_exchange_rate_is_the_newest_day_of_the_pair() -> None:
    newest = next(iter(series("FX_DAILY", from_symbol="EUR", to_symbol="USD").values()))
    rate = document("CURRENCY_EXCHANGE_RATE", from_currency="EUR", to_currency="USD")
    assert float(rate["Realtime Currency Exchange Rate"]["5. Exchange Rate"]) == float(newest["4. close"])


@pytest.mark.parametrize(("interval", "last"), [("1min", "19:59"), ("5min", "19:55"), ("60min", "19:00")])
def test_minute_bars_are_aligned_and_have_seconds(interval: str, last: str) -> None:
    stamps = list(series("TIME_SERIES_INTRADAY", interval=interval, outputsize="full"))
    assert stamps[0] == f"{NEWEST} {last}:00"
    step = int(interval.removesuffix("min"))
    assert all(stamp.endswith(":00") and int(stamp[14:16]) % step == 0 for stamp in stamps)


def test_indicators_of_minutes_have_no_seconds() -> None:
    assert next(iter(series("RSI", interval="15min"))) == f"{NEWEST} 19:45"
    assert next(iter(series("VWAP", interval="15min"))) == f"{NEWEST} 19:45"


def test_month_selects_the_minutes_of_that_month() -> None:
    stamps = list(series("TIME_SERIES_INTRADAY", interval="30min", month="2014-03", outputsize="full"))
    assert {stamp[:7] for stamp in stamps} == {"2014-03"}
    assert len({stamp[:10] for stamp in stamps}) == 21
    assert len(series("TIME_SERIES_INTRADAY", interval="30min", month="2014-03")) == 100
    assert {stamp[:7] for stamp in series("SMA", interval="60min", month="2014-03")} == {"2014-03"}
    assert "Error Message" in document("TIME_SERIES_INTRADAY", month="2031-01")


def test_regular_hours_exclude_extended_hours() -> None:
    stamps = {s[11:16] for s in series("TIME_SERIES_INTRADAY", interval="30min", extended_hours="false")}
    assert (min(stamps), max(stamps)) == ("09:30", "15:30")


def test_adjusted_prices_include_dividends_and_splits() -> None:
    paid = {row["ex_dividend_date"]: float(row["amount"]) for row in document("DIVIDENDS")["data"]}
    days = series("TIME_SERIES_DAILY_ADJUSTED", outputsize="full")
    in_series = {day: float(row["7. dividend amount"]) for day, row in days.items() if float(row["7. dividend amount"])}
    assert in_series == paid
    newest, oldest = next(iter(days.values())), list(days.values())[-1]
    assert newest["5. adjusted close"] == newest["4. close"]
    assert float(oldest["5. adjusted close"]) < float(oldest["4. close"])
    for symbol in SPLIT_TWICE:
        split = {row["effective_date"]: float(row["split_factor"]) for row in document("SPLITS", symbol=symbol)["data"]}
        rows = series("TIME_SERIES_DAILY_ADJUSTED", symbol=symbol, outputsize="full")
        shown = {day: float(row["8. split coefficient"]) for day, row in rows.items()}
        assert {day: factor for day, factor in shown.items() if factor != 1} == split
        assert len(split) == 2


def test_moving_averages_are_those_of_the_prices() -> None:
    closes = [float(bar["4. close"]) for bar in series("TIME_SERIES_DAILY", symbol="KO").values()]
    average = series("SMA", symbol="KO", interval="daily", time_period="20", series_type="close")
    assert float(next(iter(average.values()))["SMA"]) == pytest.approx(sum(closes[:20]) / 20, abs=1e-3)
    weighted = series("WMA", symbol="KO", interval="daily", time_period="5", series_type="close")
    expected = sum(weight * close for weight, close in zip(range(5, 0, -1), closes, strict=False)) / 15
    assert float(next(iter(weighted.values()))["WMA"]) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [
        ("RSI", 0, 100), ("STOCH", 0, 100), ("STOCHF", 0, 100), ("STOCHRSI", 0, 100), ("WILLR", -100, 0),
        ("ADX", 0, 100), ("ADXR", 0, 100), ("CMO", -100, 100), ("BOP", -1, 1), ("AROON", 0, 100), ("MFI", 0, 100),
        ("AROONOSC", -100, 100), ("ULTOSC", 0, 100), ("DX", 0, 100), ("PLUS_DI", 0, 100), ("MINUS_DI", 0, 100),
        ("HT_SINE", -1, 1), ("HT_TRENDMODE", 0, 1), ("HT_DCPERIOD", 6, 50), ("HT_DCPHASE", -45, 315), ("NATR", 0, 50),
    ],
)  # fmt: skip
def test_indicators_stay_in_their_range(function: str, low: float, high: float) -> None:
    rows = series(function, interval="daily")
    values = [float(value) for row in rows.values() for value in row.values()]
    assert low <= min(values) <= max(values) <= high
    assert len(set(values)) > 1


def test_bollinger_bands_and_macd_histogram_are_consistent() -> None:
    for row in series("BBANDS", interval="weekly").values():
        assert float(row["Real Lower Band"]) <= float(row["Real Middle Band"]) <= float(row["Real Upper Band"])
    for row in series("MACD", interval="daily").values():
        assert float(row["MACD_Hist"]) == pytest.approx(float(row["MACD"]) - float(row["MACD_Signal"]), abs=2e-4)


def test_statements_add_up_and_earnings_agree() -> None:
    income = document("INCOME_STATEMENT")
    year = income["annualReports"][0]
    quarters = [
        row for row in income["quarterlyReports"] if row["fiscalDateEnding"][:4] == year["fiscalDateEnding"][:4]
    ]
    assert len(quarters) == 4
    total = sum(int(row["totalRevenue"]) for row in quarters)
    assert int(year["totalRevenue"]) == pytest.approx(total, rel=1e-3)
    balance = document("BALANCE_SHEET")["quarterlyReports"][0]
    both_sides = int(balance["totalLiabilities"]) + int(balance["totalShareholderEquity"])
    assert int(balance["totalAssets"]) == pytest.approx(both_sides, rel=1e-3)
    newest = income["quarterlyReports"][0]
    per_share = int(newest["netIncome"]) / int(balance["commonStockSharesOutstanding"])
    reported = document("EARNINGS")["quarterlyEarnings"][0]
    assert float(reported["reportedEPS"]) == pytest.approx(per_share, abs=0.02)
    overview = document("OVERVIEW")
    price = float(document("GLOBAL_QUOTE")["Global Quote"]["05. price"])
    assert int(overview["MarketCapitalization"]) == pytest.approx(price * int(overview["SharesOutstanding"]), rel=1e-6)


def test_the_option_chain_is_complete_and_can_be_filtered() -> None:
    chain = document("HISTORICAL_OPTIONS")["data"]
    assert len(chain) >= 100
    one = chain[7]
    assert document("HISTORICAL_OPTIONS", contract=one["contractID"])["data"] == [one]
    same_day = document("HISTORICAL_OPTIONS", expiration=one["expiration"])["data"]
    assert same_day == [row for row in chain if row["expiration"] == one["expiration"]]
    assert {row["date"] for row in document("HISTORICAL_OPTIONS", date="2020-03-16")["data"]} == {"2020-03-16"}
    for closed in ("2020-03-15", "2007-12-31", "2026-01-14"):
        assert document("HISTORICAL_OPTIONS", date=closed)["data"] == []
    ratios = document("REALTIME_PUT_CALL_RATIO")["put_call_ratio_by_expiration"]
    assert [row["date"] for row in ratios] == sorted({row["expiration"] for row in chain})


def test_news_can_be_filtered() -> None:
    news = document("NEWS_SENTIMENT", tickers="IBM,CRYPTO:BTC", topics="earnings", limit="7")
    assert news["items"] == "7"
    assert len(news["feed"]) == 7
    for article in news["feed"]:
        assert {"IBM", "CRYPTO:BTC"} <= {entry["ticker"] for entry in article["ticker_sentiment"]}
        assert "earnings" in {entry["topic"] for entry in article["topics"]}
    assert len(document("NEWS_SENTIMENT")["feed"]) == 50
    times = [a["time_published"] for a in document("NEWS_SENTIMENT", sort="EARLIEST", time_to="20250101T0000")["feed"]]
    assert times == sorted(times)
    assert times[-1] <= "20250101T000000"
    window = document("NEWS_SENTIMENT", time_from="20250601T0000", time_to="20250603T0000", limit="1000")["feed"]
    assert 0 < len(window) < 1000
    assert all("20250601" <= article["time_published"] <= "20250603T000000" for article in window)


def test_other_lists_can_be_filtered() -> None:
    movers = document("TOP_GAINERS_LOSERS")
    assert [len(movers[key]) for key in ("top_gainers", "top_losers", "most_actively_traded")] == [20, 20, 20]
    listed = list(csv.DictReader(io.StringIO(handle_query(query("LISTING_STATUS")).body.decode())))
    assert len(listed) > 200
    gone = list(csv.DictReader(io.StringIO(handle_query(query("LISTING_STATUS", state="delisted")).body.decode())))
    assert gone
    assert all(row["status"] == "Delisted" and row["delistingDate"] != "null" for row in gone)
    insiders = document("INSIDER_TRANSACTIONS", **{"from": "2025-06-01"})["data"]
    assert all(row["transaction_date"] >= "2025-06-01" for row in insiders)
    assert len(insiders) < len(document("INSIDER_TRANSACTIONS")["data"])
    found = [row["1. symbol"] for row in document("SYMBOL_SEARCH", keywords="micro")["bestMatches"]]
    assert {"MSFT", "AMD"} <= set(found)
    member = document("POLITICIAN_METADATA")["politicians"][0]["bioguide_id"]
    trades = document("CONGRESS_TRADES", symbol="", bioguide_id=member)["trades"]
    assert {row["bioguide_id"] for row in trades} == {member}
    horizons = [len(handle_query(query("EARNINGS_CALENDAR", horizon=h)).body) for h in ("3month", "6month", "12month")]
    assert horizons == sorted(set(horizons))


def test_analytics_are_computed_from_the_prices() -> None:
    days = list(reversed(series("TIME_SERIES_DAILY", symbol="AAPL").items()))
    span = [("RANGE", days[10][0]), ("RANGE", days[60][0])]
    base = [("function", "ANALYTICS_FIXED_WINDOW"), ("apikey", "x"), ("SYMBOLS", "AAPL,MSFT"), ("INTERVAL", "DAILY")]
    texts = "MEAN,STDDEV(annualized=True),CORRELATION(method=KENDALL),HISTOGRAM(bins=5),MAX_DRAWDOWN,AUTOCORRELATION"
    found = json.loads(handle_query([*base, *span, ("CALCULATIONS", texts)]).body)
    assert (found["meta_data"]["min_dt"], found["meta_data"]["max_dt"]) == (days[10][0], days[60][0])
    results = found["payload"]["RETURNS_CALCULATIONS"]
    closes = [float(bar["4. close"]) for _, bar in days[10:61]]
    returns = [b / a - 1 for a, b in pairwise(closes)]
    assert results["MEAN"]["AAPL"] == pytest.approx(sum(returns) / len(returns))
    assert set(results) == {text.upper() for text in texts.split(",")}
    assert sum(results["HISTOGRAM(BINS=5)"]["AAPL"]["bin_count"]) == len(returns)
    assert results["CORRELATION(METHOD=KENDALL)"]["index"] == ["AAPL", "MSFT"]
    sliding = document("ANALYTICS_SLIDING_WINDOW", CALCULATIONS="MEAN")["payload"]["RETURNS_CALCULATIONS"]["MEAN"]
    assert list(sliding["RUNNING_MEAN"]["IBM"]) == list(sliding["window_start"])


def test_a_later_today_keeps_past_values() -> None:
    asked = query("TIME_SERIES_DAILY", outputsize="full")
    later: dict[str, Any] = json.loads(handle_query(asked, now=datetime(2026, 3, 2, tzinfo=UTC)).body)
    rows, before = later["Time Series (Daily)"], series("TIME_SERIES_DAILY", outputsize="full")
    assert next(iter(rows)) == "2026-03-02"
    assert {day: rows[day] for day in before} == before
