"""Lists for parameters that take one value: one call, one table, the parts that fail in notes."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.meta_tools import call, error
from tests.support.request_time import end_requests_after
from tests.support.upstream import Reply, Upstream, notice, quote_reply
from toolfold.budget import WorkBudget
from toolfold.errors import AnswerTooLarge
from toolfold.meta_tools.answer_reader import CallSession
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.plan import USUAL_PARALLEL
from toolfold.mock_api.server import MockApi
from toolfold.results.combine import LabelledDocument, side_by_side, stack_documents
from toolfold.results.tables import Document, Table

QUOTE, DAILY = "GLOBAL_QUOTE", "TIME_SERIES_DAILY"
SMA = {"symbol": "IBM", "interval": "daily", "time_period": 50, "series_type": "close"}


def table_of(result: Any) -> dict[str, Any]:
    found = result.structured["result"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    "given",
    [
        {"symbol": ["AAPL", "MSFT"]},
        {"symbols": ["AAPL", "MSFT"]},
        {"tickers": ["$AAPL", "NASDAQ:MSFT"]},
        {"symbol": ["AAPL", "aapl ", "MSFT", "AAPL"]},
    ],
)
def test_list_for_one_symbol_is_one_table(tools: MetaTools, mock_api: MockApi, given: dict[str, Any]) -> None:
    mock_api.clear_requests()
    result = call(tools, QUOTE, given)
    assert table_of(result)["columns"][:2] == ["symbol", "open"]
    assert [row[0] for row in table_of(result)["rows"]] == ["AAPL", "MSFT"]
    assert sorted(dict(query)["symbol"] for query in mock_api.requests) == ["AAPL", "MSFT"]
    singles = [call(tools, QUOTE, {"symbol": symbol}).structured["result"] for symbol in ("AAPL", "MSFT")]
    assert [dict(zip(table_of(result)["columns"], row, strict=True)) for row in table_of(result)["rows"]] == singles


@pytest.mark.parametrize(
    "select",
    [
        "top 1 by changePercent; symbol",
        "symbol, changePercent; order by changePercent desc; limit 1",
        "SELECT symbol FROM data ORDER BY changePercent DESC LIMIT 1",
    ],
)
def test_select_that_fits_no_answer_alone_is_one_of_all(tools: MetaTools, mock_api: MockApi, select: str) -> None:
    symbols = ["AAPL", "MSFT", "IBM"]
    quotes = [call(tools, QUOTE, {"symbol": symbol}).structured["result"] for symbol in symbols]
    best = max(quotes, key=lambda quote: quote["changePercent"])["symbol"]
    mock_api.clear_requests()
    result = call(tools, QUOTE, {"symbol": symbols}, select=select)
    assert [row[0] for row in table_of(result)["rows"]] == [best]
    assert not mock_api.requests  # all are cached


def test_columns_of_several_calls_are_calculated_with(tools: MetaTools) -> None:
    given = {"maturity": ["10year", "2year"], "interval": "monthly"}
    ten, two = table_of(call(tools, "TREASURY_YIELD", given, select="last 1"))["rows"]
    for select in ("10year - 2year as spread; last 1",
                   'SELECT timestamp, "10year" - "2year" AS spread FROM data ORDER BY 1 DESC LIMIT 1'):  # fmt: skip
        (row,) = table_of(call(tools, "TREASURY_YIELD", given, select=select))["rows"]
        assert row[0] == ten[1] == two[1]
        assert row[1] == pytest.approx(ten[2] - two[2])


def test_sql_over_several_series_says_what_they_lack(tools: MetaTools) -> None:
    select = "SELECT symbol, max(close) FROM data GROUP BY symbol"
    result = call(tools, DAILY, {"symbol": ["AAPL", "MSFT"]}, select=select)
    assert [row[0] for row in table_of(result)["rows"]] == ["AAPL", "MSFT"]
    assert any("100 rows" in note for note in result.structured["notes"])


@pytest.mark.parametrize("given", [" $aapl", ["AAPL"], ["AAPL", "aapl"]])
def test_one_value_in_any_form_is_an_ordinary_call(tools: MetaTools, given: Any) -> None:
    assert call(tools, QUOTE, {"symbol": given}).structured["result"]["symbol"] == "AAPL"


@pytest.mark.parametrize(
    ("tool", "given", "select", "columns"),
    [
        ("SMA", {**SMA, "symbol": ["IBM", "AAPL"], "time_period": ["50", 200]}, "last 2",
         ["symbol", "time_period", "time", "SMA"]),
        (DAILY, {"symbol": ["AAPL", "MSFT"]}, "timestamp,close,volume; last 2",
         ["symbol", "timestamp", "close", "volume"]),
        ("FX_DAILY", {"pair": ["EUR/USD", "GBP/USD"]}, "close; last 2",
         ["pair", "timestamp", "close"]),
        ("TREASURY_YIELD", {"maturity": ["2y", "10y"]}, "last 2", ["maturity", "timestamp", "value"]),
    ],
)  # fmt: skip
def test_lists_of_any_argument_are_one_table_of_all_combinations(
    tools: MetaTools, tool: str, given: dict[str, Any], select: str, columns: list[str]
) -> None:
    assert table_of(call(tools, tool, given, select=select))["columns"] == columns


def test_ranks_are_of_all_parts_together(tools: MetaTools) -> None:
    parts = [call(tools, DAILY, {"symbol": one}).structured["result"]["rows"] for one in ("AAPL", "MSFT")]
    volumes = sorted((row[-1] for rows in parts for row in rows), reverse=True)
    top = call(tools, DAILY, {"symbol": ["AAPL", "MSFT"]}, select="top 3 by volume")
    assert [row[-1] for row in table_of(top)["rows"]] == volumes[:3]


@pytest.mark.parametrize(
    ("named", "same"),
    [
        ("symbol, timestamp, close, volume; last 2", "close, volume; last 2"),
        ("Symbol, timestamp, close; last 3", "close; last 3"),
        ("min(close), max(close) by symbol", "min(close), max(close)"),
    ],
)
def test_select_may_name_the_argument_that_differs(tools: MetaTools, named: str, same: str) -> None:
    first, second = (call(tools, DAILY, {"symbol": ["AAPL", "MSFT"]}, select=select) for select in (named, same))
    assert not first.is_error
    assert first.structured["result"] == second.structured["result"]


def test_failed_parts_are_named_with_the_next_step(tools: MetaTools) -> None:
    result = call(tools, QUOTE, {"symbol": ["AAPL", "NOSUCH1", "NOSUCH2", "Apple Inc"]})
    assert [row[0] for row in table_of(result)["rows"]] == ["AAPL"]
    missing, refused = result.structured["notes"]
    assert missing.startswith("NOSUCH1, NOSUCH2 failed: NO_DATA. ")
    assert refused.startswith("Apple Inc failed: INVALID_ARGUMENTS. ")
    assert '"tool_name":"SYMBOL_SEARCH","arguments":{"keywords":"Apple Inc"}' in refused


def test_note_on_a_failed_part_says_where_the_words_of_the_service_are(make_tools: Callable[..., MetaTools]) -> None:
    def reply(query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        if query["symbol"] == "ODD":
            return notice("the moon is in the wrong house")
        return 200, {}, b"symbol,open,price,latestDay\nIBM,1,1,2026-01-13\n"

    with Upstream(reply) as upstream:
        tools = make_tools(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=upstream.url)
        result = call(tools, QUOTE, {"symbol": ["IBM", "ODD"]})
        alone = call(tools, QUOTE, {"symbol": "ODD"})
    (note,) = (note for note in result.structured["notes"] if "failed" in note)
    assert note.endswith("Call with such a value alone to read what the service says.")
    assert "moon" not in note
    assert "moon" in error(alone)["upstream_says"]


def test_parts_that_all_fail_are_one_error_with_each_reason(tools: MetaTools) -> None:
    same = error(call(tools, QUOTE, {"symbol": ["NOSUCH1", "NOSUCH2"]}))
    alone = error(call(tools, QUOTE, {"symbol": "NOSUCH1"}))["message"]
    assert (same["code"], same["message"]) == ("NO_DATA", f"All 2 calls failed. {alone}")
    several = error(call(tools, QUOTE, {"symbol": ["NOSUCH1", "NOSUCH2", "FAULT.HTTP.503"]}))["message"]
    assert several.startswith(f"All 3 calls failed. NOSUCH1, NOSUCH2: {alone} FAULT.HTTP.503: UPSTREAM_ERROR. ")
    closed = error(call(tools, "HISTORICAL_OPTIONS", {"ticker": ["AAPL", "MSFT"], "date": "2026-01-10"}))
    assert '"arguments":{"symbol":["AAPL","MSFT"]}' in closed["suggestion"]
    wrong = error(call(tools, DAILY, {"symbol": ["AAPL", "MSFT"]}, select="nonsense"))
    assert "nonsense" in wrong["message"]


@pytest.mark.parametrize(
    ("tool", "given", "name", "sent"),
    [
        ("REALTIME_BULK_QUOTES", {"symbol": ["AAPL", "MSFT"]}, "symbol", "AAPL,MSFT"),
        ("NEWS_SENTIMENT", {"tickers": "AAPL,MSFT"}, "tickers", "AAPL,MSFT"),
        ("SYMBOL_SEARCH", {"keywords": "Tesla, Inc and others"}, "keywords", "Tesla, Inc and others"),
        ("SMA", {**SMA, "time_period": "1,000"}, "time_period", "1000"),
    ],
)
def test_one_value_with_commas_is_sent_once(
    tools: MetaTools, mock_api: MockApi, tool: str, given: dict[str, Any], name: str, sent: str
) -> None:
    mock_api.clear_requests()
    call(tools, tool, given)
    assert [dict(query)[name] for query in mock_api.requests] == [sent]


def test_list_is_answered_in_one_form(tools: MetaTools) -> None:
    found = call(tools, DAILY, {"ticker": ["AAPL", "MSFT"], "format": "csv"}).structured
    assert found["notes"][0] == "datatype was left out: answers of several calls have one form."
    assert found["result"] == call(tools, DAILY, {"symbol": ["AAPL", "MSFT"]}).structured["result"]


def test_value_of_a_list_that_cannot_be_sent_is_named_beside_the_answers(tools: MetaTools) -> None:
    found = call(tools, QUOTE, {"symbol": ["AAPL", ["MSFT"], {"ticker": "KO"}, None]}).structured
    assert [row[0] for row in found["result"]["rows"]] == ["AAPL"]
    assert [note.partition(": I")[0] for note in found["notes"]] == [
        "['MSFT'] failed", "{'ticker': 'KO'} failed", "None failed",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"symbol": []}, "symbol must be a string, not an array"),
        ({"symbol": [f"A{number}" for number in range(100_000)]}, "100,000 values of symbol are 100,000 calls"),
        ({"symbol": ",".join(f"A{number}" for number in range(51))}, "is a text of several values"),
        ({"symbol": [5, True]}, "must be a string"),
        (
            {**SMA, "symbol": ["IBM", "KO"], "time_period": list(range(1, 31))},
            "2 values of symbol and 30 values of time_period are 60 calls; one call can make 50",
        ),
    ],
)
def test_bad_list_is_refused_before_anything_is_sent(
    tools: MetaTools, mock_api: MockApi, arguments: dict[str, Any], said: str
) -> None:
    mock_api.clear_requests()
    found = error(call(tools, "SMA" if "time_period" in arguments else QUOTE, arguments))
    assert (found["code"], said in found["message"]) == ("INVALID_ARGUMENTS", True)
    assert mock_api.requests == []


def test_parts_of_a_hanging_upstream_end_with_the_call(
    make_tools: Callable[..., MetaTools], monkeypatch: pytest.MonkeyPatch
) -> None:
    end_requests_after(monkeypatch, answers=2)
    release = threading.Event()

    def reply(query: dict[str, str]) -> Reply:
        if not query["symbol"].startswith("OK"):
            release.wait(60)
        return quote_reply(query)

    with Upstream(reply) as upstream:
        tools = make_tools(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=upstream.url)
        symbols = ["OK1", "OK2", *(f"SLOW{number}" for number in range(48))]
        result = call(tools, QUOTE, {"symbol": symbols})
        release.set()
    assert [row[0] for row in table_of(result)["rows"]] == ["OK1", "OK2"]
    assert any(note.startswith("SLOW0, ") and "UPSTREAM_TIMEOUT" in note for note in result.structured["notes"])
    assert len(upstream.requests) <= 2 + USUAL_PARALLEL


def test_limit_of_one_call_a_second_is_kept(make_tools: Callable[..., MetaTools], mock_api: MockApi) -> None:
    tools = make_tools(TOOLFOLD_REQUESTS_PER_SECOND="20")
    mock_api.clear_requests()
    began = time.monotonic()
    call(tools, QUOTE, {"symbol": ["IBM", "KO", "PEP"]})
    assert time.monotonic() - began >= 0.1
    assert len(mock_api.requests) == 3


def test_answers_are_read_in_one_thread_and_one_that_is_too_large_leaves_the_others(
    tools: MetaTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    complete_answer = CallSession.complete

    def complete(*given: Any) -> Any:
        read.append(threading.get_ident())
        if len(read) == 3:
            raise AnswerTooLarge("Too much.", "Ask for less.")
        return complete_answer(*given)

    monkeypatch.setattr(CallSession, "complete", complete)
    answer = call(tools, QUOTE, {"symbol": ["AAPL", "MSFT", "IBM", "KO", "PEP", "TSLA", "AMZN", "NVDA"]})
    assert set(read) == {threading.get_ident()}
    assert answer.structured["result"]["row_count"] == 7
    assert "failed: ANSWER_TOO_LARGE. Too much." in answer.text


def test_defect_in_a_part_is_not_taken_for_an_answer(tools: MetaTools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CallSession, "fetch_response", lambda *_, **__: 1 / 0)
    assert error(call(tools, QUOTE, {"symbol": ["A", "B"]}))["code"] == "INTERNAL_ERROR"


def part(label: Any, *tables: Table, **metadata: Any) -> LabelledDocument:
    return LabelledDocument((label,), Document(tables, metadata))


@pytest.mark.parametrize(("name", "fields"), [("data", "fields"), ("", "fields"), ("prices", "data")])
def test_what_stands_beside_tables_is_a_row_for_each_part(name: str, fields: str) -> None:
    rows = Table(name, ("date", "a", "b"), [("2026-01-01", 1, 2)])
    found = stack_documents(
        ["symbol"], [part("A", rows, unit="USD", name="Ay"), part("B", rows, unit="USD")], WorkBudget()
    )
    assert [(table.name, table.columns) for table in found.tables] == [
        (fields, ("symbol", "unit", "name")), (name, ("symbol", "date", "a", "b")),
    ]  # fmt: skip
    assert found.tables[0].rows == [("A", "USD", "Ay"), ("B", "USD", None)]


@pytest.mark.parametrize(
    ("one", "two", "columns", "rows"),
    [
        # Columns that a part lacks are empty, and one with the name of the argument and other values stays.
        (Table("", ("a", "b"), [(1, 2)]), Table("", ("b", "c"), [(3, 4)]), ("symbol", "a", "b", "c"),
         [("A", 1, 2, None), ("B", None, 3, 4)]),
        (Table("", ("symbol", "x"), [("Z", 2)]), Table("", ("symbol", "x"), [("Y", 4)]),
         ("symbol (argument)", "symbol", "x"), [("A", "Z", 2), ("B", "Y", 4)]),
    ],
)  # fmt: skip
def test_parts_become_one_table(one: Table, two: Table, columns: tuple[str, ...], rows: list[Any]) -> None:
    (table,) = stack_documents(["symbol"], [part("A", one), part("B", two)], WorkBudget()).tables
    assert (table.columns, table.rows) == (columns, rows)


def test_combining_is_within_the_memory_of_one_call() -> None:
    rows = [(f"2026-01-{day:02}", day) for day in range(1, 29)]
    parts = [part(f"S{number}", Table("", ("date", "x"), rows)) for number in range(50)]
    with pytest.raises(AnswerTooLarge):
        stack_documents(["symbol"], parts, WorkBudget(max_bytes=10_000))


def test_a_note_on_rows_without_a_partner_names_the_call() -> None:
    days = {"10year": ["2026-01-02", "2026-01-01"], "2year": ["2026-01-02"]}
    parts = [
        LabelledDocument((name,), Document((Table("", ("date", "value"), [(day, 4.2) for day in given]),)))
        for name, given in days.items()
    ]
    assert side_by_side(parts, WorkBudget()).notes == ("Rows without a partner are left out: 1 of 10year.",)
