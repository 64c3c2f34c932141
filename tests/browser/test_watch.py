"""Watch: calls of other clients, as they happen."""

import contextlib
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.browser.conftest import OpenPage
from tests.browser.pages import Explorer, running_explorer
from tests.conformance.helpers import FOLDER, TOOLFOLD
from toolfold.client import Client
from toolfold.errors import ToolfoldError

pytestmark = pytest.mark.browser


@pytest.fixture
def watched(upstream: Mapping[str, str], tmp_path: Path) -> Iterator[Explorer]:
    """Serve a process of its own: its list of calls is empty. Request it before pages: they must be closed first."""
    with running_explorer(tmp_path, **upstream) as running:
        yield running


def test_calls_of_another_mcp_client_appear(watched: Explorer, open_page: OpenPage) -> None:
    page = open_page(watched).open("watch")
    main = page.locator("main")
    main.get_by_text("No client has called anything yet").wait_for()

    script = [sys.executable, str(FOLDER / "three_steps.py"), "mcp", "auto", watched.mcp]
    subprocess.run(script, check=True, capture_output=True, timeout=240)

    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="GLOBAL_QUOTE", exact=True))
    row.wait_for()
    assert row.count() == 1
    assert "OK" in row.inner_text()
    assert re.search(r"\d ms|\d s", row.inner_text())
    names = main.locator("td.name").all_inner_texts()
    assert {name.split()[0] for name in names} == {"GLOBAL_QUOTE", "TOOL_LIST", "TOOL_GET"}
    page.get_by_label("Show").select_option("all")
    page.get_by_role("row").filter(has_text="TOOL_CALL").wait_for()
    figures = main.locator(".stats").inner_text()
    assert "schemas loaded on demand" in figures
    assert main.locator(".stat").count() == 7


def test_running_call_is_on_top_with_its_time(watched: Explorer, open_page: OpenPage) -> None:
    checked = open_page(watched)
    page = checked.open("watch")
    with Client(watched.mcp) as client:
        slow = threading.Thread(target=_try_call, args=(client, "FAULT.SLOW.9"))
        slow.start()
        running = page.locator("tr.running")
        running.wait_for()
        assert "GLOBAL_QUOTE" in running.inner_text()
        checked.wait_until("parseInt(document.querySelector('tr.running .number')?.innerText) >= 2")
        slow.join()
    running.wait_for(state="detached")
    page.get_by_role("row").filter(has_text="GLOBAL_QUOTE").wait_for()


def test_rows_are_filtered_by_tool_kind_and_outcome(watched: Explorer, open_page: OpenPage) -> None:
    with Client(watched.mcp) as client:
        client.list("oil price")
        for symbol in ("IBM", "FAULT.HTTP503"):
            _try_call(client, symbol)
        client.call("WTI")
    page = open_page(watched).open("watch")
    rows = page.locator("tbody tr")
    page.get_by_role("link", name="WTI", exact=True).wait_for()
    everything = rows.count()

    page.get_by_label("Tool").fill("quote")
    assert {row.split()[1] for row in rows.all_inner_texts()} == {"GLOBAL_QUOTE"}
    page.get_by_label("Outcome").select_option("errors")
    assert rows.count() == 1
    assert "OK" not in rows.inner_text().split()
    page.get_by_label("Tool").fill("no such tool")
    page.get_by_role("button", name="Show all").click()
    assert rows.count() == everything
    page.get_by_label("Show").select_option("request")
    assert all(name.startswith("TOOL_") for name in page.locator("td.name").all_inner_texts())


def test_search_that_finds_nothing_is_listed_and_leads_to_the_catalog(watched: Explorer, open_page: OpenPage) -> None:
    with Client(watched.mcp) as client:
        client.list("xylophone lessons")
    page = open_page(watched).open("watch")

    section = page.get_by_role("region", name="Searches that found nothing")
    section.get_by_text("xylophone lessons").click()
    page.get_by_role("heading", name="Catalog", level=1).wait_for()
    assert page.get_by_role("searchbox").first.input_value() == "xylophone lessons"


def test_pause_stops_requests_and_resume_catches_up(watched: Explorer, open_page: OpenPage) -> None:
    checked = open_page(watched)
    page = checked.open("watch")
    page.get_by_text("live", exact=True).wait_for()
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(500)  # in which a request that has begun is seen
    before = len(checked.requests)
    with Client(watched.mcp) as client:
        client.call("WTI")
    page.wait_for_timeout(1500)
    assert len(checked.requests) == before
    assert page.get_by_role("link", name="WTI", exact=True).count() == 0

    page.get_by_role("button", name="Resume").click()
    page.get_by_role("link", name="WTI", exact=True).wait_for()


def test_log_of_other_processes_is_shown_and_named(
    upstream: Mapping[str, str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """An agent on this machine starts ``toolfold stdio``; its calls are in the file of TOOLFOLD_CALL_LOG."""
    log = tmp_path / "calls.jsonl"
    environment = {**upstream, "TOOLFOLD_CALL_LOG": str(log), "HOME": str(tmp_path)}
    with Client(command=[str(TOOLFOLD), "stdio"], environment=environment) as client:
        client.list("oil price")
        client.call("WTI")
    with running_explorer(tmp_path, TOOLFOLD_CALL_LOG=str(log), **upstream) as running:
        checked = request.getfixturevalue("open_page")(running)
        page = checked.open("watch")
        page.get_by_role("link", name="WTI", exact=True).wait_for()
        assert "calls.jsonl" in page.inner_text("main")
        assert page.get_by_role("row").filter(has_text="TOOL_LIST").count() == 1
        page.context.close()


def test_hidden_tab_requests_nothing(watched: Explorer, open_page: OpenPage) -> None:
    checked = open_page(watched)
    page = checked.open("watch")
    page.get_by_text("live", exact=True).wait_for()
    page.evaluate(_SET_HIDDEN, True)
    page.wait_for_timeout(500)  # in which a request that has begun is seen
    before = len(checked.requests)
    page.wait_for_timeout(1500)
    assert len(checked.requests) == before

    with page.expect_request("**"):
        page.evaluate(_SET_HIDDEN, False)


# Headless browsers have no tabs that could cover each other.
_SET_HIDDEN = """(hidden) => {
  Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_server_that_is_gone_is_reported_until_it_returns(watched: Explorer, open_page: OpenPage) -> None:
    checked = open_page(watched)
    page = checked.open("watch")
    page.get_by_text("live", exact=True).wait_for()
    page.context.set_offline(True)
    alert = page.get_by_role("alert")
    alert.wait_for()
    assert "cannot be reached" in alert.inner_text()
    assert not checked.find_violations()
    page.wait_for_timeout(3500)
    failed = [problem for problem in checked.problems if "ERR_INTERNET_DISCONNECTED" in problem]
    assert 2 <= len(failed) <= 4, failed  # after 1, 2 and 4 s, not each second
    page.context.set_offline(False)
    page.get_by_role("button", name="Try now").click()
    alert.wait_for(state="detached")
    page.get_by_text("live", exact=True).wait_for()
    checked.allow("ERR_INTERNET_DISCONNECTED")


def _try_call(client: Client, symbol: str) -> None:
    with contextlib.suppress(ToolfoldError):
        client.call("GLOBAL_QUOTE", symbol=symbol)
