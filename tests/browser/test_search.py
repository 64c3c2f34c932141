"""Catalog, the page of a tool, and Ask: what a model finds, and what it reads."""

import re

import pytest

from tests.browser.conftest import OpenPage
from tests.browser.pages import CheckedPage, Explorer
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


ANSWER = "the answer of TOOL_LIST"


def test_answer_is_the_text_that_a_model_gets(checked: CheckedPage, explorer: Explorer) -> None:
    page = checked.open("ask")
    page.get_by_role("textbox", name="Request").fill("oil price")
    answer = page.get_by_role("region", name=ANSWER)
    answer.filter(has_text="WTI").wait_for()

    with Client(explorer.mcp) as client:
        assert answer.inner_text().strip() == client.list("oil price").text.strip()
    page.get_by_text(re.compile(r"^\d+ tokens$")).first.wait_for()
    checked.wait_until("location.hash === '#/ask?q=oil+price'")


def test_sliders_move_budget_and_number_of_tools_by_keyboard(checked: CheckedPage) -> None:
    page = checked.open("ask?q=stock%20price")
    answer = page.get_by_role("region", name=ANSWER)
    answer.wait_for()
    whole = answer.inner_text()
    budget = page.get_by_role("slider", name="Token budget")
    budget.focus()
    page.keyboard.press("ArrowRight")
    asked = page.locator("code.asked").first
    asked.filter(has_text="token_budget").wait_for()
    checked.settle()
    assert len(answer.inner_text()) < len(whole)
    assert re.search(r"\d+ tokens", budget.get_attribute("aria-valuetext") or "")

    page.keyboard.press("Home")
    number = page.get_by_role("slider", name="Number of tools")
    number.focus()
    page.keyboard.press("ArrowRight")
    asked.filter(has_text='"limit":').wait_for()
    page.get_by_label("Detail").select_option("full")
    asked.filter(has_text='"detail":"full"').wait_for()
    checked.settle()
    assert not checked.find_violations()


def test_tool_get_follows_and_the_tokens_add_up(checked: CheckedPage, explorer: Explorer) -> None:
    page = checked.open("ask?q=crude%20oil")
    page.get_by_role("button", name="BRENT", exact=True).click()
    said = page.get_by_role("region", name="what TOOL_GET says of BRENT")
    said.wait_for()

    with Client(explorer.mcp) as client:
        assert said.inner_text().strip() == client.get("BRENT").text.strip()
    rows = page.get_by_role("region", name="Steps of the conversation").get_by_role("row").all_inner_texts()
    figures = [[int(cell.replace(",", "")) for cell in row.split("\t")[1:]] for row in rows[1:]]
    assert len(figures) == 3
    assert [sum(own for own, _ in figures[: n + 1]) for n in range(3)] == [total for _, total in figures]
    assert not checked.find_violations()


def test_focus_stays_near_a_button_that_is_disabled_by_its_use(checked: CheckedPage) -> None:
    page = checked.open("ask")
    page.get_by_label("Detail").select_option("full")
    page.get_by_role("button", name="Defaults").press("Enter")

    checked.wait_until("document.querySelector('.ask-controls').contains(document.activeElement)")


def test_catalog_without_alpha_vantage_has_no_requests_of_it(open_page: OpenPage, human: Explorer) -> None:
    page = open_page(human).open("ask")
    page.get_by_text("CLOSE_HARBOUR").first.wait_for()

    assert page.get_by_role("textbox", name="Request").input_value() == ""
    assert page.get_by_text("price of Apple").count() == 0
