"""Every one of the 129 tools, called by its example through the meta-tools, answered by the sandbox over HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.test_alpha_vantage_catalog import EXAMPLES
from toolfold.catalog.model import Catalog
from toolfold.meta_tools.dispatch import MetaTools


def answered(tools: MetaTools, name: str, **more: Any) -> Any:
    result = tools.call("TOOL_CALL", {"tool_name": name, "arguments": {**EXAMPLES[name], **more}})
    assert not result.is_error, result.text
    return result.structured["result"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_is_answered_in_the_shape_that_the_catalog_promises(
    tools: MetaTools, catalog: Catalog, name: str
) -> None:
    tool = catalog.get(name)
    assert tool is not None
    default = tool.call.get("sends", {}).get("datatype", tool.formats[0] if len(tool.formats) == 1 else "json")
    data = answered(tools, name)
    assert isinstance(data, str) is (default == "csv")
    if default == "csv" and tool.answer["csv"] is not None:
        assert data.splitlines()[0] == tool.answer["csv"]
        assert len(data.splitlines()) > 1


UNPUBLISHED = {"REALTIME_OPTIONS_FMV"}
"""Tools whose fields the vendor does not publish; what the sandbox answers there is a guess."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_json_has_its_rows_where_the_catalog_says(tools: MetaTools, catalog: Catalog, name: str) -> None:
    tool = catalog.get(name)
    assert tool is not None
    if "json" not in tool.formats:
        return
    asked = {"datatype": "json"} if "datatype" in tool.parameters["properties"] else {}
    data = answered(tools, name, **asked)
    for path in tool.answer["rows"]:
        rows = data
        whole = path.replace("{interval}", EXAMPLES[name].get("interval", ""))
        for key in [part for part in ([whole] if whole in data else whole.split(".")) if part]:
            rows = rows[key]
        assert rows
        row = rows[0] if isinstance(rows, list) else next(iter(rows.values())) if tool.answer["kind"] == "map" else rows
        listed = isinstance(row, dict) and tool.answer["kind"] in ("list", "map") and name not in UNPUBLISHED
        assert not listed or all(column in tool.returns for column in row)


def test_a_csv_costs_less_than_the_same_rows_as_json(tools: MetaTools) -> None:
    csv = answered(tools, "TIME_SERIES_DAILY")
    as_json = answered(tools, "TIME_SERIES_DAILY", datatype="json")
    assert len(csv) < 0.6 * len(json.dumps(as_json))
