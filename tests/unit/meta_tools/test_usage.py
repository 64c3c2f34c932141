"""The figures of an answer for the log: what was found, sent and saved."""

from typing import Any

import bpe_openai
import pytest

from toolfold.app import build_app
from toolfold.meta_tools.definitions import detail_level_of
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.settings import Settings

TOOLS = build_app(Settings.from_environment({})).server.tools
DEFINITIONS = TOOLS.catalog().definition_tokens


def usage(name: str, **arguments: Any) -> dict[str, int]:
    return dict(TOOLS.call(name, arguments).usage)


def test_a_search_counts_what_it_shows_by_detail_level_and_what_it_saves() -> None:
    result = TOOLS.call("TOOL_LIST", {"query": "stock price"})
    levels = [detail_level_of(entry) for entry in result.structured["tools"]]
    answered = result.structured["tokens"]
    assert result.usage == {
        "searched": 1,
        "matched": result.structured["matched"],
        "schemas_full": levels.count("full"),
        "schemas_medium": levels.count("medium"),
        "tokens": answered,
        "tokens_saved": DEFINITIONS - answered,
    }


def test_a_search_without_a_match_is_one_too() -> None:
    found = usage("TOOL_LIST", query="zzzzqqqq xxyyzz")
    assert (found["searched"], found["matched"]) == (1, 0)
    assert found["tokens_saved"] == -found["tokens"]


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ({"tool_name": "RSI"}, {"schemas_full": 1}),
        ({"tool_name": ["RSI", "WTI", "NO_SUCH_TOOL"]}, {"schemas_full": 2}),
        ({"tool_name": "RSI", "detail": "medium"}, {"schemas_medium": 1}),
        ({"tool_name": "RSI", "detail": "minimal"}, {"schemas_minimal": 1}),
    ],
)
def test_schemas_are_counted_by_detail_level(arguments: dict[str, Any], sent: dict[str, int]) -> None:
    found = usage("TOOL_GET", **arguments)
    assert {name: value for name, value in found.items() if name.startswith("schemas")} == sent
    assert found["tokens_saved"] == -found["tokens"]


def test_a_schema_that_the_caller_has_is_unchanged() -> None:
    entry = TOOLS.call("TOOL_GET", {"tool_name": "RSI"}).structured["tools"][0]
    assert usage("TOOL_GET", tool_name="RSI", known={"RSI": entry["hash"]})["schemas_unchanged"] == 1


def test_a_failed_call_has_no_figures() -> None:
    assert usage("TOOL_CALL", tool_name="NO_SUCH_TOOL") == {}


def test_a_long_answer_is_counted_by_parts_of_it(tools: MetaTools) -> None:
    result = tools.call("TOOL_CALL", {"tool_name": "WTI", "arguments": {"interval": "daily"}})
    real = len(bpe_openai.get_encoding("o200k_base").encode(result.text))
    assert len(result.text) > 5_000
    assert abs(result.usage["tokens"] - real) <= 0.15 * real
    assert set(result.usage) == {"tokens"}
