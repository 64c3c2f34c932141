"""The catalog of Alpha Vantage is complete, documented, and sends the queries that the API expects."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import bpe_openai
import jsonschema

from tests.support.catalogs import BUNDLED_TOOLS, tool_of
from toolfold.build import compiler as build
from toolfold.build import yaml_loader
from toolfold.catalog.model import Catalog
from toolfold.execution import validation
from toolfold.sources.http_api.binding import bind

FOLDER = Path("catalog")
EXPECTED = dict(line.split(" ", 1) for line in Path("tests/unit/data/expected_queries.txt").read_text().splitlines())
"""Tool → query string of its example, with sorted pairs. Derived from the API, not by the code under test."""

CATEGORIES = sorted(
    path.stem for path in FOLDER.glob("alpha_vantage/*.yaml") if path.stem not in ("source", "vocabulary")
)

EXAMPLES: dict[str, dict[str, Any]] = {
    tool["name"]: tool["example"]
    for category in CATEGORIES
    for tool in yaml_loader.load(FOLDER / "alpha_vantage" / f"{category}.yaml").data["tools"]
}


def test_the_catalog_has_every_function_once(catalog: Catalog) -> None:
    assert set(catalog) == set(EXAMPLES) >= set(EXPECTED)
    assert len(catalog) == BUNDLED_TOOLS
    assert sorted(category.name for category in catalog.categories) == CATEGORIES
    assert sum(category.tools for category in catalog.categories) == BUNDLED_TOOLS


def test_the_example_call_sends_the_query_that_the_api_expects(catalog: Catalog) -> None:
    found = {}
    for name in EXPECTED:
        tool = tool_of(catalog, name)
        checked, problems = validation.ArgumentValidator(tool.parameters, tool.call).validate(EXAMPLES[name])
        assert problems == [], name
        found[name] = urlencode(sorted(parse_qsl("&".join(bind(tool.call, checked).query))))
    assert found == EXPECTED


def test_parameters_are_a_json_schema_that_accepts_the_example(catalog: Catalog) -> None:
    for name in list(EXPECTED)[::10]:  # tools of one catalog are alike; the compiler has checked all of them
        schema = tool_of(catalog, name).parameters
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(EXAMPLES[name], schema)


def test_every_tool_and_parameter_is_documented(catalog: Catalog) -> None:
    for name in catalog:
        tool = tool_of(catalog, name)
        assert 10 <= len(tool.summary) <= 120, name
        assert tool.description, name
        assert tool.returns, name
        for parameter, rule in tool.parameters["properties"].items():
            assert rule["description"], (name, parameter)
            assert rule.keys() & {"enum", "examples", "default"} or rule["type"] == "boolean", (name, parameter)


def test_summaries_are_unique(catalog: Catalog) -> None:
    summaries = [catalog.summary(at).summary for at in range(len(catalog))]
    assert len(set(summaries)) == len(summaries)


def test_the_listing_shows_each_tool_on_a_line_of_its_own(catalog: Catalog) -> None:
    lines = catalog.listing.splitlines()
    for name, summary, *_ in map(catalog.summary, range(len(catalog))):
        assert any(line.startswith(f"{name}: {summary}") for line in lines)
    assert len(lines) == 1 + len(CATEGORIES) + len(catalog)


def test_the_listing_costs_at_most_3000_tokens(catalog: Catalog) -> None:
    assert len(bpe_openai.get_encoding("o200k_base").encode(catalog.listing)) <= 3000


def test_the_committed_catalog_is_up_to_date() -> None:
    assert (FOLDER / "catalog.json").read_text(encoding="utf-8") == build.compile_folder(FOLDER)
