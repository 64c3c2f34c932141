"""Arguments against schemas: the verdict is jsonschema's, except for values that are coerced to their only meaning."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cpu_time import cpu_within
from tests.support.examples import examples
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.execution import validation
from toolfold.execution.validation import ArgumentValidator, SchemaError
from toolfold.execution.validation_problems import describe_expected

CATALOG = FileStore(bundled_path())()


def check_tool(name: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    tool = CATALOG.get(name)
    return validation.ArgumentValidator(tool.parameters, tool.call).validate(arguments)


def test_good_arguments_come_back_in_the_order_of_the_schema() -> None:
    sent = {"series_type": "close", "time_period": 20, "interval": "daily", "symbol": "IBM"}
    checked, problems = check_tool("SMA", sent)
    assert problems == []
    assert checked == sent
    assert list(checked) == ["symbol", "interval", "time_period", "series_type"]


@pytest.mark.parametrize(
    ("name", "given", "understood"),
    [
        ("SAR", {"acceleration": "0.02"}, {"acceleration": 0.02}),
        ("TIME_SERIES_INTRADAY", {"adjusted": "False"}, {"adjusted": False}),
        ("ANALYTICS_FIXED_WINDOW", {"interval": "daily"}, {"interval": "DAILY"}),
        ("ANALYTICS_FIXED_WINDOW", {"symbols": ["AAPL", " IBM"]}, {"symbols": "AAPL,IBM"}),
        ("ANALYTICS_FIXED_WINDOW", {"calculations": "mean, stddev(annualized=True)"},
         {"calculations": "MEAN,STDDEV(annualized=True)"}),
        ("TIME_SERIES_DAILY", {"outputsize": None}, {}),
    ],
)  # fmt: skip
def test_unambiguous_values_are_coerced(name: str, given: dict[str, Any], understood: dict[str, Any]) -> None:
    checked, problems = check_tool(name, given)
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
    found = [f"{problem['parameter']} {problem['problem']}" for problem in check_tool(name, arguments)[1]]
    assert any(one.startswith(complaint) for one in found)


def test_every_problem_states_the_expected_value() -> None:
    _, problems = check_tool("SMA", {"interval": "hourly", "time_period": 0, "x": 1})
    assert [problem["expected"] for problem in problems] == [
        "takes symbol, interval, time_period, series_type, month, entitlement, datatype",
        "1min|5min|15min|30min|60min|daily|weekly|monthly",
        "integer, ≥1, e.g. 14",
        "string, e.g. IBM",
        "close|open|high|low",
    ]


def test_countless_unknown_arguments_do_not_fill_the_answer() -> None:
    assert check_tool("GLOBAL_QUOTE", {"sybmol": "IBM"})[1][0]["expected"] == "Did you mean symbol?"
    long = {"symbol": "IBM", "datatype": "x" * 10_000}
    assert len(str(check_tool("GLOBAL_QUOTE", long)[1])) < 300
    strays = {f"stray_{number}": 1 for number in range(10_000)}
    assert len(check_tool("GLOBAL_QUOTE", {"symbol": "IBM", **strays})[1]) == 20


JUDGE = jsonschema.Draft202012Validator


def check(schema: dict[str, Any], arguments: dict[str, Any], **call: Any) -> tuple[dict[str, Any], list[Any]]:
    return ArgumentValidator(schema, call).validate(arguments)


def one(rule: Any, **root: Any) -> dict[str, Any]:
    """A schema with one parameter, x."""
    return {"type": "object", "properties": {"x": rule}, "additionalProperties": False, **root}


POINT = {
    "type": "object",
    "properties": {"lat": {"type": "number", "minimum": -90}, "label": {"type": "string"}},
    "required": ["lat"],
    "additionalProperties": False,
}
SHAPES = {
    "oneOf": [
        {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["r"]},
        {
            "type": "object",
            "properties": {"kind": {"const": "square"}, "side": {"type": "integer"}},
            "required": ["side"],
        },
    ]
}


@pytest.mark.parametrize(
    ("rule", "sent", "understood"),
    [
        ({"type": "array", "items": {"type": "integer"}}, ["1", 2.0, "3"], [1, 2, 3]),
        (POINT, {"lat": 2.0}, {"lat": 2}),
        ({"type": "array", "items": POINT}, [{"lat": -3.0}], [{"lat": -3}]),
        ({"type": "array", "items": {"type": "integer"}}, "7", [7]),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2]),
        ({"type": "array", "items": {"type": "integer"}}, ["5"] * 2000, [5] * 2000),
        ({"type": "array", "items": {"enum": ["Red", "Blue"]}}, ["red", "BLUE"], ["Red", "Blue"]),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}]}, ["a", "true"], ["a", True]),
        (POINT, '{"lat": 12.5}', {"lat": 12.5}),
        (POINT, {"lat": 1, "label": None}, {"lat": 1}),
        ({"type": ["integer", "null"]}, None, None),
        ({"type": ["string", "integer"]}, "5", "5"),
        ({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, "12", 12),
        ({"type": ["boolean", "integer"]}, "1", 1),
        ({"anyOf": [{"type": "boolean"}, {"type": "integer"}]}, "0", 0),
        ({"anyOf": [{"type": "boolean"}, {"enum": ["on", "off"]}]}, "ON", "on"),
        ({"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "string"}}]}, "no", ["no"]),
        ({"anyOf": [{"const": True}, {"type": "null"}]}, "true", True),
        ({"type": "array", "items": {"type": "boolean"}}, "true", [True]),
        ({"anyOf": [{"type": "string", "pattern": "^[a-z]+$"}, {"type": "integer"}]}, "12", 12),
        ({"enum": [1, 2, 3]}, "2", 2),
        ({"enum": ["a_b", "ab"]}, "AB", "ab"),
        ({"enum": ["1M", "1m"]}, " 1m ", "1m"),
        ({"type": "array", "items": {"enum": ["on-hold"]}}, ["On Hold"], ["on-hold"]),
        (SHAPES["oneOf"][0], {"r": 1, "kind": "CIRCLE"}, {"r": 1, "kind": "circle"}),
        ({"$ref": "#/$defs/point"}, {"lat": "1.5"}, {"lat": 1.5}),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, "3", 3),
        (SHAPES, {"kind": "square", "side": "2"}, {"kind": "square", "side": 2}),
        (SHAPES, {"kind": "Circle", "r": "2"}, {"kind": "circle", "r": 2}),
        ({"type": "integer"}, "12345678901234567890", 12345678901234567890),
        ({"type": "integer"}, 1e30, 10**30),
        ({"type": "number"}, 1e30, 1e30),
        ({}, {"a": None}, {"a": None}),
    ],
)  # fmt: skip
def test_values_are_brought_into_the_types_of_the_schema(rule: Any, sent: Any, understood: Any) -> None:
    schema = one(rule, **{"$defs": {"point": POINT}})
    checked, problems = check(schema, {"x": sent})
    assert problems == []
    assert json.dumps(checked) == json.dumps({"x": understood})  # 2 is not 2.0
    assert type(checked["x"]) is type(understood)


@pytest.mark.parametrize(
    ("rule", "sent", "parameter", "problem", "expected"),
    [
        ({"type": "array", "items": {"type": "integer"}}, ["one"], "x", "item 1 must be an integer, not text ('one')",
         "array of integers"),
        ({"type": "array", "items": {"type": "integer"}}, "one", "x", "must be an array of integers, not text ('one')",
         "array of integers"),
        (POINT, {"lat": "north"}, "x.lat", "must be a number, not text ('north')", "number, ≥-90"),
        (POINT, {}, "x.lat", "is missing", "number, ≥-90"),
        (POINT, {"lat": 1, "lon": 2}, "x", "has keys that are not allowed: 'lon'", "object {lat, label?}"),
        ({"enum": ["a_b", "a-b"]}, "a b", "x", "'a b' is not an allowed value", "a_b|a-b"),
        ({"enum": ["1M", "1m", ""]}, ["1M"], "x", "a list is not an allowed value", "1M|1m|"),
        (POINT, "here", "x", "must be an object, not text ('here')", "object {lat, label?}"),
        (POINT, '{"lat": 1, "lat": 2}', "x",
         """must be an object, not text ('{"lat": 1, "lat": 2}')""", "object {lat, label?}"),
        ({"anyOf": [{"type": "integer"}, {"type": "array"}]}, {}, "x", "must be an integer or an array, not an object",
         "integer|array"),
        (SHAPES, {"kind": "square", "side": "long"}, "x.side", "must be an integer, not text ('long')", "integer"),
        ({"oneOf": [{**shape, "required": ["kind"]} for shape in SHAPES["oneOf"]]}, {}, "x.kind", "is missing",
         "circle|square"),
        # The alternative whose tag the value has, although another one fails at a deeper place.
        (SHAPES, {"kind": "circle"}, "x.r", "is missing", "number"),
        (SHAPES, {"kind": "ring", "r": 1}, "x.kind", "'ring' is not an allowed value", "circle|square"),
        ({"anyOf": [{"const": "a"}, {"enum": ["b", "c"]}, {"type": "integer"}]}, "d", "x",
         "'d' is not an allowed value", "a|b|c|integer"),
        ({"type": "array", "prefixItems": [{"type": "string"}], "items": False}, ["a", "b"], "x",
         "item 2 must not be given", "no value"),
        ({"oneOf": [{"type": "integer"}, {"minimum": 1}]}, 5, "x",
         "fits more than one of the alternatives, and may fit one only", "any value"),
        ({"const": 4}, 5, "x", "5 is not an allowed value", "4"),
        ({"type": "string", "minLength": 3}, "ab", "x", "has 2 characters, at least 3 are needed",
         "string, characters ≥3"),
        ({"type": "array", "uniqueItems": True}, [1, 1], "x", "has an item twice", "array of values"),
        ({"type": "number", "multipleOf": 2}, 3, "x", "3 is not a multiple of 2", "number, a multiple of 2"),
        ({"not": {"type": "string"}}, "a", "x", "does not fit the schema (not)", "any value"),
        (False, 1, "x", "must not be given", "no value"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"a": None}, "x.a",
         "must be a string, not null", "any value"),
        ({"type": "object", "additionalProperties": {"type": "array", "items": POINT}}, {"a": [{"lat": "q"}]},
         "x.a[0].lat", "must be a number, not text ('q')", "any value"),
        ({"$ref": "#/$defs/point"}, {"lat": []}, "x.lat", "must be a number, not an array", "number, ≥-90"),
    ],
)  # fmt: skip
def test_problem_names_the_path_and_the_expected_value(
    rule: Any, sent: Any, parameter: str, problem: str, expected: str
) -> None:
    _, problems = check(one(rule, **{"$defs": {"point": POINT}}), {"x": sent})
    assert problems == [{"parameter": parameter, "problem": problem, "expected": expected}]


NULLS = {"properties": {"a": {"type": ["string", "null"]}, "b": {"type": "integer"}}}
ONE_OF = {"properties": {"a": {"type": "string"}, "b": {}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
ALTERNATIVE = {"parameter": "a", "problem": "is missing, or b instead", "expected": "string"}
STRAY = {"problem": "is not a parameter of this tool", "expected": "takes no arguments"}


@pytest.mark.parametrize(
    ("schema", "arguments", "checked", "problems"),
    [
        # Without properties it takes any arguments, unless it says that it takes none.
        ({}, {"a": 1}, {"a": 1}, []),
        ({"type": "object"}, {"a": 1}, {"a": 1}, []),
        ({"additionalProperties": {"type": "integer"}}, {"a": 1}, {"a": 1}, []),
        ({"$ref": "#/$defs/x", "$defs": {"x": True}}, {"a": 1}, {"a": 1}, []),
        ({"type": "object", "additionalProperties": False}, {"a": 1, "b": 2}, ...,
         [{"parameter": "a", **STRAY}, {"parameter": "b", **STRAY}]),
        # Null is a value only where the schema allows it.
        (NULLS, {"a": None, "b": None}, {"a": None}, []),
        (ONE_OF, {}, ..., [ALTERNATIVE]),
    ],
)  # fmt: skip
def test_whole_arguments_are_judged(schema: dict[str, Any], arguments: Any, checked: Any, problems: list[Any]) -> None:
    found = check(schema, arguments)
    assert found == (found[0] if checked is ... else checked, problems)


@pytest.mark.parametrize(
    "schema",
    [
        # A reference that leads away or nowhere is never fetched.
        *(
            {"properties": {"x": {"$ref": to}}}
            for to in ("http://127.0.0.1:9/schema", "file:///etc/passwd", "#/$defs/x")
        ),
        *({"type": "objct"}, {"properties": []}, {"required": "x"}, {"$schema": "http://x/y"}),
    ],
)
def test_invalid_schema_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        ArgumentValidator(schema, {})


def test_blank_text_is_a_value_only_where_the_tool_says_so() -> None:
    assert check(one({"type": "string"}), {"x": " "})[1][0]["problem"] == "is empty"
    assert check(one({"type": "string"}), {"x": " "}, blank_allowed=["x"]) == ({"x": " "}, [])
    assert check(one({"enum": ["", "a"]}), {"x": ""}) == ({"x": ""}, [])


@pytest.mark.bulk
@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(?=a)(a+)+$", r"^(a+)+\1$"])
def test_a_pattern_that_could_backtrack_for_ever_answers_at_once(pattern: str) -> None:
    validator = ArgumentValidator(one({"type": "string", "pattern": pattern}), {})
    with cpu_within(5):
        _, problems = validator.validate({"x": "a" * 50_000 + "!"})
    assert problems[0]["problem"].endswith("does not match the format")


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_deep_nesting_is_refused() -> None:
    schema = {"properties": {"x": {"$ref": "#/$defs/list"}}, "$defs": {"list": {"items": {"$ref": "#/$defs/list"}}}}
    assert check(schema, {"x": nested(60)})[1] == []
    _, problems = check(schema, {"x": nested(100_000)})
    assert [(problem["parameter"], problem["problem"]) for problem in problems] == [
        ("x", "is nested too deeply: 64 levels are allowed")
    ]


@pytest.mark.bulk
def test_very_many_wrong_values_are_answered_at_once() -> None:
    with cpu_within(5):  # 0.2 s on an idle machine
        _, problems = check(one({"type": "array", "items": {"type": "string"}}), {"x": [1] * 200_000})
    assert [problem["parameter"] for problem in problems] == ["x"]


def test_half_a_surrogate_pair_is_refused() -> None:
    for arguments in ({"x": "\ud800"}, {"x": ["\ud800"]}, {"x": {"\ud800": 1}}, {"\ud800": 1}):
        assert check({}, arguments)[1][0]["problem"] == "holds text that is not valid Unicode"


def test_a_schema_that_refers_to_itself_is_followed_as_far_as_the_value_goes() -> None:
    tree = {"type": "object", "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/tree"}}}
    schema = {"properties": {"x": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": tree}}
    checked, problems = check(schema, {"x": {"value": "1", "next": {"value": "2"}}})
    assert (checked, problems) == ({"x": {"value": 1, "next": {"value": 2}}}, [])
    endless = {"properties": {"x": {"$ref": "#/properties/x"}}}
    assert check(endless, {"x": 1}) == ({"x": 1}, [])


def test_one_validator_serves_many_threads() -> None:
    validator = ArgumentValidator(one(POINT), {})
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(validator.validate, [{"x": {"lat": str(number)}} for number in range(500)]))
    assert [checked["x"]["lat"] for checked, problems in results if not problems] == list(range(500))


def test_any_schema_has_a_description() -> None:
    assert describe_expected(True) == describe_expected({}) == describe_expected({"$ref": "#/none"}) == "any value"
    assert describe_expected({"type": "array", "items": {"type": "integer"}, "maxItems": 3}) == "array of ≤3 integers"
    assert len(describe_expected({"enum": list(range(10_000))})) < 500


# What follows is judged by python-jsonschema: another library, in another language, by other people.

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.sampled_from(
    [None, True, False, 0, 1, -3, 7, 2.5, "", "a", "A", "bb", "5", "true", "2.5", "[1]", '{"a": 1}']
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
TYPE = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null"])
LIMIT = st.integers(0, 3)


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Schemas of a few keywords each; ``inner`` draws the schemas in them."""
    some = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPE | st.lists(TYPE, min_size=1, max_size=3, unique=True),
            "enum": st.lists(SCALARS, min_size=1, max_size=4, unique_by=repr),
            "const": SCALARS,
            "minimum": LIMIT,
            "exclusiveMaximum": st.integers(2, 8),
            "minLength": LIMIT,
            "maxLength": LIMIT,
            "pattern": st.sampled_from(["^a", "b+$", "^[0-9]+$"]),
            "items": inner,
            "prefixItems": some,
            "minItems": LIMIT,
            "maxItems": LIMIT,
            "contains": inner,
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "additionalProperties": inner,
            "required": st.lists(NAMES, max_size=2, unique=True),
            "maxProperties": LIMIT,
            "propertyNames": st.just({"enum": ["a", "b"]}),
            "dependentRequired": st.just({"a": ["b"]}),
            "anyOf": some,
            "oneOf": some,
            "allOf": some,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "$ref": st.sampled_from(["#/$defs/one", "#/$defs/two"]),
            "unevaluatedProperties": st.booleans(),
        },
    )


SCHEMAS = st.recursive(st.booleans() | st.fixed_dictionaries({"type": TYPE}) | st.just({}), keywords, max_leaves=6)


def without_references(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: without_references(value) for key, value in schema.items() if key != "$ref"}
    return [without_references(value) for value in schema] if isinstance(schema, list) else schema


@st.composite
def calls(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A schema of parameters, with definitions that its references lead to, and arguments."""
    root = draw(keywords(SCHEMAS))
    root["$defs"] = {name: without_references(draw(SCHEMAS)) for name in ("one", "two")}
    return root, draw(st.dictionaries(NAMES, VALUES, max_size=3))


@examples(40, many=20_000)
@given(calls())
def test_the_verdict_is_that_of_the_independent_judge(call: tuple[dict[str, Any], dict[str, Any]]) -> None:
    schema, arguments = call
    before = json.dumps([schema, arguments])
    blanks = ["a", "b", "c"]
    checked, problems = check(schema, arguments, blank_allowed=blanks)
    assert json.dumps([schema, arguments]) == before
    judge = JUDGE(schema)
    if judge.is_valid(arguments):
        assert problems == []
    assert judge.is_valid(checked) == (problems == [])
    for problem in problems:
        assert problem.keys() == {"parameter", "problem", "expected"}
        assert all(isinstance(text, str) and text for text in problem.values())


@examples(60, many=20_000)
@given(st.dictionaries(st.text(max_size=4), VALUES | st.floats() | st.integers() | st.text(), max_size=3), SCHEMAS)
def test_any_arguments_get_an_answer(arguments: dict[str, Any], rule: Any) -> None:
    checked, problems = check({"properties": {"a": rule, "": rule}, "$defs": {"one": True, "two": {}}}, arguments)
    assert isinstance(checked, dict)
    assert isinstance(problems, list)
