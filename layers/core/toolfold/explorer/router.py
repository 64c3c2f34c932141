"""Find what answers a path of the explorer.

==================  ======================================================
path                answered by
==================  ======================================================
``/``               the page, ``static_files``
``/ui/api/NAME``    the row NAME of ``views.VIEWS``
``/ui/FILE``        a file of the page
==================  ======================================================
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from toolfold.app import App
from toolfold.errors import CallError, CatalogUnavailable, InvalidArguments, ToolNotFound
from toolfold.explorer.access import API, TOKEN_PARAMETER, PageAccess
from toolfold.explorer.feed import CallFeed
from toolfold.explorer.page import (
    SECURITY_HEADERS,
    ApiProblem,
    Explorer,
    PageRequest,
    page_answer,
    parse_request,
    problem_answer,
)
from toolfold.explorer.static_files import StaticFiles
from toolfold.explorer.views import VIEWS
from toolfold.protocol.http import Request, Response

logger = logging.getLogger("toolfold")

MAX_BODY_BYTES = 1024 * 1024
"""Largest body of a request of the page: texts whose tokens are counted."""

_READ = ("GET", "HEAD")

_STATUSES: Mapping[type[CallError], int] = {ToolNotFound: 404, InvalidArguments: 400, CatalogUnavailable: 503}
"""Error of a call → HTTP status, where a view raises it; 500 for others."""


class Router:
    """Answer the requests of the page."""

    def __init__(self, explorer: Explorer, access: PageAccess, files: StaticFiles | None = None) -> None:
        self._explorer, self._access = explorer, access
        self._files = files or StaticFiles()

    def respond(self, request: Request) -> Response:
        """Return the response to ``request``. Never raises."""
        try:
            page_request = parse_request(request)
            response = self._access.check(page_request) or self._respond(page_request)
        except ApiProblem as problem:
            response = problem_answer(problem)
        except CallError as error:
            status = next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), 500)
            response = problem_answer(ApiProblem(status, error.code, error.message, error.suggestion))
        except Exception as error:  # noqa: BLE001 - its text may quote a request
            logger.error("defect in the explorer: %s", type(error).__name__)
            response = problem_answer(
                ApiProblem(500, "INTERNAL_ERROR", "toolfold failed on this request.", "Reload the page.")
            )
        return response._replace(headers=(*response.headers, *SECURITY_HEADERS))

    def _respond(self, request: PageRequest) -> Response:
        if request.path.startswith(API):
            return self._respond_api(request, request.path.removeprefix(API))
        if request.source.method not in _READ:
            raise _wrong_method(_READ)
        if request.path == "":
            return self._files.respond_index(request)
        return self._files.respond(request.path.removeprefix("ui/"), request) or page_answer(
            404, "There is nothing at this path", "The page may have been updated.", link=("../", "Open the page")
        )

    def _respond_api(self, request: PageRequest, name: str) -> Response:
        view = VIEWS.get(name)
        if view is None:
            raise ApiProblem(404, "NOT_FOUND", "There is no such resource.", "web/API.md has all.")
        if request.source.method not in view.methods:
            raise _wrong_method(view.methods)
        if request.source.method == "POST":
            _check_body(request)
        return view.respond(self._explorer, request)


class LocalPage:
    """The page of one local server.

    Args:
        log_file: A call log whose calls are shown as well; empty: that of the settings, where they name one.
    """

    headers = SECURITY_HEADERS
    """What every answer of the server has that is not the page's own."""

    def __init__(self, log_file: str = "") -> None:
        self.feed, self.access = CallFeed(log_file), PageAccess()

    def make_router(self, app: App, endpoint: str, port: int) -> Router:
        """Return what answers the requests of the page of a server, from the URL of its MCP endpoint and its port."""
        self.access.serve(port, app.server.origin_policy.public_host)
        self.feed.observe(app)
        explorer = Explorer(app, endpoint, self.feed)
        threading.Thread(target=explorer.prepare, name="explorer", daemon=True).start()
        return Router(explorer, self.access)

    def url(self, endpoint: str, token: str = "") -> str:
        """Return the URL of the page from that of the MCP endpoint, with its token or what works in place of it."""
        return f"{endpoint.rpartition('/')[0]}/?{TOKEN_PARAMETER}={token or self.access.token}"


def _check_body(request: PageRequest) -> None:
    if (request.header("content-type") or "").partition(";")[0].strip().lower() != "application/json":
        raise ApiProblem(
            415, "INVALID_REQUEST", "Content-Type must be application/json.", "Send the body as a JSON object."
        )
    if len(request.source.body) > MAX_BODY_BYTES:
        raise ApiProblem(413, "INVALID_REQUEST", f"The body is larger than {MAX_BODY_BYTES} bytes.", "Send less.")


def _wrong_method(methods: tuple[str, ...]) -> ApiProblem:
    allowed = ", ".join(methods)
    return ApiProblem(
        405, "METHOD_NOT_ALLOWED", f"This path is for {allowed}.", f"Send {methods[0]}.", ("allow", allowed)
    )
