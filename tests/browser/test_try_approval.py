"""Try: a call that needs approval, approved by a person in the page."""

import pytest

from tests.browser.conftest import OpenPage
from tests.browser.explorer import Explorer
from tests.support.approvals import CONFIRMED, TOOL
from tests.support.upstream import Upstream

pytestmark = pytest.mark.browser


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
