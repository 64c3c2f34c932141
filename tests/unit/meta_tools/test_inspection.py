"""TOOL_CALL(inspect: true), and the metadata of answers."""

from typing import Any

import jsonschema
import pytest

from tests.support.meta_tools import call, error, tokens
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.mock_api.server import MockApi


@pytest.mark.parametrize(
    ("name", "arguments", "filled"),
    [
        ("GLOBAL_QUOTE", None, ["symbol"]),
        ("GLOBAL_QUOTE", {"ticker": "AAPL"}, []),
        ("TIME_SERIES_DAILY", {"symbol": "AAPL", "datatype": "csv"}, []),
        ("SMA", {"symbol": "AAPL"}, ["interval", "time_period", "series_type"]),
        ("INCOME_STATEMENT", None, ["symbol"]),
    ],
)
def test_inspect_describes_a_real_answer(
    tools: MetaTools, mock_api: MockApi, name: str, arguments: Any, filled: list[str]
) -> None:
    mock_api.clear_requests()
    result = call(tools, name, arguments, inspect=True)
    assert len(mock_api.requests) == 1
    found = result.structured["result"]
    assert found["from_example"] == filled
    jsonschema.Draft202012Validator.check_schema(found["schema"])
    for table, rows in found["first_rows"].items():
        assert len(rows) == min(3, found["counts"]["tables"][table]["rows"])
        jsonschema.validate(rows, found["schema"]["properties"][table])
    if not found["first_rows"]:
        jsonschema.validate(found["fields"], found["schema"])


def test_inspection_of_several_calls_has_the_arguments_of_all(tools: MetaTools) -> None:
    given = {"symbol": ["IBM", "MSFT"]}
    assert call(tools, "GLOBAL_QUOTE", given, inspect=True).structured["result"]["arguments"] == given


def test_inspect_is_read_from_text_and_refused_otherwise(tools: MetaTools) -> None:
    assert "schema" in call(tools, "CPI", inspect="true").structured["result"]
    assert "schema" not in call(tools, "CPI", inspect=False, select="last 1").structured["result"]
    assert "inspect must be true or false" in error(call(tools, "CPI", inspect="perhaps"))["message"]


def test_metadata_is_in_the_structured_answer_alone(tools: MetaTools) -> None:
    first = call(tools, "GLOBAL_QUOTE", {"symbol": "AAPL"})
    again = call(tools, "GLOBAL_QUOTE", {"symbol": "AAPL"})
    sent, cached = first.structured, again.structured
    assert (sent["upstream_requests"], sent["cached"]) == (1, False)
    assert sent["elapsed_ms"] >= sent["upstream_ms"] > 0
    assert (cached["upstream_requests"], cached["upstream_ms"], cached["cached"]) == (0, 0, True)
    assert sent["source"] == "alpha_vantage"
    assert sent["alternatives"]
    assert ("warnings" in sent, sent["reasoning"]) == (False, "From 1 request to the source.")
    assert cached["reasoning"] == "From the cache."
    assert first.text == again.text
    assert tokens(first.text) < 90
    preview = call(tools, "TIME_SERIES_DAILY", {"symbol": "AAPL"}, max_tokens=500)
    assert any("left out" in warning for warning in preview.structured["warnings"])
    both = call(tools, "GLOBAL_QUOTE", {"symbol": ["IBM", "MSFT"]})
    assert both.structured["upstream_requests"] == 2


@pytest.mark.parametrize("name", ["TOOL_PIPE", "TOOL_SCRIPT", "TOOL_CALL"])
def test_meta_tools_are_described(tools: MetaTools, name: str) -> None:
    (entry,) = tools.call("TOOL_GET", {"tool_name": name}).structured["tools"]
    assert entry["parameters"]["type"] == "object"
    (known,) = tools.call("TOOL_GET", {"tool_name": name, "known": {name: entry["hash"]}}).structured["tools"]
    assert known["unchanged"] is True
