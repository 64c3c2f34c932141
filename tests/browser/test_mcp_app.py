"""The MCP App in the reference host: the answers of TOOL_CALL as chart, table and option chain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.pages import AppHost, Explorer, axe_violations, running_host

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

SERIES = {"tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": "IBM"}}
CHAIN = {"tool_name": "HISTORICAL_OPTIONS", "arguments": {"symbol": "IBM"}}
TABLE = {"tool_name": "TOP_GAINERS_LOSERS"}
RECORD = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}
REFUSED = {"tool_name": "GLOBAL_QUOTE", "arguments": {}}


@pytest.fixture(scope="module")
def host_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_host(tmp_path_factory.mktemp("host")) as url:
        yield url


@pytest.fixture
def host(browser: Browser, explorer: Explorer, host_url: str) -> Iterator[AppHost]:
    """Return a host; at the end, check that the app made no request and that nothing went wrong."""
    made = AppHost(browser, explorer, host_url)
    yield made
    made.context.close()
    assert (made.problems, made.foreign) == ([], [])


@pytest.mark.parametrize(
    ("call", "theme", "width"),
    [
        (SERIES, "light", 760),
        (SERIES, "dark", 360),
        (CHAIN, "light", 760),
        (CHAIN, "dark", 760),
        (TABLE, "light", 760),
        (RECORD, "dark", 760),
        (REFUSED, "light", 360),
    ],
)
def test_an_answer_is_shown_without_barriers(host: AppHost, call: dict[str, Any], theme: str, width: int) -> None:
    frame = host.show(call, theme=theme, width=width)

    assert host.opened["bytes"] <= 60_000
    assert host.opened["names"] == ["TOOL_CALL"]
    assert frame.locator("html").get_attribute("data-theme") == theme
    body = frame.locator("body")
    assert body.evaluate("() => document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert body.evaluate("() => document.documentElement.scrollHeight <= innerHeight + 1")
    assert axe_violations(host.page.frames[-1]) == []


def test_a_table_sorts_and_becomes_csv(host: AppHost) -> None:
    host.context.grant_permissions(["clipboard-read", "clipboard-write"])
    frame = host.show(SERIES)
    frame.get_by_role("button", name="Table").click()
    newest = frame.locator("tbody tr[aria-rowindex='2'] td").all_inner_texts()[1:]
    assert newest[0] == "2026-01-13"
    newest[-1] = newest[-1].replace(",", "")  # a volume, which is shown in groups of digits

    frame.get_by_role("button", name="close").focus()
    host.page.keyboard.press("Enter")
    closes = [float(one) for one in frame.locator("tbody tr:not(.filler) td:nth-child(6)").all_inner_texts()]
    assert closes == sorted(closes)

    frame.get_by_role("button", name="Download CSV").click()
    host.page.wait_for_function("downloads.length === 1")
    file = host.page.evaluate("downloads[0]")
    assert (file["uri"], file["mimeType"]) == ("file:///TIME_SERIES_DAILY-IBM.csv", "text/csv")
    assert file["text"].splitlines()[:2] == ["timestamp,open,high,low,close,volume", ",".join(newest)]
    frame.get_by_role("button", name="Copy as CSV").click()
    frame.get_by_text("Copied", exact=True).wait_for()
    host.page.bring_to_front()
    assert host.page.evaluate("navigator.clipboard.readText()") == file["text"]


def test_the_keyboard_reads_a_chart(host: AppHost) -> None:
    frame = host.show(SERIES)
    frame.get_by_role("button", name="Table").click()
    close = "close " + frame.locator("tbody tr[aria-rowindex='3'] td").nth(5).inner_text()
    frame.get_by_role("button", name="Chart").click()
    frame.get_by_role("application").focus()
    host.page.keyboard.press("End")
    host.page.keyboard.press("ArrowLeft")

    frame.locator(".point", has_text="2026-01-12").wait_for()
    assert frame.locator(".point").all_text_contents() == ["2026-01-12", close]
    assert frame.get_by_role("status").inner_text() == f"2026-01-12, {close}"
    frame.get_by_role("button", name="volume").press("Enter")
    assert frame.locator("svg path").count() == 2


def test_a_table_of_texts_is_shown_before_its_chart(host: AppHost) -> None:
    frame = host.show({"tool_name": "NEWS_SENTIMENT", "arguments": {"tickers": "IBM"}})

    assert frame.locator("thead th .sort").first.inner_text().strip() == "title"
    frame.get_by_role("button", name="Chart").click()
    frame.get_by_text("Times: the time zone of the source").wait_for()


def test_an_option_chain_has_calls_and_puts_by_strike(host: AppHost) -> None:
    frame = host.show(CHAIN)

    shown = [name.strip() for name in frame.locator("thead th .sort").all_inner_texts()]
    assert shown == ["call last", "call bid", "call ask", "strike", "put ask", "put bid", "put last"]
    assert frame.get_by_label("Expiration").locator("option").count() > 1
    frame.get_by_role("button", name="Chart").click()
    assert frame.locator("svg path").count() == 2
    frame.get_by_role("button", name="Table").click()
    assert "contractID" in frame.locator("thead").inner_text()


def test_a_person_loads_the_rows_that_a_model_does_without(host: AppHost) -> None:
    frame = host.show(CHAIN)
    frame.get_by_role("button", name="Table").click()
    shown = int(frame.locator(".table-bar").inner_text().partition(" rows")[0])

    frame.get_by_role("button", name="Load more rows").click()
    frame.get_by_text("Loading…").wait_for(state="detached")
    assert int(frame.locator("table").get_attribute("aria-rowcount") or 0) > 2 * shown > 100


def test_the_theme_and_the_colours_follow_the_host(host: AppHost) -> None:
    frame = host.show(RECORD)
    styles = {"variables": {"--color-background-primary": "rgb(1, 2, 3)"}}
    host.page.evaluate("(styles) => bridge.sendHostContextChange({ theme: 'dark', styles })", styles)

    frame.locator("html[data-theme=dark]").wait_for()
    assert frame.locator("html").evaluate("(root) => getComputedStyle(root).backgroundColor") == "rgb(1, 2, 3)"


def test_a_handshake_client_over_http_finds_the_app(host: AppHost) -> None:
    frame = host.show(TABLE, mode="legacy")

    # Such a client requests a stream, which this server does not have.
    host.problems[:] = [one for one in host.problems if "405" not in one]
    assert frame.locator("thead th").nth(1).inner_text() == "ticker"
