"""The JSON resources of the page: what they answer, also from catalogs that an attacker has changed."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.catalogs import ALLOWED_HOST, small_catalog
from tests.support.explorer import ask, make_page
from tests.support.hostile_catalogs import with_head, with_line
from toolfold.app import build_app
from toolfold.build.compiler import compile_folder
from toolfold.catalog.search import search
from toolfold.catalog.store import FileStore, open_store
from toolfold.meta_tools.tool_get import tool_get
from toolfold.results import tokens
from toolfold.settings import Settings

EXAMPLES = json.loads(Path(__file__).with_name("answers.json").read_text(encoding="utf-8"))
"""An example of each answer, which web/API.md links to."""

CATALOG = open_store(Settings.from_environment({}))()
PAGE = make_page()
JSON_TYPE = (("content-type", "application/json"),)
OPEN_KEYS = {"schema", "example", "arguments_text", "by_tool", "by_code", "tools_called"}
"""Members whose keys depend on the data."""


def get(target: str, status: int = 200) -> Any:
    response = ask(PAGE, f"/ui/api/{target}")
    assert response.status == status, response.body
    return json.loads(response.body)


def post(name: str, body: Any, status: int = 200) -> Any:
    response = ask(PAGE, f"/ui/api/{name}", "POST", JSON_TYPE, json.dumps(body))
    assert response.status == status, response.body
    return json.loads(response.body)


def keys_of(value: Any, path: str = "") -> Iterator[str]:
    """Yield the path of every member, without numbers of items."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key}"
            if key not in OPEN_KEYS and not (path.endswith(".figures") and key == "tools"):
                yield from keys_of(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner, path)


@pytest.mark.parametrize(
    ("section", "target"),
    [
        ("start", "start"),
        ("catalog", "catalog"),
        ("search", "search?q=dividnds+of+apple&limit=2"),
        ("tool", "tool?name=TIME_SERIES_DAILY"),
    ],
)
def test_documented_members_are_those_of_the_answer(section: str, target: str) -> None:
    assert set(keys_of(EXAMPLES[section])) == set(keys_of(get(target)))


def test_start_measures_the_tokens_of_the_served_definitions() -> None:
    found = get("start")["tokens"]
    tools = make_page()._explorer.app.server.tools_of("")
    assert found["definitions"] == tokens.count(tools.list_page().tools.decode())
    assert found["all_definitions"] == CATALOG.definition_tokens
    assert found["saved_percent"] == pytest.approx(
        100 * (1 - found["definitions"] / found["all_definitions"]), abs=0.05
    )


def test_start_says_which_source_has_a_key_and_not_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert get("start")["catalog"]["sources"][0]["has_key"] is False
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", "PLANTED-SECRET-KEY")
    body = ask(PAGE, "/ui/api/start").body
    assert json.loads(body)["catalog"]["sources"][0]["has_key"] is True
    assert b"PLANTED" not in body


def test_catalog_has_every_tool_in_the_order_of_the_listing() -> None:
    found = get("catalog")
    assert [tool["name"] for tool in found["tools"]] == list(CATALOG)
    assert {tool["source"] for tool in found["tools"]} == {source["id"] for source in found["sources"]}
    categories = {category["id"] for source in found["sources"] for category in source["categories"]}
    assert {tool["category"] for tool in found["tools"]} == categories


def test_search_is_limited_to_a_source_and_a_category() -> None:
    whole = get("search?q=stock+price+history&limit=200")
    category = {tool["name"]: tool["category"] for tool in get("catalog")["tools"]}
    some = get("search?q=stock+price+history&limit=200&source=alpha_vantage&category=commodities")
    assert 0 < some["total"] < whole["total"]
    assert {category[name] for name in some["hits"]} == {"commodities"}
    assert get("search?q=price&source=nowhere")["total"] == get("search?q=price&category=nowhere")["total"] == 0


def test_search_has_the_hits_of_the_search_of_the_model() -> None:
    found = get("search?q=dividnds+of+apple&limit=5")
    expected = search(CATALOG, "dividnds of apple")
    assert found["hits"] == [CATALOG.summary(hit.position).name for hit in expected.hits[:5]]
    assert (found["total"], found["best"]) == (len(expected.hits), expected.top_ties)
    assert found["confidence"] == expected.fit.name.lower()
    assert get("search")["hits"] == get("search?q=++")["hits"] == []


@pytest.mark.parametrize("name", ["TIME_SERIES_DAILY", "EARNINGS_CALL_TRANSCRIPT", "time_series_daily"])
def test_texts_of_a_tool_are_those_of_tool_get(name: str) -> None:
    found = get(f"tool?name={name}")
    for level, shown in found["texts"].items():
        text = tool_get(CATALOG, {"tool_name": found["name"], "detail": level}).text
        assert shown == {"text": text, "tokens": tokens.count(text)}


def test_tier_is_that_of_a_source_with_paid_tools(tmp_path: Path) -> None:
    for name in ("docks", "tides"):
        shutil.copytree(f"tests/fixtures/sources/{name}", tmp_path / "sources" / name)
    tides = tmp_path / "sources" / "tides" / "harbours.yaml"
    tides.write_text(tides.read_text().replace("access: free", "access: premium", 1))
    path = tmp_path / "catalog.json"
    path.write_text(compile_folder(tmp_path / "sources", adapters=["http_api"]))
    settings = {"TOOLFOLD_CATALOG": str(path), "TOOLFOLD_ALLOWED_HOSTS": "docks.test,tides.test"}
    page = make_page(app=build_app(Settings.from_environment(settings)))
    tools = json.loads(ask(page, "/ui/api/catalog").body)["tools"]

    assert {tool["tier"] for tool in tools if tool["source"] == "docks"} == {""}
    assert {tool["tier"] for tool in tools if tool["source"] == "tides"} == {"premium"}
    for tool in tools:
        assert json.loads(ask(page, f"/ui/api/tool?name={tool['name']}").body)["tier"] == tool["tier"]


def test_every_tool_has_a_page_and_most_have_columns() -> None:
    found = [get(f"tool?name={name}") for name in CATALOG]
    assert all(tool["texts"]["full"]["tokens"] > tool["texts"]["minimal"]["tokens"] for tool in found)
    assert sum(bool(tool["columns"]) for tool in found) > 100
    assert all(re.fullmatch(r"[\w.%() /+-]+", column) for tool in found for column in tool["columns"])


def test_an_unknown_tool_is_404_with_the_closest_names() -> None:
    error = get("tool?name=GLOBAL_QUOT", 404)["error"]
    assert error["code"] == "TOOL_NOT_FOUND"
    assert "GLOBAL_QUOTE" in error["next_step"]


def test_tokens_are_counted_for_each_text() -> None:
    texts = ["price of AAPL", "", "株価\u202e", "x" * 100_000]
    assert post("tokens", {"texts": texts})["tokens"] == [tokens.count(text) for text in texts]


@pytest.mark.parametrize(
    ("target", "body"),
    [
        *((target, None) for target in (
            "search?q=" + "x" * 2001, "search?limit=0", "search?limit=-1", "search?limit=1e3",
            "search?limit=" + "9" * 30, "search?limit=%C2%B2", "tool", "tool?name=", "tool?name=" + "N" * 201,
            "watch?after=x", "watch?after=-5",
        )),
        ("tokens", {}), ("tokens", {"texts": "x"}), ("tokens", {"texts": [1]}), ("tokens", {"texts": ["x"] * 101}),
        ("tokens", []), ("approvals", {}), ("approvals", {"id": "x", "approve": True}),
        ("approvals", {"id": "0" * 16, "approve": "yes"}), ("approvals", {"id": ["0" * 16], "approve": True}),
    ],
)  # fmt: skip
def test_bad_parameters_and_bodies_are_400_with_what_to_do(target: str, body: Any) -> None:
    error = (get(target, 400) if body is None else post(target, body, 400))["error"]
    assert error["code"] == "INVALID_REQUEST"
    assert error["message"].endswith(".")
    assert error["next_step"]
    assert len(json.dumps(error)) < 400


@pytest.mark.bulk
@pytest.mark.parametrize(
    "query", ["\x00\x1b[31m\u202e", "%ED%A0%80", "' OR 1=1 --", "<script>alert(1)</script>", "株" * 1999]
)
def test_hostile_queries_are_answered(query: str) -> None:
    from urllib.parse import quote

    target = query if query.startswith("%") else quote(query)
    assert isinstance(get(f"search?q={target}")["hits"], list)
    assert get(f"tool?name={target[:150]}", 404)["error"]["code"] == "TOOL_NOT_FOUND"


CONTENT = small_catalog()
TARGETS = (
    "start",
    "catalog",
    "search?q=high+water",
    "search?q=HIGH_WATER",
    "tool?name=HIGH_WATER",
    "watch",
    "approvals",
)
TEXTS = ["\ufeff# \u202egnirts\u202c\x00\x07\x1b[2J</script><script>alert(1)</script>", "x" * 100_000, "\ud800", ""]


def entry_of(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "before.json"
    path.write_bytes(CONTENT)
    tool = FileStore(path)().get("HIGH_WATER")
    return {
        key: value for key, value in tool._asdict().items() if value not in ("", {}, ()) or key in ("tags", "see_also")
    }


def check(content: bytes, tmp_path: Path) -> list[int]:
    """Return the status of each resource, after checking that its answer is one."""
    path = tmp_path / "catalog.json"
    path.write_bytes(content)
    app = build_app(Settings.from_environment({"TOOLFOLD_CATALOG": str(path), "TOOLFOLD_ALLOWED_HOSTS": ALLOWED_HOST}))
    page, statuses = make_page(app=app), []
    for target in TARGETS:
        response = ask(page, f"/ui/api/{target}")
        found = json.loads(response.body.decode())
        assert response.status in (200, 404, 503), (target, response.body[:300])
        assert (response.status == 200) != ("error" in found)
        assert len(response.body) < 500_000
        statuses.append(response.status)
    return statuses


def test_the_catalog_as_it_is_answers_everything(tmp_path: Path) -> None:
    assert check(CONTENT, tmp_path) == [200] * len(TARGETS)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "change",
    [
        lambda head, text: head["sources"]["tides"].update(title=text),
        lambda head, text: head["sources"]["tides"].update(description=text),
        lambda head, text: head["categories"][0].update(title=text),
        lambda head, text: head["categories"][0].update(name=text),
    ],
)
def test_texts_of_the_head(change: Callable[[Any, str], None], text: str, tmp_path: Path) -> None:
    check(with_head(CONTENT, lambda head: change(head, text)), tmp_path)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "field", ["title", "summary", "description", "returns", "confirm", "parameters", "tags", "use_instead"]
)
def test_texts_of_a_tool(field: str, text: str, tmp_path: Path) -> None:
    rule = {"type": "object", "properties": {"day": {"type": "string", "description": text, "enum": [text]}}}
    values: dict[str, Any] = {"parameters": rule, "tags": [text], "use_instead": {text: "HIGH_WATER"}}
    entry = {**entry_of(tmp_path), field: values.get(field, text)}
    value = json.dumps(entry).encode()
    check(with_line(CONTENT, "tools", "HIGH_WATER", value), tmp_path)


def test_schemas_that_nest_deeply(tmp_path: Path) -> None:
    rule: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        rule = {"type": "object", "properties": {"x": rule}}
    entry = {**entry_of(tmp_path), "parameters": rule}
    check(with_line(CONTENT, "tools", "HIGH_WATER", json.dumps(entry).encode()), tmp_path)
    for other in (b"[]", b'{"type":"object","properties":[]}', b'{"type":"object","properties":{"a":7}}', b"true"):
        changed = json.dumps(entry).encode().replace(json.dumps(rule).encode(), other)
        check(with_line(CONTENT, "tools", "HIGH_WATER", changed), tmp_path)
