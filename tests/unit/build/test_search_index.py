"""What the compiler computes for the search: texts of tools, thresholds of sources, nearness in meaning, requests."""

import itertools
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.catalogs import compiled
from toolfold.build import search_index
from toolfold.build.schema import Vocabulary
from toolfold.build.search_index import TellingRequests, source_names
from toolfold.catalog.model import Catalog
from toolfold.catalog.search import Fit, search


def compile_with(*sources: str, folder: Path) -> Catalog:
    """Compile sources of the tests."""
    for source in sources:
        shutil.copytree(f"tests/fixtures/sources/{source}", folder / source)
    return compiled(folder, adapters=["http_api"])


@pytest.mark.parametrize("query", ["close a harbour", "survey a harbour"])
def test_a_source_silences_no_tool_of_another(tmp_path: Path, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def demanding_tides(tools: Sequence[search_index.Fields], _: object) -> dict[str, float]:
        return {"nothing": 900.0, "sure": 900.0} if "High water" in tools[0]["title"] else {}

    monkeypatch.setattr(search_index, "thresholds", demanding_tides)
    assert search(compile_with("tides", folder=tmp_path / "one"), query).fit is not Fit.SURE
    hits = search(catalog := compile_with("tides", "docks", folder=tmp_path / "two"), query).hits

    assert catalog.summary(hits[0].position).name == f"{query.split(maxsplit=1)[0].upper()}_HARBOUR"


@pytest.mark.parametrize(
    ("title", "source_id", "base_url", "names"),
    [
        ("Payments", "stripe_v1", "https://api.stripe.com/v1", ["Payments", "stripe v1"]),
        ("Tickets", "jira", "https://eu.api.atlassian.net", ["Tickets", "jira", "atlassian"]),
        ("Weather", "bbc", "https://weather.bbc.co.uk", ["Weather", "bbc"]),
        ("Alpha Vantage", "alpha_vantage", "https://www.alphavantage.co/query", ["Alpha Vantage"]),
        ("Own", "own", "http://127.0.0.1:8000", ["Own"]),
        ("Own", "own", "http://localhost", ["Own"]),
        ("Database", "shop", "", ["Database", "shop"]),
    ],
)
def test_a_source_is_called_by_its_title_its_id_and_its_host(
    title: str, source_id: str, base_url: str, names: list[str]
) -> None:
    assert source_names(title, source_id, base_url) == names


def test_the_host_of_a_source_finds_its_tools(tmp_path: Path) -> None:
    shutil.copytree("tests/fixtures/sources/tides", tmp_path / "tides")
    settings = tmp_path / "tides" / "source.yaml"
    settings.write_text(re.sub(r"base_url: .*", "base_url: https://api.poseidon.example/v1", settings.read_text()))
    catalog = compiled(tmp_path, adapters=["http_api"])

    assert search(catalog, "poseidon").hits


THINGS = ("invoice", "parcel", "ticket", "garden", "bridge", "violin", "lantern", "harbour", "pigeon", "anchor")
VERBS = ("send", "count", "paint", "weigh", "rent", "clean", "photograph", "insure", "store", "repair")


def tool(thing: str, queries: int) -> dict[str, list[str]]:
    texts = [f"{verb} one {thing} {place}" for place, verb in itertools.product(("here", "abroad"), VERBS)]
    return {"title": [thing], "summary": [f"Everything about a {thing}"], "example_queries": texts[:queries]}


def test_a_source_with_few_example_queries_has_no_thresholds() -> None:
    assert search_index.thresholds([tool(thing, 9) for thing in THINGS], Vocabulary()) == {}


def test_thresholds_are_in_order_and_the_same_each_time() -> None:
    tools = [tool(thing, 20) for thing in THINGS]
    found = search_index.thresholds(tools, Vocabulary())

    assert list(found) == ["nothing", "sure"]
    assert found["nothing"] <= found["sure"]
    assert found == search_index.thresholds(tools, Vocabulary())


NEAR = {"storm": [0, 60]}


@pytest.mark.parametrize(("with_parameters", "share"), [(0, 1.5), (1, 1.5), (2, 0.3), (4, 0.3)])
def test_the_share_is_that_of_tools_with_parameters_where_most_have_them(
    with_parameters: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = {"parameter_names": ["place"]}
    tools = [{"summary": ["Weather"], **(parameters if at < with_parameters else {})} for at in range(4)]
    monkeypatch.setattr(search_index, "has_vectors", lambda: True)
    monkeypatch.setattr(search_index, "_nearest", lambda *_: NEAR)
    assert search_index.nearest_words(dict(enumerate(tools))) == (NEAR, share)


def test_a_single_tool_has_no_words_near_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "has_vectors", lambda: True)
    assert search_index.nearest_words({0: {"summary": ["Weather"]}}) == ({}, 0.0)


REQUESTS = {
    "WEATHER_FORECAST": ["how warm will it be", "will it rain", "forecast", "do i need an umbrella"],
    "TIDES": ["how high will it be", "high water", "when does the ebb begin"],
}


@pytest.mark.parametrize(
    ("name", "most", "expected"),
    [
        # Words that the tool alone has come first; those of the name and the text tell nothing.
        ("WEATHER_FORECAST", 64, "Weather of the next days. For: will it rain; how warm will it be"),
        ("TIDES", 40, "Sea level of today. For: high water"),
        ("TIDES", 20, "Sea level of today"),
        ("NEWS", 100, "Headlines"),  # which has no requests
    ],
)
def test_the_requests_that_tell_most_fit_into_the_description(name: str, most: int, expected: str) -> None:
    texts = {"WEATHER_FORECAST": "Weather of the next days", "TIDES": "Sea level of today", "NEWS": "Headlines"}
    assert TellingRequests(REQUESTS).describe(name, texts[name], most) == expected
