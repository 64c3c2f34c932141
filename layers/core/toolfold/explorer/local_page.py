"""The page of ``toolfold ui``: what it is made with, and its URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolfold.explorer.access import TOKEN_PARAMETER, LocalAccess
from toolfold.explorer.explorer import Explorer
from toolfold.explorer.feed import CallFeed
from toolfold.explorer.page import SECURITY_HEADERS
from toolfold.explorer.router import Router

if TYPE_CHECKING:
    from toolfold.app import App


class LocalPage:
    """The page of one local server.

    Args:
        log_file: A call log whose calls are shown as well; empty: that of the settings, where they name one.

    Attributes:
        feed: The calls of the server, and of the log.
        access: Who may read the page.
        headers: What every answer of the server has that is not the page's own.
    """

    headers = SECURITY_HEADERS

    def __init__(self, log_file: str = "") -> None:
        self.feed, self.access = CallFeed(log_file), LocalAccess()

    def make_router(self, app: App, endpoint: str, port: int) -> Router:
        """Return what answers the requests of the page.

        Args:
            app: The objects of the server.
            endpoint: URL of its MCP endpoint.
            port: The port that it listens on.
        """
        self.access.serve(port, app.server.origin_policy.public_host)
        self.feed.observe(app)
        explorer = Explorer(app, is_local=True, calls_allowed=True, endpoint=endpoint, feed=self.feed)
        explorer.warm_up()
        return Router(explorer, self.access)

    def url(self, endpoint: str, token: str = "") -> str:
        """Return the URL of the page from that of the MCP endpoint, with its token or what works in place of it."""
        return f"{endpoint.rpartition('/')[0]}/?{TOKEN_PARAMETER}={token or self.access.token}"

    def url_for_browser(self, endpoint: str) -> str:
        """Return a URL of the page that works once."""
        return self.url(endpoint, self.access.make_code())
