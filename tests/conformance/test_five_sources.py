"""One catalog of Alpha Vantage, two MCP servers, an OpenAPI service and a database."""

from collections.abc import Iterator

import pytest

from tests.support.five_sources import FiveSources, five_sources
from toolfold.catalog.entries import name_key
from toolfold.meta_tools.result import Result

pytestmark = pytest.mark.clients


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FiveSources]:
    with five_sources(tmp_path_factory.mktemp("five")) as running:
        yield running


@pytest.fixture(autouse=True)
def keys(sources: FiveSources, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the keys, which the fixtures of all tests remove."""
    for name, value in sources.environment.items():
        monkeypatch.setenv(name, value)


def call(sources: FiveSources, name: str, **arguments: object) -> Result:
    return sources.app.server.tools.call("TOOL_CALL", {"tool_name": name, "arguments": arguments})


def test_names_do_not_collide_and_alpha_vantage_keeps_its_own(sources: FiveSources) -> None:
    names = list(sources.app.catalog_store())
    assert len({name_key(name) for name in names}) == len(names) == 150
    assert set(sources.alone.catalog_store()) < set(names)
    assert {name.partition("__")[0] for name in names if "__" in name} == {"clock", "cities", "shelter", "crm"}


def test_every_source_is_listed_with_what_lies_behind_it(sources: FiveSources) -> None:
    listed = sources.app.server.tools.call("TOOL_LIST", {}).structured
    found = {source["id"]: source for source in listed["sources"]}
    assert {id_: source["kind"] for id_, source in found.items()} == {
        "alpha_vantage": "alpha_vantage",
        "cities": "mcp",
        "clock": "mcp",
        "crm": "sql",
        "shelter": "openapi",
    }
    assert sum(source["tools"] for source in found.values()) == len(listed["tools"]) == 150
    for id_, source in found.items():
        of_one = sources.app.server.tools.call("TOOL_LIST", {"source": id_, "limit": 200, "token_budget": 20_000})
        assert len(of_one.structured["tools"]) == source["tools"]


def test_all_sources_answer_in_one_batch(sources: FiveSources) -> None:
    calls = [
        {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}},
        {"tool_name": "clock__get_current_time", "arguments": {"timezone": "UTC"}},
        {"tool_name": "cities__cities", "arguments": {}},
        {"tool_name": "shelter__list_pets", "arguments": {}},
        {"tool_name": "crm__list_tables", "arguments": {}},
    ]
    answer = sources.app.server.tools.call("TOOL_CALL", {"tool_name": "TOOL_BATCH", "arguments": {"calls": calls}})
    assert [part.get("error", {}).get("code") for part in answer.structured["results"]] == [None] * 5


def test_a_source_that_is_down_fails_its_own_calls_alone(sources: FiveSources) -> None:
    sources.mcp_server.fault = "status_503"
    assert call(sources, "cities__cities-as-text").structured["error"]["code"] in ("UPSTREAM_ERROR", "UPSTREAM_TIMEOUT")
    for name, arguments in (
        ("GLOBAL_QUOTE", {"symbol": "MSFT"}),
        ("clock__get_current_time", {"timezone": "Asia/Tokyo"}),
        ("crm__query", {"sql": "select count(*) from customers"}),
        ("shelter__list_pets", {}),
    ):
        assert not call(sources, name, **arguments).is_error
