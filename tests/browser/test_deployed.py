"""The page of a deployment with an issuer: it is public, and what it reads needs an access token."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.browser.checked_page import CheckedPage
from tests.browser.conftest import OpenPage
from tests.browser.deployment import Deployment, running_deployment
from tests.support.catalogs import BUNDLED_TOOLS
from tests.support.issuer import Issuer

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as running:
        yield running


@pytest.fixture(scope="module")
def deployed(issuer: Issuer, upstream: Mapping[str, str]) -> Iterator[Deployment]:
    variables = {**upstream, "TOOLFOLD_EXPLORER": "calls", "TOOLFOLD_OAUTH_ISSUER": issuer.url}
    with running_deployment(variables, Path()) as running:
        yield running


def enter(checked: CheckedPage, token: str) -> None:
    checked.page.get_by_label("Access token").fill(token)
    checked.page.get_by_role("button", name="Use", exact=True).click()


def test_access_token_opens_the_page_and_is_stored_nowhere(
    open_page: OpenPage, deployed: Deployment, issuer: Issuer
) -> None:
    checked = open_page(deployed)
    resource = f"{deployed.entry}mcp"
    checked.open()
    assert not checked.find_violations()
    enter(checked, issuer.token(resource, scope="tools:call"))
    checked.page.get_by_text("INSUFFICIENT_SCOPE").wait_for()
    assert not checked.find_violations()
    enter(checked, "two words")
    checked.page.get_by_text("copy it again").wait_for()
    token = issuer.token(resource)
    enter(checked, token)
    checked.page.get_by_role("heading", name=f"Three tools instead of {BUNDLED_TOOLS}").wait_for()

    stored = "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])"
    assert token not in checked.page.evaluate(stored)
    checked.page.get_by_role("link", name="Ask", exact=True).click()
    checked.page.get_by_text("What the model reads").wait_for()
    checked.settle()
    assert not checked.find_violations()
    checked.allow("401")
    checked.allow("403")


def test_tool_is_called_with_the_access_token(open_page: OpenPage, deployed: Deployment, issuer: Issuer) -> None:
    checked = open_page(deployed)
    checked.open("try/GLOBAL_QUOTE")
    enter(checked, issuer.token(f"{deployed.entry}mcp"))
    key = checked.page.get_by_label(re.compile("API key"))
    key.fill("ключ")
    checked.page.get_by_text("copy it again").wait_for()
    key.fill("OWNKEYOFTHECALLER")
    checked.page.get_by_role("button", name="Call", exact=True).click()

    answer = checked.page.get_by_role("region", name="Answer of GLOBAL_QUOTE")
    answer.get_by_text("IBM", exact=True).first.wait_for()
    checked.page.get_by_role("tab", name="curl").click()
    assert f"{deployed.entry}mcp" in checked.page.inner_text(".copy-as")
    checked.allow("401")
