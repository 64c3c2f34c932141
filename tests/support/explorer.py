"""Requests to the web explorer without sockets."""

from pathlib import Path
from typing import Any

from toolfold.app import App, build_app
from toolfold.explorer.access import PageAccess
from toolfold.explorer.feed import CallFeed
from toolfold.explorer.page import Explorer
from toolfold.explorer.router import FOLDER, Router, StaticFiles
from toolfold.protocol.http import Headers, Response
from toolfold.settings import Settings
from toolfold.transports.lambda_handler import parse_event

HOST = "127.0.0.1:8790"


class OpenAccess(PageAccess):
    """Allow every request."""

    def check(self, request: Any) -> None:
        """Refuse nothing."""


def make_router(access: Any = None, folder: Path = FOLDER, app: App | None = None, **explorer: Any) -> Router:
    """Return the router of a local page; without ``access`` it refuses nothing."""
    app = app or build_app(Settings.from_environment({}))
    options = {"endpoint": f"http://{HOST}/mcp", "feed": CallFeed(), **explorer}
    return Router(Explorer(app, **options), access or OpenAccess(), StaticFiles(folder))


def ask(router: Router, target: str, method: str = "GET", headers: Headers = (), body: str = "") -> Response:
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
    return router.respond(parse_event(event))
