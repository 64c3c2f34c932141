"""Chromium, a process of ``toolfold ui``, and pages: one that is checked, one that is measured, a host of MCP Apps."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from tests.conformance.helpers import TOOLFOLD, start_server
from tests.support.upstream import Reply, Upstream

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Frame, FrameLocator, Page


@dataclass(frozen=True)
class Explorer:
    """A running ``toolfold ui``.

    Attributes:
        entry: the address that was printed, with its token.
        log: what the process prints.
    """

    entry: str
    log: Path

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        parts = urlsplit(self.entry)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def mcp(self) -> str:
        """The address for MCP clients."""
        return f"{self.origin}/mcp"

    def view(self, route: str) -> str:
        """Return the address of a view, for a browser that has the cookie."""
        return f"{self.origin}/#/{route}"


@contextmanager
def running_explorer(folder: Path, port: int = 0, **variables: str) -> Iterator[Explorer]:
    """Run ``toolfold ui`` until the end of the ``with`` statement; check that its log has no traceback.

    Args:
        folder: an empty one, which becomes the home of the process.
        port: the port; 0: any free one.
        variables: the environment, beside the path and the home.
    """
    log = folder / "log"
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "NO_COLOR": "1", **variables}
    command = [TOOLFOLD, "ui", "--no-open", "--port", str(port)]
    with start_server(command, env=environment, log=log) as entry:
        yield Explorer(entry, log)
    assert "Traceback" not in log.read_text(), log.read_text()


@contextmanager
def running_chromium() -> Iterator[Browser]:
    """Run a headless Chromium until the end of the ``with`` statement."""
    from playwright.sync_api import sync_playwright

    found = subprocess.run(["scripts/find-chromium", "--find"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, f"There is no Chromium: make browser\n{found.stderr}"
    # No other host can be found, as on a machine without a network.
    options = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    if os.geteuid() == 0:  # as CI is: Chromium starts only without its isolation of processes
        options.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found.stdout.strip(), args=options)
        try:
            yield browser
        finally:
            browser.close()


AXE = Path(__file__).parent / "node_modules/axe-core/axe.min.js"

VIEWS = ["", "catalog", "tool/GLOBAL_QUOTE", "try/GLOBAL_QUOTE", "watch", "approve", "start"]
"""Routes of the views, after ``#/``."""

_REPORT = """
document.addEventListener("securitypolicyviolation", (event) =>
  reportProblem(`${event.violatedDirective} refuses ${event.blockedURI} ${event.sample}`));
"""


_TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"


class CheckedPage:
    """A page of an explorer, in a browser context of its own.

    Attributes:
        page: the page of Playwright.
        requests: addresses that the context requested.
        problems: violations of the Content-Security-Policy, uncaught errors, errors of the console, and scripts of
            an answer that ran.
    """

    def __init__(self, context: BrowserContext, explorer: Explorer) -> None:
        self.explorer = explorer
        self.requests: list[str] = []
        self.problems: list[str] = []
        context.on("request", lambda request: self.requests.append(request.url))
        context.on("weberror", lambda error: self.problems.append(str(error.error)))
        context.on("console", self._on_console)
        context.expose_function("reportProblem", self._on_violation)
        # What the hostile answers of the tests call.
        context.expose_function("attack", lambda *_: self.problems.append("a script of an answer ran"))
        context.add_init_script(_REPORT)
        self.page: Page = context.new_page()
        self.page.set_default_timeout(60_000)

    def open(self, route: str = "") -> Page:
        """Open the page as the printed address does, or a view; wait for its heading."""
        if route:
            # Signed in without the first view, whose own calls would come late into what a test counts.
            self.page.context.request.get(self.explorer.entry)
        self.page.goto(self.explorer.view(route) if route else self.explorer.entry)
        self.page.locator("main h1").first.wait_for()
        return self.page

    def settle(self) -> None:
        """Wait until nothing in the view says that it loads, and what was loaded is drawn."""
        self.wait_until("!document.querySelector('.skeleton, [aria-busy=true]')")
        self.page.evaluate(_TWO_FRAMES)

    def wait_until(self, expression: str, timeout_s: float = 60) -> None:
        """Wait until an expression is true. Playwright's own function evaluates text, which the policy refuses."""
        give_up = time.monotonic() + timeout_s
        while not self.page.evaluate(expression):
            assert time.monotonic() < give_up, expression
            self.page.wait_for_timeout(20)

    def allow(self, text: str) -> None:
        """Accept the problems so far that contain ``text``, at least one."""
        accepted = [problem for problem in self.problems if text in problem]
        assert accepted, f"no problem contains {text!r}: {self.problems}"
        self.problems[:] = [problem for problem in self.problems if text not in problem]

    def check(self) -> None:
        """Check that nothing but the explorer was requested, and that there was no problem."""
        foreign = [url for url in self.requests if not url.startswith((self.explorer.origin + "/", "data:", "blob:"))]
        assert not foreign, foreign
        assert not self.problems, self.problems

    def has_horizontal_scroll(self) -> bool:
        """Return whether the document is wider than the window."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))

    def find_violations(self) -> list[str]:
        """Return what axe-core finds in the page as it is, one line for each element."""
        return axe_violations(self.page)

    def _on_violation(self, text: str) -> None:
        self.problems.append(text)

    def _on_console(self, message: Any) -> None:
        if message.type == "error":
            self.problems.append(message.text)


def axe_violations(place: Page | Frame) -> list[str]:
    """Return what axe-core finds in a page or a frame as it is, one line for each element."""
    # The text of the script, evaluated by the debugger: a script element would violate the policy.
    place.evaluate(_axe())
    options = {"resultTypes": ["violations"], "runOnly": _RULES}
    found: dict[str, Any] = place.evaluate(f"axe.run(document, {json.dumps(options)})")
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@cache
def _axe() -> str:
    assert AXE.exists(), "axe-core is not installed: make browser"
    return AXE.read_text(encoding="utf-8")


QUERIES = (
    "daily prices of a stock",
    "oil price by month",
    "earnings call transcript",
    "exchange rate of two currencies",
)
"""For the catalog of the package."""


class Load(NamedTuple):
    """What one opening of the page took.

    Attributes:
        first_paint_ms: from the request to the first contentful paint, as the browser measures it.
        transferred: bytes of the responses, headers included.
        files: bytes of the page's own files among them.
    """

    first_paint_ms: float
    transferred: int
    files: int


def measure_load(checked: CheckedPage) -> Load:
    """Open the page without a cache."""
    page = checked.page
    page.goto(checked.explorer.entry)
    page.locator("main h1").first.wait_for()
    checked.settle()
    paint, transferred, files = page.evaluate(_LOAD)
    return Load(paint, transferred, files)


_LOAD = """() => {
  const paint = performance.getEntriesByName("first-contentful-paint")[0].startTime;
  const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const sum = (chosen) => chosen.reduce((total, entry) => total + entry.transferSize, 0);
  return [paint, sum(entries), sum(entries.filter((entry) => !entry.name.includes("/ui/api/")))];
}"""


def measure_search(checked: CheckedPage, queries: Sequence[str] = QUERIES) -> list[float]:
    """Return, for each query typed by a person, the milliseconds from its last letter to the painted results.

    A list is painted when two frames have passed after it changed. The first search of a page is left out: it loads
    what explains the hits.
    """
    page = checked.open("catalog")
    checked.settle()
    times = []
    for number, query in enumerate([queries[-1], *queries]):
        field = page.get_by_role("searchbox")
        field.fill(query[:-1])
        page.wait_for_timeout(700)
        page.evaluate(_OBSERVE)
        field.focus()
        page.keyboard.press("End")
        page.keyboard.type(query[-1])
        checked.wait_until("window.paintedAt !== undefined")
        if number:
            times.append(float(page.evaluate("window.paintedAt - window.typedAt")))
    return times


# The line above the results names the query that they answer.
_OBSERVE = """() => {
  window.typedAt = window.paintedAt = undefined;
  const field = document.querySelector("input[type=search]");
  field.addEventListener("input", () => { window.typedAt = performance.now(); }, {once: true, capture: true});
  const observer = new MutationObserver(() => {
    if (window.typedAt === undefined) return;
    const shown = document.querySelector("[data-query]")?.dataset.query;
    if (shown !== field.value.trim()) return;
    observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => { window.paintedAt = performance.now(); }));
  });
  const changes = {subtree: true, childList: true, characterData: true, attributes: true};
  observer.observe(document.querySelector("main"), changes);
}"""


_PAGE = b'<!doctype html><html lang="en"><title>Host</title><body><script type="module" src="?script=1"></script>'


@contextmanager
def running_host(folder: Path) -> Iterator[str]:
    """Serve the page of the host until the end of the ``with`` statement, and return its address.

    Args:
        folder: receives its script, bundled with the packages.
    """
    script = folder / "host.js"
    bundle = ["web/node_modules/.bin/esbuild", "tests/browser/app_host.mjs", "--bundle", "--format=esm"]
    subprocess.run([*bundle, f"--outfile={script}", "--log-level=error"], check=True)

    def reply(query: dict[str, str]) -> Reply:
        kind, body = ("javascript", script.read_bytes()) if "script" in query else ("html", _PAGE)
        return 200, {"content-type": f"text/{kind}; charset=utf-8"}, body

    with Upstream(reply) as running:
        yield running.url


class AppHost:
    """A page with the host, in a browser context of its own.

    Attributes:
        page: the page of Playwright.
        opened: the tools that name the app, and the size of the app, after :meth:`show`.
        problems: uncaught errors, and errors of the console: violations of a Content-Security-Policy are some.
        foreign: addresses that were requested, other than those of the host and of the MCP server.
    """

    def __init__(self, browser: Browser, explorer: Explorer, url: str) -> None:
        self._explorer, self._url = explorer, url
        self.context = browser.new_context(viewport={"width": 900, "height": 900})
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.opened: dict[str, Any] = {}
        self.problems: list[str] = []
        self.foreign: list[str] = []
        self.context.on("weberror", lambda error: self.problems.append(str(error.error)))
        self.context.on("console", lambda one: self.problems.append(one.text) if one.type == "error" else None)
        self.context.on("request", lambda request: self._note(request.url))
        self.page.goto(url)

    def show(self, call: dict[str, Any], **options: Any) -> FrameLocator:
        """Call TOOL_CALL with ``call``, show its answer, and return the frame of the app."""
        server = {"url": self._explorer.mcp, "key": "key-of-the-mock-api", "mode": "auto"}
        given = {**server, "theme": "light", "width": 760, "tool": "TOOL_CALL", "args": call, **options}
        self.opened = self.page.evaluate("(given) => open_app(given)", given)
        frame = self.page.frame_locator("iframe")
        frame.locator(".title").wait_for()
        self.page.wait_for_function("heights.at(-1) > 50")
        return frame

    def _note(self, url: str) -> None:
        if not url.startswith((self._explorer.mcp, self._url, "about:srcdoc", "blob:", "data:")):
            self.foreign.append(url)
