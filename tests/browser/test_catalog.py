"""Catalog and the page of a tool: what a model finds, and what it reads."""

import re

import pytest

from tests.browser.checked_page import CheckedPage
from tests.browser.explorer import Explorer
from toolfold.client import Client

pytestmark = pytest.mark.browser


def test_search_finds_as_a_person_types_what_a_model_finds(checked: CheckedPage, explorer: Explorer) -> None:
    page = checked.open("catalog")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.type("oil price", delay=15)
    with Client(explorer.mcp) as client:
        expected = [tool["name"] for tool in client.list("oil price", limit=2).tools]
    links = page.get_by_role("list", name="Tools").get_by_role("link")
    for at, name in enumerate(expected):  # the list of all tools has them too, elsewhere
        links.nth(at).filter(has_text=name).wait_for()
    checked.settle()

    assert links.all_inner_texts()[:2] == expected
    checked.wait_until("location.hash === '#/catalog?q=oil+price'")


def test_search_without_a_result_says_what_to_do(checked: CheckedPage) -> None:
    page = checked.open("catalog")
    page.get_by_role("searchbox").fill("xylophone lessons")

    page.get_by_text("No tool matches “xylophone lessons”").wait_for()
    assert not checked.find_violations()


def test_keyboard_alone_leads_from_a_word_to_a_tool_and_back(checked: CheckedPage) -> None:
    page = checked.open("catalog")
    page.keyboard.press("/")
    page.keyboard.type("earnings call transcript")
    # An answer to the letters before would be replaced, and with it the row that has the focus.
    checked.wait_until("document.querySelector('[data-query]')?.dataset.query === 'earnings call transcript'")
    page.keyboard.press("ArrowDown")
    checked.wait_until("document.activeElement.tagName === 'A'")
    first = page.evaluate("document.activeElement.innerText")
    page.keyboard.press("ArrowDown")
    checked.wait_until(f"document.activeElement.innerText !== {first!r}")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=first, level=1).wait_for()
    assert first == "EARNINGS_CALL_TRANSCRIPT"
    page.keyboard.press("Escape")
    page.get_by_role("heading", name="Catalog", level=1).wait_for()
    assert page.get_by_role("searchbox").input_value() == "earnings call transcript"


def test_typing_on_below_the_search_goes_to_the_search(checked: CheckedPage) -> None:
    page = checked.open("catalog?q=gold")
    page.get_by_role("list", name="Tools").get_by_role("link", name="GOLD_SILVER_SPOT").wait_for()
    page.get_by_role("list", name="Tools").get_by_role("link").nth(5).focus()
    page.keyboard.type("en")

    assert page.evaluate("document.activeElement.type") == "search"
    assert page.get_by_role("searchbox").input_value() == "golden"


def test_focus_is_never_lost_with_the_row_that_has_it(checked: CheckedPage) -> None:
    page = checked.open("catalog")
    rows = page.get_by_role("list", name="Tools").get_by_role("link")
    rows.nth(2).focus()
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    checked.wait_until("scrollY > 1000")
    page.wait_for_timeout(100)
    assert page.evaluate("document.activeElement.innerText") == "TIME_SERIES_DAILY_ADJUSTED"

    page.goto(checked.explorer.view("catalog?q=sugar"))
    checked.wait_until("document.querySelector('[data-query]')?.dataset.query === 'sugar'")
    checked.wait_until("document.activeElement.type === 'search'")


def test_link_is_followed_although_the_page_is_busy_with_the_text_before(checked: CheckedPage) -> None:
    page = checked.open("catalog")
    page.evaluate("location.hash = '#/catalog?q=sugar'; for (const end = Date.now() + 400; Date.now() < end; );")

    checked.wait_until("document.querySelector('[data-query]')?.dataset.query === 'sugar'")
    assert page.get_by_role("searchbox").input_value() == "sugar"


def test_tool_page_says_what_tool_get_says(checked: CheckedPage, explorer: Explorer) -> None:
    page = checked.open("tool/TIME_SERIES_DAILY")
    checked.settle()
    with Client(explorer.mcp) as client:
        expected = client.get("TIME_SERIES_DAILY").text
    texts = page.request.get(f"{explorer.origin}/ui/api/tool?name=TIME_SERIES_DAILY").json()["texts"]

    assert texts["full"]["text"] == expected
    shown = page.inner_text("main")
    assert f"{texts['full']['tokens']:,} tokens" in shown
    for text in ("symbol", "outputsize", "Example", "Returns", "GLOBAL_QUOTE"):
        assert text in shown, text


def test_filter_by_category_leaves_its_tools(checked: CheckedPage) -> None:
    page = checked.open("catalog")
    checked.settle()
    page.get_by_label("Category").select_option("commodities")
    page.get_by_text(re.compile(r"^\d+ tools$")).first.wait_for()

    assert "WTI" in page.inner_text("main")
    assert "GLOBAL_QUOTE" not in page.inner_text("main")
