"""Find what answers a path of the explorer.

==================  ======================================================
path                answered by
==================  ======================================================
``/``               the page
``/ui/api/NAME``    the row NAME of ``views.VIEWS``
``/ui/FILE``        a file of the page
==================  ======================================================
"""

from __future__ import annotations

import gzip
import logging
import re
import stat
import threading
from collections.abc import Mapping
from pathlib import Path

from toolfold.app import App
from toolfold.errors import CallError, CatalogUnavailable, InvalidArguments, ToolNotFound
from toolfold.explorer.access import API, TOKEN_PARAMETER, PageAccess
from toolfold.explorer.feed import CallFeed
from toolfold.explorer.page import (
    LOG_FIELDS,
    SECURITY_HEADERS,
    ApiProblem,
    Explorer,
    PageRequest,
    page_answer,
    parse_query,
    problem_answer,
)
from toolfold.explorer.views import VIEWS
from toolfold.protocol.http import Headers, Request, Response

logger = logging.getLogger("toolfold")

MAX_BODY_BYTES = 1024 * 1024
"""Largest body of a request of the page: texts whose tokens are counted."""

_READ = ("GET", "HEAD")

_STATUSES: Mapping[type[CallError], int] = {ToolNotFound: 404, InvalidArguments: 400, CatalogUnavailable: 503}
"""Error of a call → HTTP status, where a view raises it; 500 for others."""


FOLDER = Path(__file__).parent / "static"
"""The built page, which ``make ui`` writes."""

_TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
"""End of a name → media type of what is served."""

_TEXTS = frozenset((".css", ".html", ".js", ".json", ".svg", ".txt"))
"""What is sent compressed: it has half the bytes then, through a tunnel as well."""

_HASHED = re.compile(r"-[A-Z2-7]{8}\.[a-z0-9]+")
"""The end of a name that has a hash of the content, as esbuild writes it: ``app-3F7QX2LA.js``."""


class StaticFiles:
    """Serve the files of ``folder``, which may be missing.

    A path is looked up among the names of the files, and never joined to a folder: a path with dots, escapes,
    backslashes or a leading slash is the name of no file. Symbolic links are not served.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder, self._paths = folder, _paths(folder)

    def respond(self, name: str, request: PageRequest) -> Response | None:
        """Return the file ``name``, or None where there is no such file."""
        if (path := self._paths.get(name)) is None:
            return None
        try:
            content = path.read_bytes()
        except OSError:  # deleted by a build
            return None
        stored = "public, max-age=31536000, immutable" if _HASHED.search(name) else "no-cache"
        headers: Headers = (("content-type", _TYPES[path.suffix]), ("cache-control", stored))
        if path.suffix in _TEXTS and "gzip" in (request.source.header("accept-encoding") or ""):
            content = gzip.compress(content)
            headers = (*headers, ("vary", "accept-encoding"), ("content-encoding", "gzip"))
        return Response(200, headers, content, LOG_FIELDS)

    def respond_index(self, request: PageRequest) -> Response:
        """Return the page, or one that says how to build it. A build may have given other names to the files."""
        self._paths = _paths(self._folder)
        return self.respond("index.html", request) or page_answer(
            503,
            "The page is not built",
            "Run `make ui` in the checkout (needs Node.js 20 or newer), and repeat the installation if there was one.",
            "The MCP endpoint works without the page.",
        )


def _paths(folder: Path) -> dict[str, Path]:
    """Return name → path of the files in ``folder`` that may be served."""
    found = folder.iterdir() if folder.is_dir() else ()
    return {path.name: path for path in found if path.suffix in _TYPES and stat.S_ISREG(path.lstat().st_mode)}


class Router:
    """Answer the requests of the page."""

    def __init__(self, explorer: Explorer, access: PageAccess, files: StaticFiles | None = None) -> None:
        self._explorer, self._access = explorer, access
        self._files = files or StaticFiles()

    def respond(self, request: Request) -> Response:
        """Return the response to ``request``. Never raises."""
        try:
            page_request = PageRequest(request, request.path.removeprefix("/"), parse_query(request.query))
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
    if (request.source.header("content-type") or "").partition(";")[0].strip().lower() != "application/json":
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
