"""What holds for the answers of all three meta-tools."""

import json
from typing import Any

import jsonschema
import pytest

from tests.conftest import KEY
from tests.support.meta_tools import error
from toolfold.catalog.entries import META_TOOLS
from toolfold.errors import CatalogUnavailable
from toolfold.meta_tools.definitions import definitions
from toolfold.meta_tools.dispatcher import MetaTools


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("TOOL_LIST", {}),
        ("TOOL_LIST", {"query": "price", "category": "forex"}),
        ("TOOL_LIST", {"limit": 0}),
        ("TOOL_GET", {"tool_name": ["GLOBAL_QUOTE", "NO_SUCH_TOOL"]}),
        ("TOOL_GET", {"tool_name": "GLOBAL_QUOTE", "known": {"GLOBAL_QUOTE": "0"}, "detail": "minimal"}),
        ("TOOL_CALL", {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}),
        ("TOOL_CALL", {"tool_name": "GLOBAL_QUOTE", "arguments": {}}),
    ],
)
def test_results_match_the_output_schema(tools: MetaTools, name: str, arguments: dict[str, Any]) -> None:
    schema = next(definition["outputSchema"] for definition in definitions(None) if definition["name"] == name)
    jsonschema.validate(tools.call(name, arguments).structured, schema)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("TOOL_LIST", {"query": "price of a stock"}),
        ("TOOL_LIST", {"tag": "nothing like it"}),
        ("TOOL_GET", {"tool_name": ["RSI", "NO_SUCH_TOOL"], "detail": "medium"}),
        ("TOOL_CALL", {"tool_name": "RSI", "arguments": {}}),
    ],
)
def test_a_repeated_call_has_the_same_json_result(tools: MetaTools, name: str, arguments: dict[str, Any]) -> None:
    first, repeated = tools.call(name, arguments), tools.call(name, arguments)
    assert first == repeated
    assert json.loads(json.dumps(first.structured)).keys() == first.structured.keys()


def test_missing_catalog_is_an_error_of_each_meta_tool(tools: MetaTools) -> None:
    def missing() -> Any:
        raise CatalogUnavailable("The tool catalog has not been published.", "Try again in a minute.")

    for name in META_TOOLS:
        assert error(MetaTools(missing, tools.executor).call(name, {}))["code"] == "CATALOG_UNAVAILABLE"
    assert len(MetaTools(missing, tools.executor).definitions()) == 3
    assert "TOOL_LIST" in MetaTools(missing, tools.executor).instructions()


@pytest.mark.parametrize(("kind", "code"), [(RuntimeError, "INTERNAL_ERROR"), (MemoryError, "ANSWER_TOO_LARGE")])
def test_internal_error_has_no_details(
    tools: MetaTools, caplog: pytest.LogCaptureFixture, kind: type[Exception], code: str
) -> None:
    def broken() -> Any:
        raise kind(f"https://upstream/?apikey={KEY}")

    found = error(MetaTools(broken, tools.executor).call("TOOL_LIST", {}))
    assert found["code"] == code
    assert f"{kind.__name__} at broken:" in caplog.text
    assert KEY not in json.dumps(found) + caplog.text
