"""Requests to the web explorer without sockets."""

from pathlib import Path
from typing import Any

from toolfold.app import App, build_app
from toolfold.explorer.router import FOLDER, LocalPage
from toolfold.protocol.http import Headers, Response
from toolfold.settings import Settings
from toolfold.transports.lambda_handler import parse_event

HOST = "127.0.0.1:8790"


class OpenPage(LocalPage):
    """A page without access control."""

    def _check_access(self, request: Any) -> None:
        """Refuse nothing."""


def make_page(folder: Path = FOLDER, app: App | None = None) -> LocalPage:
    """Return a page without access control."""
    page = OpenPage(folder=folder)
    page.show(app or build_app(Settings.from_environment({})), f"http://{HOST}/mcp")
    return page


def make_closed_page(**settings: str) -> LocalPage:
    """Return a page for those who have its token."""
    page = LocalPage()
    page.show(build_app(Settings.from_environment(settings), has_page=True), f"http://{HOST}/mcp")
    return page


def ask(page: LocalPage, target: str, method: str = "GET", headers: Headers = (), body: str = "") -> Response:
    """Return the response to one request."""
    path, _, query = target.partition("?")
    joined: dict[str, str] = {}
    for name, value in (("host", HOST), *headers):
        joined[name] = f"{joined[name]},{value}" if name in joined and name != "host" else value
    event = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "headers": joined,
        "requestContext": {"http": {"method": method, "path": path, "sourceIp": "127.0.0.1"}},
        "body": body,
        "isBase64Encoded": False,
    }
    return page.respond(parse_event(event))
