"""A host of MCP Apps in a page: ``app_host.mjs``, with the client and the AppBridge of the reference packages."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.browser.explorer import Explorer
from tests.support.upstream import Reply, Upstream

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FrameLocator

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
        self.page.set_default_timeout(10_000)
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
