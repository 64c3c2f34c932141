"""What differs between two catalogs."""

import copy
import functools
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.catalogs import TIDES
from toolfold.build.catalog_diff import CatalogDiff, compare
from toolfold.build.compiler import compile_folder
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import parse_catalog

SOURCE = yaml.safe_load((TIDES / "source.yaml").read_text())
HARBOURS = yaml.safe_load((TIDES / "harbours.yaml").read_text())


@pytest.fixture
def build(tmp_path: Path) -> Any:
    """Compile the source of the fixtures after ``change`` of its YAML."""

    def built(change: Any = lambda source, category: None) -> Catalog:
        source, category = copy.deepcopy(SOURCE), copy.deepcopy(HARBOURS)
        change(source, category)
        (tmp_path / "tides").mkdir(exist_ok=True)
        (tmp_path / "tides/source.yaml").write_text(yaml.safe_dump(source))
        (tmp_path / "tides/harbours.yaml").write_text(yaml.safe_dump(category))
        return parse_catalog(compile_folder(tmp_path).encode())

    return built


def test_equal_catalogs(build: Any) -> None:
    assert compare(build(), build(), same_content=True).is_empty
    differs = compare(build(), build())
    assert differs == CatalogDiff((), (), {}, (), is_search_changed=True)


def second_tool(_source: Any, category: Any) -> None:
    category["tools"].append({**copy.deepcopy(category["tools"][0]), "name": "LOW_WATER", "title": "Low water"})


def test_added_and_removed_tools(build: Any) -> None:
    one, two = build(), build(second_tool)

    assert compare(one, two).added == ("LOW_WATER",)
    assert compare(two, one).removed == ("LOW_WATER",)


def set_tool(_source: Any, category: Any, **fields: Any) -> None:
    category["tools"][0] |= fields


def test_changed_fields_are_named(build: Any) -> None:
    changed = compare(build(), build(functools.partial(set_tool, summary="Tide times of one harbour on one day")))
    assert changed.changed == {"HIGH_WATER": ("summary",)}
    assert not changed.added


def set_source(source: Any, _category: Any, **fields: Any) -> None:
    source |= fields


def test_a_source_that_sends_requests_elsewhere_says_where(build: Any) -> None:
    moved = compare(build(), build(functools.partial(set_source, base_url="https://tides.example.org/v2")))
    assert moved.sources == (f"tides.base_url: {SOURCE['base_url']} → https://tides.example.org/v2",)
    assert not moved.is_empty


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([], ["a"], "parameters.a added"),
        ([], ["a!"], "parameters.a added, required"),
        (["a"], ["a!"], "parameters.a is now required"),
        (["a!"], ["a"], "parameters.a changed"),
        (["a"], [], "parameters.a removed"),
    ],
)
def test_parameters_are_compared_one_by_one(before: list[str], after: list[str], expected: str) -> None:
    from toolfold.build.catalog_diff import _compare_parameters

    def schema(names: list[str]) -> dict[str, Any]:
        required = [name[0] for name in names if name.endswith("!")]
        return {"type": "object", "properties": {name[0]: {"type": "string"} for name in names}, "required": required}

    assert list(_compare_parameters(schema(before), schema(after))) == [expected]
