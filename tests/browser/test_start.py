"""Connect: what toolfold is, what it saves here, and how a client is connected."""

import re

import pytest

from tests.browser.checked_page import CheckedPage
from tests.browser.conftest import OpenPage
from tests.browser.explorer import Explorer

pytestmark = pytest.mark.browser

CLIPBOARD = {"permissions": ["clipboard-read", "clipboard-write"]}


def test_one_sentence_and_the_measured_tokens(checked: CheckedPage) -> None:
    page = checked.open("start")
    checked.settle()
    shown = page.inner_text("main")
    start = page.request.get(f"{checked.explorer.origin}/ui/api/start").json()

    assert f"Three tools instead of {start['catalog']['tools']}" in shown
    assert "MCP server" in shown
    assert f"{start['tokens']['definitions']:,}" in shown
    assert f"{start['tokens']['all_definitions']:,}" in shown
    assert re.search(r"9\d(\.\d)? %", shown)


def test_each_client_has_a_text_to_copy_with_the_endpoint_filled_in(open_page: OpenPage, explorer: Explorer) -> None:
    checked = open_page(**CLIPBOARD)
    page = checked.open("start")
    clients = page.get_by_role("tablist", name="Clients").get_by_role("tab")
    clients.first.wait_for()
    titles = clients.all_inner_texts()

    assert {"Claude Desktop", "Claude Code", "Cursor", "VS Code"} <= set(titles)
    for tab in clients.all():
        tab.click()
        panel = page.get_by_role("tabpanel")
        panel.get_by_role("button", name=re.compile("^Copy")).first.click()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied in panel.locator("pre").all_inner_texts()
        assert explorer.mcp in panel.inner_text() or "stdio" in panel.inner_text()
        assert "token=" not in panel.inner_text()
    page.get_by_role("button", name="Copy the address of the endpoint").click()
    assert page.evaluate("navigator.clipboard.readText()") == explorer.mcp


def test_copying_works_where_the_browser_has_no_clipboard(open_page: OpenPage) -> None:
    """As on a page that another machine serves over plain HTTP."""
    checked = open_page()
    checked.page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page = checked.open("start")
    button = page.get_by_role("button", name="Copy the address of the endpoint")
    button.click()

    checked.wait_until("/^(Copied|Not copied)$/.test(document.activeElement.innerText)")
