"""The page of a local server, ``/``: who may read it, its files, ``/ui/FILE``, and its resources, ``/ui/api/NAME``.

Who has the token in the URL that ``toolfold ui`` prints may read it, as Jupyter does it. The first request exchanges
the token for a cookie, and is redirected to a URL without it, so that it stays in no history. Any page in the same
browser can send requests here: the cookie is ``SameSite=Strict``, but all ports of a host are one site, so that the
``Origin`` of a request must be exactly its ``Host``, and what browsers say in ``Sec-Fetch-Site`` is checked too.
"""

from __future__ import annotations

import gzip
import hmac
import logging
import re
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from toolfold.aws.clients import error_code
from toolfold.cache.stores import Unavailable
from toolfold.errors import CallError, CatalogUnavailable
from toolfold.explorer.feed import CallFeed
from toolfold.explorer.page import (
    LOG_FIELDS,
    NO_STORE,
    SECURITY_HEADERS,
    ApiProblem,
    Explorer,
    json_answer,
    page_answer,
    parse_query,
)
from toolfold.explorer.views import METHODS, VIEWS
from toolfold.protocol.http import Request, Response, is_from_page

if TYPE_CHECKING:
    from toolfold.app import App

logger = logging.getLogger("toolfold")

MAX_BODY_BYTES = 1024 * 1024
"""Largest body of a request of the page: texts whose tokens are counted."""

FOLDER = Path(__file__).parent / "static"
"""The built page, which ``make ui`` writes."""

_API, _FILES = "/ui/api/", "/ui/"
_READ = ("GET", "HEAD")
_TOKEN = "token"  # noqa: S105 - the name of a parameter
_HOW_TO_OPEN = "Open the URL with a token that `toolfold ui` has printed in its terminal; each start prints another."

_TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""End of a name → media type of what the build writes and is served."""

_HASHED = re.compile(r"-[A-Z2-7]{8}\.[a-z0-9]+")
"""The end of a name that has a hash of the content, as esbuild writes it: ``app-3F7QX2LA.js``."""


class LocalPage:
    """The page of one local server, and of the App that it has at the time.

    Args:
        folder: The built page; it may be missing.

    Attributes:
        token: What the printed URL contains.
    """

    headers = SECURITY_HEADERS
    """What every answer of the server has that is not the page's own."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.token, self._cookie = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._codes: dict[str, bool] = {}
        self._feed, self._folder = CallFeed(), folder
        self._explorer: Explorer
        self._cookie_name = ""

    def show(self, app: App, endpoint: str) -> None:
        """Show ``app``, whose MCP endpoint has the URL ``endpoint``."""
        self._feed.observe(app)
        self._explorer = Explorer(app, endpoint, self._feed)
        # Cookies are sent to all ports of a host: their names must differ.
        self._cookie_name = f"toolfold-ui-{urlsplit(endpoint).port}"

    def url(self, *, once: bool = False) -> str:
        """Return the URL of the page with its token.

        With ``once`` it has a code instead, which works one time: a browser is started with it, and other users can see
        that.
        """
        token = self.token
        if once:
            self._codes[token := secrets.token_urlsafe(32)] = True
        return f"{self._explorer.endpoint.rpartition('/')[0]}/?{_TOKEN}={token}"

    def respond(self, request: Request) -> Response:
        """Return the response to ``request``. Never raises."""
        try:
            response = self._check_access(request) or self._respond(request)
        except Exception as error:  # noqa: BLE001 - the text of a defect may quote a request
            response = _problem_answer(error)
        return response._replace(headers=(*response.headers, *SECURITY_HEADERS))

    def _check_access(self, request: Request) -> Response | None:
        """Return the response to a request that is refused or redirected, or None where it is allowed."""
        query, is_api = parse_query(request.query), request.path.startswith(_API)
        self._check_origin(request)
        if request.path == "/" and _TOKEN in query:
            return self._exchange(query[_TOKEN])
        if self._is_allowed(request) or (request.path != "/" and not is_api):
            return None  # the files of the page are the same in every installation
        if is_api:
            raise ApiProblem(401, "TOKEN_REQUIRED", "This page has no access to the server.", _HOW_TO_OPEN)
        return page_answer(
            401,
            "This page needs its token",
            _HOW_TO_OPEN,
            "If you came here by a link with the token from another page, continue:",
            page="./",
        )

    def _check_origin(self, request: Request) -> None:
        """Check that a request comes from the page itself, or from no page."""
        has_origin = request.header("origin") is not None
        is_other = has_origin and not is_from_page(request.headers, self._explorer.app.server.origin_policy)
        site = (request.header("sec-fetch-site") or "none").lower()
        is_navigation = request.path == "/" and request.method in _READ
        is_navigation = is_navigation and request.header("sec-fetch-mode") == "navigate"
        if is_other or (site not in ("same-origin", "none") and not is_navigation):
            step = "Only the page of this server may send it."
            raise ApiProblem(403, "ORIGIN_REFUSED", "This request comes from another page.", step)

    def _exchange(self, given: str) -> Response:
        """Return the cookie for a token, or for a code that is not used yet. Called by several threads."""
        if not (_is_equal(given, self.token) or self._codes.pop(given, False)):
            why = "The server has been started again, or the link used before."
            return page_answer(403, "This token is not valid", why, _HOW_TO_OPEN)
        cookie = f"{self._cookie_name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict"
        return Response(303, (("location", "./"), ("set-cookie", cookie), NO_STORE), b"", LOG_FIELDS)

    def _is_allowed(self, request: Request) -> bool:
        """Return whether the request has the cookie, or the token as a program sends it."""
        cookies = ";".join(text for header, text in request.headers if header == "cookie").replace(",", ";").split(";")
        if any(_is_equal(cookie.strip(), f"{self._cookie_name}={self._cookie}") for cookie in cookies):
            return True
        scheme, _, token = (request.header("authorization") or "").partition(" ")
        return scheme.lower() == "bearer" and _is_equal(token.strip(), self.token)

    def _respond(self, request: Request) -> Response:
        if request.path.startswith(_API):
            name = request.path.removeprefix(_API)
            if name not in VIEWS:
                raise ApiProblem(404, "NOT_FOUND", "There is no such resource.", "web/API.md has all.")
            _check_form(request, METHODS.get(name, _READ))
            return VIEWS[name](self._explorer, request)
        _check_form(request, _READ)
        if request.path != "/":
            return self._file(request.path.removeprefix(_FILES), request) or page_answer(
                404, "There is nothing at this path", "The page may have been updated.", page="../"
            )
        return self._file("index.html", request) or page_answer(
            503,
            "The page is not built",
            "Run `make ui` in the checkout (needs Node.js 20 or newer), and repeat the installation if there was one.",
            "The MCP endpoint works without the page.",
        )

    def _file(self, name: str, request: Request) -> Response | None:
        """Return the file ``name``, or None where there is no such file. Symbolic links are not served.

        A name is looked up among those of the files, and never joined to a folder: one with dots, escapes, backslashes
        or a leading slash is the name of no file.
        """
        try:
            path = next(path for path in self._folder.iterdir() if path.name == name)
            if path.suffix not in _TYPES or not stat.S_ISREG(path.lstat().st_mode):
                return None
            content = path.read_bytes()
        except (OSError, StopIteration):  # the page is not built, or is being built
            return None
        stored = "public, max-age=31536000, immutable" if _HASHED.search(name) else "no-cache"
        headers = [("content-type", _TYPES[path.suffix]), ("cache-control", stored), ("vary", "accept-encoding")]
        if "gzip" in (request.header("accept-encoding") or ""):  # half the bytes, through a tunnel as well
            return Response(200, (*headers, ("content-encoding", "gzip")), gzip.compress(content), LOG_FIELDS)
        return Response(200, tuple(headers), content, LOG_FIELDS)


def _is_equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


def _check_form(request: Request, methods: tuple[str, ...]) -> None:
    """Check the method of a request, and the type and the size of its body."""
    if request.method not in methods:
        allowed = ", ".join(methods)
        problem = f"This path is for {allowed}."
        raise ApiProblem(405, "METHOD_NOT_ALLOWED", problem, f"Send {methods[0]}.", ("allow", allowed))
    if request.method != "POST":
        return
    if (request.header("content-type") or "").partition(";")[0].strip().lower() != "application/json":
        problem = "Content-Type must be application/json."
        raise ApiProblem(415, "INVALID_REQUEST", problem, "Send the body as a JSON object.")
    if len(request.body) > MAX_BODY_BYTES:
        raise ApiProblem(413, "INVALID_REQUEST", f"The body is larger than {MAX_BODY_BYTES} bytes.", "Send less.")


def _problem_answer(error: Exception) -> Response:
    """Return the response that describes ``error`` to the page."""
    if isinstance(error, CallError):
        status = 503 if isinstance(error, CatalogUnavailable) else 500
        error = ApiProblem(status, error.code, error.message, error.suggestion)
    elif isinstance(error, Unavailable):
        reason = error if error.__cause__ is None else error_code(error.__cause__)  # else the text may have a path
        problem = f"The approvals cannot be read or written at the moment: {reason}."
        step = "Try again; `toolfold doctor` checks the folder of the cache."
        error = ApiProblem(503, "APPROVAL_UNAVAILABLE", problem, step)
    elif not isinstance(error, ApiProblem):
        logger.error("defect in the explorer: %s", type(error).__name__)
        error = ApiProblem(500, "INTERNAL_ERROR", "toolfold failed on this request.", "Reload the page.")
    described = {"code": error.code, "message": error.message, "next_step": error.next_step}
    answer = json_answer({"error": described}, *error.headers, status=error.status)
    return answer._replace(log_fields={**LOG_FIELDS, "refused": str(error.status)})
