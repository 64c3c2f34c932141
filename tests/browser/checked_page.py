"""A page that records what no page of the explorer may do, and what the tests need from it."""

from __future__ import annotations

import json
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.browser.explorer import Explorer

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Frame, Page

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
        self.page.set_default_timeout(10_000)

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

    def wait_until(self, expression: str, timeout_s: float = 10) -> None:
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
