"""Every tool of the catalog, called by its example through the meta-tools, answered by the mock API over HTTP."""

import re
from typing import Any

import pytest

from tests.support.catalogs import tool_of
from tests.support.examples import each_tenth
from tests.unit.catalog.test_alpha_vantage_catalog import EXAMPLES
from toolfold.catalog.model import Catalog
from toolfold.meta_tools.dispatcher import MetaTools

pytestmark = pytest.mark.bulk


def answered(tools: MetaTools, name: str, **more: Any) -> Any:
    result = tools.call("TOOL_CALL", {"tool_name": name, "arguments": {**EXAMPLES[name], **more}})
    assert not result.is_error, result.text
    return result.structured["result"]


@pytest.mark.parametrize("name", each_tenth(EXAMPLES))
def test_example_returns_the_documented_columns(tools: MetaTools, catalog: Catalog, name: str) -> None:
    tool = tool_of(catalog, name)
    data = answered(tools, name)
    tables = data.get("tables", {"": data} if "row_count" in data else {})
    assert all(table["row_count"] >= len(table["rows"]) > 0 for table in tables.values())
    assert all(len(row) == len(table["columns"]) for table in tables.values() for row in table["rows"])
    if "csv" in tool.formats:
        header, *rows = answered(tools, name, datatype="csv").splitlines()
        assert rows
        if tool.answer["csv"] is not None:
            assert header == tool.answer["csv"]
            columns = data["columns"] if tables else list(data)
            assert [column.lower() for column in columns] == [
                column.lower().translate(str.maketrans(" /", "__")) for column in header.split(",")
            ]


UNPUBLISHED = {"REALTIME_OPTIONS_FMV"}
"""Tools whose fields the vendor does not publish; what the mock API answers there is a guess."""


def shape_of(data: Any) -> tuple[dict[str, list[str]], set[str]]:
    """Return the columns of an answer's tables by name, and the names of its other fields."""
    if "row_count" in data:
        return {"rows": data["columns"]}, set(data.get("meta", {}))
    if "tables" in data:
        return {name: table["columns"] for name, table in data["tables"].items()}, set(data.get("meta", {}))
    return {}, set(data)


# F9
@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_returns_names_what_select_sees(tools: MetaTools, catalog: Catalog, name: str) -> None:
    tool = tool_of(catalog, name)
    tables, fields = shape_of(answered(tools, name))
    named = re.sub(r"\[[^\]]*\]|with require_greeks also ", "", tool.returns).split("; ")  # without members of members
    described = {key: part.split(": ", 1)[1].split(",") for part in named for key in part.split(": ")[0].split(", ")}
    if name in UNPUBLISHED or name.startswith("ANALYTICS_"):  # their columns depend on the arguments
        assert all(field in tool.returns for field in fields)
        return
    meta = {*described.pop("meta", ()), *described.pop("fields", ())}
    assert {key: set(columns) for key, columns in described.items()} == {
        key: set(columns) for key, columns in tables.items()
    }
    assert meta == fields or "csv" in tool.formats
