"""TOOL_PIPE: calls in order, with references to the answers before them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.meta_tools import error, tokens
from tests.support.request_time import end_requests_after
from tests.support.upstream import Upstream, quote_reply
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import Result
from toolfold.mock_api.server import MockApi

SEARCH = {"as": "found", "tool_name": "SYMBOL_SEARCH", "arguments": {"keywords": "apple"}}


def quote(symbol: Any, **more: Any) -> dict[str, Any]:
    return {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": symbol}, **more}


def ref(text: Any) -> dict[str, Any]:
    return {"$ref": text}


def pipe(tools: MetaTools, *steps: Any, **more: Any) -> Result:
    return tools.call("TOOL_CALL", {"tool_name": "TOOL_PIPE", "arguments": {"steps": list(steps), **more}})


def failed(result: Result) -> dict[str, Any]:
    assert result.is_error
    assert json.loads(result.text.split("\n")[0])["error"]["code"] == result.structured["error"]["code"]
    return dict(result.structured["error"])


@pytest.mark.parametrize(
    "reference",
    ["found.rows[0].symbol", "prev.rows[0].symbol", "0.rows[0].symbol", "$found.rows[0].symbol", "found[0].symbol",
     "[0].rows[0].symbol",
     "found.rows[?currency=='USD'].symbol | [0]", "steps.found.rows[0].symbol", "found.rows[-1].symbol"],
)  # fmt: skip
def test_argument_is_a_value_of_an_earlier_step(tools: MetaTools, reference: str) -> None:
    result = pipe(tools, SEARCH, quote(ref(reference)))
    assert result.structured["result"]["symbol"] == "AAPL"
    assert [step["as"] for step in result.structured["steps"]] == ["found", "1"]
    assert "result" not in result.structured["steps"][0]
    assert tokens(result.text) < 120


def test_types_are_preserved_and_lists_make_several_calls(tools: MetaTools, mock_api: MockApi) -> None:
    series = {"as": "series", "tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": "IBM"}, "select": "last 3"}
    sma = {"symbol": "IBM", "interval": "daily", "time_period": ref("series.row_count"), "series_type": "close"}
    mock_api.clear_requests()
    assert not pipe(tools, series, {"tool_name": "SMA", "arguments": sma, "select": "last 1"}).is_error
    assert dict(mock_api.requests[-1])["time_period"] == "3"
    gainers = {"as": "top", "tool_name": "TOP_GAINERS_LOSERS", "select": "from top_gainers; ticker; first 3"}
    several = pipe(tools, gainers, quote(ref("top.rows[*].ticker")))
    assert len(several.structured["result"]["rows"]) == 3


def test_literal_is_sent_as_it_is(tools: MetaTools, mock_api: MockApi) -> None:
    mock_api.clear_requests()
    step = {"tool_name": "SYMBOL_SEARCH", "arguments": {"keywords": {"$literal": "{{found}} apple"}}}
    pipe(tools, {**SEARCH, "arguments": {"keywords": "microsoft"}}, step)
    assert dict(mock_api.requests[-1])["keywords"] == "{{found}} apple"


@pytest.mark.parametrize("returned", ["last", "all", "found"])
def test_return_names_the_answer(tools: MetaTools, returned: str) -> None:
    result = pipe(tools, SEARCH, quote(ref("found.rows[0].symbol")), **{"return": returned})
    if returned == "all":
        assert [("result" in step) for step in result.structured["steps"]] == [True, True]
        assert result.text.startswith("# found\n")
    else:
        rows = result.structured["result"].get("rows")
        assert (rows is not None) == (returned == "found")


@pytest.mark.parametrize(
    ("steps", "code", "said"),
    [
        ([], "INVALID_ARGUMENTS", "steps has 0 items"),
        ([SEARCH] * 21, "INVALID_ARGUMENTS", "steps has 21 items: array of 1 to 20 values"),
        ([SEARCH, SEARCH], "INVALID_ARGUMENTS", "'found' is the name of two calls, 0 and 1"),
        ([{**SEARCH, "as": "prev"}], "INVALID_ARGUMENTS", "'prev' cannot be the name of a call"),
        ([7], "INVALID_ARGUMENTS", "step 0 must be an object"),
        ([SEARCH, quote(ref("fond.rows[0].symbol"))], "REFERENCE_NOT_FOUND", "no step is called fond"),
        ([SEARCH, quote(ref("7.rows"))], "REFERENCE_NOT_FOUND", "no step is called 7"),
        ([quote(ref("found.rows[0].symbol")), SEARCH], "INVALID_ARGUMENTS", "refers to step 1, which comes later"),
        ([quote(ref("me.symbol"), **{"as": "me"})], "INVALID_ARGUMENTS", "refers to itself"),
        ([quote(ref("prev.symbol"))], "REFERENCE_NOT_FOUND", "no step is called prev"),
        ([SEARCH, quote(ref("found.rows["))], "INVALID_ARGUMENTS", "this is not JMESPath"),
        ([SEARCH, quote(ref(5))], "REFERENCE_NOT_FOUND", "no step is called 5"),
        ([SEARCH, quote(ref([0]))], "INVALID_ARGUMENTS", "$ref must be a step and a path"),
        ([SEARCH, quote({"$ref": "found", "x": 1})], "INVALID_ARGUMENTS", "has other members: x"),
        ([SEARCH, quote("$prev")], "INVALID_ARGUMENTS", "would be sent as it is"),
        ([SEARCH, quote("price of {{found.rows[0].symbol}} now")], "INVALID_ARGUMENTS", "would be sent as it is"),
        ([SEARCH, quote("${SYMBOL}")], "INVALID_ARGUMENTS", "would be sent as it is"),
        ([quote("$found.symbol")], "INVALID_ARGUMENTS", "would be sent as it is"),
        ([SEARCH, {"tool_name": "NO_SUCH"}], "TOOL_NOT_FOUND", "Step 1: There is no tool"),
        (
            [SEARCH, {"tool_name": "TOOL_PIPE", "arguments": {"steps": []}}],
            "INVALID_ARGUMENTS",
            "cannot be called here",
        ),
        (
            [SEARCH, {"tool_name": "SMA", "arguments": {"symbol": ref("found.rows[0].symbol"), "interval": "age"}}],
            "INVALID_ARGUMENTS",
            "Step 1: SMA: interval 'age' is not an allowed value",
        ),
        ([SEARCH, {"tool_name": "CPI", "select": "value >"}], "INVALID_ARGUMENTS", "Step 1: "),
        ([SEARCH, {"join": ["found"]}], "INVALID_ARGUMENTS", "A join needs two different steps"),
        (
            [SEARCH, {"select": "last 2"}],
            "INVALID_ARGUMENTS",
            "Step 1: TOOL_CALL: tool_name must be the name of a tool",
        ),
    ],
)
def test_mistakes_are_found_before_the_first_call(
    tools: MetaTools, mock_api: MockApi, steps: list[Any], code: str, said: str
) -> None:
    mock_api.clear_requests()
    found = failed(pipe(tools, *steps))
    assert (found["code"], said in found["message"]) == (code, True), found["message"]
    assert mock_api.requests == []


LONG = {"as": "long", "tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": "IBM", "outputsize": "full"}}
OF_COLUMN = 'Write {"$ref": "found.rows[0].symbol"}.'


@pytest.mark.parametrize(
    ("steps", "code", "said"),
    [
        ([SEARCH, quote(ref("found"))], "INVALID_ARGUMENTS", "symbol must be a string, not an object"),
        *(([SEARCH, quote(ref(path))], "REFERENCE_NOT_FOUND", OF_COLUMN)
          for path in ("found.symbol", "found.bestMatches[0].Symbol", "found.result.symbol")),
        ([SEARCH, quote("MSFT"), quote("$steps[0].symbol")], "INVALID_ARGUMENTS", '{"$ref": "0.rows[0].symbol"}'),
        ([LONG, quote(ref("long"))], "INVALID_ARGUMENTS", "too long for an argument"),
        *(([SEARCH, quote(text)], "NO_DATA", "") for text in ("found", "found.LON", "prev")),  # these may be values
    ],
)  # fmt: skip
def test_pipe_that_fails_says_what_to_write(tools: MetaTools, steps: list[Any], code: str, said: str) -> None:
    found = failed(pipe(tools, *steps))
    assert (found["code"], said in f"{found['message']} {found['suggestion']}") == (code, True), found


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("found.rows[0].ticker", ["symbol", "name"]),
        ("found.rows[9].symbol", ["[0] to [0]"]),
        ("found.nothing.at.all", ["rows", "columns"]),
        ("found.rows[0].max(matchScore)", ['"max(matchScore)"']),
    ],
)
def test_path_to_nothing_lists_the_keys_there_are(tools: MetaTools, path: str, keys: list[str]) -> None:
    search = {**SEARCH, "select": "max(matchScore)"} if "max(" in path else SEARCH
    result = pipe(tools, search, quote(ref(path)))
    found = failed(result)
    assert found["code"] == "REFERENCE_NOT_FOUND"
    assert set(keys) <= set(found["keys"])
    assert result.structured["failed_step"] == found["step"] == 1
    assert result.structured["steps"][0]["result"]["row_count"] == 1


def test_failed_step_ends_the_pipe_with_the_finished_ones(tools: MetaTools, mock_api: MockApi) -> None:
    mock_api.clear_requests()
    result = pipe(tools, SEARCH, quote("NOSUCH1", **{"as": "wrong"}), quote("MSFT"))
    found = failed(result)
    assert (found["code"], found["step"], found["as"]) == ("NO_DATA", 1, "wrong")
    assert [step["as"] for step in result.structured["steps"]] == ["found"]
    assert result.structured["continue"] is None
    assert len(mock_api.requests) == 2


@pytest.mark.parametrize("text", ["found.rows[0].symbol", "prev.rows[0].symbol", "@found[0].symbol", "steps[0][0]"])
@pytest.mark.parametrize("wrap", [lambda text: text, lambda text: [text], lambda text: {"ref": text}])
def test_text_that_is_a_reference_is_not_sent(tools: MetaTools, text: str, wrap: Any) -> None:
    assert failed(pipe(tools, SEARCH, quote(wrap(text))))["message"].endswith("is text and would be sent as it is.")


def test_note_of_an_earlier_step_is_in_the_answer(tools: MetaTools) -> None:
    steps = [quote(["AAPL", "NOSUCH1"], **{"as": "q"}), quote(ref("q.rows[*].symbol"))]
    assert pipe(tools, *steps).text.startswith("# q: NOSUCH1 failed: NO_DATA.")


def test_tokens_of_the_step_limit_its_answer(tools: MetaTools) -> None:
    series = {"tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": "IBM"}, "max_tokens": 500}
    assert tokens(pipe(tools, series).text) <= 500


@pytest.mark.parametrize(("option", "value"), [("join", "date"), ("select", "last 1"), ("fresh", True), ("when", 1)])
def test_option_that_a_pipe_does_not_have_is_not_left_out(tools: MetaTools, option: str, value: Any) -> None:
    refused = error(tools.call("TOOL_PIPE", {"steps": [SEARCH], option: value}))
    assert f"{option} is not a parameter of this tool" in refused["message"]
    assert "next_call" not in refused


@pytest.mark.parametrize(
    ("join", "columns"),
    [
        ({"join": ["a", "b"], "on": "date", "select": "a_close, b_close; last 2"}, ["timestamp", "a_close", "b_close"]),
        ({"join": ["a", "b"], "select": "SELECT count(*) AS n FROM a JOIN b USING (date)"}, ["n"]),
    ],
)
def test_steps_are_joined(tools: MetaTools, join: dict[str, Any], columns: list[str]) -> None:
    series = [{"as": name, "tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": symbol}}
              for name, symbol in (("a", "AAPL"), ("b", "MSFT"))]  # fmt: skip
    assert pipe(tools, *series, join).structured["result"]["columns"] == columns


def test_rest_of_a_pipe_is_performed_with_its_token(
    make_tools: Callable[..., MetaTools], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Upstream(quote_reply) as upstream:
        tools = make_tools(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=upstream.url)
        steps = [quote("ONE", **{"as": "one"}), quote("LATE"), quote(ref("one.symbol"), **{"as": "third"})]
        steps.append({"join": ["1", "third"], "on": "latestDay", "select": "third_symbol, latestDay"})
        with monkeypatch.context() as patch:
            end_requests_after(patch, answers=1)
            first = tools.call("TOOL_PIPE", {"steps": steps})
        assert failed(first)["code"] == "UPSTREAM_TIMEOUT"
        assert failed(first)["suggestion"] == "For the rest, call TOOL_PIPE with continue."
        assert [step["as"] for step in first.structured["steps"]] == ["one"]
        finished = tools.call("TOOL_PIPE", {"continue": first.structured["continue"], "return": "one"})
        assert error(finished)["suggestion"] == "The steps with names are: third."
        second = tools.call("TOOL_PIPE", {"continue": first.structured["continue"]})
        assert second.structured["result"]["columns"] == ["third_symbol", "latestDay"]
        assert second.structured["result"]["rows"] == [["ONE", "2026-01-13"]]
        assert [step["as"] for step in second.structured["steps"]] == ["1", "third", "3"]


def test_rest_of_the_rest_has_the_values_of_both(
    make_tools: Callable[..., MetaTools], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Upstream(quote_reply) as upstream:
        tools = make_tools(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=upstream.url)
        given = ("ONE", "TWO", ref("one.symbol"), ref("1.symbol"))
        steps = [{**quote(one, fresh=True), "as": name} for one, name in zip(given, ("one", "", "", ""), strict=True)]
        arguments: dict[str, Any] = {"steps": steps, "return": "one"}
        for failed_step in (1, 2, 3):
            with monkeypatch.context() as patch:
                end_requests_after(patch, answers=1)
                found = tools.call("TOOL_PIPE", arguments).structured
            assert found["failed_step"] == failed_step
            assert [step["result"]["symbol"] for step in found["steps"]] == [("ONE", "TWO", "ONE")[failed_step - 1]]
            arguments = {"continue": found["continue"]}
        assert tools.call("TOOL_PIPE", arguments).structured["result"]["symbol"] == "TWO"


TEMPLATES = [
    "{{symbol}}", "{{ found.symbol }}", "${found.symbol}", "$prev.symbol", "$0.symbol", "$found.symbol",
    "$steps[0].symbol", "$1.symbol", "$lookup.symbol",
]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "template"),
    [
        *((SEARCH, template) for template in TEMPLATES),
        *((quote("AAPL", **{"as": "found"}), template) for template in TEMPLATES[:4]),  # an object, without rows
    ],
)
def test_template_is_refused_with_the_reference_that_works(
    tools: MetaTools, first: dict[str, Any], template: str
) -> None:
    refused = error(tools.call("TOOL_PIPE", {"steps": [first, quote(template)]}))
    reference = json.loads(refused["suggestion"].removeprefix("Write ").partition(", or")[0])
    found = tools.call("TOOL_PIPE", {"steps": [first, quote(reference)]})
    assert not found.is_error, (reference, found.text)
    assert found.structured["result"]["symbol"]
