"""The synthetic data: repeatable, in order, consistent between functions, and in plausible ranges."""

import csv
import io
import json
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from tests.unit.mock_api.expected_responses import EXPECTED, document, handle_query, query
from toolfold.mock_api.prices import is_trading_day, splits, trading_day

NEWEST = "2026-01-13"
SYMBOLS = ("IBM", "AAPL", "TSCO.LON", "BRK.B", "QQQ")


def series(function: str, **more: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = list(document(function, **more).values())[1]
    return found


def csv_rows(function: str, **more: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(handle_query(query(function, datatype="csv", **more)).body.decode())))


@pytest.mark.parametrize("function", EXPECTED)
def test_the_same_query_gives_the_same_bytes(function: str) -> None:
    assert handle_query(query(function)) == handle_query(query(function))


def test_another_process_gives_the_same_bytes() -> None:
    code = (
        "import hashlib; from tests.unit.mock_api.expected_responses import handle_query;"
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
    labels = list(series(function))
    assert labels == sorted(labels, reverse=True)
    assert len(labels) > 20


@pytest.mark.parametrize(
    ("function", "column"),
    [("WTI", "date"), ("CPI", "date"), ("INDEX_DATA", "date"), ("DIVIDENDS", "ex_dividend_date"),
     ("INSIDER_TRANSACTIONS", "transaction_date")],
)  # fmt: skip
def test_lists_are_newest_first(function: str, column: str) -> None:
    dates = [row[column] for row in document(function)["data"]]
    assert dates == sorted(dates, reverse=True)


def test_bars_are_consistent_and_on_trading_days() -> None:
    days = series("TIME_SERIES_DAILY", outputsize="full")
    assert (len(days) > 5000, next(iter(days)), len(series("TIME_SERIES_DAILY"))) == (True, NEWEST, 100)
    for label, bar in days.items():
        opening, high, low, close = (float(value) for value in list(bar.values())[:4])
        assert low <= min(opening, close) <= max(opening, close) <= high
        assert is_trading_day(date.fromisoformat(label))


def test_weeks_and_months_end_on_their_last_trading_day() -> None:
    for label in list(series("TIME_SERIES_WEEKLY"))[1:]:  # the newest week is not over
        following = trading_day(date.fromisoformat(label) + timedelta(days=1))
        assert following.isocalendar()[:2] != date.fromisoformat(label).isocalendar()[:2]
    for label in list(series("TIME_SERIES_MONTHLY"))[1:]:
        assert trading_day(date.fromisoformat(label) + timedelta(days=1)).month != int(label[5:7])


@pytest.mark.parametrize("symbol", SYMBOLS)
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
    assert max(float(bar["2. high"]) for bar in of_day) == float(newest["2. high"])
    assert min(float(bar["3. low"]) for bar in of_day) == float(newest["3. low"])


def test_the_exchange_rate_is_the_newest_day_of_the_pair() -> None:
    newest = next(iter(series("FX_DAILY", from_symbol="EUR", to_symbol="USD").values()))
    rate = document("CURRENCY_EXCHANGE_RATE", from_currency="EUR", to_currency="USD")
    assert float(rate["Realtime Currency Exchange Rate"]["5. Exchange Rate"]) == float(newest["4. close"])


@pytest.mark.parametrize(
    ("function", "interval", "last"),
    [
        ("TIME_SERIES_INTRADAY", "1min", "19:59:00"), ("TIME_SERIES_INTRADAY", "60min", "19:00:00"),
        ("FX_INTRADAY", "30min", "23:30:00"), ("RSI", "15min", "19:45"), ("VWAP", "15min", "19:45"),
    ],
)  # fmt: skip
def test_minute_bars_are_aligned(function: str, interval: str, last: str) -> None:
    labels = list(series(function, interval=interval))
    assert labels[0] == f"{NEWEST} {last}"
    assert all(int(label[14:16]) % int(interval.removesuffix("min")) == 0 for label in labels)


def test_month_and_hours_select_minutes() -> None:
    labels = list(series("TIME_SERIES_INTRADAY", interval="30min", month="2014-03", outputsize="full"))
    assert ({label[:7] for label in labels}, len({label[:10] for label in labels})) == ({"2014-03"}, 21)
    assert len(series("TIME_SERIES_INTRADAY", interval="30min", month="2014-03")) == 100
    assert {label[:7] for label in series("SMA", interval="60min", month="2014-03")} == {"2014-03"}
    assert "Error Message" in document("TIME_SERIES_INTRADAY", month="2031-01")
    regular = {label[11:16] for label in series("TIME_SERIES_INTRADAY", interval="30min", extended_hours="false")}
    assert (min(regular), max(regular)) == ("09:30", "15:30")


def test_adjusted_prices_include_dividends_and_splits() -> None:
    days = series("TIME_SERIES_DAILY_ADJUSTED", outputsize="full")
    paid = {row["ex_dividend_date"]: float(row["amount"]) for row in document("DIVIDENDS")["data"]}
    events = {day: float(row["7. dividend amount"]) for day, row in days.items()}
    assert {day: amount for day, amount in events.items() if amount} == paid
    assert sum(float(row["7. dividend amount"]) for row in series("TIME_SERIES_MONTHLY_ADJUSTED").values()) == (
        pytest.approx(sum(paid.values()))
    )
    newest, oldest = next(iter(days.values())), list(days.values())[-1]
    assert newest["5. adjusted close"] == newest["4. close"]
    assert float(oldest["5. adjusted close"]) < float(oldest["4. close"])
    for (day, factor), row in zip(splits("IBM"), reversed(document("SPLITS")["data"]), strict=True):
        assert (row["effective_date"], float(row["split_factor"])) == (day.isoformat(), factor)
        assert float(days[day.isoformat()]["8. split coefficient"]) == factor


def test_averages_and_bands_are_those_of_the_prices() -> None:
    closes = [float(bar["4. close"]) for bar in series("TIME_SERIES_DAILY", symbol="KO").values()]
    given = {"symbol": "KO", "interval": "daily", "time_period": "20", "series_type": "close"}
    mean = pytest.approx(sum(closes[:20]) / 20, abs=1e-3)
    assert float(next(iter(series("SMA", **given).values()))["SMA"]) == mean
    bands = {name: float(value) for name, value in next(iter(series("BBANDS", **given).values())).items()}
    assert bands["Real Middle Band"] == mean
    assert bands["Real Lower Band"] < bands["Real Middle Band"] < bands["Real Upper Band"]


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [
        ("RSI", 0, 100), ("MACD", -5, 5), ("STOCH", 0, 100), ("WILLR", -100, 0), ("ADX", 0, 100), ("CMO", -100, 100),
        ("BOP", -1, 1),
        ("AROON", 0, 100), ("MFI", 0, 100), ("AROONOSC", -100, 100), ("ULTOSC", 0, 100), ("HT_SINE", -1, 1),
        ("HT_TRENDMODE", 0, 1), ("HT_DCPERIOD", 6, 50), ("HT_DCPHASE", -45, 315), ("NATR", 0, 50), ("ATR", 0, 50),
    ],
)  # fmt: skip
def test_indicators_stay_in_their_range(function: str, low: float, high: float) -> None:
    values = [float(value) for row in series(function, interval="daily").values() for value in row.values()]
    assert low <= min(values) <= max(values) <= high
    assert len(set(values)) > 1


def test_statements_add_up() -> None:
    income, balance = document("INCOME_STATEMENT"), document("BALANCE_SHEET")["quarterlyReports"][0]
    year = income["annualReports"][0]
    quarters = [
        row for row in income["quarterlyReports"] if row["fiscalDateEnding"][:4] == year["fiscalDateEnding"][:4]
    ]
    assert len(quarters) == 4
    total = sum(int(row["totalRevenue"]) for row in quarters)
    assert int(year["totalRevenue"]) == pytest.approx(total, rel=1e-3)
    both_sides = int(balance["totalLiabilities"]) + int(balance["totalShareholderEquity"])
    assert int(balance["totalAssets"]) == pytest.approx(both_sides, rel=1e-3)


def test_the_option_chain_is_complete_and_can_be_filtered() -> None:
    chain = document("HISTORICAL_OPTIONS")["data"]
    one = chain[7]
    assert document("HISTORICAL_OPTIONS", contract=one["contractID"])["data"] == [one]
    same_day = [row for row in chain if row["expiration"] == one["expiration"]]
    assert document("HISTORICAL_OPTIONS", expiration=one["expiration"])["data"] == same_day
    assert {row["date"] for row in document("HISTORICAL_OPTIONS", date="2020-03-16")["data"]} == {"2020-03-16"}
    for closed in ("2020-03-15", "2007-12-31", "2026-01-14"):
        assert document("HISTORICAL_OPTIONS", date=closed)["data"] == []
    ratios = document("REALTIME_PUT_CALL_RATIO")["put_call_ratio_by_expiration"]
    assert [row["date"] for row in ratios] == sorted({row["expiration"] for row in chain})


def test_news_can_be_filtered() -> None:
    news = document("NEWS_SENTIMENT", tickers="IBM,CRYPTO:BTC", topics="earnings", limit="7")
    assert (news["items"], len(news["feed"]), len(document("NEWS_SENTIMENT")["feed"])) == ("7", 7, 50)
    assert len(document("NEWS_SENTIMENT", limit="1000")["feed"]) == 1000
    for article in news["feed"]:
        assert [entry["ticker"] for entry in article["ticker_sentiment"]] == ["IBM", "CRYPTO:BTC"]
        assert [entry["topic"] for entry in article["topics"]] == ["earnings"]
    times = [a["time_published"] for a in document("NEWS_SENTIMENT", sort="EARLIEST", time_to="20250101T0000")["feed"]]
    assert (times, times[-1] <= "20250101T000000") == (sorted(times), True)
    window = document("NEWS_SENTIMENT", time_from="20250601T0000", time_to="20250603T0000", limit="1000")["feed"]
    assert 0 < len(window) < 1000
    assert all("20250601" <= article["time_published"] <= "20250603T000000" for article in window)


def test_other_lists_can_be_filtered() -> None:
    assert {row["status"] for row in csv_rows("LISTING_STATUS", state="delisted")} == {"delisted"}
    insiders = document("INSIDER_TRANSACTIONS", **{"from": "2025-06-01"})["data"]
    assert 0 < len(insiders) < len(document("INSIDER_TRANSACTIONS")["data"])
    assert all(row["transaction_date"] >= "2025-06-01" for row in insiders)
    found = [row["1. symbol"] for row in document("SYMBOL_SEARCH", keywords="micro")["bestMatches"]]
    assert {"MSFT", "AMD"} <= set(found)
    member = document("POLITICIAN_METADATA")["politicians"][0]["bioguide_id"]
    trades = document("CONGRESS_TRADES", symbol="", bioguide_id=member)["trades"]
    assert {row["bioguide_id"] for row in trades} == {member}
    horizons = [len(csv_rows("EARNINGS_CALENDAR", horizon=horizon)) for horizon in ("3month", "6month", "12month")]
    assert horizons == sorted(set(horizons))


def test_every_listed_symbol_has_data() -> None:
    for row in csv_rows("LISTING_STATUS")[::20]:
        assert document("GLOBAL_QUOTE", symbol=row["symbol"])["Global Quote"]["01. symbol"] == row["symbol"]


def test_analytics_have_the_window_and_the_calculations_that_are_requested() -> None:
    base = [("function", "ANALYTICS_FIXED_WINDOW"), ("apikey", "x"), ("SYMBOLS", "AAPL,MSFT"), ("INTERVAL", "DAILY")]
    texts = "MEAN,STDDEV(annualized=True),CORRELATION(method=KENDALL),HISTOGRAM(bins=5),MAX_DRAWDOWN"
    span = [("RANGE", "2025-09-02"), ("RANGE", "2025-11")]
    found: dict[str, Any] = json.loads(handle_query([*base, *span, ("CALCULATIONS", texts)]).body)
    assert (found["meta_data"]["min_dt"], found["meta_data"]["max_dt"]) == ("2025-09-02", "2025-11-28")
    results = found["payload"]["RETURNS_CALCULATIONS"]
    assert (set(results), set(results["MEAN"])) == ({text.upper() for text in texts.split(",")}, {"AAPL", "MSFT"})


def test_a_later_today_keeps_past_values() -> None:
    asked = query("TIME_SERIES_DAILY", outputsize="full")
    later: dict[str, Any] = json.loads(handle_query(asked, now=datetime(2026, 3, 2, tzinfo=UTC)).body)
    rows, before = later["Time Series (Daily)"], series("TIME_SERIES_DAILY", outputsize="full")
    assert next(iter(rows)) == "2026-03-02"
    assert {day: rows[day] for day in before} == before
