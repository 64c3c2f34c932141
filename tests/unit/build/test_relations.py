"""Relations between tools, checked with file and line and shown by the meta-tools, and names of imported tools."""

import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.catalogs import compiled
from tests.unit.build.importers.test_skills import skill
from tests.unit.build.importers.test_skills import written as written_skills
from tests.unit.build.test_schema import SOURCE, changed, mistakes, written
from toolfold.build.emitter import assign_names, safe_name
from toolfold.catalog.entries import name_key
from toolfold.catalog.model import Catalog
from toolfold.meta_tools.definitions import detail_level_of
from toolfold.meta_tools.tool_get import tool_get
from toolfold.meta_tools.tool_list import tool_list


def related(*relations: dict[str, str], name: str = "FORECAST", **changes: Any) -> dict[str, Any]:
    return {**changed(name=name, **changes), "relations": list(relations)}


CITIES = changed(
    name="CITIES", title="Cities", summary="Names of cities that have a weather station", description="By country."
)
ALERTS = changed(name="ALERTS", title="Alerts", summary="Warnings of storms and floods", description="By region.")


def needs(to: str, via: str = "") -> dict[str, str]:
    return {"to": to, "kind": "needs_output_of", **({"via": via} if via else {})}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    then = {"to": "alerts", "kind": "then"}
    return compiled(written(tmp_path, SOURCE, related(then, needs("CITIES", "city")), CITIES, ALERTS))


def test_relations_are_compiled_and_shown_by_tool_get(catalog: Catalog) -> None:
    assert catalog.get("FORECAST").relations == (["CITIES", "needs_output_of", "city"], ["ALERTS", "then"])
    entry = tool_get(catalog, {"tool_name": "FORECAST"}).structured["tools"][0]

    assert entry["relations"] == (
        {"to": "CITIES", "kind": "needs_output_of", "via": "city"},
        {"to": "ALERTS", "kind": "then"},
    )
    assert "relations" not in tool_get(catalog, {"tool_name": "CITIES"}).structured["tools"][0]


def test_tool_list_shows_related_tools_at_the_medium_level(catalog: Catalog) -> None:
    answer = tool_list(catalog, {"query": "temperature and rain for the next days"})
    first, second, third = answer.structured["tools"]

    assert list(map(detail_level_of, (first, second, third))) == ["full", "medium", "medium"]
    assert (second["name"], second["relation"]) == ("CITIES", "before FORECAST: city")
    assert answer.text.splitlines()[-1].endswith("Warnings of storms and floods [after FORECAST]")
    assert (answer.structured["matched"], answer.structured["more"]) == (3, None)


@pytest.mark.parametrize("budget", [100, 130, 200])
def test_related_tools_stay_within_the_budget(catalog: Catalog, budget: int) -> None:
    answer = tool_list(catalog, {"query": "temperature and rain for the next days", "token_budget": budget})

    assert answer.structured["tokens"] <= budget


def test_pages_have_each_tool_once(catalog: Catalog) -> None:
    pages = [
        tool_list(catalog, {"query": "temperature and rain for the next days", "limit": 1, "offset": offset})
        for offset in range(3)
    ]

    assert [page.structured["tools"][0]["name"] for page in pages] == ["FORECAST", "CITIES", "ALERTS"]
    assert [page.structured["more"] for page in pages] == [{"offset": 1}, {"offset": 2}, None]


def test_a_related_tool_that_does_not_pass_the_filters_is_not_shown(tmp_path: Path) -> None:
    catalog = compiled(written(tmp_path, SOURCE, related(needs("CITIES")), {**CITIES, "tags": ["places"]}))
    answer = tool_list(catalog, {"query": "temperature and rain for the next days", "tag": "weather"})

    assert [tool["name"] for tool in answer.structured["tools"]] == ["FORECAST"]


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        (needs("CITYS"), "there is no tool 'CITYS'. Did you mean CITIES?"),
        (needs("forecast"), "names the tool itself"),
        ({"to": "CITIES", "kind": "needs"}, "kind: must be 'needs_output_of'"),
        ({"to": "CITIES"}, "kind: is missing"),
        ({"to": "CITIES", "kind": "then", "via": "# a note"}, "via: must match pattern"),
        ({"to": "CITIES", "kind": "then", "because": "x"}, "because: there is no such key"),
    ],
)
def test_a_wrong_relation_is_an_error_with_file_and_line(
    tmp_path: Path, relation: dict[str, str], expected: str
) -> None:
    found = mistakes(written(tmp_path, SOURCE, related(relation), CITIES))

    assert "forecasts.yaml:3" in found
    assert expected in found


def test_relations_are_given_once_and_limited_together_with_those_of_an_overlay(tmp_path: Path) -> None:
    twice = related(needs("CITIES"), needs("cities", "x"))
    assert "needs_output_of CITIES is given twice" in mistakes(written(tmp_path, SOURCE, twice, CITIES))
    folder = written(tmp_path, SOURCE, related(needs("CITIES")), CITIES, ALERTS)
    overlay = {"tools": {"FORECAST": {"relations": [{"to": "ALERTS", "kind": "then"}] * 20}}}
    (folder / "weather/overlay.yaml").write_text(yaml.safe_dump(overlay))

    assert "forecasts.yaml:35: relations of FORECAST: has 21; 20 are the most" in mistakes(folder)


def test_a_cycle_of_what_is_needed_is_an_error_and_any_other_is_none(tmp_path: Path) -> None:
    cities, alerts = {**CITIES, "relations": [needs("ALERTS")]}, {**ALERTS, "relations": [needs("FORECAST")]}
    found = mistakes(written(tmp_path, SOURCE, related(needs("CITIES")), cities, alerts))

    assert found.count("a cycle of needs_output_of") == 1
    assert "FORECAST → CITIES → ALERTS → FORECAST" in found
    then = {"to": "FORECAST", "kind": "then"}
    assert compiled(written(tmp_path, SOURCE, related(needs("CITIES")), {**CITIES, "relations": [then]})).has_relations


def test_an_overlay_relates_tools_by_the_names_of_their_source_or_of_the_catalog(tmp_path: Path) -> None:
    folder = written_skills(tmp_path, {"tax-forms/SKILL.md": skill("tax-forms"), "rates/SKILL.md": skill("rates")})
    overlay = {"tools": {"tax-forms": {"relations": [needs("rates"), {"to": "team__rates", "kind": "then"}]}}}
    (folder / "team/overlay.yaml").write_text(yaml.safe_dump(overlay))
    tool = compiled(folder).get("team__tax_forms")

    assert tool.relations == (["team__rates", "needs_output_of"], ["team__rates", "then"])
    overlay["tools"]["tax-forms"]["relations"][0]["to"] = "rate"
    (folder / "team/overlay.yaml").write_text(yaml.safe_dump(overlay))
    assert "relations of team__tax_forms: there is no tool 'rate'" in mistakes(folder)


SOURCES = st.sampled_from(["time", "git", "a", "a__b", "s" * 32])
ORIGINALS = st.lists(
    st.tuples(
        SOURCES, st.text(min_size=1, max_size=90) | st.sampled_from(["x", "X", "x-", "x.", "b__c", "c", "import"])
    ),
    unique=True,
    max_size=12,
)


@pytest.mark.parametrize(
    "names",
    [
        {"get_time": "s__get_time", "get.time/now": "s__get_time_now", "2fa": "s__n2fa", "süß": "s__s_"},
        {"_search": "s__n_search"},
        {"import": "s__import_", "Match": "s__Match_"},
        # Every member of a collision has the hash of its own name, and so has a name of which no letter is left.
        {"get-user": "s__get_user_5d95c2", "get.user": "s__get_user_9c0265", "other": "s__other"},
        {"日本": "s__n__cf2abf", "---": "s__n__cb3f91"},
        # More of it where another tool is called so.
        {"a-b": "s__a_b_d4eeaf224a80", "a.b": "s__a_b_2e7336", "a_b_d44362": "s__a_b_d44362_515afed95b03"},
    ],
)
def test_a_tool_is_named_after_its_source(names: dict[str, str]) -> None:
    assert assign_names([("s", name) for name in names]) == {("s", name): made for name, made in names.items()}


def test_a_name_that_another_source_keeps_is_not_taken() -> None:
    assert assign_names([("s", "x")], taken=["S__X"])[("s", "x")].startswith("s__x_")


@given(ORIGINALS, st.randoms(use_true_random=False))
def test_names_are_one_to_one_and_do_not_depend_on_the_order(
    originals: list[tuple[str, str]], order: random.Random
) -> None:
    names = assign_names(originals, taken=["KEPT"], reserved=["TOOL_LIST"])
    shuffled = list(originals)
    order.shuffle(shuffled)
    assert assign_names(shuffled, taken=["KEPT"], reserved=["TOOL_LIST"]) == names
    keys = [name_key(name) for name in names.values()]
    assert len(set(keys)) == len(keys) == len(originals)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name) for name in names.values())


@given(st.text(max_size=80))
def test_a_safe_name_is_a_word_of_python(text: str) -> None:
    name = safe_name(text)
    assert not name.startswith("_")  # which a script could not read of a module
    assert name.isidentifier()
    assert name.isascii()
