"""Errors of the API, and the faults that can be requested."""

import gzip
import json
from typing import Any

import pytest

from tests.unit.mock_api.expected_responses import EXPECTED, document, handle_query, query
from toolfold.mock_api.faults import FAULTS
from toolfold.mock_api.responses import Response
from toolfold.mock_api.router import open_api


def by_key(fault: str) -> Response:
    sent = [(name, value) for name, value in query("DIVIDENDS", datatype="csv") if name != "apikey"]
    return handle_query([*sent, ("apikey", f"fault-{fault.replace('_', '-')}")])


def by_symbol(fault: str, parameter: str = "symbol") -> Response:
    sent = [("function", "DIVIDENDS"), ("datatype", "csv"), ("apikey", "any")]
    return handle_query([*sent, (parameter, f"FAULT.{fault.upper()}")])


def test_a_fault_is_the_same_by_key_and_by_symbol() -> None:
    """What a client makes of each fault is in ``tests/faults``."""

    def shown(response: Response) -> tuple[Any, ...]:
        kind = response.status, response.content_type, response.body[:12]
        return *kind, response.delay_s, response.connection, response.times

    assert [fault for fault in FAULTS if shown(by_key(fault)) != shown(by_symbol(fault))] == []


def test_a_fault_is_found_in_every_symbol_like_parameter() -> None:
    for parameter in ("symbol", "SYMBOLS", "symbols", "tickers", "keywords", "from_symbol", "from_currency"):
        assert b"Burst pattern" in by_symbol("PREMIUM_BURST", parameter).body
        lists = [("function", "REALTIME_BULK_QUOTES"), ("apikey", "any"), (parameter, "IBM,fault.http503")]
        assert handle_query(lists).status == 503


def test_the_daily_quota_echoes_the_key() -> None:
    assert b"API key as fault-daily-quota and" in by_key("daily_quota").body


def test_headers_delays_and_sizes_of_faults() -> None:
    assert by_symbol("HTTP429").headers == (("Retry-After", "7"),)
    assert dict(by_symbol("REDIRECT").headers)["Location"].startswith("http://elsewhere.example/")
    assert by_symbol("SLOW.3").delay_s == by_key("slow-3").delay_s == 3
    assert by_symbol("SLOW.0.25").delay_s == 0.25
    assert by_symbol("SLOW").delay_s > 0
    assert by_symbol("DRIP.1").connection == "drip"
    assert by_symbol("TRUNCATED").connection == "truncated"
    assert by_symbol("RESET").connection == "reset"
    assert by_symbol("CLOSED").connection == "closed"
    huge = handle_query([("function", "DIVIDENDS"), ("apikey", "fault-huge"), ("symbol", "IBM")])
    assert 19e6 < len(huge.body) < 21e6
    assert json.loads(huge.body)["data"]


def test_harmful_responses() -> None:
    giant, bomb = by_symbol("GIANT"), by_symbol("GZIP_BOMB")
    assert len(giant.body) * giant.times == 10**9
    assert len(bomb.body) < 200_000
    assert len(gzip.decompress(bomb.body)) == 10**8
    for response in (by_symbol("INVALID_UTF8"), by_key("invalid_utf8")):
        with pytest.raises(UnicodeDecodeError):
            response.body.decode()
    short, long = by_symbol("LENGTH_TOO_SMALL"), by_symbol("LENGTH_TOO_LARGE")
    assert (short.length, long.length) == (len(short.body) - 15, len(long.body) + 15)
    assert dict(by_symbol("REDIRECT_LOOP").headers)["Location"].startswith("?function=DIVIDENDS")


def test_responses_with_changed_columns() -> None:
    known = EXPECTED["DIVIDENDS"]["csv_header"].split(",")
    header = {name: by_symbol(name).body.decode().partition("\n")[0].split(",") for name in
              ("NEW_COLUMN", "MISSING_COLUMN", "RENAMED_COLUMN")}  # fmt: skip
    assert header["NEW_COLUMN"] == [*known, "mood"]
    assert header["MISSING_COLUMN"] == known[:-1]
    assert header["RENAMED_COLUMN"] == ["renamed", *known[1:]]
    as_json = document_of([("function", "DIVIDENDS"), ("apikey", "any"), ("symbol", "FAULT.NEW_COLUMN")])
    assert "mood" in as_json["data"][0]
    assert json.loads(by_symbol("JSON_FOR_CSV").body)["data"]


def test_an_unknown_fault_is_an_error() -> None:
    response = by_symbol("DALY_QUOTA")
    assert response.status == 404
    assert b"daily_quota" in response.body


def test_the_key_is_checked_before_the_function() -> None:
    rows = [
        ({}, "Error Message", "apikey is invalid"),
        ({"apikey": ""}, "Error Message", "apikey is invalid"),
        ({"apikey": "demo"}, "Information", "demo purposes"),
        *(
            (
                {"function": function, "apikey": "any"},
                "Error Message",
                f"This API function ({function}) does not exist.",
            )
            for function in ("GLOBAL_QUOT", "", "COMPANY_OVERVIEW", "global_quote", "SECTOR")
        ),
    ]
    for sent, key, text in rows:
        assert text in document_of([*{"function": "NOPE", "symbol": "IBM", **sent}.items()])[key]


def document_of(sent: list[tuple[str, str]]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(handle_query(sent).body)
    return found


def test_a_missing_required_parameter_is_an_error() -> None:
    for function, endpoint in open_api().endpoints.items():
        for name in endpoint.tool.parameters.get("required", ()):
            sent = [pair for pair in query(function) if pair[0].lower() != name]
            assert document_of(sent)["Error Message"].endswith(f" for {function}."), (function, name)


# Function -> what it returns for an unknown symbol; "error" is the refusal of the call.
UNKNOWN_SYMBOL: dict[str, Any] = {
    "GLOBAL_QUOTE": {"Global Quote": {}},
    **{name: {} for name in ("OVERVIEW", "COMPANY_LOGO", "INCOME_STATEMENT", "EARNINGS", "EARNINGS_ESTIMATES",
                             "ETF_PROFILE", "INSTITUTIONAL_HOLDINGS")},
    "INSIDER_TRANSACTIONS": {"data": []},
    "DIVIDENDS": {"symbol": "NOSUCH1", "data": []},
    "SPLITS": {"symbol": "NOSUCH1", "data": []},
    "SHARES_OUTSTANDING": {"symbol": "NOSUCH1", "status": "success", "data": []},
    "EARNINGS_CALL_TRANSCRIPT": {"symbol": "NOSUCH1", "quarter": "2024Q1", "transcript": []},
    "HISTORICAL_OPTIONS": {"endpoint": "Historical Options", "message": "success", "data": []},
    "REALTIME_PUT_CALL_RATIO": {
        "symbol": "NOSUCH1", "put_call_ratio_full_chain": None, "put_call_ratio_by_expiration": []
    },
    "REALTIME_BULK_QUOTES": {"endpoint": "Realtime Bulk Quotes", "message": "success", "data": []},
    "CONGRESS_TRADES": {"symbol": "NOSUCH1", "bioguide_id": "", "trades": []},
    **dict.fromkeys(("TIME_SERIES_DAILY", "TIME_SERIES_WEEKLY", "RSI", "VWAP", "CRYPTO_INTRADAY", "INDEX_DATA",
                     "DIGITAL_CURRENCY_DAILY"), "error"),
}  # fmt: skip


def test_an_unknown_symbol_is_answered_as_the_vendor_does() -> None:
    def answer(function: str) -> Any:
        found = document(function, symbol="NOSUCH1")
        refusal = found.get("Error Message", "")
        is_error = refusal.startswith("Invalid API call.") and refusal.endswith(f" for {function}.")
        return "error" if is_error else found

    assert {function: answer(function) for function in UNKNOWN_SYMBOL} == UNKNOWN_SYMBOL


def test_unknown_symbols_of_other_functions() -> None:
    assert document("GLOBAL_QUOTE", symbol="BTCUSD") == {"Global Quote": {}}
    assert "Technical Analysis: RSI" in document("RSI", symbol="BTCUSD")  # indicators take pairs as one word
    assert "Error Message" in document("FX_DAILY", from_symbol="EUR", to_symbol="QQQ")
    assert document("SYMBOL_SEARCH", keywords="nosuch thing") == {"bestMatches": []}
    assert set(document("ANALYTICS_FIXED_WINDOW", SYMBOLS="IBM,NOSUCH")) == {"error", "trace"}
    only_header = (EXPECTED["EARNINGS_CALENDAR"]["csv_header"] + "\r\n").encode()
    assert handle_query(query("EARNINGS_CALENDAR", symbol="NOSUCH")).body == only_header
    assert document("OVERVIEW", symbol="QQQ") == {}  # funds have no company data


def test_a_free_key_gets_an_error_for_what_is_premium() -> None:
    rows = [
        *(("This is a premium endpoint", {"function": name}) for name in (
            "TIME_SERIES_INTRADAY", "TIME_SERIES_DAILY_ADJUSTED", "VWAP", "MACD", "FX_INTRADAY", "CRYPTO_INTRADAY",
            "HISTORICAL_OPTIONS", "INDEX_DATA")),
        ("outputsize=full parameter value is a premium feature for the TIME_SERIES_DAILY endpoint",
         {"function": "TIME_SERIES_DAILY", "outputsize": "full"}),
        ("15-minute delayed US market data", {"function": "GLOBAL_QUOTE", "entitlement": "delayed"}),
        ("realtime US market data", {"function": "RSI", "entitlement": "realtime"}),
        ("premium", {"function": "ANALYTICS_FIXED_WINDOW", "SYMBOLS": "IBM,AAPL,MSFT,KO,T,GE"}),
        ("premium", {"function": "ANALYTICS_SLIDING_WINDOW", "CALCULATIONS": "MEAN,STDDEV"}),
    ]  # fmt: skip
    for text, more in rows:
        assert text in document_of(query(more.pop("function"), **more, apikey="free"))["Information"]


def test_a_free_key_gets_placeholder_rows() -> None:
    rows = ["REALTIME_OPTIONS", "REALTIME_OPTIONS_FMV", "REALTIME_BULK_QUOTES", "REALTIME_BULK_BID_ASK_PRICES"]
    for function in rows:
        found, real = (document(function, apikey=key) for key in ("free", "any"))
        assert "ARTIFICIAL" in found["message"]
        assert found["endpoint"] == real["endpoint"]
        assert set(found["data"][0]) <= set(real["data"][0])
