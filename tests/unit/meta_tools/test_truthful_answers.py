"""An answer says what it lacks of what was requested, and completes itself where the catalog says how.

Through the mock API over HTTP. The newest day of its data is 2026-01-13.
"""

import json
import re
import statistics
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from benchmarks.agent.raw_data import RawData, within
from tests.support.clocks import timestamp
from tests.support.example_responses import ONE_RESPONSE_PER_TOOL, example_response
from tests.support.examples import each_tenth
from tests.support.meta_tools import error
from tests.support.upstream import Upstream
from toolfold.budget import WorkBudget
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.client_call import Clock
from toolfold.execution.credentials import RequestCredentials
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools import answer_reader, completion
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import Result, dumps_compact
from toolfold.mock_api.server import MockApi
from toolfold.results.select.engine import requested_of
from toolfold.results.select.grammar import parse_select
from toolfold.results.tables import Document, Table, parse_tables
from toolfold.settings import Settings

CATALOG = FileStore(bundled_path())
ABOUT_SELECT = re.compile(r'\d[\d,]* of |"')
"""Notes on how the select was read, which are tested with it."""

PREMIUM, FREE = "premium-key-of-a-user", "free"
TODAY = Clock(now=lambda: timestamp("2026-01-13 20:00"))
IBM, KO = {"symbol": "IBM"}, {"symbol": "KO"}
"""IBM was split in 2007, KO never."""

EURUSD = {"from_symbol": "EUR", "to_symbol": "USD"}
HOURLY = {"symbol": "IBM", "interval": "60min"}
FULL = 'outputsize "full" was used: the default begins 2025-08-25.'
ROWS = ['outputsize "full" was used: the default has 100 rows.']
NOT_IN_PLAN = (
    'outputsize "full" has more, but this key\'s plan does not include it. TIME_SERIES_WEEKLY_ADJUSTED is free.'
)


@pytest.fixture(scope="module")
def mock_api() -> Iterator[MockApi]:
    with MockApi() as api:
        yield api


def tools(mock_api: MockApi, **settings: str) -> MetaTools:
    environment = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "TOOLFOLD_CACHE": "memory", **settings}
    return MetaTools(CATALOG, ToolExecutor(Settings.from_environment(environment), clock=TODAY))


@pytest.fixture(scope="module")
def gateway(mock_api: MockApi) -> MetaTools:
    return tools(mock_api)


@pytest.fixture(scope="module")
def facts(mock_api: MockApi) -> dict[str, str]:
    """Return values of the mock API that notes name."""
    data = RawData(mock_api.url)
    reports, of_ibm = data.rows("EARNINGS_CALENDAR"), data.rows("EARNINGS_CALENDAR", symbol="IBM")
    oldest = data.rows("NEWS_SENTIMENT", tickers="AAPL")[-1]["time_published"]
    days = data.rows("TIME_SERIES_DAILY", symbol="IBM", outputsize="full")
    split = next(at for at, row in enumerate(days) if row["date"] == "2007-11-12")
    return {
        "reports": str(len(reports)),
        "last report": reports[-1]["reportDate"],
        "last report of IBM": of_ibm[-1]["reportDate"],
        "oldest article": datetime.strptime(oldest, "%Y%m%dT%H%M%S").isoformat(),
        "before": f"{days[split + 1]['close']:g}",
        "after": f"{days[split]['close']:g}",
    }


def call(
    tools: MetaTools, name: str, arguments: dict[str, Any], select: str | None = None, key: str = PREMIUM
) -> Result:
    given = {"tool_name": name, "arguments": arguments, **({"select": select} if select else {})}
    return tools.call("TOOL_CALL", given, RequestCredentials(x_api_key=key))


def notes(result: Result) -> list[str]:
    assert not result.is_error, result.text
    return [note for note in result.structured.get("notes", []) if not ABOUT_SELECT.match(note)]


COMPACT = {**IBM, "outputsize": "compact"}
EVERY_DAY = {**IBM, "outputsize": "full"}
EVERY_5_MINUTES = {"symbol": "IBM", "interval": "5min"}
SINCE_2025 = {"tickers": "AAPL", "time_from": "20250101T0000"}
OF_100_ROWS = 'the 100 rows since 2025-08-25. outputsize "full" has more.'
SPLIT = "close falls from {before} to {after} by 2007-11-12, as by a split; TIME_SERIES_DAILY_ADJUSTED corrects that."


# F1
@pytest.mark.parametrize(
    ("tool", "arguments", "select", "expected"),
    [
        # A period that begins before the default: fetched, and stated.
        ("TIME_SERIES_DAILY", IBM, "2025-01-13..2026-01-13; min(close)", [FULL]),
        ("TIME_SERIES_DAILY", IBM, "until 2020; last(close)", [FULL]),
        ("TIME_SERIES_DAILY", IBM, "close; date>=2025-01-02; date<=2025-01-10", [FULL]),
        ("TIME_SERIES_DAILY", IBM, "since 1990; count()", [FULL, "Asked from 1990; the data begin 2000-01-03."]),
        # More rows than the default.
        ("TIME_SERIES_DAILY", IBM, "close; last 250", ROWS),
        ("TIME_SERIES_DAILY", IBM, "first 3", [FULL]),
        ("NEWS_SENTIMENT", {"tickers": "AAPL"}, "title; last 70", ["limit 70 was used: the default has 50 rows."]),
        # The argument of the caller is respected.
        ("TIME_SERIES_DAILY", COMPACT, "2025-01-13..2026-01-13; min(close)",
         ['Asked from 2025-01-13; the data begin 2025-08-25. outputsize "full" has more.']),
        ("TIME_SERIES_DAILY", COMPACT, "close > avg(close) over 200; count",
         ['Asked for 200 rows; the data have 100. outputsize "full" has more.']),
        # Nothing has the rest.
        ("TIME_SERIES_WEEKLY", IBM, "1990..1995; max(close)", ["Asked from 1990; the data begin 2000-01-07."]),
        ("TIME_SERIES_MONTHLY", KO, "close; last 400", ["Asked for 400 rows; the data have 313."]),
        # A month of bars in minutes.
        ("TIME_SERIES_INTRADAY", HOURLY, "2025-11-03; max(high)",
         ['outputsize "full" and month "2025-11" were used: the default begins 2026-01-05T16:00:00.']),
        ("SMA", {**HOURLY, "time_period": 10, "series_type": "close"}, "2025-06-10; max(SMA)",
         ['month "2025-06" was used: the default begins 2025-12-15T13:00:00.']),
        ("TIME_SERIES_INTRADAY", {**HOURLY, "month": "2025-11", "outputsize": "full"}, "2025-12; max(high)",
         ["Asked until 2025-12; the data end 2025-11-28T19:00:00."]),
        # A day whose beginning the default leaves out, and days that have rows.
        ("TIME_SERIES_INTRADAY", EVERY_5_MINUTES, "last 1 day; max(high)",
         ['outputsize "full" was used: the default begins 2026-01-13T11:40:00.']),
        ("TIME_SERIES_INTRADAY", EVERY_5_MINUTES, "last 2 days; count by day",
         ["last 2 days: the last 2 dates that have rows.",
          'outputsize "full" was used: the default begins 2026-01-13T11:40:00.']),
        # Rows too far apart for the period.
        ("WTI", {}, "2025-01-10..2025-01-20; mean(value)",
         ['interval "daily" was used: the default has monthly rows.']),
        ("WTI", {"interval": "monthly"}, "2025-01-15",
         ['The rows are monthly, too far apart for this period. interval "daily" has more.']),
        ("COPPER", {}, "2025-01-15", ["The rows are monthly, too far apart for this period."]),
        ("COPPER", {}, "date > 2025; count", []),  # the period has not begun
        # A period that ends after the data, of the past or of days to come.
        ("HISTORICAL_OPTIONS", {**IBM, "date": "2024-06-03", "expiration": "2024-06-21"}, "strike=185", []),
        ("DIGITAL_CURRENCY_DAILY", {"symbol": "BTC", "market": "EUR"}, "2026; max(close)", []),
        ("EARNINGS_CALENDAR", IBM, "until 2026-06-30; reportDate",
         ['horizon "12month" was used: the default ends {last report of IBM}.']),
        # A figure of all rows, which are not the whole series.
        ("TIME_SERIES_DAILY", IBM, "max(close)", [f"Computed from {OF_100_ROWS}"]),
        ("NEWS_SENTIMENT", SINCE_2025, "count()",
         ["Computed from the 50 rows since {oldest article}. limit 1000 has more."]),
        ("NEWS_SENTIMENT", SINCE_2025, None,
         ["There may be more: 50 rows are the default; limit 1000 is the most."]),
        # Rows of a part of the data that meet a condition; what JMESPath may lack is noted.
        ("TIME_SERIES_DAILY", IBM, "close > 300", [f"Searched {OF_100_ROWS}"]),
        ("TIME_SERIES_DAILY", IBM, "close > 300; last 5", []),
        ("TIME_SERIES_DAILY", IBM, "jmespath: rows[-1].close", [f"Computed from {OF_100_ROWS}"]),
        ("TIME_SERIES_DAILY", {"symbol": ["IBM", "MSFT"]}, "max(close)", [f"Computed from {OF_100_ROWS}"]),
        ("EARNINGS_CALENDAR", {}, "count()",
         ['Computed from the {reports} rows until {last report}. horizon "12month" has more.']),
        # The day of figures, where it is left out.
        ("GLOBAL_QUOTE", IBM, "price", ["latestDay is 2026-01-13."]),
        ("GLOBAL_QUOTE", IBM, "price,latestDay", []),
        ("TOP_GAINERS_LOSERS", {}, "from top_gainers; ticker", ['last_updated is "2026-01-13 16:16:00 US/Eastern".']),
        # What was requested and is not there.
        ("REALTIME_BULK_QUOTES", {"symbol": "IBM,NOSUCHX"}, "symbol,close", ["Nothing for symbol NOSUCHX."]),
        # Prices that are not adjusted.
        ("TIME_SERIES_DAILY", EVERY_DAY, "2007-06..2008-06; last(close) / first(close) - 1", [SPLIT]),
        ("TIME_SERIES_DAILY", EVERY_DAY, "2007-06..2008-06; sum(volume)", []),
        ("TIME_SERIES_DAILY", EVERY_DAY, "2007-06..2008-06; last(close)", []),
        ("TIME_SERIES_DAILY_ADJUSTED", EVERY_DAY, "2007-06..2008-06; last(close) / first(close) - 1", []),
        # Nothing is lacking.
        ("TIME_SERIES_DAILY", IBM, None, []),
        ("TIME_SERIES_DAILY", IBM, "since 2025-08-25; max(close)", []),
        ("CPI", {}, "2025-01", []),
        ("WTI", {}, "2025-01-01..2025-12-31; mean(value)", []),
        ("NEWS_SENTIMENT", {"tickers": "AAPL"}, "title; first 5", []),
        ("INCOME_STATEMENT", IBM, "from annualReports; since 2006; totalRevenue", []),
    ],
)  # fmt: skip
def test_note_names_what_is_lacking(
    gateway: MetaTools,
    facts: dict[str, str],
    tool: str,
    arguments: dict[str, Any],
    select: str | None,
    expected: list[str],
) -> None:
    assert notes(call(gateway, tool, arguments, select)) == [note.format_map(facts) for note in expected]


# F1
@pytest.mark.parametrize(
    ("select", "lacking"),
    [
        ("2025-01-13..2026-01-13; min(close)", "Asked from 2025-01-13; the data begin 2025-08-25."),
        ("close; last 250", "Asked for 250 rows; the data have 100."),
        ("first 3", "The oldest of the 100 rows since 2025-08-25, not of the whole series."),
    ],
)
def test_note_names_what_a_plan_does_not_include(mock_api: MockApi, select: str, lacking: str) -> None:
    assert notes(call(tools(mock_api), "TIME_SERIES_DAILY", IBM, select, FREE)) == [f"{lacking} {NOT_IN_PLAN}"]


# F1
def test_completed_answer_has_the_right_value(gateway: MetaTools, mock_api: MockApi) -> None:
    rows = RawData(mock_api.url).rows("TIME_SERIES_DAILY", symbol="IBM", outputsize="full", datatype="csv")
    closes = [row["close"] for row in within(rows, "2025-01-13", by="timestamp")]
    answer = call(gateway, "TIME_SERIES_DAILY", IBM, "2025-01-13..2026-01-13; min(close), mean(close)")
    assert answer.structured["result"]["columns"] == ["min(close)", "mean(close)"]
    assert answer.structured["result"]["rows"] == [[min(closes), pytest.approx(statistics.fmean(closes))]]


def test_completion_sends_one_more_request_and_reads_it_from_the_cache_afterwards(mock_api: MockApi) -> None:
    gateway, before = tools(mock_api), len(mock_api.requests)
    call(gateway, "FX_DAILY", EURUSD, "2025-01; mean(close)")
    assert len(mock_api.requests) == before + 2
    again = call(gateway, "FX_DAILY", EURUSD, "2025-02; mean(close)")
    assert len(mock_api.requests) == before + 2
    assert again.structured["cached"]


@pytest.mark.parametrize("cache", ["memory", "off"])
def test_refusal_by_the_plan_is_remembered_for_the_key(mock_api: MockApi, cache: str) -> None:
    gateway = tools(mock_api, TOOLFOLD_CACHE=cache)
    call(gateway, "TIME_SERIES_DAILY", IBM, "since 2025; max(close)", FREE)
    before = len(mock_api.requests)
    assert NOT_IN_PLAN in notes(call(gateway, "TIME_SERIES_DAILY", {"symbol": "MSFT"}, "since 2025", FREE))[0]
    assert len(mock_api.requests) == before + 1
    assert notes(call(gateway, "TIME_SERIES_DAILY", {"symbol": "MSFT"}, "close; since 2025", PREMIUM))[-1].startswith(
        'outputsize "full" was used'
    )


def test_argument_of_the_caller_is_sent_although_a_refusal_is_remembered(mock_api: MockApi) -> None:
    gateway = tools(mock_api)
    call(gateway, "TIME_SERIES_DAILY", IBM, "since 2025", FREE)
    before = len(mock_api.requests)
    refused = call(gateway, "TIME_SERIES_DAILY", {"symbol": "AAPL", "outputsize": "full"}, None, FREE)
    assert error(refused)["code"] == "PREMIUM_ONLY"
    assert len(mock_api.requests) == before + 1


def test_answer_that_cannot_be_completed_is_returned_with_the_reason() -> None:
    with MockApi(plan="free") as limited:  # two requests in a second are refused
        gateway = tools(limited, TOOLFOLD_MAX_QUEUE_WAIT_S="0.01")
        answer = call(gateway, "FX_DAILY", EURUSD, "2025-01; count()")
    assert notes(answer) == [
        'Asked from 2025-01; the data begin 2025-08-27. outputsize "full" has more, but failed: RATE_LIMITED.'
    ]


def test_wrong_select_costs_one_request(gateway: MetaTools, mock_api: MockApi) -> None:
    before = len(mock_api.requests)
    call(gateway, "FX_DAILY", {"from_symbol": "GBP", "to_symbol": "USD"}, "kolumn; since 2001")
    assert len(mock_api.requests) == before + 1


@pytest.mark.parametrize("datatype", ["csv", "json"])
def test_upstreams_own_form_is_untouched(gateway: MetaTools, mock_api: MockApi, datatype: str) -> None:
    raw = RawData(mock_api.url).get("TIME_SERIES_DAILY", symbol="IBM", outputsize="compact", datatype=datatype)
    answer = call(gateway, "TIME_SERIES_DAILY", {**IBM, "datatype": datatype})
    assert re.sub(r"\s", "", answer.text) == re.sub(r"\s", "", raw)


@pytest.mark.parametrize("response_id", each_tenth(ONE_RESPONSE_PER_TOOL))
def test_ordinary_call_has_no_note_and_a_period_that_is_not_there_has_one(response_id: str) -> None:
    """Over all tools, with their own examples."""
    response = example_response(response_id)
    tool, today = response.tool, TODAY_DATE
    document = parse_tables(response.body, response.kind, tool.answer, WorkBudget())
    arguments = {**tool.example, "interval": "monthly"} if "interval" in tool.example else dict(tool.example)
    assert answer_reader.notes_on(tool, arguments, None, document, document, today) == ()
    past = parse_select("1901-03..1902-03")
    assert past is not None
    requested = requested_of(past, document, WorkBudget(), today)
    gap = completion.find_gap(tool, arguments, requested, document, today)
    has_dates = any(re.match(r"\d{4}-\d\d-\d\d", str(cell)) for table in document.tables for cell in table.rows[0])
    if has_dates:
        assert gap is not None
        assert completion.lacking_note(tool, arguments, gap).startswith("Asked from 1901-03; the data begin ")
    else:
        assert gap is None
    newest = parse_select("last 1")
    assert newest is not None
    requested = requested_of(newest, document, WorkBudget(), today)
    assert completion.find_gap(tool, arguments, requested, document, today) is None


TODAY_DATE = ToolExecutor(Settings.from_environment({}), clock=TODAY).services.today()


def series(*dates: str) -> Document:
    return Document((Table("", ("timestamp", "close"), [(date, 1.0) for date in dates]),))


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            series("2019-05-02", "2019-05-01", "2019-04-30"),
            "The newest row is of 2019-05-02; nothing newer was returned.",
        ),
        (
            series("2019-05-02T01:00:00+02:00", "2019-05-02T00:00:00+02:00", "2019-05-01T23:00:00+02:00"),
            "The newest row is of 2019-05-01T23:00:00Z; nothing newer was returned.",
        ),
        (series("2026-01-09", "2026-01-08", "2026-01-07"), None),
        (series("2025-12-31", "2025-11-30", "2025-10-31"), None),
        (
            series("2025-06-30", "2025-05-31", "2025-04-30"),
            "The newest row is of 2025-06-30; nothing newer was returned.",
        ),
        (series("2024-01-01", "2023-01-01", "2022-01-01"), None),
    ],
)
def test_old_data_are_named(document: Document, expected: str | None) -> None:
    tool = CATALOG().get("TIME_SERIES_WEEKLY")
    assert tool is not None
    found = answer_reader.notes_on(tool, IBM, None, document, document, TODAY_DATE)
    assert found == ((expected,) if expected else ())
    assert answer_reader.notes_on(tool, {**IBM, "month": "2019-05"}, None, document, document, TODAY_DATE) == ()


def test_other_symbol_is_named() -> None:
    tool, document = CATALOG().get("GLOBAL_QUOTE"), Document(metadata={"symbol": "TSCO.LON", "price": 1})
    assert tool is not None
    found = answer_reader.notes_on(tool, {"symbol": "TSCO"}, None, document, document, None)
    assert found == ("Asked for symbol TSCO; the answer is for TSCO.LON.",)


UNUSUAL = "This is not the usual form of {}: it may be a message of Alpha Vantage instead of data."


@pytest.mark.parametrize(
    ("tool", "body", "is_unusual"),
    [
        ("GLOBAL_QUOTE", {"message": "Endpoint request timed out"}, True),
        ("GLOBAL_QUOTE", {"Global Quote": {"01. symbol": "IBM", "05. price": "1"}}, False),
        ("TIME_SERIES_DAILY", {"status": "paused", "detail": "maintenance"}, True),
        ("TIME_SERIES_DAILY", {"Time Series (60min)": {"2026-01-13": {"4. close": "1"}}}, False),
        ("LISTING_STATUS", {"message": "Forbidden"}, True),
        ("COMPANY_OVERVIEW", {"Symbol": "IBM", "Name": "IBM"}, False),
        ("WTI", {"message": "A" * 5_000}, False),  # long: it shows what it is
    ],
)
def test_short_answer_without_data_is_named(tool: str, body: dict[str, Any], is_unusual: bool) -> None:
    with Upstream((200, {}, json.dumps(body).encode())) as upstream:
        environment = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": upstream.url}
        asking = MetaTools(CATALOG, ToolExecutor(Settings.from_environment(environment), clock=TODAY))
        arguments = {} if tool in ("WTI", "LISTING_STATUS") else IBM
        result = call(asking, tool, arguments)
        assert (UNUSUAL.format(tool) in result.structured.get("notes", [])) is is_unusual
        if is_unusual:
            assert error(call(asking, tool, arguments, "last 3"))["suggestion"].startswith(UNUSUAL.format(tool))


@pytest.mark.parametrize("date", ["2024-02-31", "0000-00-00", "9999-12-31"])
@pytest.mark.parametrize("form", ["since {}", "{}..{}"])
def test_days_that_do_not_exist_end_in_no_defect(gateway: MetaTools, date: str, form: str) -> None:
    result = call(gateway, "WTI", {}, form.format(date, date))
    assert not result.is_error or error(result)["code"] == "INVALID_ARGUMENTS"


OTHERS = "or change the other arguments, such as dates and filters."


def called(tool: str, **arguments: Any) -> str:
    return f"TOOL_CALL {dumps_compact({'tool_name': tool, 'arguments': arguments})}"


# F8
@pytest.mark.parametrize(
    ("tool", "arguments", "key", "code", "suggestion"),
    [
        ("TIME_SERIES_DAILY", EVERY_DAY, FREE, "PREMIUM_ONLY",
         f"Call again without outputsize: {called('TIME_SERIES_DAILY', **IBM)}. Take "
         f"{called('TIME_SERIES_WEEKLY_ADJUSTED', **IBM)}, which is free. Else tell the user that a premium plan is "
         "needed."),
        ("MACD", {"symbol": "IBM", "interval": "daily", "series_type": "close"}, FREE, "PREMIUM_ONLY",
         "Take "
         + called("MACDEXT", symbol="IBM", interval="daily", series_type="close",
                  fastmatype=1, slowmatype=1, signalmatype=1)
         + ", which is free. Else tell the user that a premium plan is needed."),
        ("GLOBAL_QUOTE", {"symbol": "NOSUCH9"}, PREMIUM, "NO_DATA",
         f"Check symbol: {called('SYMBOL_SEARCH', keywords='NOSUCH9')}; {OTHERS}"),
        ("HISTORICAL_OPTIONS", {"ticker": "IBM", "day": "2026-01-10"}, PREMIUM, "NO_DATA",
         f"Check symbol: {called('SYMBOL_SEARCH', keywords='IBM')}; or there is nothing in that period: call again "
         f"without date: {called('HISTORICAL_OPTIONS', **IBM)}."),
        ("SYMBOL_SEARCH", {"keywords": "qqqqzzzz"}, PREMIUM, "NO_DATA",
         "Search again with another spelling: the first word of the name, or the ticker without its venue suffix. "
         "Rates of currencies and coins come from CURRENCY_EXCHANGE_RATE, codes of market indices from "
         "INDEX_CATALOG."),
        ("GLOBAL_QUOTE", {"symbol": "BTC-USD"}, PREMIUM, "NO_DATA",
         f"Check symbol: {called('SYMBOL_SEARCH', keywords='BTC-USD')}; {OTHERS}"),
        ("INDEX_DATA", {"symbol": "^FTSE", "interval": "daily"}, PREMIUM, "INVALID_ARGUMENTS",
         f"Check symbol: {called('INDEX_CATALOG')}; {OTHERS}"),
    ],
)  # fmt: skip
def test_error_names_a_call_that_works(
    mock_api: MockApi, tool: str, arguments: dict[str, Any], key: str, code: str, suggestion: str
) -> None:
    found = error(call(tools(mock_api), tool, arguments, None, key))
    assert (found["code"], found["suggestion"]) == (code, suggestion)


PREMIUM_TOOLS = [tool.name for tool in map(CATALOG().get, CATALOG()) if tool is not None and tool.access == "premium"]


# F8
@pytest.mark.parametrize("name", PREMIUM_TOOLS)
def test_free_tool_of_a_refused_call_answers(gateway: MetaTools, name: str) -> None:
    tool = CATALOG().get(name)
    refused = error(call(gateway, name, dict(tool.example), None, FREE))
    assert refused["code"] == "PREMIUM_ONLY"
    named = re.search(r"TOOL_CALL (\{.*\}), which is free", refused["suggestion"])
    if named is None:  # nothing free has such data
        assert name == "INDEX_DATA"
        return
    next_call = json.loads(named[1])
    assert not call(gateway, next_call["tool_name"], next_call["arguments"], None, FREE).is_error


def test_expression_that_finds_nothing_says_what_the_data_lack(mock_api: MockApi) -> None:
    answer = call(tools(mock_api), "TIME_SERIES_DAILY", IBM, "jmespath: rows[200].close", FREE)
    lacking = 'Computed from the 100 rows since 2025-08-25. outputsize "full" has more.'
    assert error(answer)["suggestion"] == f"{lacking} The answer holds: rows."


@pytest.mark.parametrize("symbol", ["IBM", ["IBM", "MSFT"]])
def test_call_without_the_day_keeps_the_rows_that_were_chosen(gateway: MetaTools, symbol: Any) -> None:
    result = call(gateway, "HISTORICAL_OPTIONS", {"symbol": symbol, "date": "2026-01-10"}, "limit 1")
    assert '},"select":"limit 1"}' in error(result)["suggestion"]
