"""Try: from a form to an answer. Approve: a call waits until a person has decided on the page."""

import json
import re
from collections.abc import Iterator, Mapping

import pytest

from tests.browser.conftest import OpenPage
from tests.browser.pages import CheckedPage, Explorer, running_explorer
from tests.support.approvals import ARGUMENTS, CONFIRMED, TOOL
from tests.support.upstream import Upstream
from toolfold.client import Client
from toolfold.errors import CallError

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
    page.get_by_label("symbol").fill("FAULT.SLOW.60")
    page.get_by_role("button", name="Call", exact=True).click()
    page.get_by_role("progressbar").wait_for()
    page.get_by_role("button", name="Cancel").click()

    page.get_by_text("The page no longer waits for this call").wait_for()
    # The button is gone; a keyboard goes on beside it.
    assert page.evaluate("document.activeElement.innerText") == "Call"
    assert not checked.find_violations()


@pytest.mark.parametrize("tool", [TOOL, CONFIRMED])
def test_call_is_kept_until_a_person_has_approved_it(
    open_page: OpenPage, human: Explorer, docks: Upstream, tool: str
) -> None:
    checked = open_page(human)
    page, sent = checked.open(f"try/{tool}"), len(docks.requests)
    page.locator("[data-path=harbour]").fill("Tromsø")
    page.locator("form button[type=submit]").click()
    panel = page.locator(".approval")
    panel.wait_for()
    assert '"Tromsø"' in panel.inner_text()
    assert not checked.find_violations()
    page.get_by_role("button", name="It is approved: call").click()
    panel.get_by_text("is not approved yet").wait_for()
    assert len(docks.requests) == sent

    panel.get_by_role("link", name="Approve or deny").click()
    page.get_by_role("article", name=tool).get_by_role("button", name="Approve").click()
    page.get_by_role("button", name="Approve this call").click()
    page.locator("main").get_by_text(f"Approved: {tool}").wait_for()
    page.go_back()
    page.get_by_role("button", name="It is approved: call").click()

    page.get_by_role("tab", name="Text for a model").wait_for()
    page.locator(".approval").wait_for(state="detached")
    assert page.locator("[data-path=harbour]").input_value() == "Tromsø"
    assert len(docks.requests) == sent + 1
    # Each further call needs an approval of its own, so no select is applied as it is written.
    assert page.locator(".select-panel").count() == 0


@pytest.fixture
def client(human: Explorer) -> Iterator[Client]:
    with Client(human.mcp) as connected:
        yield connected


def request_call(client: Client, **arguments: object) -> str:
    """Call the destructive tool, and return the token that the refused call was answered with."""
    with pytest.raises(CallError) as refused:
        client.call_meta_tool("TOOL_CALL_WRITE", {"tool_name": TOOL, "arguments": {**ARGUMENTS, **arguments}})
    assert refused.value.code == "APPROVAL_REQUIRED"
    return str(refused.value.details["approval_token"])


def repeat_call(client: Client, token: str, **arguments: object) -> str:
    """Repeat the call with its token; return OK or the code of the error."""
    given = {"tool_name": TOOL, "arguments": {**ARGUMENTS, **arguments}, "approval_token": token}
    try:
        client.call_meta_tool("TOOL_CALL_WRITE", given)
    except CallError as error:
        return error.code
    return "OK"


def test_approved_call_succeeds_once(open_page: OpenPage, human: Explorer, client: Client, docks: Upstream) -> None:
    page = open_page(human).open("approve")
    page.get_by_text("No call waits for approval").wait_for()
    sent = len(docks.requests)
    token = request_call(client, harbour="Tromsø")
    card = page.get_by_role("article", name=TOOL)
    card.wait_for()
    shown = card.inner_text()
    for text in ('"Tromsø"', "days", "3", "It changes or deletes data", "docks", "Expires in 9 min"):
        assert text in shown
    assert repeat_call(client, token, harbour="Tromsø") == "APPROVAL_PENDING"

    card.get_by_role("button", name="Approve").click()
    dialog = page.get_by_role("dialog")
    assert '"Tromsø"' in dialog.inner_text()
    dialog.get_by_role("button", name="Approve this call").click()
    page.locator("main").get_by_text(f"Approved: {TOOL}").wait_for()
    card.wait_for(state="detached")
    assert len(docks.requests) == sent
    assert repeat_call(client, token, harbour="Tromsø") == "OK"
    assert len(docks.requests) == sent + 1
    assert repeat_call(client, token, harbour="Tromsø") == "APPROVAL_REQUIRED"


def test_denied_call_is_refused(open_page: OpenPage, human: Explorer, client: Client, docks: Upstream) -> None:
    page = open_page(human).open("approve")
    sent = len(docks.requests)
    token = request_call(client, harbour="Oslo")
    card = page.get_by_role("article", name=TOOL).filter(has_text="Oslo")
    card.get_by_role("button", name="Deny").click()
    page.get_by_role("dialog").get_by_role("button", name="Deny this call").click()
    page.locator("main").get_by_text(f"Denied: {TOOL}").wait_for()

    assert repeat_call(client, token, harbour="Oslo") == "APPROVAL_DENIED"
    assert len(docks.requests) == sent


def test_dialog_keeps_the_focus_and_escape_decides_nothing(
    open_page: OpenPage, human: Explorer, client: Client
) -> None:
    checked = open_page(human)
    page = checked.open("approve")
    token = request_call(client, harbour="Bodø")
    card = page.get_by_role("article", name=TOOL).filter(has_text="Bodø")
    approve = card.get_by_role("button", name="Approve")
    approve.focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    assert not checked.find_violations()
    for _ in range(6):
        page.keyboard.press("Tab")
        # Between the last control and the first, the focus is at the browser's own controls.
        assert page.evaluate(
            "document.activeElement.closest('dialog') !== null || document.activeElement === document.body"
        )
    page.keyboard.press("Escape")

    page.get_by_role("dialog").wait_for(state="detached")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == f"Approve {TOOL}"
    assert repeat_call(client, token, harbour="Bodø") == "APPROVAL_PENDING"


def test_decision_that_was_made_elsewhere_is_reported(open_page: OpenPage, human: Explorer, client: Client) -> None:
    first, second = open_page(human), open_page(human)
    pages = [first.open("approve"), second.open("approve")]
    request_call(client, harbour="Vardø")
    cards = [page.get_by_role("article", name=TOOL).filter(has_text="Vardø") for page in pages]
    cards[1].get_by_role("button", name="Approve").click()
    cards[0].get_by_role("button", name="Deny").click()
    pages[0].get_by_role("button", name="Deny this call").click()
    pages[0].locator("main").get_by_text(f"Denied: {TOOL}").wait_for()
    pages[1].get_by_role("button", name="Approve this call").click()

    alert = pages[1].get_by_role("alert")
    alert.wait_for()
    assert "denied" in alert.inner_text()
    assert not second.find_violations()
    second.allow("409")


def test_call_that_expires_while_a_person_reads_cannot_be_decided(
    open_page: OpenPage, human: Explorer, client: Client
) -> None:
    checked = open_page(human)
    checked.page.clock.install()
    page = checked.open("approve")
    request_call(client, harbour="Hammerfest")
    page.clock.run_for(3000)
    card = page.get_by_role("article", name=TOOL).filter(has_text="Hammerfest")
    card.get_by_role("button", name="Approve").click()
    dialog = page.get_by_role("dialog")
    page.clock.fast_forward("10:00")

    dialog.get_by_text("It has expired").wait_for()
    assert dialog.get_by_role("button", name="Approve this call").is_disabled()
    assert "Expired" in card.inner_text()


def test_argument_cannot_deceive_the_person(open_page: OpenPage, human: Explorer, client: Client) -> None:
    page = open_page(human).open("approve")
    request_call(client, harbour="Alta\u202e\u2066nnemmoh <img src=x onerror=attack()>\n days: 1")
    card = page.get_by_role("article", name=TOOL).filter(has_text="Alta")
    card.wait_for()

    assert "AltaU+202EU+2066nnemmoh <img src=x onerror=attack()>\\n days: 1" in card.inner_text()
    assert card.locator("img").count() == 0


def test_large_numbers_keep_their_digits(open_page: OpenPage, human: Explorer, client: Client) -> None:
    page = open_page(human).open("approve")
    request_call(client, harbour="Alesund", days=12345678901234567890)
    card = page.get_by_role("article", name=TOOL).filter(has_text="Alesund")
    card.wait_for()

    assert "12345678901234567890" in card.inner_text()


def test_server_without_persons_says_how_to_turn_it_on(open_page: OpenPage, explorer: Explorer) -> None:
    page = open_page(explorer).open("approve")

    page.get_by_text("TOOLFOLD_APPROVE=human toolfold ui").wait_for()
    assert page.get_by_text("No call waits for approval").count() == 0
