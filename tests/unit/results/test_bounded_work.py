"""Shaping any answer ends within its budget: with the whole answer, a preview, or ANSWER_TOO_LARGE."""

import csv
import io
import json
import math
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cpu_time import cpu_within, thread_s
from tests.support.rendering import render_result
from toolfold.budget import MAX_BYTES, WorkBudget
from toolfold.errors import AnswerTooLarge, CallError
from toolfold.results import parsing, tokens, values
from toolfold.results.output import MIN_TOKENS, OutputOptions, RenderedResult
from toolfold.results.select import grammar

DAYS = [f"{year}-{month:02}-{day:02}" for year in range(1900, 2030) for month in range(1, 13) for day in range(1, 29)]

RAGGED = "a\n" + "\n".join("," * width for width in range(5000))
WIDENING = "a\n" + "x\n" * 3000 + "," * 3000
NARROWING = "a\n" + "," * 3000 + "\nx" * 3000
DISJOINT = json.dumps([{f"key {number}": number} for number in range(3000)])
SERIES = json.dumps({f"s{number}": {DAYS[number]: 1.5} for number in range(3000)})
DATED = json.dumps({day: {f"k{number}": number} for number, day in enumerate(DAYS[:3000])})
NUMBERED_KEYS = json.dumps({f"{number}. a": "1" for number in range(5000)})
WIDE = json.dumps([{f"column number {number}": number for number in range(5000)}] * 2)
MANY_TABLES = json.dumps({f"table {number}": [{"a": number}] for number in range(5000)})
LONG_NAMES = json.dumps({"n" * 50_000: {f"t{number}": [{"a": 1}] for number in range(1000)}})
DEEP_NAMES = '{"' + ('n" : {"' * 200).replace("n", "n" * 1000) + 'x": [{"a": 1}]' + "}" * 201
TREE = json.dumps([[[[number] * 10] * 10] * 10 for number in range(50)])
SHAPES = {
    "disjoint objects": DISJOINT, "series of other days": SERIES, "rows by date without common keys": DATED,
    "numbered keys": NUMBERED_KEYS, "wide rows": WIDE, "many tables": MANY_TABLES, "long names": LONG_NAMES,
    "deep names": DEEP_NAMES, "tree": TREE, "long text": json.dumps({"a": "word " * 100_000}),
    "long key": json.dumps({"k" * 300_000: 1}), "long number": "[" + "1" * 300_000 + "]",
    "long decimal": "[0." + "1" * 300_000 + "]", "numbers": json.dumps(list(range(100_000))),
    "one long cell": "a,b\n" + "x" * 300_000 + ",1", "long header": "h" * 300_000 + ",b\n1,2",
    "wide CSV": ",".join(map(str, range(5000))) + "\n" + ",".join("1" * 5000), "short rows": "a,b\n" + "1\n" * 50_000,
    "quoted CSV": 'a,b\n' + '"x ""y"" z",1\n' * 20_000, "other script": json.dumps(["日本語の文字列"] * 20_000),
    "emoji": json.dumps({"a": "\U0001f600" * 50_000}, ensure_ascii=False),
}  # fmt: skip


def shown(body: str, *, raw: bool = False, budget: WorkBudget | None = None, **options: Any) -> RenderedResult:
    kind = "json" if body[0] in "[{" else "csv"
    return render_result(body, kind, {}, OutputOptions("datatype" if raw else "", **options), budget=budget)


def outcome(action: Callable[[], RenderedResult]) -> RenderedResult | CallError:
    try:
        return action()
    except CallError as error:
        return error


def check_encodable(result: RenderedResult) -> None:
    result.text.encode()
    json.dumps(result.structured, allow_nan=False, ensure_ascii=False).encode()


def peak_bytes(action: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        action()
    except CallError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


# R6
@pytest.mark.parametrize("body", [WIDENING, NARROWING], ids=["last row wide", "first row wide"])
def test_csv_with_rows_of_very_different_lengths_is_too_large(body: str) -> None:
    with pytest.raises(AnswerTooLarge) as caught:
        shown(body)
    assert "differ" in caught.value.message
    assert caught.value.suggestion


# R6
@pytest.mark.parametrize("body", [RAGGED, WIDENING, NARROWING, DISJOINT, SERIES, DATED])
def test_memory_is_bounded_where_rows_have_little_in_common(body: str) -> None:
    assert peak_bytes(lambda: shown(body)) < 20e6 + 40 * len(body)  # a table would take 200 MB and more


# R6
@pytest.mark.parametrize("body", [DISJOINT, SERIES], ids=["objects", "series"])
def test_objects_without_common_keys_stay_nested(body: str) -> None:
    result = shown(body, max_tokens=10**6)
    assert "preview" not in result.structured
    sent = json.loads(body)
    found = result.structured["result"]
    assert len(found) == len(sent)
    assert [list(one.values()) for one in (found if isinstance(found, list) else found.values())] == [
        list(one.values()) for one in (sent if isinstance(sent, list) else sent.values())
    ]


def test_mostly_filled_table_with_missing_cells_is_a_table() -> None:
    body = json.dumps([{"a": number, **({"b": 1} if number % 3 else {})} for number in range(30_000)])
    assert shown(body).structured["result"]["columns"] == ["a", "b"]


# R7
def test_time_for_equal_names_grows_with_their_number() -> None:
    few, many = ([f"{number}. a" for number in range(count)] for count in (5_000, 40_000))
    assert len(set(values.clean_names(many))) == 40_000
    assert thread_s(lambda: values.clean_names(many)) < 8 * 3 * thread_s(lambda: values.clean_names(few))


# R8
@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("name", ["disjoint objects", "quoted CSV", "long text"])
def test_nothing_is_returned_after_the_deadline(name: str, raw: bool) -> None:
    with pytest.raises(AnswerTooLarge) as caught:
        shown(SHAPES[name], raw=raw, budget=WorkBudget(time.monotonic() - 1))
    assert "time" in caught.value.message


# R8
@pytest.mark.parametrize("fragment", ["{}", "[]", '""', "[[1]]", '{"a":{}}'])
def test_json_that_takes_many_times_its_length_is_refused_before_it_is_parsed(fragment: str) -> None:
    body = "[" + f"{fragment}," * (25_000_000 // (len(fragment) + 1)) + "0]"
    assert peak_bytes(lambda: shown(body)) < 1e6


# R8
def test_memory_that_steps_reserve_is_bounded() -> None:
    with pytest.raises(AnswerTooLarge) as caught:
        shown("a,b\n" + "1,2\n" * 100_000, budget=WorkBudget(max_bytes=1_000_000))
    assert "memory" in caught.value.message


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_any_shape_fits_the_limit_of_tokens(name: str, raw: bool) -> None:
    result = shown(SHAPES[name], raw=raw, max_tokens=MIN_TOKENS)
    assert tokens.count(result.text) <= MIN_TOKENS
    assert "left_out" in result.structured["preview"]
    json.dumps(result.structured, allow_nan=False)


@pytest.mark.parametrize("name", SHAPES)
def test_time_grows_with_the_length_of_the_answer(name: str) -> None:
    """A time that grew with the square of the length would be some seconds for each of these."""
    with cpu_within(2):
        shown(SHAPES[name])


# R15
@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        '{"value":1e999}', '{"value":-1e999}', '{"value":[NaN, Infinity, -Infinity]}', '{"value":' + "9" * 5000 + "}",
        '{"value":"\\ud800"}', '{"\\udfff":"\\ud83d\\ude00"}', '{"value":"\\u0000"}', '{"a":1,"a":2}', '{"":{"":[{}]}}',
        "[" * 400 + "]" * 400, "[" * 100_000, '{"a":' * 5000 + "1" + "}" * 5000, "[{}]", "[{},[]]", "[]", "{}",
        '{"value":1e-999, "b":-0.0, "c":-0}', '{"value":0.1234567890123456789012345678901234567890}', "[1,]", '{"a"',
        '{"a": 1e99999999999999999999}', '{"a":"' + "1" * 400_000 + '"}', '[{"a":1e999},{"a":"x"}]', '["NaN","1e999"]',
        "a,b\n\x00,1\n", 'a,b\n"unclosed,1\n', "a,b\r1,2\r\n3,4", "a,a,a\n1,2,3", ",\n,\n", "a,b\n" + "9" * 5000 + ",1",
        "a\ud7ff,b\n\ufffe,1", 'a,"b\n1,2', "a,b\nNaN,Infinity\n1e999,-1e999",
    ],
)  # fmt: skip
def test_odd_answers_are_answers_or_errors(body: str, raw: bool) -> None:
    result = outcome(lambda: shown(body, raw=raw))
    if isinstance(result, CallError):
        assert result.code == "UPSTREAM_ERROR"
    else:
        check_encodable(result)


# R15
def test_number_that_no_double_holds_stays_text_in_the_upstream_form() -> None:
    body = '{"value":1e999,"exact":0.12345678901234567890,"plain":1.0}'
    assert shown(body, raw=True).structured["result"] == {
        "value": "1e999", "exact": "0.12345678901234567890", "plain": 1.0,
    }  # fmt: skip


def test_half_of_a_surrogate_pair_is_replaced() -> None:
    assert shown('{"a":"x\\ud800y"}').structured["result"] == {"a": "x?y"}


texts = st.text(st.characters(codec="utf-8"), max_size=30)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), texts,
    st.sampled_from(["1e999", "1.5%", "2024-01-02", "9" * 30, "-", "NaN", "\ud800"]),
)  # fmt: skip
keys = texts | st.sampled_from(["1. a", "2. a", "a", "2024-01-02", "2024-01-03", "date", "", "yield", "yield_percent"])
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=8) | st.dictionaries(keys, inner, max_size=8), max_leaves=25
)
selects = st.sampled_from([None, "a", "last 2", "max(a)", "jmespath: [*]", "jmespath: keys(@)", "from a", "a=1"])


def check(body: str, kind: str, select: str | None, raw: bool, max_bytes: int) -> None:
    options = OutputOptions("datatype" if raw else "", grammar.parse_select(select), MIN_TOKENS)
    result = outcome(lambda: render_result(body, kind, {}, options, budget=WorkBudget(max_bytes=max_bytes)))
    if isinstance(result, CallError):
        assert result.code in ("UPSTREAM_ERROR", "INVALID_ARGUMENTS", "ANSWER_TOO_LARGE")
    else:
        assert tokens.count(result.text) <= MIN_TOKENS
        check_encodable(result)


budgets = st.sampled_from([MAX_BYTES, 200_000, 20_000])


@given(st.lists(documents, max_size=8) | st.dictionaries(keys, documents, max_size=8), selects, st.booleans(), budgets)
def test_any_json_is_an_answer_or_an_error(document: Any, select: str | None, raw: bool, max_bytes: int) -> None:
    check(json.dumps(document), "json", select, raw, max_bytes)


@given(st.text(st.sampled_from('[]{},:"\\ue19.-0aTn \n'), max_size=60), selects, st.booleans())
def test_anything_that_claims_to_be_json_is_an_answer_or_an_error(body: str, select: str | None, raw: bool) -> None:
    check("{" + body, "json", select, raw, MAX_BYTES)


@given(
    st.text(st.sampled_from('",\n\r;ab19.-%\x00é'), min_size=1, max_size=200)
    | st.lists(st.lists(texts, max_size=40).map(",".join), min_size=1, max_size=30).map("\n".join),
    selects, st.booleans(), budgets,
)  # fmt: skip
def test_any_csv_is_an_answer_or_an_error(body: str, select: str | None, raw: bool, max_bytes: int) -> None:
    check(body, "csv", select, raw, max_bytes)


def test_budget_without_deadline_has_time() -> None:
    budget = WorkBudget()
    assert budget.remaining_s == math.inf
    budget.check_time(10**12)
    assert list(budget.checked(range(5000))) == list(range(5000))


def test_step_that_would_end_after_the_deadline_is_not_started() -> None:
    budget = WorkBudget(time.monotonic() + 5)
    budget.check_time()
    with pytest.raises(AnswerTooLarge):
        budget.check_time(1_000_000_000)


def test_released_memory_can_be_reserved_again() -> None:
    budget = WorkBudget(max_bytes=100)
    budget.reserve(80)
    assert budget.left < 30
    budget.release(80)
    budget.reserve(100)


def test_loop_stops_at_the_deadline() -> None:
    budget = WorkBudget(time.monotonic() + 0.05)
    with pytest.raises(AnswerTooLarge):
        for _ in budget.checked(iter(int, 1)):
            pass


COUNT = 40_000
PARSED: dict[str, str] = {
    "empty objects": json.dumps([{}] * COUNT), "empty lists": json.dumps([[]] * COUNT),
    "one member": json.dumps([{"a": 1}] * COUNT), "own keys": json.dumps([{f"k{n}": n} for n in range(COUNT)]),
    "six members": json.dumps([dict.fromkeys("abcdef", "xy")] * COUNT), "lists of one": json.dumps([[1]] * COUNT),
    "eleven members": json.dumps([dict.fromkeys("abcdefghijk", 1.5)] * COUNT),
    "one object": json.dumps({f"k{n}": n for n in range(COUNT * 4)}),
    "numbers": json.dumps([n * 1000 for n in range(COUNT * 4)]), "decimals": json.dumps([n / 8 for n in range(COUNT)]),
    "strings": json.dumps([str(n) for n in range(COUNT * 4)]), "text": json.dumps(["x" * 1_000_000]),
    "escaped emoji": '["' + "\\ud83d\\ude00" + "x" * 1_000_000 + '"]', "escape": '["\\u0100' + "x" * 1_000_000 + '"]',
    "emoji": '["' + "\U0001f600" * 300_000 + '"]',
}  # fmt: skip


def allocated(parse: Callable[[str], Any], body: str) -> int:
    tracemalloc.start()
    try:
        parsed = parse(body)
        size, _ = tracemalloc.get_traced_memory()
        del parsed
    finally:
        tracemalloc.stop()
    return size


@pytest.mark.parametrize("name", PARSED)
def test_bound_of_json_is_not_exceeded(name: str) -> None:
    body = PARSED[name]
    bound, size = sum(parsing.json_size(body)), allocated(json.loads, body)
    assert size < 1.02 * bound
    assert bound < 12 * size + 20 * len(body)


@pytest.mark.parametrize("line", ["1,2", "a,b,c", "12345678,2024-01-02,abc", ",,,", "x" * 100])
def test_bound_of_csv_is_not_exceeded(line: str) -> None:
    body = f"{line}\n" * COUNT

    def columns(text: str) -> Any:
        return [list(column) for column in zip(*csv.reader(io.StringIO(text)), strict=True)]

    assert allocated(columns, body) < parsing.csv_size(body)


def test_json_of_many_containers_cannot_be_parsed() -> None:
    parsing.require_parsable_json("[" + "{}," * 1000 + "{}]")
    with pytest.raises(AnswerTooLarge):
        parsing.require_parsable_json("[" + "{}," * 8_000_000 + "{}]")


def test_realistic_answer_of_the_largest_size_can_be_parsed() -> None:
    row = '{"date":"2024-01-02","open":"185.1000","high":"186.2500",'
    row += '"low":"184.0000","close":"185.7500","volume":"123456"},'
    body = "[" + row * (25_000_000 // len(row)) + "{}]"
    assert sum(parsing.json_size(body)) + sys.getsizeof(body) < MAX_BYTES
