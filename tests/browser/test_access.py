"""The printed address, and the page without it."""

from __future__ import annotations

import json
import urllib.request

import pytest

from tests.browser.checked_page import CheckedPage
from tests.browser.conftest import OpenPage
from tests.browser.explorer import Explorer

pytestmark = pytest.mark.browser


def test_printed_address_opens_the_page_and_its_token_leaves_the_address(
    checked: CheckedPage, explorer: Explorer
) -> None:
    page = checked.open()

    assert page.url == f"{explorer.origin}/"
    assert "token=" in explorer.entry
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert cookie["value"] not in explorer.entry
    page.go_back()
    assert "token" not in page.url


def test_page_without_the_token_says_how_to_open_it(checked: CheckedPage, explorer: Explorer) -> None:
    answer = checked.page.goto(explorer.origin)

    assert answer is not None
    assert answer.status == 401
    assert "toolfold ui" in checked.page.inner_text("main")
    assert not checked.find_violations()
    checked.allow("401")


def test_wrong_token_is_refused(checked: CheckedPage, explorer: Explorer) -> None:
    answer = checked.page.goto(f"{explorer.origin}/?token=" + "x" * 43)

    assert answer is not None
    assert answer.status == 403
    assert "toolfold ui" in checked.page.inner_text("main")
    assert not checked.page.context.cookies()
    checked.allow("403")


def test_api_has_no_answer_for_another_page(checked: CheckedPage, explorer: Explorer) -> None:
    """Another page on this machine has the cookie of the browser, because all ports of a host are one site."""
    page = checked.open()
    refused = page.request.get(f"{explorer.origin}/ui/api/start", headers={"origin": "http://127.0.0.1:1"})
    allowed = page.request.get(f"{explorer.origin}/ui/api/start")

    assert (refused.status, allowed.status) == (403, 200)
    assert refused.json()["error"]["next_step"]


def test_reload_needs_no_token(checked: CheckedPage) -> None:
    page = checked.open("catalog")
    page.reload()

    page.get_by_role("heading", name="Catalog", level=1).wait_for()


def test_two_pages_do_not_share_the_cookie_of_their_browsers(open_page: OpenPage, explorer: Explorer) -> None:
    open_page().open()
    other = open_page()
    answer = other.page.goto(explorer.origin)

    assert answer is not None
    assert answer.status == 401
    other.allow("401")


def test_mcp_clients_need_no_token(explorer: Explorer) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    request = urllib.request.Request(explorer.mcp, body, {"content-type": "application/json"})

    with urllib.request.urlopen(request, timeout=10) as answer:
        assert b"TOOL_LIST" in answer.read()
