"""The texts by which tools are found, in a catalog of several sources."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from toolfold.build import search_index
from toolfold.build.compiler import compile_folder
from toolfold.build.search_index import source_names
from toolfold.catalog.fit import Fit
from toolfold.catalog.model import Catalog
from toolfold.catalog.search import search
from toolfold.catalog.store import parse_catalog


def compile_with(*sources: str, folder: Path) -> Catalog:
    """Compile sources of the tests."""
    for source in sources:
        shutil.copytree(f"tests/fixtures/sources/{source}", folder / source)
    return parse_catalog(compile_folder(folder, adapters=["http_api"]).encode())


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
    catalog = parse_catalog(compile_folder(tmp_path, adapters=["http_api"]).encode())

    assert search(catalog, "poseidon").hits
