"""A hostile source: nothing of its catalog or of its answers runs, is loaded, or hides what follows."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import OpenPage
from tests.browser.pages import Explorer, running_explorer
from tests.support.upstream import Upstream
from toolfold.build.compiler import compile_folder
from toolfold.build.importers.base import accept_texts
from toolfold.build.source_folders import load_source
from toolfold.client import Client

pytestmark = pytest.mark.browser


TOOL, FAILING, SERIES = "HOSTILE_ROWS", "HOSTILE_ERROR", "HOSTILE_SERIES"

ATTACKS = [
    "<script>attack()</script>",
    "<img src=x onerror=attack()>",
    "\"'><svg onload=attack()>",
    "javascript:attack()",
    "<a href=javascript:attack()>open</a>",
    "</pre></textarea></title><iframe srcdoc='<script>parent.attack()</script>'></iframe>",
    "<base href=//elsewhere.test/><link rel=stylesheet href=//elsewhere.test/a.css>",
    "<meta http-equiv=refresh content='0;url=//elsewhere.test/'>",
    "<form action=//elsewhere.test/><button>Continue</button></form>",
    "<style>main { display: none }</style>",
    "data:text/html,<script>attack()</script>",
    "${attack()} {{constructor.constructor('attack()')()}}",
    "[open](javascript:attack()) ![picture](//elsewhere.test/a.png)",
    "invoice\u202egpj.exe \u2066turned\u2069 \u200bzero\ufeff",
]

# What a library would take for an element, if it did not look closely.
ELEMENT = {"type": "img", "props": {"src": "x", "onerror": "attack()"}, "constructor": None, "key": None, "ref": None,
           "__v": 1, "dangerouslySetInnerHTML": {"__html": "<img src=x onerror=attack()>"}}  # fmt: skip


def rows() -> list[dict[str, Any]]:
    """Return the rows of an answer: each attack as text, as the name of a column, and inside of a value."""
    return [
        {"text": attack, "nested": {"html": attack, attack: [attack]}, "element": ELEMENT, ATTACKS[1]: index}
        for index, attack in enumerate(ATTACKS)
    ]


def series() -> list[dict[str, Any]]:
    """Return rows that a chart can be drawn of, with hostile names."""
    return [{"date": f"2026-01-{day:02}", ATTACKS[1]: day * 1.5, ATTACKS[2]: 40 - day} for day in range(1, 29)]


def reply(query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
    """Return the answer of the source."""
    if query.get("operation") == FAILING:
        return 500, {"content-type": "text/html"}, "".join(ATTACKS).encode()
    found = series() if query.get("operation") == SERIES else rows()
    return 200, {"content-type": "application/json"}, json.dumps({"rows": found}).encode()


def compile_hostile(folder: Path) -> Path:
    sources = folder / "sources" / "hostile"
    sources.mkdir(parents=True)
    (sources / "source.yaml").write_text(json.dumps(_source()))
    (sources / "attacks.yaml").write_text(json.dumps(_category()))
    loaded = load_source(sources, [])
    assert loaded is not None
    accept_texts(sources, [one.hash for one in loaded.unread])
    path = folder / "catalog.json"
    path.write_text(compile_folder(folder / "sources", adapters=["http_api"]), encoding="utf-8")
    return path


def _source() -> dict[str, Any]:
    return {
        "id": "hostile",
        "title": f"Hostile {ATTACKS[1]}",
        "description": f"Attacks: {ATTACKS[0]} {ATTACKS[5]}",
        "base_url": "https://hostile.test/api",
        "function_key": "operation",
        "prefix": False,
        "freshness": {"daily": 86400},
        "no_data": "Choose another.",
        "categories": ["attacks"],
    }


def _category() -> dict[str, Any]:
    return {
        "title": f"Attacks {ATTACKS[2]}",
        "description": ATTACKS[0],
        "tools": [_tool(TOOL, ["text", "nested", "element", ATTACKS[1]]), _tool(FAILING, ["text"]),
                  _tool(SERIES, ["date", ATTACKS[1], ATTACKS[2]])],
    }  # fmt: skip


def _tool(name: str, columns: list[str]) -> dict[str, Any]:
    parameter = {
        "name": "place",
        "type": "string",
        "required": True,
        "description": f"Place. {ATTACKS[1]} {ATTACKS[6]}",
        "examples": [ATTACKS[2]],
    }
    choice = {"name": "kind", "type": "string", "enum": [ATTACKS[0], ATTACKS[3]], "description": ATTACKS[4]}
    return {
        "name": name,
        "title": f"Rows {ATTACKS[0]}",
        "summary": f"Rows that attack {ATTACKS[1]}",
        "description": " ".join(ATTACKS[:13]),
        "tags": ["sea"],
        "access": "free",
        "freshness": "daily",
        "formats": ["json"],
        "parameters": [parameter, choice],
        "returns": {"json": {"keys": ["rows"], "rows": "rows", "kind": "list", "columns": columns}},
        "example": {"place": ATTACKS[2]},
    }


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    folder: Path = tmp_path_factory.mktemp("hostile")
    with Upstream(reply) as source:
        variables = {
            "TOOLFOLD_CATALOG": str(compile_hostile(folder)),
            "TOOLFOLD_ALLOWED_HOSTS": "hostile.test",
            "TOOLFOLD_SOURCE_HOSTILE_URL": source.url,
            "TOOLFOLD_RETRY_BACKOFF_S": "0.001",
        }
        with running_explorer(folder, **variables) as running:
            yield running


ROUTES = ["", "catalog", "catalog?q=rows%20attack", f"tool/{TOOL}", "try", f"try/{TOOL}", "start", "watch"]


def test_hostile_catalog_is_text_in_every_view(open_page: OpenPage, hostile: Explorer) -> None:
    checked = open_page(hostile)
    for route in ROUTES:
        page = checked.open(route)
        checked.settle()
        assert page.locator("main :is(img, iframe, script, style, base, meta, form[action])").count() == 0, route
        assert not page.locator("a[href^='javascript:' i], a[href^='data:' i]").count(), route
    page = checked.open(f"tool/{TOOL}")
    checked.settle()
    assert ATTACKS[1] in page.inner_text("main")


@pytest.mark.parametrize("tool", [TOOL, SERIES, FAILING])
def test_hostile_answer_is_text_in_all_its_forms(open_page: OpenPage, hostile: Explorer, tool: str) -> None:
    checked = open_page(hostile)
    page = checked.open(f"try/{tool}")
    page.get_by_label("place").fill(ATTACKS[0])
    page.get_by_role("button", name="Call", exact=True).click()
    answer = page.get_by_role("region", name=f"Answer of {tool}")
    answer.wait_for()
    for tab in answer.get_by_role("tab").all():
        tab.click()
        checked.settle()
        assert answer.locator(":is(img, iframe, script, style, base, meta, form[action])").count() == 0
        assert not answer.locator("a[href^='javascript:' i], a[href^='data:' i]").count()
    if tool == SERIES:
        answer.get_by_role("tab", name="Chart").click()
        answer.locator(".u-over").first.hover()
    if tool == TOOL:
        answer.get_by_role("tab", name="Text for a model").click()
        assert "<img src=x onerror=attack()>" in answer.inner_text()
    for button in page.get_by_role("tablist", name="Copy the call as").get_by_role("tab").all():
        button.click()
    assert not checked.find_violations()


def test_invisible_and_turning_characters_are_shown(open_page: OpenPage, hostile: Explorer) -> None:
    checked = open_page(hostile)
    page = checked.open(f"try/{TOOL}")
    page.get_by_role("button", name="Call", exact=True).click()
    answer = page.get_by_role("region", name=f"Answer of {TOOL}")
    answer.wait_for()
    for name in ("Table", "Text for a model"):
        answer.get_by_role("tab", name=name).click()
        shown = answer.inner_text()
        assert "invoice" in shown
        assert "\u202e" not in shown, name
        assert "202e" in shown.lower(), name


def test_hostile_search_of_a_client_is_text_in_watch(open_page: OpenPage, hostile: Explorer) -> None:
    with Client(hostile.mcp) as client:
        client.list("<q onclick=xyl()> \u202ephone")
    page = open_page(hostile).open("watch")
    section = page.get_by_role("region", name="Searches that found nothing")
    section.get_by_text("onclick").first.wait_for()

    assert "U+202E" in section.inner_text() or "\\u202e" in section.inner_text()
    assert section.locator("q").count() == 0


ADDRESSES = [
    "%3Cimg%20src=x%20onerror=attack()%3E",
    "tool/%3Cscript%3Eattack()%3C%2Fscript%3E",
    "tool/%E0%A4%A",
    "try/javascript:attack()",
    "catalog?q=%3Csvg%20onload=attack()%3E",
    "ask?q=%3Cimg%20src=x%20onerror=attack()%3E",
    f"try/{TOOL}?arguments=%7B%22place%22%3A%22%3Cimg%20src%3Dx%20onerror%3Dattack()%3E%22%7D",
]


def test_hostile_address_is_text(open_page: OpenPage, hostile: Explorer) -> None:
    checked = open_page(hostile)
    for route in ADDRESSES:
        page = checked.open(route)
        checked.settle()
        assert page.locator("main img, main svg[onload]").count() == 0, route
    checked.allow("404")
