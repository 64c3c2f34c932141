"""Arguments against schemas: the verdict is jsonschema's, except for values that are coerced to their only meaning."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.execution import validation

CATALOG = FileStore(bundled_path())()
NAMES = list(CATALOG)


def check(name: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    tool = CATALOG.get(name)
    assert tool is not None
    return validation.validate_arguments(tool.parameters, tool.call, arguments)


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
        ("SMA", {"time_period": 20.0}, {"time_period": 20}),
        ("SAR", {"acceleration": "0.02"}, {"acceleration": 0.02}),
        ("TIME_SERIES_INTRADAY", {"adjusted": "False"}, {"adjusted": False}),
        ("SMA", {"interval": "Daily"}, {"interval": "daily"}),
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
        ("GLOBAL_QUOTE", {"symbol": None}, "symbol is missing"),
        ("GLOBAL_QUOTE", {"symbol": ""}, "symbol is empty"),
        ("GLOBAL_QUOTE", {"symbol": 7}, "symbol must be a string, not a number ('7')"),
        ("GLOBAL_QUOTE", {"symbol": ["IBM"]}, "symbol must be a string, not an array"),
        ("GLOBAL_QUOTE", {"symbol": "IBM", "datatype": "xml"}, "datatype 'xml' is not an allowed value"),
        ("GLOBAL_QUOTE", {"symbol": "IBM", "sybmol": "x"}, "sybmol is not a parameter of this tool"),
        ("RSI", {"time_period": "ten"}, "time_period must be an integer, not text ('ten')"),
        ("RSI", {"time_period": 2.5}, "time_period must be an integer, not a number ('2.5')"),
        ("RSI", {"time_period": True}, "time_period must be an integer, not a boolean ('True')"),
        ("RSI", {"time_period": "nan"}, "time_period must be an integer, not text ('nan')"),
        ("RSI", {"time_period": 0}, "time_period 0 is too small"),
        ("MACDEXT", {"fastmatype": 9}, "fastmatype 9 is too large"),
        ("SAR", {"acceleration": 0}, "acceleration 0 is too small"),
        ("TIME_SERIES_INTRADAY", {"adjusted": "maybe"}, "adjusted must be true or false, not text ('maybe')"),
        ("TIME_SERIES_INTRADAY", {"month": "2024-13"}, "month '2024-13' does not match the format"),
        ("TIME_SERIES_INTRADAY", {"month": "2024-01\n"}, "month '2024-01\\n' does not match the format"),
        ("CONGRESS_TRADES", {}, "symbol is missing, or bioguide_id instead"),
        ("ANALYTICS_FIXED_WINDOW", {"range": ["a", "b", "c"]}, "range has 3 items"),
        ("ANALYTICS_FIXED_WINDOW", {"range": []}, "range has 0 items"),
        ("ANALYTICS_FIXED_WINDOW", {"range": ["soon"]}, "range 'soon' does not match the format"),
        ("ANALYTICS_FIXED_WINDOW", {"range": 5}, "range must be an array of strings, not a number ('5')"),
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
        "string, one of 1min, 5min, 15min, 30min, 60min, daily, weekly, monthly",
        "integer, at least 1, e.g. 14",
        "string, e.g. IBM",
        "string, one of close, open, high, low",
    ]


def test_misspelt_argument_gets_the_closest_name() -> None:
    _, problems = check("GLOBAL_QUOTE", {"sybmol": "IBM"})
    assert problems[0]["expected"] == "Did you mean symbol?"


def test_the_value_of_an_unknown_argument_is_never_repeated() -> None:
    _, problems = check("GLOBAL_QUOTE", {"symbol": "IBM", "apikey": "CANARYKEY0123456"})
    assert "CANARY" not in str(problems)


def test_countless_unknown_arguments_do_not_fill_the_answer() -> None:
    assert len(check("GLOBAL_QUOTE", {"symbol": "IBM", **{f"stray_{number}": 1 for number in range(10_000)}})[1]) == 20


def test_a_long_wrong_value_is_cut() -> None:
    _, problems = check("GLOBAL_QUOTE", {"symbol": "IBM", "datatype": "x" * 10_000})
    assert len(str(problems)) < 300


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A tool and arguments for it: mostly values its schema suggests, some that are anything."""
    name = draw(st.sampled_from(NAMES))
    tool = CATALOG.get(name)
    assert tool is not None
    arguments = {}
    for parameter, rule in tool.parameters["properties"].items():
        suggested = [*rule.get("enum", ()), *rule.get("examples", ()), rule.get("default", True), 1, 14, 0.5]
        value = draw(st.just(None) | st.sampled_from(suggested) | st.sampled_from(suggested) | json_values)
        if value is not None:
            arguments[parameter] = value
    if draw(st.integers(0, 9)) == 0:
        arguments["other"] = draw(json_values)
    return name, arguments


def accepts(schema: Any, arguments: dict[str, Any]) -> bool:
    return bool(jsonschema.Draft202012Validator(schema).is_valid(arguments))


BEYOND_SCHEMA = ("is empty", "has an empty item", "is not one of", "at most", "is not in the calendar")
"""Problems that no schema of the catalog states: text without content, items of lists sent as one string, dates."""


@examples(500, many=20_000)
@given(calls())
def test_arguments_that_the_schema_allows_are_accepted(call: tuple[str, dict[str, Any]]) -> None:
    name, arguments = call
    tool = CATALOG.get(name)
    assert tool is not None
    if accepts(tool.parameters, arguments):
        problems = check(name, arguments)[1]
        assert not [problem for problem in problems if not any(words in problem["problem"] for words in BEYOND_SCHEMA)]


@examples(500, many=20_000)
@given(calls())
def test_accepted_arguments_satisfy_the_schema(call: tuple[str, dict[str, Any]]) -> None:
    """Arguments that pass are, as they will be sent, valid for jsonschema too."""
    name, arguments = call
    tool = CATALOG.get(name)
    assert tool is not None
    checked, problems = validation.validate_arguments(tool.parameters, tool.call, arguments)
    if not problems:
        jsonschema.validate(checked, tool.parameters)


def test_the_catalog_used_here_is_the_whole_one(catalog: Catalog) -> None:
    assert list(catalog) == NAMES
