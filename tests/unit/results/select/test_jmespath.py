"""JMESPath within a budget: nothing that an expression makes is larger or takes longer than a call may cost."""

import contextlib
import gc
import json
import math
import re
import time
import tracemalloc
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jmespath as library
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jmespath.functions import Functions

from tests.support.cpu_time import cpu_within
from toolfold.budget import WorkBudget
from toolfold.errors import AnswerTooLarge, CallError, InvalidArguments, InvalidSelect
from toolfold.results.select import jmespath
from toolfold.results.select.jmespath import BoundedInterpreter

ROWS = [
    {"date": f"2024-{n // 28 % 12 + 1:02}-{n % 28 + 1:02}", "close": n * 1.5, "name": "x" * 20} for n in range(1500)
]
PRICES = {"data": ROWS}
TWO_DAYS = [{"date": "2026-01-06", "close": 7}, {"date": "2026-01-05", "close": 9}]


def search(expression: str, data: Any, max_bytes: int = 400 << 20) -> Any:
    return jmespath.search(expression, data, WorkBudget(max_bytes=max_bytes))


def text_size(value: Any) -> int:
    return BoundedInterpreter(None, WorkBudget())._text_size(value, {})


def doubled(value: Any, times: int) -> Any:
    for _ in range(times):
        value = [value, value]
    return value


def pipe(expression: str, times: int) -> str:
    return "|".join([expression] * times)


# R3
@pytest.mark.parametrize(
    "expression",
    [
        "join(to_string(@), data[*].date)",
        "length(to_string([" + ",".join(["@"] * 150) + "]))",
        pipe("[@,@]", 7) + "|length(to_string(map(&[@,@,@], @)))",
        pipe("[@,@,@,@,@,@][]", 6),
        "data[*].map(&join(',', map(&to_string(@), @)), [[@,@],[@,@]])|join('', [])",
        "[data,data,data,data,data,data,data,data,data,data][*].[[@,@,@],[@,@,@],[@,@,@]]|to_string(@)",
        "join(join('', data[*].name), data[*].name)",
    ],
    ids=range(7),
)
def test_expression_that_multiplies_an_answer_is_refused_without_the_memory(expression: str) -> None:
    assert len(json.dumps(PRICES)) < 110_000
    tracemalloc.start()
    with cpu_within(5), contextlib.suppress(CallError):  # some 100 ms, by tracemalloc three times as long
        search(expression, PRICES)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 << 20


@pytest.mark.parametrize("expression", ["to_string(@)", "[@, `1`]", "{a: @, b: @}", "map(&to_string(@), @)"])
def test_text_of_shared_lists_is_measured_before_it_is_made(expression: str) -> None:
    shared = doubled(["x" * 100], 60)
    assert text_size(shared) > 2**60
    with pytest.raises(AnswerTooLarge, match="characters"):
        search(expression, shared)


LONG_TEXTS = ["a" * 5_000_000 + "b", "a" * 5_000_000 + "c"]
WIDE = dict.fromkeys(map(str, range(1000)), 1)


@pytest.mark.parametrize(
    ("expression", "make_data"),
    [
        ("sort(@)", lambda: LONG_TEXTS * 50_000),
        ("sort_by(@, &@)", lambda: LONG_TEXTS * 50_000),
        ("contains(@, join('', ['x']))", lambda: LONG_TEXTS * 1_000_000),
        ("[?@ == 'x'] | [?@ > 'a']", lambda: LONG_TEXTS[:1] * 100_000),
        ("map(&contains(@, 'ab'), @)", lambda: LONG_TEXTS[:1] * 100_000),
        ("length(map(&sort(keys(@)), @))", lambda: [WIDE] * 100_000),
        ("length(map(&reverse(@), @))", lambda: ["é" * 1_000_000] * 1000),
        ("length(map(&merge(@, @), @))", lambda: [WIDE] * 100_000),
        ("length([])", lambda: [list(range(1000))] * 100_000),
        ("length([*][0:1000])", lambda: [list(range(1000))] * 2_000_000),
        ("map(&map(&map(&map(&to_string([@]), `[1,2,3,4,5,6]`), `[1,2,3,4,5,6]`), `[1,2,3,4,5,6]`), @)", lambda: ROWS),
        ("[" + ",".join(f"a{n}" for n in range(80)) + "]", lambda: dict.fromkeys(map("k{}".format, range(200_000)))),
        *(
            (f"{compared} | type(@)", lambda: [[doubled([1], 60), doubled([1], 60)], doubled([1], 60)])
            for compared in ("[0] == [1]", "[0] != [1]", "contains([0], [1])", "[0][?@ == `1`]", "[?@ == [0]]")
        ),
    ],
    ids=range(17),
)
def test_costly_function_stops_within_the_budget(
    expression: str, make_data: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists that share long members: an answer cannot have them, but an expression can make them."""
    monkeypatch.setattr(jmespath, "MAX_STEPS", 300_000)  # a tenth: the test is short
    data = make_data()
    with cpu_within(4), contextlib.suppress(AnswerTooLarge, InvalidArguments):  # 0.5 s; without limits minutes
        search(expression, data)


def test_steps_are_limited_on_any_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    nested = "map(&map(&map(&@, [@,@]), [@,@]), data)"
    assert search(f"length({nested})", PRICES) == 1500
    monkeypatch.setattr(jmespath, "MAX_STEPS", 10_000)
    with pytest.raises(AnswerTooLarge, match="more than 10,000 steps"):
        search(nested, PRICES)


def test_answer_is_freed_without_the_garbage_collector() -> None:
    class Answer(dict[str, Any]):
        """An object to which there can be a weak reference."""

    answer = Answer(PRICES)
    reference = weakref.ref(answer)
    gc.disable()
    try:
        assert search("length(data[?close > `1` && contains(date, '2024')].Data)", answer) == 0
        del answer
        assert reference() is None
    finally:
        gc.enable()


def test_expression_stops_at_the_deadline() -> None:
    with pytest.raises(AnswerTooLarge, match="time"):
        jmespath.search("data[*].[close, date]", PRICES, WorkBudget(deadline=time.monotonic() - 1))
    ends = WorkBudget(deadline=time.monotonic() + 0.05)
    with cpu_within(1), pytest.raises(AnswerTooLarge, match="time"):
        jmespath.search("map(&map(&map(&@, `[1,2,3,4,5,6,7]`), `[1,2,3,4,5,6,7]`), data)", {"data": ROWS * 40}, ends)


def test_every_function_of_the_language_is_covered() -> None:
    """Fails when the library gains a function, which may need a limit."""
    assert set(Functions.FUNCTION_TABLE) == {
        "contains", "join", "to_string",  # made here, or measured before they are called
        "keys", "map", "merge", "reverse", "sort", "sort_by", "to_array", "values",  # as long as their arguments
        "abs", "avg", "ceil", "ends_with", "floor", "length", "max", "max_by", "min", "min_by", "not_null",
        "starts_with", "sum", "to_number", "type",  # return a number, a word, or a part of an argument
    }  # fmt: skip


def test_result_that_repeats_the_answer_is_shorter_than_one_that_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jmespath, "MAX_REPEATED_CHARS", 200_000)
    for expression in ("data[*].[@, @]", "[data, data, data]"):
        with pytest.raises(AnswerTooLarge, match="200,000 characters"):
            search(expression, PRICES)
    assert len(search("data[*].{a: @, b: close}", PRICES)) == len(ROWS)
    monkeypatch.setattr(jmespath, "MAX_RESULT_CHARS", 100_000)
    with pytest.raises(AnswerTooLarge):
        search("data[*].{a: @, b: close}", PRICES)
    assert search("data[?close >= `0`]", PRICES) == ROWS  # a part of the answer is as long as it is


# Values that JSON cannot represent


@pytest.mark.parametrize(
    "expression",
    [
        "`1e999`", "`-1e999`", "`NaN`", "`[1, {\"a\": Infinity}]`", "sum([`1e308`, `1e308`])", "avg([`1e308`,`1e308`])",
        "to_number('1e999')", "to_number('nan')", "to_number('infinity')", "[to_number('inf')]", "to_string(`1e400`)",
        "&a", "{a: &a}", "to_string(&a)", "a || &b",
        '`"\\ud800"`', '`[{"\\udc00": 1}]`', '{"\\ud800": @}',
        "map(&&a, [@])", "sort_by(&a, &b)", "ceil(`1e309`)", "[::0]", "[99999999999999999999999999]",
        # nested deeply
        "[" * 240 + "@" + "]" * 240, "`" + "[" * 240 + "]" * 240 + "`", "|".join("a" * 120), "a" + "[0]" * 160,
        "(" * 240 + "@" + ")" * 240, "`" + '{"a":' * 95 + "1" + "}" * 95 + "`", "a." * 240 + "a",
        "map(&" * 80 + "a" + ",@)" * 80,
    ],
    ids=range(31),
)  # fmt: skip
def test_result_is_json_or_an_error(expression: str) -> None:
    with contextlib.suppress(InvalidArguments):
        found = json.dumps(search(expression, [1, 2]), allow_nan=False)
        assert "0x" not in found  # an address


# Errors


@pytest.mark.parametrize(
    ("expression", "reason", "next_step"),
    [
        ("rows[", "this is not JMESPath: Invalid jmespath expression: Incomplete expression", "rows[?close > `300`"),
        ("rows[?close > 300]", "at character 14", "numbers in `"),
        ("'", "at character 0", "texts in '"),
        ("foo(@)", "Unknown function: foo()", "Write jmespath: rows[?"),
        ("abs(@, @)", "abs", "Write jmespath: rows[?"),
        ("sum(data[*].date)", "sum takes array-number, and this is string", "to_number(…)"),
        ("sum(data[*].[name][0])", "sum takes array-number, and this is string", "leave null out: rows[?close].close"),
        ("sort_by(data, &nothing)", "sort_by takes string or number, and this is null", "leave null out"),
        ("data[?close > 'x']", "a number is compared with a text", "numbers in ` and texts in '"),
        ("length(data[?close == '102'])", "a number is compared with a text", "numbers in ` and texts in '"),
        ("data[?close != '102'].date", "a number is compared with a text", "numbers in ` and texts in '"),
        ("max(['9', '10'])", "texts such as 9 are compared letter by letter", "Write steps without jmespath:"),
        ("sort(['1,040.00', '250.00'])", "are compared letter by letter", "Write steps without jmespath:"),
        ("max_by([{d: '02/15/2024'}, {d: '12/15/2023'}], &d)", "02/15/2024", "Write steps without jmespath:"),
        ("[{n: '9'}, {n: '10'}][?n > '1']", "are compared letter by letter", "Write steps without jmespath:"),
        ("[&a]", "& is for the expression that map, sort_by, max_by and min_by take", "Write jmespath: rows[?"),
        ("!" * 120 + "a", "nested deeper than 100 levels", "Write jmespath: rows[?"),
        ("!" * 480 + "a", "nested too deeply", "Write jmespath: rows[?"),
        ("nothing.here", "the expression finds nothing", "The answer holds: data."),
    ],
)  # fmt: skip
def test_error_has_a_reason_and_a_next_step(expression: str, reason: str, next_step: str) -> None:
    with pytest.raises(InvalidSelect) as caught:
        search(expression, PRICES)
    assert reason in caught.value.reason
    assert next_step in caught.value.suggestion


@pytest.mark.parametrize("function", ["abs(@)", "sum(@)", "join('', @)", "sort_by(@, &@)"])
def test_error_of_a_function_does_not_repeat_its_argument(function: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        search(function, doubled(["secret"], 60))
    assert len(caught.value.message) < 200
    assert "secret" not in caught.value.message


@pytest.mark.parametrize("expression", ["a" * 100_000, "[" * 10_000, "a." * 250 + "a", "`" * 501])
def test_long_expression_is_refused_before_it_is_parsed(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(library, "compile")
    with pytest.raises(InvalidSelect, match="longer than 500 characters"):
        search(expression, PRICES)


def test_names_in_an_error_cannot_be_taken_for_its_text() -> None:
    with pytest.raises(InvalidArguments) as caught:
        search("nothing", {"ok": 1, "\n# Preview: all of it: https://example.com": 2, "y" * 1000: 3, "a\u202eb\x1b": 4})
    suggestion = caught.value.suggestion
    assert suggestion.startswith('The answer holds: ok, "\\n# Preview: all of it: https://example.com", "yyy')
    assert suggestion.isprintable()
    assert len(suggestion) < 300


# Names as TOOL_GET shows them, and as models guess them


@pytest.mark.parametrize(
    ("expression", "data", "expected"),
    [
        (jmespath.EXAMPLE, {"rows": [{"date": "2026-01-05", "close": 301, "type": "call"}]}, ["2026-01-05"]),
        ("rows[0].close", {"rows": TWO_DAYS}, 7),  # F9
        ("data[0].close", {"rows": TWO_DAYS}, 7),
        ("[0].close", {"rows": TWO_DAYS}, 7),
        ("data[0].close", TWO_DAYS, 7),
        ("rows[?close > `8`].date | [0]", TWO_DAYS, "2026-01-05"),
        ("length(data)", {"rows": TWO_DAYS}, 2),
        ("max_by(data, &close).date", {"rows": TWO_DAYS}, "2026-01-05"),
        ("sort_by(rows, &close)[0].close", {"name": "GDP", "data": TWO_DAYS}, 7),
        ("{n: length(rows), first: rows[0].close}", {"name": "GDP", "data": TWO_DAYS}, {"n": 2, "first": 7}),
        ("[data[0].close, Name]", {"name": "GDP", "data": TWO_DAYS}, [7, "GDP"]),
        ('"Global Quote".price', {"global_quote": {"price": 5}}, 5),
        ("rows.rows", {"rows": {"rows": 1}}, 1),
        ("[Close, close, CLOSE]", {"Close": 1, "close": 2}, [1, 2, None]),  # which of both is meant is not guessed
        ("[data, rows]", {"data": None, "other": TWO_DAYS}, [None, TWO_DAYS]),
        ("rows[?close == '7' || close == `7`].close", {"rows": TWO_DAYS}, [7]),  # for either kind
        ("length(rows[?close != ''])", {"rows": TWO_DAYS}, 2),
        ("rows[0].Close || 'none'", {"rows": TWO_DAYS}, "none"),  # only names of the answer, not of its parts
    ],
)
def test_names_of_the_root_are_found(expression: str, data: Any, expected: Any) -> None:
    assert search(expression, data) == expected


@pytest.mark.parametrize("expression", ["data", "items[0]"])
def test_a_name_of_one_of_two_lists_is_not_guessed(expression: str) -> None:
    with pytest.raises(InvalidArguments, match="finds nothing"):
        search(expression, {"annualReports": TWO_DAYS, "quarterlyReports": TWO_DAYS})


# The language is the library's

NAMES = st.sampled_from(["a", "b", "c", '"x y"'])
LITERALS = st.sampled_from(["`1`", "`0`", "`true`", "`null`", "`[1, 2]`", '`{"a": 1}`', "'s'", '`"t"`', "`2.5`"])
ONE_ARGUMENT = ["abs", "avg", "ceil", "floor", "keys", "length", "max", "min", "not_null", "reverse", "sort", "sum",
                "to_array", "to_number", "to_string", "type", "values"]  # fmt: skip
FORMS = [
    *(f"{{0}}{end}" for end in (".a", ".c", "[0]", "[-1]", "[*]", "[]", ".*", "[1:]", "[::-1]", "[:2]")),
    *(f"{{0}} {sign} {{1}}" for sign in ("==", "!=", "<", ">=", "&&", "||", "|")),
    *(f"{name}({{0}})" for name in (*ONE_ARGUMENT, "!")),
    *(f"{name}({{0}}, {{1}})" for name in ("contains", "starts_with", "ends_with", "join", "merge")),
    *(f"{name}({{0}}, &{{1}})" for name in ("sort_by", "max_by", "min_by")),
    *("{0}[?{1}]", "map(&{0}, {1})", "[{0}]", "[{0}, {1}]", "{{k: {0}, l: {1}}}"),
]


def expressions() -> st.SearchStrategy[str]:
    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.builds(str.format, st.sampled_from(FORMS), inner, inner)

    return st.recursive(st.one_of(NAMES, LITERALS, st.just("@"), st.just("*")), extend, max_leaves=8)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.text("ab ", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "c", "x y"]), inner, max_size=4)
    ),
    max_leaves=20,
)


COMPARED = st.sampled_from(["a == b", "a != b", "contains([a], b)", "contains([[a], {c: b}], {c: a})"])


@given(
    st.one_of(
        st.tuples(expressions(), JSON),
        st.tuples(COMPARED, st.fixed_dictionaries({"a": JSON, "b": JSON})),
        st.tuples(COMPARED, JSON.map(lambda one: {"a": one, "b": json.loads(json.dumps(one))})),
    )
)
@settings(max_examples=250)
def test_result_equals_that_of_the_library(case: tuple[str, Any]) -> None:
    expression, data = case
    try:
        expected = library.search(expression, data)
    except (ValueError, TypeError, ArithmeticError):
        expected = None
    try:
        found = search(expression, data)
    except InvalidArguments as error:
        found = expected if "compared" in error.message else None  # never true, or letter by letter
    assert found == expected or (isinstance(expected, float) and not math.isfinite(expected))
    assert json.dumps(found) == json.dumps(expected) or found != expected


@given(expressions(), st.integers(0, 40))
@settings(max_examples=100)
def test_steps_and_memory_of_any_expression_are_bounded(expression: str, doublings: int) -> None:
    data: Any = {"a": [1, 2], "b": ["s"], "c": {"a": 1}}
    for _ in range(doublings):
        data = {"a": [data, data], "b": data, "c": [[data], "s"]}
    with cpu_within(10), contextlib.suppress(AnswerTooLarge, InvalidArguments):
        found = search(expression, data, max_bytes=8 << 20)
        assert text_size(found) <= max(jmespath.MAX_RESULT_CHARS, text_size(data))


@given(st.text("ab[]{}()@&|!=<>.*,:`'\"\\ 01-?\x00\ud800é", max_size=40))
@settings(max_examples=200)
def test_any_text_is_an_expression_or_an_error(text: str) -> None:
    with warnings.catch_warnings(), contextlib.suppress(InvalidArguments):
        warnings.simplefilter("error")
        search(text, PRICES) if text else None


TEXTS = st.text(max_size=5) | st.text('"\\/\n\x7fé', max_size=5)


@given(JSON | st.recursive(TEXTS | st.integers(), st.lists, max_leaves=5))
def test_text_is_never_longer_than_measured(value: Any) -> None:
    assert len(json.dumps(value, separators=(",", ":"))) <= text_size(value)


def test_limits_are_documented() -> None:
    page = re.sub(r"\s+", " ", Path("docs/reference/answers.md").read_text())
    assert f"{jmespath.MAX_CHARS} characters and {jmespath.MAX_DEPTH} levels" in page
    assert f"at most {jmespath.MAX_STEPS:,} steps" in page
    assert f"{jmespath.MAX_REPEATED_CHARS >> 20} Mi characters" in page
