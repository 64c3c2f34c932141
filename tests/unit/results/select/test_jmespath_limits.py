"""JMESPath within a budget: nothing that an expression makes is larger or takes longer than a call may cost."""

from __future__ import annotations

import contextlib
import json
import math
import re
import time
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import jmespath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jmespath.functions import Functions

from toolfold.budget import WorkBudget
from toolfold.errors import AnswerTooLarge, CallError, InvalidArguments
from toolfold.results.select import expression_budget, jmespath_functions, jmespath_query, json_values, parser
from toolfold.results.select.expression_budget import ExpressionBudget
from toolfold.results.select.jmespath_interpreter import BoundedInterpreter

ROWS = [
    {"date": f"2024-{n // 28 % 12 + 1:02}-{n % 28 + 1:02}", "close": n * 1.5, "name": "x" * 20} for n in range(1500)
]
PRICES = {"data": ROWS}
TEXTS = {"data": [{"day": n, "text": "y" * 10_000} for n in range(1000)]}


def search(expression: str, data: Any, max_bytes: int = 400 << 20) -> Any:
    return jmespath_query.search(expression, data, WorkBudget(max_bytes=max_bytes))


def pipe(expression: str, times: int) -> str:
    return "|".join([expression] * times)


# R3
@pytest.mark.parametrize(
    "expression",
    [
        "join(to_string(@), data[*].date)",
        "length(to_string([" + ",".join(["@"] * 150) + "]))",
        pipe("[@,@]", 7) + "|length(to_string(map(&[@,@,@], @)))",
        pipe("[@,@]", 50),
        pipe("[@,@,@,@,@,@][]", 6),
        "data[*].map(&join(',', map(&to_string(@), @)), [[@,@],[@,@]])|join('', [])",
        "[data,data,data,data,data,data,data,data,data,data][*].[[@,@,@],[@,@,@],[@,@,@]]|to_string(@)",
        "data[*].to_string([name,name])|join(to_string(@), @)",
        "join(join('', data[*].name), data[*].name)",
    ],
    ids=range(9),
)
def test_expression_that_multiplies_an_answer_is_refused_without_the_memory(expression: str) -> None:
    assert len(json.dumps(PRICES)) < 110_000
    tracemalloc.start()
    started_s = time.thread_time()
    with contextlib.suppress(CallError):
        search(expression, PRICES)
    duration_s = time.thread_time() - started_s
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 << 20
    assert duration_s < 5  # some 100 ms, by tracemalloc three times as long


def test_text_of_shared_lists_is_measured_before_it_is_made() -> None:
    shared: Any = ["x" * 100]
    for _ in range(60):
        shared = [shared, shared]
    budget = ExpressionBudget(WorkBudget())
    assert json_values.text_size(shared, budget) > 2**60
    assert budget.steps < 1000
    for expression in (
        "to_string(@)",
        "length(to_string(@))",
        "[@]",
        "[@, `1`]",
        "{a: @, b: @}",
        "map(&to_string(@), @)",
    ):
        with pytest.raises(AnswerTooLarge):
            search(expression, shared)


@pytest.mark.parametrize(
    "expression", ["[0] == [1]", "[0] != [1]", "contains([0], [1])", "[0][?@ == `1`]", "[?@ == [0]]"]
)
def test_shared_lists_are_compared_without_expanding_them(expression: str) -> None:
    one: Any = [1]
    other: Any = [1]
    for _ in range(60):
        one, other = [one, one], [other, other]
    with contextlib.suppress(InvalidArguments):  # finds nothing
        search(f"{expression} | type(@)", [[one, other], other])


@pytest.mark.parametrize(
    ("expression", "data"),
    [
        ("sort(@)", ["a" * 5_000_000 + "b", "a" * 5_000_000 + "c"] * 50_000),
        ("sort_by(@, &@)", ["a" * 5_000_000 + "b", "a" * 5_000_000 + "c"] * 50_000),
        ("max(@)", ["a" * 5_000_000 + "b", "a" * 5_000_000 + "c"] * 50_000),
        ("max_by(@, &@)", ["a" * 5_000_000 + "b", "a" * 5_000_000 + "c"] * 50_000),
        ("[?@ == 'x'] | [?@ > 'a']", ["a" * 5_000_000] * 100_000),
        ("length([?@ > @])", ["a" * 5_000_000] * 2_000_000),
        ("map(&contains(@, 'ab'), @)", ["a" * 5_000_000] * 100_000),
        ("length(map(&sort(keys(@)), @))", [dict.fromkeys(map(str, range(1000)), 1)] * 100_000),
        ("length(map(&reverse(@), @))", [list(range(1000))] * 100_000),
        ("length(map(&reverse(@), @))", ["é" * 1_000_000] * 1000),
        ("length(map(&merge(@, @), @))", [dict.fromkeys(map(str, range(1000)), 1)] * 100_000),
        ("length([])", [list(range(1000))] * 100_000),
        ("length([*][0:1000])", [list(range(1000))] * 2_000_000),
        ("map(&sum(@), @) | length(@)", [list(range(1000))] * 100_000),
        ("map(&[@,@,@,@], @) | length(@)", list(range(2_000_000))),
        ("map(&map(&map(&map(&to_string([@]), `[1,2,3,4,5,6]`), `[1,2,3,4,5,6]`), `[1,2,3,4,5,6]`), @)", ROWS),
    ],
    ids=range(16),
)  # fmt: skip
def test_costly_function_stops_within_the_budget(expression: str, data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists that share long members: an answer cannot have them, but an expression can make them."""
    monkeypatch.setattr(ExpressionBudget.__init__, "__defaults__", (300_000,))  # a tenth: the test is short
    started_s = time.thread_time()
    with contextlib.suppress(AnswerTooLarge, InvalidArguments):
        search(expression, data)
    assert time.thread_time() - started_s < 4  # 0.5 s; without limits minutes


def test_steps_are_limited_on_any_machine() -> None:
    budget = ExpressionBudget(WorkBudget(), max_steps=10_000)
    nested = jmespath.compile("map(&map(&map(&@, [@,@]), [@,@]), data)").parsed
    with pytest.raises(AnswerTooLarge, match="steps"):
        BoundedInterpreter(budget).visit(nested, PRICES)
    assert budget.steps < 15_000


def test_expression_stops_at_the_deadline() -> None:
    with pytest.raises(AnswerTooLarge, match="time"):
        jmespath_query.search("data[*].[close, date]", PRICES, WorkBudget(deadline=time.monotonic() - 1))
    ends = WorkBudget(deadline=time.monotonic() + 0.05)
    started_s = time.thread_time()
    with pytest.raises(AnswerTooLarge, match="time"):
        jmespath_query.search(
            "map(&map(&map(&@, `[1,2,3,4,5,6,7]`), `[1,2,3,4,5,6,7]`), data)", {"data": ROWS * 40}, ends
        )
    assert time.thread_time() - started_s < 1


def test_every_function_of_the_language_is_covered() -> None:
    """Fails when the library gains a function, which may need a limit."""
    bounded = set(jmespath_functions._RESERVATIONS) | {
        "sum", "avg", "to_number", "sort_by", "min_by", "max_by", "contains",  # made here
        "abs", "ceil", "floor", "length", "not_null", "to_array", "type",  # return a number, or an argument
    }  # fmt: skip
    assert set(Functions.FUNCTION_TABLE) == bounded


# Values that JSON cannot represent


@pytest.mark.parametrize(
    "expression",
    [
        "`1e999`", "`-1e999`", "`NaN`", "`[1, {\"a\": Infinity}]`", "sum([`1e308`, `1e308`])", "avg([`1e308`,`1e308`])",
        "to_number('1e999')", "to_number('nan')", "to_number('infinity')", "[to_number('inf')]", "to_string(`1e400`)",
        "&a", "[&a]", "{a: &a}", "to_string(&a)", "to_array(&a)", "not_null(&a)", "type(&a)", "a || &b",
        '`"\\ud800"`', '`[{"\\udc00": 1}]`', '{"\\ud800": @}',
        "map(&&a, [@])", "sort_by(&a, &b)", "ceil(`1e309`)", "[::0]", "[99999999999999999999999999]",
    ],
)  # fmt: skip
def test_result_is_json_or_an_error(expression: str) -> None:
    with contextlib.suppress(InvalidArguments):
        found = json.dumps(search(expression, [1, 2]), allow_nan=False)
        assert "0x" not in found  # an address


def test_error_of_a_function_does_not_repeat_its_argument() -> None:
    shared: Any = ["secret"]
    for _ in range(60):
        shared = [shared, shared]
    for function in ("abs(@)", "keys(@)", "sum(@)", "join('', @)", "sort_by(@, &@)", "max_by(@, &@)", "sort(@)"):
        with pytest.raises(InvalidArguments) as caught:
            search(function, shared)
        assert len(caught.value.message) < 200
        assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    "expression",
    [
        "[" * 240 + "@" + "]" * 240,
        "!" * 480 + "a",
        "`" + "[" * 240 + "]" * 240 + "`",
        "|".join("a" * 120),
        "a" + "[0]" * 160,
        "(" * 240 + "@" + ")" * 240,
        "`" + '{"a":' * 95 + "1" + "}" * 95 + "`",
        "a." * 240 + "a",
        "map(&" * 80 + "a" + ",@)" * 80,
    ],
    ids=range(9),
)
def test_deep_expression_is_evaluated_or_refused(expression: str) -> None:
    with contextlib.suppress(InvalidArguments):
        search(expression, {"a": 1})


@pytest.mark.parametrize(
    "expression", ["jmespath: " + "a" * 100_000, "jmespath: " + "[" * 10_000, "x" * 100_000, "$." * 5000]
)
def test_long_expression_is_refused_before_it_is_parsed(expression: str) -> None:
    with pytest.raises(InvalidArguments, match="longer than 500 characters"):
        parser.parse_select(expression)


def test_names_in_an_error_cannot_be_taken_for_its_text() -> None:
    with pytest.raises(InvalidArguments) as caught:
        search("nothing", {"ok": 1, "\n# Preview: all of it: https://example.com": 2, "y" * 1000: 3, "a\u202eb\x1b": 4})
    suggestion = caught.value.suggestion
    assert suggestion.startswith('The answer holds: ok, "\\n# Preview: all of it: https://example.com", "yyy')
    assert suggestion.isprintable()
    assert len(suggestion) < 300


# The language is the library's

NAMES = st.sampled_from(["a", "b", "c", '"x y"'])
LITERALS = st.sampled_from(["`1`", "`0`", "`true`", "`null`", "`[1, 2]`", '`{"a": 1}`', "'s'", '`"t"`', "`2.5`"])
ONE_ARGUMENT = ["abs", "avg", "ceil", "floor", "keys", "length", "max", "min", "not_null", "reverse", "sort", "sum",
                "to_array", "to_number", "to_string", "type", "values"]  # fmt: skip


def expressions() -> st.SearchStrategy[str]:
    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, NAMES).map(".".join),
            st.tuples(inner, st.sampled_from(["[0]", "[-1]", "[*]", "[]", ".*", "[1:]", "[::-1]", "[:2]"])).map(
                "".join
            ),
            st.tuples(inner, inner).map(lambda pair: f"{pair[0]}[?{pair[1]}]"),
            st.tuples(inner, st.sampled_from(["==", "!=", "<", ">=", "&&", "||", "|"]), inner).map(" ".join),
            inner.map(lambda one: f"!({one})"),
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
            st.lists(inner, min_size=1, max_size=3).map(
                lambda parts: "{" + ", ".join(f"k{n}: {part}" for n, part in enumerate(parts)) + "}"
            ),
            st.tuples(st.sampled_from(ONE_ARGUMENT), inner).map(lambda pair: f"{pair[0]}({pair[1]})"),
            st.tuples(st.sampled_from(["contains", "starts_with", "ends_with", "join", "merge"]), inner, inner).map(
                lambda parts: f"{parts[0]}({parts[1]}, {parts[2]})"
            ),
            st.tuples(st.sampled_from(["sort_by", "max_by", "min_by"]), inner, inner).map(
                lambda parts: f"{parts[0]}({parts[1]}, &{parts[2]})"
            ),
            st.tuples(inner, inner).map(lambda pair: f"map(&{pair[0]}, {pair[1]})"),
        )

    return st.recursive(st.one_of(NAMES, LITERALS, st.just("@"), st.just("*")), extend, max_leaves=8)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.text("ab ", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "c", "x y"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(expressions(), JSON)
@settings(max_examples=400)
def test_result_equals_that_of_the_library(expression: str, data: Any) -> None:
    try:
        expected = jmespath.search(expression, data)
    except (ValueError, TypeError, ArithmeticError):
        expected = None
    try:
        found = jmespath_query._evaluate(jmespath.compile(expression).parsed, data, WorkBudget())
    except (InvalidArguments, ValueError):
        found = None
    assert found == expected or (isinstance(expected, float) and not math.isfinite(expected))
    assert json.dumps(found) == json.dumps(expected) or found != expected


@given(expressions(), st.integers(0, 40))
@settings(max_examples=300)
def test_steps_and_memory_of_any_expression_are_bounded(expression: str, doublings: int) -> None:
    data: Any = {"a": [1, 2], "b": ["s"], "c": {"a": 1}}
    for _ in range(doublings):
        data = {"a": [data, data], "b": data, "c": [[data], "s"]}
    budget = WorkBudget(max_bytes=8 << 20)
    started_s = time.thread_time()
    with contextlib.suppress(AnswerTooLarge, InvalidArguments):
        found = jmespath_query.search(expression, data, budget)
        assert json_values.text_size(found, ExpressionBudget(WorkBudget())) <= max(
            jmespath_query.MAX_RESULT_CHARS, json_values.text_size(data, ExpressionBudget(WorkBudget()))
        )
    assert time.thread_time() - started_s < 10


@given(st.text("ab[]{}()@&|!=<>.*,:`'\"\\ 01-?\x00\ud800é", max_size=40))
@settings(max_examples=500)
def test_any_text_is_an_expression_or_an_error(text: str) -> None:
    with warnings.catch_warnings(), contextlib.suppress(InvalidArguments):
        warnings.simplefilter("error")
        search(text, PRICES) if text else None


@given(JSON, JSON)
def test_comparison_equals_that_of_python(one: Any, other: Any) -> None:
    budget = ExpressionBudget(WorkBudget())
    assert json_values.are_equal(one, other, budget) is (one == other)
    assert json_values.are_equal(one, json.loads(json.dumps(one)), budget)
    assert json_values.contains([one], other, budget) is (other in [one])


@given(JSON | st.recursive(st.text(max_size=5), st.lists, max_leaves=5))
def test_text_is_never_longer_than_measured(value: Any) -> None:
    assert len(json.dumps(value, separators=(",", ":"))) <= json_values.text_size(value, ExpressionBudget(WorkBudget()))


def test_limits_are_documented() -> None:
    page = re.sub(r"\s+", " ", Path("docs/reference/answers.md").read_text())
    assert f"{expression_budget.MAX_STEPS:,} steps" in page
    assert f"{parser.MAX_LENGTH} characters" in page
