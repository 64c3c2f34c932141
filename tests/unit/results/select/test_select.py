"""``select``: what can be written, what it returns, and the errors of what cannot be evaluated."""

from __future__ import annotations

import contextlib
import json
import re
import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.example_responses import ONE_RESPONSE_PER_TOOL, example_responses
from tests.support.rendering import TODAY, render_result
from toolfold.budget import WorkBudget
from toolfold.errors import InvalidArguments
from toolfold.results import tables
from toolfold.results.output import OutputOptions
from toolfold.results.select import evaluator, parser
from toolfold.results.tables import Document, Table

PRICES = """timestamp,open,close,adjusted close,volume
2024-03-05,10.0,12.5,12.4,300
2024-03-04,9.5,10.0,9.9,200
2024-02-29,9.0,.,9.4,100
2024-02-28,8.0,9.0,8.9,400
"""
OPTIONS = """contractID,expiration,strike,type,last,volume,delta,date
A,2024-03-15,100.00,call,5.5,10,0.5,2024-03-01
B,2024-03-15,100.00,put,4.5,30,-0.5,2024-03-01
C,2024-04-19,110.00,call,2.5,20,-,2024-03-01
D,2024-04-19,90.00,put,1.5,5,-0.2,2024-03-01
"""
STATEMENTS = json.dumps(
    {
        "symbol": "IBM",
        "annualReports": [
            {"fiscalDateEnding": "2023-12-31", "totalRevenue": "200", "netIncome": "20"},
            {"fiscalDateEnding": "2022-12-31", "totalRevenue": "100", "netIncome": "None"},
        ],
        "quarterlyReports": [{"fiscalDateEnding": "2023-09-30", "totalRevenue": "50", "reportTime": "post-market"}],
    }
)
NEWS = json.dumps(
    {
        "items": "2",
        "feed": [
            {"title": "One", "time_published": "20240305T101500", "score": 0.3, "topics": [{"topic": "Tech"}]},
            {"title": "Two", "time_published": "20240304T101500", "score": -0.1, "topics": [{"topic": "Retail"}]},
        ],
    }
)


def result(body: str, expression: Any, **wishes: Any) -> Any:
    kind = "json" if body[0] in "[{" else "csv"
    options = OutputOptions(select=parser.parse_select(expression), **wishes)
    return render_result(body, kind, {}, options).structured["result"]


def rows(body: str, expression: Any) -> list[list[Any]]:
    return list(result(body, expression)["rows"])


def refusal(body: str, expression: Any, **wishes: Any) -> dict[str, Any]:
    with pytest.raises(InvalidArguments) as caught:
        result(body, expression, **wishes)
    return caught.value.as_dict()


# Columns and rows


@pytest.mark.parametrize(
    "expression",
    ["timestamp,close", "timestamp, close", "timestamp close", "Timestamp;CLOSE", "columns: timestamp,close",
     "columns=timestamp,close", "select timestamp,close", '"timestamp", "close"', ["timestamp", "close"],
     "timestamp,close,close"],
)  # fmt: skip
def test_columns_may_be_written_as_models_write_them(expression: Any) -> None:
    found = result(PRICES, expression)
    assert found["columns"] == ["timestamp", "close"]
    assert found["rows"][:2] == [["2024-03-05", 12.5], ["2024-03-04", 10]]


@pytest.mark.parametrize(
    "expression", ["adjusted_close", '"adjusted close"', "'Adjusted Close'", "adjustedClose", "adjusted close"]
)
def test_punctuation_of_names_is_ignored(expression: str) -> None:
    assert rows(PRICES, f"{expression}; last 1; -date") == [[12.4]]


@pytest.mark.parametrize("expression", [None, "", "  ", "*", ";", "columns: *"])
def test_empty_select_returns_everything(expression: Any) -> None:
    assert parser.parse_select(expression) is None


@pytest.mark.parametrize("expression", ["last 2", "newest 2", "latest 2 rows", "LAST 2", "last2"])
def test_last_returns_the_newest_rows_in_table_order(expression: str) -> None:
    assert [row[0] for row in rows(PRICES, expression)] == ["2024-03-05", "2024-03-04"]
    turned = "\n".join([PRICES.splitlines()[0], *reversed(PRICES.splitlines()[1:])])
    assert [row[0] for row in rows(turned, expression)] == ["2024-03-04", "2024-03-05"]


@pytest.mark.parametrize("expression", ["first 1", "oldest 1", "earliest 1"])
def test_first_returns_the_oldest_rows(expression: str) -> None:
    assert [row[0] for row in rows(PRICES, expression)] == ["2024-02-28"]


def test_limit_returns_the_first_rows_as_listed() -> None:
    assert [row[0] for row in rows(PRICES, "limit 2")] == ["2024-03-05", "2024-03-04"]
    assert [row[0] for row in rows(PRICES, "close<11 limit 1")] == ["2024-03-04"]


def test_date_column_is_found_by_its_usual_names() -> None:
    assert result(PRICES, "date,close; last 1") == {
        "columns": ["timestamp", "close"], "rows": [["2024-03-05", 12.5]], "row_count": 1}  # fmt: skip
    assert [row[0] for row in rows(PRICES, "date>=2024-03-05")] == ["2024-03-05"]
    assert [row[0] for row in rows(OPTIONS, "date=2024-03-01; limit 1")] == ["A"]


def test_first_and_last_without_dates_go_by_table_order() -> None:
    body = "name,weight\nA,1\nB,2\nC,3\n"
    assert rows(body, "first 1") == [["A", 1]]
    assert rows(body, "last 2") == [["B", 2], ["C", 3]]


def test_equal_dates_keep_table_order() -> None:
    assert [row[0] for row in rows(OPTIONS, "first 1")] == ["A"]
    assert [row[0] for row in rows(OPTIONS, "last 1")] == ["D"]


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("2024-03..2024-03", ["2024-03-05", "2024-03-04"]),
        ("2024-02-29..2024-03-04", ["2024-03-04", "2024-02-29"]),
        ("2024-02..", ["2024-03-05", "2024-03-04", "2024-02-29", "2024-02-28"]),
        ("..2024-02", ["2024-02-29", "2024-02-28"]),
        ("since 2024-03-05", ["2024-03-05"]),
        ("from 2024-03-05", ["2024-03-05"]),
        ("until 2024-02-28", ["2024-02-28"]),
        ("between 2024-02-29 and 2024-03-04", ["2024-03-04", "2024-02-29"]),
        ("from 2024-02-29 to 2024-03-04", ["2024-03-04", "2024-02-29"]),
        ("2024-02-29 to 2024-03-04", ["2024-03-04", "2024-02-29"]),
        ("on 2024-02-29", ["2024-02-29"]),
        ("2024-02", ["2024-02-29", "2024-02-28"]),
        ("2024", ["2024-03-05", "2024-03-04", "2024-02-29", "2024-02-28"]),
        ("timestamp>=2024-03", ["2024-03-05", "2024-03-04"]),
        ("timestamp<2024-03", ["2024-02-29", "2024-02-28"]),
        ("timestamp=2024-02-29", ["2024-02-29"]),
        ("2025", []),
    ],
)
def test_date_ranges_are_as_precise_as_written(expression: str, days: list[str]) -> None:
    assert [row[0] for row in rows(PRICES, expression)] == days


def test_times_of_day_can_be_selected() -> None:
    body = "timestamp,close\n2024-03-05 10:15:00,2\n2024-03-05 10:10:00,1\n"
    assert rows(body, "since 2024-03-05 10:12") == [["2024-03-05T10:15:00", 2]]
    assert rows(body, "2024-03-05T10:10..2024-03-05T10:12; close") == [["2024-03-05T10:10:00", 1]]


@pytest.mark.parametrize(
    ("expression", "contracts"),
    [
        ("strike>=100", "ABC"), ("strike > 100", "C"), ("strike<100.0", "D"), ("strike=100", "AB"),
        ("strike != 100", "CD"),
        ("type=call", "AC"), ("type == 'CALL'", "AC"), ("type=call|put", "ABCD"), ("type!=call", "BD"),
        ("type=call; strike>=110", "C"), ("type=call and strike>=110", "C"), ("where type=call && strike>=110", "C"),
        ("strike>=100 strike<=100", "AB"), ("type=call strike>100", "C"), ("delta=null", "C"), ("delta!=null", "ABD"),
        ("delta<0", "BD"), ("contractID~a", "A"), ("expiration=2024-03-15 type=put", "B"), ("2024-04", "CD"),
        ("strike>=100; last 1", "C"), ("top 1 by volume", "B"), ("top 2 by strike", "CA"), ("bottom 2 by strike", "DA"),
        ("type=call; top 1 by volume", "C"), ("top 9 by delta", "ADB"), ("last=2.5", "C"), ("strike>1e2", "C"),
    ],
)  # fmt: skip
def test_conditions_and_top_and_bottom(expression: str, contracts: str) -> None:
    assert "".join(row[0] for row in rows(OPTIONS, expression)) == contracts


def test_value_of_several_words_needs_no_quotes() -> None:
    body = "name,title,shares\nA,Chief Financial Officer,5\nB,Director,7\n"
    assert rows(body, "title=Chief Financial Officer; name") == [["A"]]
    assert rows(body, "title = chief financial officer last 1 name") == [["A"]]


def test_large_numbers_kept_as_text_are_compared_exactly() -> None:
    body = "id_,n\na,9007199254740993\nb,9007199254740995\nc,1\n"
    assert rows(body, "n>9007199254740993") == [["b", "9007199254740995"]]
    assert rows(body, "top 1 by n; id_") == [["b"]]


# Functions


def test_functions_return_the_value_and_its_date() -> None:
    found = result(PRICES, "max(close), min(open), first(close), last(close), count(close), count()")
    assert found["columns"] == ["function", "value", "timestamp"]
    assert found["rows"] == [
        ["max(close)", 12.5, "2024-03-05"],
        ["min(open)", 8, "2024-02-28"],
        ["first(close)", 9, "2024-02-28"],
        ["last(close)", 12.5, "2024-03-05"],
        ["count(close)", 3, None],
        ["count", 4, None],
    ]
    assert found["meta"] == {"rows": 4, "from": "2024-02-28", "to": "2024-03-05"}


def test_change_is_absolute_and_in_percent() -> None:
    assert rows(PRICES, "change(close); since 2024-02-28") == [
        ["change(close)", 3.5],
        ["change_percent(close)", 38.8888888889],
    ]


def test_functions_apply_to_the_selected_rows() -> None:
    assert rows(PRICES, "max(adjusted close), min( 'Adjusted Close' )")[0] == [
        "max(adjusted_close)",
        12.4,
        "2024-03-05",
    ]
    assert rows(PRICES, "sum(volume), avg(volume); last 2") == [["sum(volume)", 500], ["mean(volume)", 250]]
    assert rows(PRICES, "max(close); 2030") == [["max(close)", None]]


@given(st.lists(st.decimals(-(10**9), 10**9, places=4), min_size=1, max_size=40))
def test_functions_equal_the_statistics_module(numbers: list[Any]) -> None:
    body = "n\n" + "\n".join(map(str, numbers))
    floats = [float(number) for number in numbers]
    found = {row[0]: row[1] for row in rows(body, "min(n),max(n),mean(n),sum(n),count(n),first(n),last(n),change(n)")}
    assert found["min(n)"] == min(floats)
    assert found["max(n)"] == max(floats)
    assert found["mean(n)"] == pytest.approx(float(statistics.mean(numbers)), rel=1e-9, abs=1e-9)
    assert found["sum(n)"] == pytest.approx(float(sum(numbers)), rel=1e-9, abs=1e-9)
    assert found["count(n)"] == len(floats)
    assert (found["first(n)"], found["last(n)"]) == (floats[0], floats[-1])
    assert found["change(n)"] == pytest.approx(float(numbers[-1] - numbers[0]), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("numbers", [["1e400", "1e400"], ["1e-400", "2"], ["9" * 400, "1"], ["1e999999999", "1"]])
def test_functions_of_extreme_numbers_return_or_are_rejected(numbers: list[str]) -> None:
    for function in ("sum", "mean", "change", "max"):
        with contextlib.suppress(InvalidArguments):  # nothing else
            json.dumps(rows("n\n" + "\n".join(numbers), f"{function}(n)"), allow_nan=False)


# Several tables, and none


def test_columns_are_selected_from_every_table_that_has_them() -> None:
    found = result(STATEMENTS, "fiscalDateEnding,totalRevenue; last 1")
    assert {name: table["rows"] for name, table in found["tables"].items()} == {
        "annualReports": [["2023-12-31", 200]],
        "quarterlyReports": [["2023-09-30", 50]],
    }
    assert result(STATEMENTS, "netIncome")["rows"] == [["2023-12-31", 20], ["2022-12-31", None]]


def test_from_selects_one_table() -> None:
    assert rows(STATEMENTS, "from quarterlyReports; totalRevenue") == [["2023-09-30", 50]]
    assert rows(STATEMENTS, "totalRevenue from annual_reports; top 1 by totalRevenue") == [["2023-12-31", 200]]


def test_metadata_can_be_selected() -> None:
    assert result(STATEMENTS, "symbol") == {"symbol": "IBM"}
    assert result(STATEMENTS, "symbol,netIncome")["meta"] == {"symbol": "IBM"}


def test_fields_of_a_single_object_can_be_selected() -> None:
    body = json.dumps({"Symbol": "IBM", "PERatio": "19.4", "EPS": "None"})
    assert result(body, "EPS, peratio") == {"EPS": None, "PERatio": 19.4}
    assert refusal(body, "last 3")["columns"] == ["Symbol", "PERatio", "EPS"]


def test_contains_searches_cells_with_lists() -> None:
    assert rows(NEWS, "topics~tech; title; without date") == [["One"]]
    assert rows(NEWS, "score<0; title; -time_published") == [["Two"]]


@pytest.mark.parametrize(
    ("body", "expression", "expected"),
    [
        (NEWS, "jmespath: feed[0].title", "One"),
        (NEWS, "$.feed[1].title", "Two"),
        (NEWS, "jmespath: feed[?score > `0`].{title: title, topics: topics[].topic}", {
            "columns": ["title", "topics"], "rows": [["One", ["Tech"]]], "row_count": 1}),
        (PRICES, "jmespath: rows[0].close", 12.5),
        (PRICES, "jmespath: [0].close", 12.5),
        (PRICES, "jmespath: max_by(rows[?close], &close).timestamp", "2024-03-05"),
        (STATEMENTS, "jmespath: annualReports[*].totalRevenue", [200, 100]),
    ],
)  # fmt: skip
def test_jmespath_works_on_typed_values(body: str, expression: str, expected: Any) -> None:
    assert result(body, expression) == expected


def test_raw_json_accepts_only_jmespath() -> None:
    assert result(STATEMENTS, "jmespath: annualReports[0].totalRevenue", raw_by="datatype") == "200"
    assert "Leave out datatype" in refusal(STATEMENTS, "totalRevenue", raw_by="datatype")["suggestion"]
    assert "Leave out datatype" in refusal(PRICES, "close", raw_by="datatype")["suggestion"]


def documented() -> list[str]:
    page = Path("docs/reference/answers.md").read_text().partition("## select\n")[2].partition("\n## ")[0]
    cells = [line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `")]
    parts = [
        part.replace("\\|", "|").replace("\\`", "`")
        for cell in cells
        for part in re.findall(r"`((?:[^`\\]|\\.)+)`", cell)
    ]
    return [*parts, *re.findall(r'"([^"]+)"', parser.EXAMPLES)]


@pytest.mark.parametrize("expression", documented())
def test_documented_examples_can_be_parsed(expression: str) -> None:
    assert parser.parse_select(expression) is not None


# What cannot be followed


@pytest.mark.parametrize(
    ("expression", "position", "words"),
    [
        ("close; vox", 7, "no column 'vox'"),
        ("clsoe", 0, "no column 'clsoe'"),
        ("close; % 5", 7, "cannot be understood"),
        ("mode(close)", 0, "no function mode"),
        ("max()", 0, "max needs a column"),
        ("close, sum(volume) by year", 0, "neither grouped nor in a function"),
        ("last 3; first 2", 8, "only one of"),
        ("from annual", 5, "no table"),
        ("close > high", 8, "holds numbers"),
        ("mean(timestamp)", 5, "needs numbers"),
        ("2024-05..2024-01", 0, "end before they begin"),
        ("..", 0, "at least one end"),
        ("volume by", 7, "cannot be understood"),
    ],
)
def test_invalid_expression_gets_reason_and_position(expression: str, position: int, words: str) -> None:
    found = refusal(PRICES, expression)
    assert words in found["message"]
    assert f"(at character {position})" in found["message"]
    assert found["position"] == position


def test_unknown_column_is_rejected_with_the_known_ones() -> None:
    found = refusal(PRICES, "clsoe")
    assert found["suggestion"].startswith("Did you mean close? Columns: timestamp, open, close, adjusted_close, volume")


@pytest.mark.parametrize(
    "expression", [7, {"a": 1}, ["a", 7], "x" * 501, "(" * 100, "jmespath: feed[", "$", "jmespath:"]
)
def test_nonsense_is_rejected(expression: Any) -> None:
    assert refusal(NEWS, expression)["code"] == "INVALID_ARGUMENTS"


@pytest.mark.parametrize(
    "expression",
    [
        "jmespath: " + "|".join(["[@,@,@,@,@,@][]"] * 6),
        "jmespath: " + "(" * 400,
        "jmespath: nothing.here",
        "jmespath: foo(@)",
        "jmespath: abs('x')",
    ],
)
def test_invalid_jmespath_is_rejected_at_once(expression: str) -> None:
    assert refusal(NEWS, expression)["code"] == "INVALID_ARGUMENTS"


@pytest.mark.parametrize("expression", ["jmespath: " + "[" * 240 + "@" + "]" * 240, "jmespath: " + "!" * 480 + "a"])
def test_deeply_nested_jmespath_is_evaluated_or_rejected(expression: str) -> None:
    with contextlib.suppress(InvalidArguments):  # nothing else
        result(NEWS, expression)


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_rejected(expression: str) -> None:
    with contextlib.suppress(InvalidArguments):  # nothing else
        result(STATEMENTS, expression)


# The whole of every answer


@pytest.mark.parametrize("name", ONE_RESPONSE_PER_TOOL)
def test_selecting_all_columns_returns_the_answer(name: str) -> None:
    answer = example_responses()[name]
    document = tables.parse_tables(answer.body, answer.kind, answer.tool.answer, WorkBudget())
    for table in document.tables:
        expression = "; ".join(
            [f'"{column}"' for column in table.columns] + ([f"from '{table.name}'"] if table.name else [])
        )
        if len(expression) > parser.MAX_LENGTH:
            continue
        selection = parser.parse_select(expression)
        assert selection is not None
        assert evaluator.evaluate(selection, document, WorkBudget(), TODAY).tables[0].rows == [
            tuple(row) for row in table.rows
        ]


def test_selecting_every_row_returns_the_table() -> None:
    table = Table("", ("date", "n"), [("2024-01-02", 1), ("2024-01-02", 2), (None, 3), ("2024-01-01", None)])
    for expression in ("last 4", "first 4", "last 99"):
        selection = parser.parse_select(expression)
        assert selection is not None
        assert evaluator.evaluate(selection, Document((table,)), WorkBudget(), TODAY).tables[0].rows == list(table.rows)


@pytest.mark.parametrize(
    "condition",
    ["name=ÉCOLE", "name=école", "name!=zürich", "name~COLE", "name starts with éc", "name like éco%", "name=ÉC*",
     "SELECT name FROM data WHERE lower(name) = 'école'"],
)  # fmt: skip
def test_texts_are_compared_without_regard_to_case_in_any_script(condition: str) -> None:
    assert rows("name,n\nÉcole,1\nZÜRICH,2\n", condition)[0][0] == "École"
    assert len(rows("name,n\nÉcole,1\nZÜRICH,2\n", condition)) == 1


@pytest.mark.parametrize("name", ["description", "descr", "ascii", "ascent"])
def test_rows_are_sorted_by_a_column_whose_name_begins_as_a_direction(name: str) -> None:
    table = Table("", ("id", name), ((1, "a"), (2, "b")))
    selection = parser.parse_select(f"order by {name} desc; limit 1")
    assert selection is not None
    found = evaluator.evaluate(selection, Document((table,), None), WorkBudget(), TODAY)
    assert [*found.tables[0].rows] == [(2, "b")]
