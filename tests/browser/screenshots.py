"""Write the pictures of the documentation: ``make screenshots``.

Each view over the mock API, with what a person would see after some minutes of use. The pictures are made at 100 %, in
colours of one palette, so that each has some ten kilobytes.
"""

import contextlib
import io
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page

from tests.browser.pages import AppHost, CheckedPage, Explorer, running_chromium, running_explorer, running_host
from tests.support.approvals import TOOL, compile_docks, reply
from tests.support.upstream import Upstream
from toolfold.client import Client
from toolfold.errors import ToolfoldError
from toolfold.mock_api.server import MockApi

FOLDER = Path("docs/images")
SIZE = {"width": 1120, "height": 760}
HEIGHTS = {"start": 640}
"""Of pictures that end earlier: the configuration of a client has paths of this machine."""
COLOURS = 128
"""Of the palette: text on a few grounds, with the steps between."""


def main() -> None:
    """Write all pictures."""
    with running_chromium() as browser, MockApi() as mock_api, tempfile.TemporaryDirectory() as folder:
        variables = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "ALPHA_VANTAGE_API_KEY": "key-of-the-mock-api"}
        with running_explorer(Path(folder), port=8790, **variables) as market:
            use_as_an_agent(market)
            for name, draw in VIEWS.items():
                draw_view(browser, market, name, draw)
            draw_app(browser, market, Path(folder))
    with running_chromium() as browser, Upstream(reply) as docks, tempfile.TemporaryDirectory() as folder:
        variables = {
            "TOOLFOLD_CATALOG": str(compile_docks(Path(folder))),
            "TOOLFOLD_ALLOWED_HOSTS": "docks.test",
            "TOOLFOLD_SOURCE_DOCKS_URL": docks.url,
            "TOOLFOLD_APPROVE": "human",
        }
        with running_explorer(Path(folder), port=8790, **variables) as harbours:
            draw_view(browser, harbours, "approve", draw_approve)


def use_as_an_agent(explorer: Explorer) -> None:
    """Make the requests that Watch shows."""
    with Client(explorer.mcp) as client:
        for query in ("apple share price", "oil price by month", "fermented tea recipes"):
            client.list(query)
        client.get("TIME_SERIES_DAILY", "WTI")
        for tool, arguments in (
            ("GLOBAL_QUOTE", {"symbol": "AAPL"}),
            ("TIME_SERIES_DAILY", {"symbol": "AAPL"}),
            ("GLOBAL_QUOTE", {"symbol": "FAULT.HTTP503"}),
            ("WTI", {"interval": "monthly"}),  # the source serves again: TOOL_LIST does not name the failure
            ("GLOBAL_QUOTE", {"symbol": "AAPL"}),
            ("TIME_SERIES_DAILY", {"symbol": "AAPL"}),
        ):
            with contextlib.suppress(ToolfoldError):
                client.call_meta_tool("TOOL_CALL", {"tool_name": tool, "arguments": arguments, "max_tokens": 2000})


def draw_view(browser: Browser, explorer: Explorer, name: str, draw: Callable[[CheckedPage], None]) -> None:
    """Write the picture of one view."""
    checked = CheckedPage(browser.new_context(viewport=SIZE, reduced_motion="reduce"), explorer)
    draw(checked)
    checked.page.mouse.move(0, 0)
    checked.settle()
    save(checked.page, name)
    checked.page.context.close()


def save(page: Page, name: str) -> None:
    """Write what the window shows."""
    size = {"x": 0, "y": 0, "width": SIZE["width"], "height": HEIGHTS.get(name, SIZE["height"])}
    save_picture(page.screenshot(clip=size), f"explorer-{name}")


def save_picture(picture: bytes, name: str) -> None:
    """Write a picture in few colours."""
    palette = Image.open(io.BytesIO(picture)).convert("RGB")
    path = FOLDER / f"{name}.png"
    palette.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}  {path.stat().st_size / 1000:.0f} kB")


def draw_app(browser: Browser, market: Explorer, folder: Path) -> None:
    """Write the picture of the MCP App, as a host shows it."""
    with running_host(folder) as url:
        host = AppHost(browser, market, url)
        frame = host.show({"tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": "IBM"}})
        frame.get_by_role("application").hover()
        save_picture(host.page.locator("iframe").screenshot(), "app")
        host.context.close()


def draw_start(checked: CheckedPage) -> None:
    """Open the page."""
    checked.open("start")
    checked.settle()


def draw_tool(checked: CheckedPage) -> None:
    checked.open("tool/TIME_SERIES_DAILY")


def draw_try(checked: CheckedPage) -> None:
    """Call a tool and show its answer as a chart."""
    page = checked.open("try/TIME_SERIES_DAILY")
    page.get_by_label("symbol").fill("AAPL")
    page.get_by_role("button", name="Call", exact=True).click()
    page.get_by_role("tab", name="Chart").click()
    page.locator("canvas").first.wait_for()


def draw_ask(checked: CheckedPage) -> None:
    """Type a request, and see the answer of TOOL_LIST."""
    checked.open("ask?q=apple%20share%20price")
    checked.page.wait_for_timeout(1000)


def draw_watch(checked: CheckedPage) -> None:
    """Watch while a call runs."""
    page = checked.open("watch")
    with Client(checked.explorer.mcp) as client:
        slow = threading.Thread(target=_call_slowly, args=(client,))
        slow.start()
        page.locator("tr.running").wait_for()
        page.wait_for_timeout(1300)
        page.evaluate("document.activeElement.blur()")
        page.get_by_role("button", name="Pause").click()
        page.evaluate("document.activeElement.blur()")
        page.get_by_role("button", name="Resume").wait_for()
        slow.join()


def draw_approve(checked: CheckedPage) -> None:
    """Open the question about one of two waiting calls."""
    page = checked.open("approve")
    with Client(checked.explorer.mcp) as client:
        for harbour, days in (("Bergen", 3), ("Oslo", 14)):
            with contextlib.suppress(ToolfoldError):
                given = {"tool_name": TOOL, "arguments": {"harbour": harbour, "days": days}}
                client.call_meta_tool("TOOL_CALL_WRITE", given)
    page.get_by_role("article").nth(1).wait_for()


def _call_slowly(client: Client) -> None:
    with contextlib.suppress(ToolfoldError):
        client.call("NEWS_SENTIMENT", tickers="FAULT.SLOW.6")


VIEWS = {
    "start": draw_start,
    "tool": draw_tool,
    "try": draw_try,
    "ask": draw_ask,
    "watch": draw_watch,
}

if __name__ == "__main__":
    main()
