"""Approve: a call waits until a person has decided on the page."""

from collections.abc import Iterator

import pytest

from tests.browser.conftest import OpenPage
from tests.browser.explorer import Explorer
from tests.support.approvals import ARGUMENTS, TOOL
from tests.support.upstream import Upstream
from toolfold.client import Client
from toolfold.errors import CallError

pytestmark = pytest.mark.browser


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
