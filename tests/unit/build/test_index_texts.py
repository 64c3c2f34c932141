"""The texts by which tools are found, in a catalog of several sources."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from toolfold.build.compiler import compile_folder
from toolfold.catalog.model import Catalog
from toolfold.catalog.search import search
from toolfold.catalog.store import parse_catalog

TOPICS = """out_of_scope:
  works:
    - close a harbour, survey a harbour, dredge the basin
"""


def compile_with(*sources: str, folder: Path) -> Catalog:
    """Compile sources of the tests, of which the tides have topics that they do not serve."""
    for source in sources:
        shutil.copytree(f"tests/fixtures/sources/{source}", folder / source)
    (folder / "tides/vocabulary.yaml").write_text(TOPICS)
    return parse_catalog(compile_folder(folder, adapters=["http_api"]).encode())


@pytest.mark.parametrize("query", ["close a harbour", "survey a harbour"])
def test_topic_that_a_source_does_not_serve_hides_no_tool_of_another(tmp_path: Path, query: str) -> None:
    assert not search(compile_with("tides", folder=tmp_path / "one"), query).hits
    hits = search(catalog := compile_with("tides", "docks", folder=tmp_path / "two"), query).hits

    assert catalog.summary(hits[0].position).name == f"{query.split(maxsplit=1)[0].upper()}_HARBOUR"


def test_topic_that_no_source_serves_finds_nothing(tmp_path: Path) -> None:
    assert not search(compile_with("tides", "docks", folder=tmp_path), "dredge the basin").hits
