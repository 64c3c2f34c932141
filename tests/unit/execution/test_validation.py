"""Arguments against schemas: the verdict is jsonschema's, except for values that are coerced to their only meaning."""

from typing import Any

import pytest

from toolfold.catalog.store import FileStore, bundled_path
from toolfold.execution import validation

CATALOG = FileStore(bundled_path())()


def check(name: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    tool = CATALOG.get(name)
    assert tool is not None
    return validation.ArgumentValidator(tool.parameters, tool.call).validate(arguments)


def complaints(name: str, **arguments: Any) -> list[str]:
    return [f"{problem['parameter']} {problem['problem']}" for problem in check(name, arguments)[1]]


def test_good_arguments_come_back_in_the_order_of_the_schema() -> None:
    sent = {"series_type": "close", "time_period": 20, "interval": "daily", "symbol": "IBM"}
    checked, problems = check("SMA", sent)
    assert problems == []
    assert checked == sent
    assert list(checked) == ["symbol", "interval", "time_period", "series_type"]


@pytest.mark.parametrize(
    ("name", "given", "understood"),
    [
        ("SMA", {"time_period": "20"}, {"time_period": 20}),
        ("SAR", {"acceleration": "0.02"}, {"acceleration": 0.02}),
        ("TIME_SERIES_INTRADAY", {"adjusted": "False"}, {"adjusted": False}),
        ("ANALYTICS_FIXED_WINDOW", {"interval": "daily"}, {"interval": "DAILY"}),
        ("ANALYTICS_FIXED_WINDOW", {"range": "1year"}, {"range": ["1year"]}),
        ("ANALYTICS_FIXED_WINDOW", {"symbols": ["AAPL", " IBM"]}, {"symbols": "AAPL,IBM"}),
        ("ANALYTICS_FIXED_WINDOW", {"calculations": "mean, stddev(annualized=True)"},
         {"calculations": "MEAN,STDDEV(annualized=True)"}),
        ("TIME_SERIES_DAILY", {"outputsize": None}, {}),
    ],
)  # fmt: skip
def test_unambiguous_values_are_coerced(name: str, given: dict[str, Any], understood: dict[str, Any]) -> None:
    checked, problems = check(name, given)
    assert {key: value for key, value in checked.items() if key in given} == understood
    assert not [problem for problem in problems if problem["parameter"] in given]


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("GLOBAL_QUOTE", {}, "symbol is missing"),
        ("GLOBAL_QUOTE", {"symbol": ""}, "symbol is empty"),
        ("GLOBAL_QUOTE", {"symbol": 7}, "symbol must be a string, not a number (7)"),
        ("GLOBAL_QUOTE", {"symbol": ["IBM"]}, "symbol must be a string, not an array"),
        ("GLOBAL_QUOTE", {"symbol": "IBM", "sybmol": "x"}, "sybmol is not a parameter of this tool"),
        ("RSI", {"time_period": "ten"}, "time_period must be an integer, not text ('ten')"),
        ("RSI", {"time_period": True}, "time_period must be an integer, not a boolean (true)"),
        ("RSI", {"time_period": "nan"}, "time_period must be an integer, not text ('nan')"),
        ("RSI", {"time_period": 0}, "time_period 0 is too small"),
        ("TIME_SERIES_INTRADAY", {"month": "2024-01\n"}, "month '2024-01\\n' does not match the format"),
        ("CONGRESS_TRADES", {}, "symbol is missing, or bioguide_id instead"),
        ("ANALYTICS_FIXED_WINDOW", {"range": []}, "range has 0 items"),
        ("ANALYTICS_FIXED_WINDOW", {"symbols": "A,,B"}, "symbols has an empty item"),
        ("ANALYTICS_FIXED_WINDOW", {"symbols": ["A", 5]}, "symbols must be a string or an array of strings"),
        ("ANALYTICS_FIXED_WINDOW", {"symbols": ",".join("A" * 51)}, "symbols has 51 items, at most 50 are allowed"),
        ("ANALYTICS_SLIDING_WINDOW", {"calculations": "MAX_DRAWDOWN"}, "calculations 'MAX_DRAWDOWN' is not one of"),
        ("NEWS_SENTIMENT", {"limit": 1001}, "limit 1001 is too large"),
    ],
)  # fmt: skip
def test_invalid_argument_is_named(name: str, arguments: dict[str, Any], complaint: str) -> None:
    assert any(found.startswith(complaint) for found in complaints(name, **arguments))


def test_every_problem_states_the_expected_value() -> None:
    _, problems = check("SMA", {"interval": "hourly", "time_period": 0, "x": 1})
    assert [problem["expected"] for problem in problems] == [
        "takes symbol, interval, time_period, series_type, month, entitlement, datatype",
        "1min|5min|15min|30min|60min|daily|weekly|monthly",
        "integer, ≥1, e.g. 14",
        "string, e.g. IBM",
        "close|open|high|low",
    ]


def test_misspelt_argument_gets_the_closest_name() -> None:
    _, problems = check("GLOBAL_QUOTE", {"sybmol": "IBM"})
    assert problems[0]["expected"] == "Did you mean symbol?"


def test_countless_unknown_arguments_do_not_fill_the_answer() -> None:
    assert len(check("GLOBAL_QUOTE", {"symbol": "IBM", **{f"stray_{number}": 1 for number in range(10_000)}})[1]) == 20


def test_a_long_wrong_value_is_cut() -> None:
    _, problems = check("GLOBAL_QUOTE", {"symbol": "IBM", "datatype": "x" * 10_000})
    assert len(str(problems)) < 300
