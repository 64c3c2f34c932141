"""Ask: what a model reads after a request, and how budget and detail change it."""

import re

import pytest

from tests.browser.checked_page import CheckedPage
from tests.browser.conftest import OpenPage
from tests.browser.explorer import Explorer
from toolfold.client import Client

pytestmark = pytest.mark.browser

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
