"""toolfold's own form: names, values, tables, and the text of the same."""

import json
from typing import Any

import pytest

from tests.support.rendering import render_result
from toolfold.budget import WorkBudget
from toolfold.errors import UpstreamError
from toolfold.results import render, tables, values
from toolfold.results.output import MIN_REPORTED_AGE_S, AnswerStatus, OutputOptions, RenderedResult

QUOTE = json.dumps({"Global Quote": {"01. symbol": "AAPL", "05. price": "261.0500", "10. change percent": "0.31%"}})


def shown(body: str, *, raw_by: str = "", answer: dict[str, Any] | None = None, **about: Any) -> RenderedResult:
    kind = "json" if body[0] in "[{" else "csv"
    return render_result(body, kind, answer or {}, OutputOptions(raw_by=raw_by), **about)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("07. latest trading day", "latest_trading_day"), ("5.1: Fast Period", "fast_period"),
        ("8. marketOpen", "marketOpen"), ("Chaikin A/D", "chaikin_a_d"), ("52WeekHigh", "52WeekHigh"),
        ("STDDEV(ANNUALIZED=TRUE)", "STDDEV(ANNUALIZED=TRUE)"), ("2024-01-02 10:00:00", "2024-01-02 10:00:00"),
        ("", ""), ("3. ", "3."), ("BRK.B", "BRK.B"),
    ],
)  # fmt: skip
def test_keys_become_plain_names(key: str, name: str) -> None:
    assert values.clean_names([key]) == [name]


def test_names_stay_unique() -> None:
    assert values.clean_names(["1. open", "open", "2. open"]) == ["open", "open_2", "open_3"]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1.50", "2", "-0.0000", "1e3"], [1.5, 2, 0, 1000]),
        (["45730847", "None", ".", "-", ""], [45730847, None, None, None, None]),
        (["None", "-"], [None, None]),
        (["A", "None", "-", "n/a", ""], ["A", None, "-", None, None]),
        (["04", "12"], ["04", "12"]),
        (["1,000", "2"], ["1,000", "2"]),
        (["9007199254740993", "1"], ["9007199254740993", 1]),
        (["0.12345678901234567890", "1"], ["0.12345678901234567890", 1]),
        (["218.8054299356044"], [218.8054299356044]),
        (["1e400", "1e-400"], ["1e400", "1e-400"]),
        (["NaN", "1.5"], [None, 1.5]),
        (["NAN", "IBM"], ["NAN", "IBM"]),
        (["2024-01-02", "-", "null"], ["2024-01-02", None, None]),
        ([":", ".."], [":", ".."]),
        ([":", "5"], [None, 5]),
        (["2024-01-02 16:00:00", "2024-01-02 10:00"], ["2024-01-02T16:00:00", "2024-01-02T10:00"]),
        (["2024-10-30 19:59:57.644"], ["2024-10-30T19:59:57.644"]),
        (["20260517T110100", "20260517T1101"], ["2026-05-17T11:01:00", "2026-05-17T11:01"]),
        (["2024-01-02 16:16:00 US/Eastern"], ["2024-01-02 16:16:00 US/Eastern"]),
        ([True, False, None], [True, False, None]),
        ([1, 2.0, "3.50", None], [1, 2, 3.5, None]),
        ([12345678901234567890], ["12345678901234567890"]),
        (["[1", "2]"], ["[1", "2]"]),
        (["1", "true"], ["1", "true"]),
        (["9" * 5000], ["9" * 5000]),
        (["[" * 5000], ["[" * 5000]),
        ([], []),
    ],
)
def test_columns_are_converted_as_a_whole(cells: list[Any], expected: list[Any]) -> None:
    found = values.typed_column("value", cells)
    assert found == expected
    assert [type(cell) for cell in found] == [type(cell) for cell in expected]


@pytest.mark.parametrize(
    ("name", "cells", "expected"),
    [
        ("changePercent", ["0.31%", "None"], [0.31, None]),
        ("yield", ["1.20%", "-3%"], ["1.20%", "-3%"]),
        ("yield", ["1.20%", "3"], ["1.20%", "3"]),
        ("", ["1.20%"], ["1.20%"]),
        ("bid", ["59.52", "0.00"], [59.52, 0]),
        ("BID", ["59.52", "0.00"], [59.52, 0]),
        ("amountPaid", ["12", "0.50"], [12, 0.5]),
        ("version", ["1.10"], [1.1]),
        ("apiVersion", ["3.10", "3.9"], ["3.10", "3.9"]),
        ("commit_sha", ["12e3"], ["12e3"]),
        ("conversion", ["1.10"], [1.1]),
    ],
)
def test_names_say_percentages_and_zeros_at_the_end_versions(name: str, cells: list[Any], expected: Any) -> None:
    assert values.typed_column(name, cells) == expected


def test_digits_of_identifiers_are_text() -> None:
    for name, given in (("symbol", ["600104", "7203"]), ("district", ["99", None]), ("bid", ["59.52", "0.00"])):
        assert values.typed_column(name, given, identifiers={name}) == given
        assert values.typed_scalar(name, given[0], identifiers={name}) == given[0]


def test_single_object_is_the_same_from_csv_and_json() -> None:
    expected = {"symbol": "AAPL", "price": 261.05, "change_percent": 0.31}
    result = shown(QUOTE, answer={"kind": "object"})
    assert result.structured == {"result": expected, "cached": False}
    assert json.loads(result.text) == expected
    csv = "symbol,price,change_percent\nAAPL,261.0500,0.31%\n"
    assert shown(csv, answer={"kind": "object"}).structured["result"] == expected


def test_table_is_rendered_as_columns_rows_and_csv() -> None:
    result = shown("timestamp,open,adjusted close\r\n2024-01-03,1.50,.\r\n2024-01-02,1.00,2\r\n")
    assert result.structured["result"] == {
        "columns": ["timestamp", "open", "adjusted_close"],
        "rows": [["2024-01-03", 1.5, None], ["2024-01-02", 1, 2]],
        "row_count": 2,
    }
    assert result.text == "timestamp,open,adjusted_close\n2024-01-03,1.5,\n2024-01-02,1,2"


def test_json_rows_become_a_table_with_metadata() -> None:
    body = {"Meta Data": {"2. Symbol": "IBM"}, "Time Series (5min)": {"2024-01-03 10:00:00": {"1. open": "1.50"}}}
    result = shown(json.dumps(body), answer={"csv": "timestamp,open"})
    assert result.structured["result"] == {
        "columns": ["timestamp", "open"],
        "rows": [["2024-01-03T10:00:00", 1.5]],
        "row_count": 1,
        "meta": {"meta_data": {"symbol": "IBM"}},
    }
    assert result.text == '{"meta_data":{"symbol":"IBM"}}\ntimestamp,open\n2024-01-03T10:00:00,1.5'


RUNNING = {"IBM": {"2024-01-02": 0.1, "2024-01-03": 0.2}, "AAPL": {"2024-01-03": 0.3}}
TYPED = {"columnTypes": ["INTEGER", "VARCHAR"], "rows": [[1, "x"], [2, "y"]]}


@pytest.mark.parametrize(
    ("body", "columns", "rows"),
    [
        ('{"2024-01-03": {"1. open": "1.50"}}', ("date", "open"), [("2024-01-03", 1.5)]),
        ('[{"a": "1"}, {"b": "2"}]', ("a", "b"), [(1, None), (None, 2)]),
        ("a,b\n1\n1,2,3\n", ("a", "b", "column_3"), [(1, None, None), (1, 2, 3)]),
        # Series with the same dates become one table.
        (json.dumps({"a": 1, "RUNNING": RUNNING}), ("date", "IBM", "AAPL"),
         [("2024-01-02", 0.1, None), ("2024-01-03", 0.2, 0.3)]),
        # Rows have the names of their columns, and not of their types.
        *((json.dumps({names: ["a", "b"], **TYPED}), ("a", "b"), [(1, "x"), (2, "y")])
          for names in ("columns", "type_names")),
        ('{"columns": ["a", "b"], "rows": [["1", ["x"]], ["2", null]]}', ("a", "b"), [(1, ["x"]), (2, None)]),
    ],
)  # fmt: skip
def test_answer_is_a_table(body: str, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    (table,) = tables.parse_tables(body, "json" if body[0] in "[{" else "csv", {}, WorkBudget()).tables
    assert (table.columns, list(map(tuple, table.rows))) == (columns, rows)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"symbol": "IBM", "annual": [{"d": "2023-12-31", "eps": "1.0"}], "quarterly": [{"d": "2023-09-30"}]},
         '{"symbol":"IBM"}\n# annual\nd,eps\n2023-12-31,1\n# quarterly\nd\n2023-09-30'),
        ({"items": "1", "feed": [{"title": "A, b", "topics": [{"topic": "x", "relevance_score": "0.50"}]}]},
         '{"items":1}\n["title","topics"]\n["A, b",[{"topic":"x","relevance_score":0.5}]]'),
    ],
)  # fmt: skip
def test_several_tables_have_names_and_cells_with_lists_are_lines_of_json(body: Any, text: str) -> None:
    assert shown(json.dumps(body)).text == text


def test_booleans_and_quotes_are_rendered_in_csv_and_line_breaks_are_escaped() -> None:
    table = tables.Table("", ("a", "b"), [(True, "x\ny"), (None, 'say "so", twice')])
    assert render.table_to_text(table) == 'a,b\ntrue,"""x\\ny"""\n,"say ""so"", twice"'


@pytest.mark.parametrize("body", ['{"a":' * 3000 + "1" + "}" * 3000, '{"a": ', "[1,]"])
def test_unparsable_answer_is_an_upstream_error(body: str) -> None:
    with pytest.raises(UpstreamError):
        shown(body)


def test_raw_answers_are_unchanged() -> None:
    result = shown(QUOTE, raw_by="datatype")
    assert result.structured == {"result": json.loads(QUOTE), "cached": False}
    assert result.text == QUOTE.replace('": ', '":').replace(', "', ',"')
    csv = "timestamp,adjusted close\r\n2024-01-02,1.5000\r\n"
    assert shown(csv, raw_by="datatype").text == "timestamp,adjusted close\n2024-01-02,1.5000"


def test_nan_and_infinity_are_null() -> None:
    assert json.loads(shown('{"a": NaN, "b": [Infinity]}', raw_by="datatype").text) == {"a": None, "b": [None]}
    assert shown('{"a": NaN, "b": 1}').structured["result"] == {"a": None, "b": 1}


@pytest.mark.parametrize(
    ("age_s", "told"), [(MIN_REPORTED_AGE_S - 1, None), (MIN_REPORTED_AGE_S, "5 min"), (7300, "2 h"), (200_000, "2 d")]
)
def test_age_is_in_the_data_and_in_the_text_when_old(age_s: int, told: str | None) -> None:
    result = shown(QUOTE, status=AnswerStatus(cached=True, age_s=age_s))
    assert (result.structured["cached"], result.structured["age_s"]) == (True, age_s)
    assert result.text.startswith(f"# cached {told} ago\n" if told else "{")


def test_expired_answer_says_so() -> None:
    late = shown(QUOTE, status=AnswerStatus(cached=True, age_s=7200, stale_reason="RATE_LIMITED"))
    assert late.text.startswith("# 2 h old and expired: RATE_LIMITED now, so there is nothing newer\n")
    assert late.structured["late"] == "RATE_LIMITED"
    assert "late" not in shown(QUOTE).structured
