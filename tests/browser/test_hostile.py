"""A hostile source: nothing of its catalog or of its answers runs, is loaded, or hides what follows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import OpenPage
from tests.browser.explorer import Explorer, running_explorer
from tests.browser.hostile import ATTACKS, FAILING, SERIES, TOOL, compile_hostile, reply
from tests.support.upstream import Upstream
from toolfold.client import Client

pytestmark = pytest.mark.browser


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
