"""What holds for each view: no violation that axe-core finds, in both themes, on a phone, by keyboard."""

import pytest

from tests.browser.checked_page import VIEWS, CheckedPage
from tests.browser.conftest import OpenPage
from tests.browser.explorer import Explorer

pytestmark = pytest.mark.browser

DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 720}

views = pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.partition("/")[0] or "ask")


@views
def test_axe_finds_no_violation_in_both_themes_and_on_a_phone(open_page: OpenPage, view: str) -> None:
    checked = open_page(reduced_motion="reduce")
    page = checked.open(view)
    for theme, size in (("light", DESKTOP), ("dark", DESKTOP), ("dark", PHONE)):
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size(size)
        checked.settle()
        assert not checked.has_horizontal_scroll(), size
        assert not checked.find_violations(), (theme, size)


@views
def test_view_has_landmarks_and_every_control_shows_that_it_has_the_focus(checked: CheckedPage, view: str) -> None:
    page = checked.open(view)
    checked.settle()

    assert page.locator("h1").count() == 1
    for landmark in ("banner", "main", "contentinfo"):
        assert page.get_by_role(landmark).count() == 1, landmark
    assert page.title().endswith("toolfold")
    assert page.title() != "toolfold"
    page.locator(".skip").focus()
    reached = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        focused = page.evaluate(_FOCUSED)
        if focused is None or focused["key"] in reached:
            break
        reached.add(focused["key"])
        assert focused["isVisible"], focused
    assert len(reached) >= 9  # the frame has nine


_FOCUSED = """() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  element.dataset.seen ??= String(document.querySelectorAll("[data-seen]").length);
  const style = getComputedStyle(element), box = element.getBoundingClientRect();
  return {key: element.dataset.seen, html: element.outerHTML.slice(0, 200),
          isVisible: box.width > 0 && box.height > 0 && style.outlineStyle !== "none" && style.outlineWidth !== "0px"};
}"""


def test_view_that_does_not_exist_leads_to_one_that_does(checked: CheckedPage) -> None:
    page = checked.open("no/such/view")

    assert "No view has this address" in page.inner_text("main")
    assert not checked.find_violations()
    page.locator("main").get_by_role("link", name="Catalog").click()
    page.get_by_role("heading", name="Catalog", level=1).wait_for()


def test_tool_that_does_not_exist_is_an_error_with_a_next_step(checked: CheckedPage) -> None:
    page = checked.open("tool/NO_SUCH_TOOL")
    alert = page.get_by_role("alert")
    alert.wait_for()

    assert "NO_SUCH_TOOL" in page.inner_text("main")
    assert not checked.find_violations()
    checked.allow("404")


def test_theme_can_be_chosen_and_is_kept(open_page: OpenPage) -> None:
    checked = open_page(color_scheme="light")
    page = checked.open()
    light = page.evaluate(_GROUND)
    page.get_by_role("button", name="Use dark colours").click()
    dark = page.evaluate(_GROUND)
    page.reload()
    page.locator("main h1").wait_for()

    assert light != dark == page.evaluate(_GROUND)
    assert page.evaluate("Object.keys(localStorage)") == ["toolfold-theme"]
    assert not checked.find_violations()


_GROUND = "getComputedStyle(document.documentElement).backgroundColor"


def test_navigation_moves_the_focus_to_the_heading(checked: CheckedPage) -> None:
    page = checked.open()
    for title in ("Catalog", "Try", "Watch", "Approve", "Connect", "Ask"):
        page.get_by_role("navigation").get_by_role("link", name=title, exact=True).click()
        checked.wait_until("document.activeElement?.tagName === 'H1'")
        assert page.get_by_role("navigation").locator("[aria-current=page]").inner_text() == title


def test_page_works_without_a_network(explorer: Explorer, open_page: OpenPage) -> None:
    """The browser finds no other host (``conftest.py``); each request is checked as well."""
    checked = open_page()
    for view in VIEWS:
        checked.open(view)
        checked.settle()

    assert {url.split("/")[2] for url in checked.requests} == {explorer.origin.split("/")[2]}
