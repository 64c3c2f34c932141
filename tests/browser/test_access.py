"""The printed address, and the page without it."""

import pytest

from tests.browser.checked_page import CheckedPage
from tests.browser.explorer import Explorer

pytestmark = pytest.mark.browser


def test_printed_address_opens_the_page_and_its_token_leaves_the_address(
    checked: CheckedPage, explorer: Explorer
) -> None:
    page = checked.open()

    assert page.url.partition("#")[0] == f"{explorer.origin}/"
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


def test_reload_needs_no_token(checked: CheckedPage) -> None:
    page = checked.open("catalog")
    page.reload()

    page.get_by_role("heading", name="Catalog", level=1).wait_for()
