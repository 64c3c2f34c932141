"""Try: from a form to an answer, and to a part of it."""

import json
import re
from collections.abc import Iterator, Mapping

import pytest

from tests.browser.checked_page import CheckedPage
from tests.browser.conftest import OpenPage
from tests.browser.explorer import Explorer, running_explorer

pytestmark = pytest.mark.browser

CLIPBOARD = {"permissions": ["clipboard-read", "clipboard-write"]}
OWN_KEY = "OWNKEYOFTHECALLER"


@pytest.fixture(scope="module")
def keyless(upstream: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """Serve without a key: callers bring theirs."""
    variables = {name: value for name, value in upstream.items() if name != "ALPHA_VANTAGE_API_KEY"}
    with running_explorer(tmp_path_factory.mktemp("keyless"), **variables) as running:
        yield running
    assert OWN_KEY not in running.log.read_text()


def test_form_to_table_chart_text_and_json(checked: CheckedPage) -> None:
    page = checked.open("try/TIME_SERIES_DAILY")
    page.get_by_label("symbol").fill("IBM")
    page.get_by_role("button", name="Call", exact=True).click()
    answer = page.get_by_role("region", name="Answer of TIME_SERIES_DAILY")
    answer.wait_for()

    assert answer.get_by_role("table").first.get_by_role("row").count() > 5
    assert not checked.find_violations()
    answer.get_by_role("tab", name="Chart").click()
    answer.locator("canvas").first.wait_for()
    assert not checked.find_violations()
    answer.get_by_role("tab", name="Text for a model").click()
    assert re.search(r"[\d,]+ tokens", answer.inner_text())
    answer.get_by_role("tab", name="JSON").click()
    assert "Meta Data" in answer.inner_text() or "{" in answer.inner_text()
    assert not checked.find_violations()


def test_select_is_applied_as_it_is_written(checked: CheckedPage) -> None:
    page = checked.open("try/TIME_SERIES_DAILY")
    page.get_by_label("symbol").fill("IBM")
    page.get_by_role("button", name="Call", exact=True).click()
    answer = page.get_by_role("region", name="Answer of TIME_SERIES_DAILY")
    answer.wait_for()
    before = len([url for url in checked.requests if url.endswith("/mcp")])
    page.get_by_text("Select a part").click()
    page.get_by_label("select", exact=True).fill("timestamp,close; last 3")
    page.get_by_text("answered from the cache").wait_for()
    page.get_by_text(re.compile(r"\d+ % less")).wait_for()  # tokens are counted after the answer is shown

    assert answer.get_by_role("table").first.get_by_role("row").count() == 4
    assert "open" not in answer.get_by_role("table").first.inner_text()
    assert len([url for url in checked.requests if url.endswith("/mcp")]) > before
    assert not checked.find_violations()


def test_call_is_copied_as_a_model_makes_it(open_page: OpenPage) -> None:
    checked = open_page(**CLIPBOARD)
    page = checked.open("try/GLOBAL_QUOTE")
    page.get_by_label("symbol").fill("MSFT")
    page.get_by_role("region", name="As a model calls it").get_by_role("button", name=re.compile("^Copy")).click()
    copied = page.evaluate("navigator.clipboard.readText()")

    assert json.loads(copied) == {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "MSFT"}}


def test_keyboard_alone_calls_and_reads_every_form_of_the_answer(checked: CheckedPage) -> None:
    page = checked.open("try/GLOBAL_QUOTE")
    page.get_by_label("symbol").focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("MSFT")
    page.keyboard.press("Enter")
    answer = page.get_by_role("region", name="Answer of GLOBAL_QUOTE")
    answer.get_by_text("MSFT").first.wait_for()
    tabs = answer.get_by_role("tab")
    tabs.first.focus()
    for name in tabs.all_inner_texts()[1:]:
        page.keyboard.press("ArrowRight")
        checked.wait_until(f"document.activeElement.innerText === {name!r}")
        assert "MSFT" in answer.get_by_role("tabpanel").inner_text()


def test_missing_argument_is_found_before_the_call(checked: CheckedPage) -> None:
    page = checked.open("try/GLOBAL_QUOTE")
    page.get_by_role("button", name="Empty").click()
    page.get_by_role("button", name="Call", exact=True).click()

    page.get_by_text("1 problem", exact=True).wait_for()
    assert page.evaluate("document.activeElement.getAttribute('aria-invalid')") == "true"
    assert page.get_by_role("region", name="Answer of GLOBAL_QUOTE").count() == 0
    assert not checked.find_violations()


def test_own_key_is_sent_with_calls_and_lost_by_a_reload(open_page: OpenPage, keyless: Explorer) -> None:
    checked = open_page(keyless)
    page = checked.open("try/GLOBAL_QUOTE")
    field = page.get_by_label(re.compile("API key"))
    field.fill(OWN_KEY)
    with page.expect_request("**/mcp") as sent:
        page.get_by_role("button", name="Call", exact=True).click()
    page.get_by_role("region", name="Answer of GLOBAL_QUOTE").wait_for()

    assert OWN_KEY in str(sent.value.all_headers())
    assert (
        page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])").count(
            OWN_KEY
        )
        == 0
    )
    assert OWN_KEY not in str(page.context.storage_state())
    page.reload()
    assert page.get_by_label(re.compile("API key")).input_value() == ""


def test_failed_call_says_the_next_step(checked: CheckedPage) -> None:
    page = checked.open("try/GLOBAL_QUOTE")
    page.get_by_label("symbol").fill("FAULT.HTTP503")
    page.get_by_role("button", name="Call", exact=True).click()
    alert = page.get_by_role("alert")
    alert.wait_for()

    assert re.search(r"[A-Z]+_[A-Z]+", alert.inner_text())
    assert not checked.find_violations()


def test_running_call_shows_its_time_and_can_be_cancelled(checked: CheckedPage) -> None:
    page = checked.open("try/GLOBAL_QUOTE")
    page.get_by_label("symbol").fill("FAULT.SLOW.5")
    page.get_by_role("button", name="Call", exact=True).click()
    page.get_by_role("progressbar").wait_for()
    page.get_by_role("button", name="Cancel").click()

    page.get_by_text("The page no longer waits for this call").wait_for()
    # The button is gone; a keyboard goes on beside it.
    assert page.evaluate("document.activeElement.innerText") == "Call"
    assert not checked.find_violations()
