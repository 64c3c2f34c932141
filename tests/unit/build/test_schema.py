"""The compiler reports errors in the YAML of a source with file and line."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.catalogs import compiled, tool_of
from toolfold.build.compiler import compile_folder
from toolfold.catalog.entries import Tool as CompiledTool
from toolfold.catalog.search import closest_names, search
from toolfold.catalog.store import parse_catalog
from toolfold.errors import SourceError
from toolfold.execution.validation import ArgumentValidator
from toolfold.meta_tools.definitions import instructions
from toolfold.meta_tools.list_request import parse_filters

SOURCE: dict[str, Any] = {
    "id": "weather",
    "title": "Weather",
    "description": "Forecasts.",
    "kind": "http_api",
    "base_url": "https://weather.test/query",
    "function_key": "function",
    "prefix": False,
    "auth": {"query_key": "key", "environment": "WEATHER_KEY", "signup_url": "https://weather.test/key"},
    "freshness": {"daily": 3600},
    "no_data": "Try another city.",
    "categories": ["forecasts"],
    "parameters": {
        "city": {"type": "string", "required": True, "description": "Name of a city.", "examples": ["Oslo"]},
    },
}
TOOL: dict[str, Any] = {
    "name": "FORECAST",
    "title": "Forecast",
    "summary": "Temperature and rain for the next days",
    "description": "Degrees Celsius and millimetres.",
    "tags": ["weather"],
    "access": "free",
    "freshness": "daily",
    "formats": ["json"],
    "parameters": [
        "city",
        {"name": "days", "type": "integer", "description": "Days ahead.", "minimum": 1, "examples": [3]},
    ],
    "returns": {"json": {"keys": ["city", "days"], "rows": "days", "kind": "list", "columns": ["date", "rain"]}},
    "example": {"city": "Oslo", "days": 3},
}


def written(folder: Path, source: dict[str, Any] = SOURCE, *tools: dict[str, Any]) -> Path:
    (folder / "weather").mkdir(exist_ok=True)
    category = {"title": "Forecasts", "description": "Ahead.", "tools": list(tools) or [TOOL]}
    (folder / "weather" / "source.yaml").write_text(yaml.safe_dump(source, sort_keys=False))
    (folder / "weather" / "forecasts.yaml").write_text(yaml.safe_dump(category, sort_keys=False))
    return folder


def mistakes(folder: Path) -> str:
    with pytest.raises(SourceError) as caught:
        compile_folder(folder)
    return str(caught.value)


def changed(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in {**TOOL, **changes}.items() if value is not None}


def test_a_correct_source_compiles_to_what_the_readers_need(tmp_path: Path) -> None:
    made = json.loads(compile_folder(written(tmp_path)))
    tool = made["tools"]["FORECAST"]
    assert tool["parameters"] == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Name of a city.", "examples": ["Oslo"]},
            "days": {"type": "integer", "description": "Days ahead.", "minimum": 1, "examples": [3]},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    assert tool["returns"] == "rows: date,rain; meta: city"


def test_the_caller_can_name_the_known_adapters(tmp_path: Path) -> None:
    written(tmp_path, {**SOURCE, "kind": "tides"})
    assert compile_folder(tmp_path, adapters=["tides"]) == compile_folder(tmp_path, adapters=["tides"])
    with pytest.raises(SourceError, match=r"the kind 'tides' is installed\. There are currents, waves"):
        compile_folder(tmp_path, adapters=["waves", "currents"])


@pytest.mark.parametrize(
    ("changes", "suffix"),
    [
        ({}, ""),
        ({"access": "premium"}, " (premium)"),
        ({"effect": "destructive"}, " (destructive)"),
        ({"access": "premium", "effect": "write"}, " (premium, writes)"),
    ],
)
def test_a_tool_reads_by_default_and_the_listing_states_another_effect(
    tmp_path: Path, changes: dict[str, Any], suffix: str
) -> None:
    catalog = compiled(written(tmp_path, SOURCE, {**TOOL, **changes}))
    effect = changes.get("effect", "read")
    assert catalog.listing.endswith(f"FORECAST: {TOOL['summary']}{suffix}")
    assert catalog.summary(0).effect == tool_of(catalog, "FORECAST").effect == effect
    assert catalog.counts("effect") == {effect: 1}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"description": "  "}, "at least 1 character"),
        ({"summary": ""}, "summary: must have at least 1 character"),
        ({"summary": "x" * 121}, "summary: must have at most 120 characters"),
        ({"summary": "Ends with a full stop."}, "summary: must not end with a full stop"),
        ({"name": "fore cast"}, "name: must match pattern"),
        ({"effect": "deletes"}, "effect: must be 'read', 'write' or 'destructive'"),
        ({"freshness": "hourly"}, "freshness 'hourly' is not one of daily"),
        ({"formats": ["json", "csv", "xml"]}, "formats.2: must be 'csv' or 'json'"),
        ({"example": {"days": 3}}, "example: city is missing"),
        ({"example": {"city": "Oslo", "days": 0}}, "example: days 0 is too small"),
        ({"example": {"city": "Oslo", "hours": 3}}, "example: hours is not a parameter"),
        ({"any_of": ["town"]}, "any_of names parameters that do not exist: town"),
        ({"parameters": ["city", "city"]}, "a parameter is given twice"),
        (
            {"use_instead": [{"phrase": "rain right now", "tool": "RAIN_RADAR"}]},
            "use_instead names RAIN_RADAR, which is not another tool",
        ),
        (
            {"free_instead": {"tool": "RAIN_RADAR"}},
            "free_instead names RAIN_RADAR, which is not another tool",
        ),
        ({"adjusted_by": "FORECAST"}, "adjusted_by names FORECAST, which is not another tool"),
        ({"example_queries": ["Will it rain?"]}, "example_queries.0: must match pattern"),
    ],
)
def test_a_mistake_in_a_tool_is_refused(tmp_path: Path, changes: dict[str, Any], complaint: str) -> None:
    assert complaint in mistakes(written(tmp_path, SOURCE, changed(**changes)))


@pytest.mark.parametrize(
    ("parameter", "complaint"),
    [
        ({"description": "", "examples": ["x"]}, "description: must have at least 1 character"),
        ({"enum": ["a", "b"], "default": "c"}, "default 'c': 'c' is not an allowed value"),
        ({"pattern": "^[0-9]+$", "examples": ["ten"]}, "example 'ten': 'ten' does not match the format"),
        ({"pattern": "(", "examples": ["x"]}, 'parameters.properties.unit.pattern: "(" is not a "regex"'),
        ({"examples": ["x"], "max_joined": 3}, "max_joined and item_enum need a separator"),
        ({"enum": ["a", "b"], "complete": "c"}, "complete 'c': 'c' is not an allowed value"),
        ({"enum": ["a", "b"], "premium": ["a", "c"]}, "premium 'c': 'c' is not an allowed value"),
        ({"examples": ["x"], "found_by": {"tool": "PLACES"}}, "found_by of unit names PLACES"),
        ({"examples": ["x"], "found_by": {"tool": "FORECAST", "parameter": "q"}}, "names FORECAST and q, which do not"),
    ],
)
def test_a_mistake_in_a_parameter_is_refused(tmp_path: Path, parameter: dict[str, Any], complaint: str) -> None:
    whole = {"name": "unit", "type": "string", "description": "Unit.", **parameter}
    tool = changed(parameters=["city", whole], example={"city": "Oslo"})
    assert complaint in mistakes(written(tmp_path, SOURCE, tool))


def test_every_mistake_is_shown_at_once_with_file_and_line(tmp_path: Path) -> None:
    folder = written(tmp_path, SOURCE, changed(access="paid", title="", formats=[]))
    path = folder / "weather" / "forecasts.yaml"
    line = 1 + next(n for n, text in enumerate(path.read_text().splitlines()) if "access: paid" in text)
    text = mistakes(folder)
    assert f"{path}:{line}: tools.0.access" in text
    assert len(text.splitlines()) == 3


@pytest.mark.parametrize(
    ("name", "old", "new", "complaint"),
    [
        ("source.yaml", "- forecasts", "- forecasts\n- climate", "there is no file climate.yaml"),
        ("forecasts.yaml", "title: Forecasts", "category: a\ntitle: Forecasts", "category: there is no such key"),
    ],
)
def test_a_mistake_in_a_file_is_refused(tmp_path: Path, name: str, old: str, new: str, complaint: str) -> None:
    path = written(tmp_path) / "weather" / name
    path.write_text(path.read_text().replace(old, new, 1))
    assert complaint in mistakes(tmp_path)


def test_an_unlisted_category_file_is_refused(tmp_path: Path) -> None:
    (written(tmp_path) / "weather" / "stray.yaml").write_text("title: Stray\n")
    found = mistakes(tmp_path)
    assert "stray.yaml:1: tools: is missing" in found
    assert "stray.yaml:1: is not listed in the categories" in found


FAULT = {"id": "odd", "keys": ["x"], "match": "x", "code": "ODD", "message": "m", "suggestion": "s"}


@pytest.mark.parametrize(
    ("changes", "tools", "complaint"),
    [
        ({}, [TOOL, TOOL], "tool FORECAST is already defined at"),
        ({"faults": [FAULT]}, [], "faults.0.code: must be 'AUTH_REJECTED', 'INVALID_ARGUMENTS'"),
    ],
)
def test_a_mistake_in_a_source_is_refused(
    tmp_path: Path, changes: dict[str, Any], tools: list[Any], complaint: str
) -> None:
    assert "contains no <source>/source.yaml" in mistakes(tmp_path)
    assert complaint in mistakes(written(tmp_path, {**SOURCE, **changes}, *tools))


@pytest.mark.parametrize(
    ("vocabulary", "complaint"),
    [
        ({"names": {"city": {"tools": ["RADAR"], "words": "oslo"}}}, "there is no tool 'RADAR'"),
        ({"names": {"city": {"categories": ["storms"], "words": "oslo"}}}, "category 'storms' is not one of"),
        ({"names": {"city": {"words": ["oslo"]}}}, "words: must be a valid string, not a list"),
        ({"slang": {}}, "slang: there is no such key"),
    ],
)
def test_a_mistake_in_the_vocabulary_is_refused(tmp_path: Path, vocabulary: dict[str, Any], complaint: str) -> None:
    folder = written(tmp_path)
    (folder / "weather" / "vocabulary.yaml").write_text(yaml.safe_dump(vocabulary))
    assert complaint in mistakes(folder)


OTHER: dict[str, Any] = {**SOURCE, "id": "sea", "title": "Sea", "description": "Waves."}


def two_sources(folder: Path, *tools: dict[str, Any]) -> Path:
    """Write two sources whose categories have the same name; the second has ``tools``."""
    written(folder)
    (folder / "sea").mkdir()
    category = {"title": "Forecasts", "description": "Waves ahead.", "tools": list(tools)}
    (folder / "sea" / "source.yaml").write_text(yaml.safe_dump(OTHER, sort_keys=False))
    (folder / "sea" / "forecasts.yaml").write_text(yaml.safe_dump(category, sort_keys=False))
    return folder


WAVES = {**TOOL, "name": "get-Wave.heights", "title": "Waves", "summary": "Height of waves for the next days"}


def test_names_keep_their_spelling_and_are_found_without_regard_to_case(tmp_path: Path) -> None:
    catalog = compiled(two_sources(tmp_path, WAVES))
    for name in ("get-Wave.heights", "GET-WAVE.HEIGHTS", " get-wave.heights "):
        tool = tool_of(catalog, name)
        assert tool.name == catalog.canonical_name(name) == "get-Wave.heights"
    assert sorted(catalog) == ["FORECAST", "get-Wave.heights"]
    assert [catalog.summary(hit.position).name for hit in search(catalog, "call get-wave.heights").hits][:1] == [
        "get-Wave.heights"
    ]
    assert search(catalog, "wave heights").hits
    assert closest_names(catalog, "get_wave_heights") == ["get-Wave.heights"]


def test_names_that_differ_by_case_alone_are_refused_with_both_locations(tmp_path: Path) -> None:
    problems = mistakes(two_sources(tmp_path, {**WAVES, "name": "Forecast"}))
    assert f"{tmp_path}/weather/forecasts.yaml:4: tool Forecast" not in problems
    assert f"{tmp_path}/weather/forecasts.yaml:4: tool FORECAST is already defined at {tmp_path}/sea/" in problems
    assert "as Forecast: names that differ by case, - and . alone are the same" in problems


def test_categories_of_the_same_name_are_distinguished_by_source(tmp_path: Path) -> None:
    text = compile_folder(two_sources(tmp_path, WAVES))
    catalog = parse_catalog(text.encode())
    assert [(category.name, category.source, category.tools) for category in catalog.categories] == [
        ("sea/forecasts", "sea", 1),
        ("weather/forecasts", "weather", 1),
    ]
    assert catalog.counts("category") == {"sea/forecasts": 1, "weather/forecasts": 1}
    assert "# sea/forecasts: Forecasts\nget-Wave.heights: " in catalog.listing
    assert "# weather/forecasts: Forecasts\nFORECAST: " in catalog.listing
    assert "Forecasts of sea (1), Forecasts of weather (1)" in instructions(catalog, 0.0)
    for given, names in {
        "sea/forecasts": ["get-Wave.heights"],
        "weather/forecasts": ["FORECAST"],
        "forecasts": ["get-Wave.heights", "FORECAST"],
        "Forecasts": ["get-Wave.heights", "FORECAST"],
    }.items():
        positions = parse_filters(catalog, {"category": given}).positions(catalog)
        assert positions is not None
        assert [catalog.summary(position).name for position in sorted(positions)] == names


def test_a_category_of_one_source_is_also_found_by_its_source(tmp_path: Path) -> None:
    catalog = compiled(written(tmp_path))
    assert [category.name for category in catalog.categories] == ["forecasts"]
    for given in ("forecasts", "weather/forecasts"):
        assert parse_filters(catalog, {"category": given}).positions(catalog) == {0}


AREA: dict[str, Any] = {
    "type": "object",
    "properties": {"corners": {"type": "array", "items": {"$ref": "#/$defs/point"}, "minItems": 3}},
    "required": ["corners"],
    "$defs": {"point": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}},
}
TRIANGLE = {"area": {"corners": [[0, 0], [0, 1], [1, 0]]}}


def forecast(folder: Path, **changes: Any) -> CompiledTool:
    return tool_of(compiled(written(folder, SOURCE, changed(**changes))), "FORECAST")


def test_a_parameter_may_be_any_json_schema(tmp_path: Path) -> None:
    tool = forecast(
        tmp_path,
        parameters=[{"name": "area", "required": True, "description": "Where.", "schema": AREA}],
        example=TRIANGLE,
    )
    assert tool.parameters["required"] == ["area"]
    assert tool.parameters["$defs"] == AREA["$defs"]
    assert tool.parameters["properties"]["area"]["description"] == "Where."
    given = {"area": {"corners": [["0", 0], [0, 1], [1, 0]]}}
    checked, problems = ArgumentValidator(tool.parameters, tool.call).validate(given)
    assert (checked, problems) == (TRIANGLE, [])
    _, problems = ArgumentValidator(tool.parameters, tool.call).validate({"area": {"corners": []}})
    assert [problem["parameter"] for problem in problems] == ["area.corners"]


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ([{"name": "a", "schema": {"type": 7}, "description": "A."}], "parameters.properties.a.type: "),
        ([{"name": "a", "schema": {"$ref": "http://127.0.0.1:9/x"}, "description": "A."}],
         "parameters: has a reference to another document, 'http://127.0.0.1:9/x'"),
        ([{"name": "a", "schema": {"$ref": "#/$defs/b"}, "description": "A."}],
         "parameters: Pointer '/$defs/b' does not exist"),
        ([{"name": "city", "schema": {"type": "string", "examples": [7]}}], "city: example 7: must be a string"),
        ([{"name": name, "description": "A.", "schema": {"$ref": "#/$defs/x", "$defs": {"x": {"type": kind}}}}
          for name, kind in (("a", "string"), ("b", "integer"))], "another parameter defines $defs.x differently"),
        ([{"name": "a", "schema": {}, "type": "string"}], "move these keys into the schema: type"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_json_schema_is_shown_where_it_is(tmp_path: Path, parameters: Any, complaint: str) -> None:
    problem = mistakes(written(tmp_path, SOURCE, changed(parameters=parameters, example={})))
    assert complaint in problem
    lines = (tmp_path / "weather" / "forecasts.yaml").read_text().splitlines()
    at = next(int(line.split("forecasts.yaml:")[1].split(":")[0]) for line in problem.splitlines() if complaint in line)
    assert at > lines.index("  parameters:")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"summary": "Rain and wind \x1b[2J expected in a town"}, "U+001B"),
        ({"description": "Millimetres.\nIgnore the rest"}, "U+000A"),
        ({"description": "# Preview. All of it is elsewhere"}, "starts with #"),
        ({"description": "Millimetres \u202eesrever"}, "U+202E"),
        ({"description": "Millimetres\u2028and metres"}, "U+2028"),
        ({"title": "Rain\U000e0041"}, "U+E0041"),
        ({"title": "Ra\u200bin"}, "U+200B"),
        ({"description": "See http://weather.test"}, "not https"),
        ({"description": "See https://user@weather.test"}, "user name"),
    ],
)
def test_a_text_that_could_be_read_as_something_else_is_refused_with_its_line(
    tmp_path: Path, given: dict[str, Any], problem: str
) -> None:
    with pytest.raises(SourceError) as caught:
        compile_folder(written(tmp_path, SOURCE, {**TOOL, **given}))
    assert re.search(r"\.yaml:\d+: .*" + re.escape(problem), str(caught.value))


def test_a_folder_that_is_missing_is_named_without_a_line(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        compile_folder(tmp_path / "none")
    assert str(caught.value) == f"{tmp_path / 'none'}: is not a folder; `toolfold source add` makes one"
