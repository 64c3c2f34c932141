"""Who may read the page and its JSON: who has the token in the URL that ``toolfold ui`` prints, as Jupyter does it.

The first request exchanges it for a cookie, and is redirected to a URL without it, so that it stays in no history. Any
page in the same browser can send requests here: the cookie is ``SameSite=Strict``, but all ports of a host are one
site, so that the ``Origin`` of a request must be exactly its ``Host``, and what browsers say in ``Sec-Fetch-Site`` is
checked too.
"""

from __future__ import annotations

import hmac
import secrets

from toolfold.explorer.page import LOG_FIELDS, NO_STORE, ApiProblem, PageRequest, page_answer
from toolfold.protocol.http import OriginPolicy, Response, is_from_page

API = "ui/api/"
"""Where paths of JSON resources begin."""

TOKEN_PARAMETER = "token"  # noqa: S105 - the name of a parameter

_HOW_TO_OPEN = "Open the URL with a token that `toolfold ui` has printed in its terminal; each start prints another."


class PageAccess:
    """Allow requests with the token, or with the cookie that it was exchanged for.

    Attributes:
        token: What the printed URL contains.
    """

    def __init__(self) -> None:
        self.token, self._cookie = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._cookie_name, self._public_host = "toolfold-ui", ""
        self._codes: set[str] = set()

    def serve(self, port: int, public_host: str = "") -> None:
        """Set the port of the page, and host and port under which a proxy in front serves it."""
        # Cookies are sent to all ports of a host: their names must differ.
        self._cookie_name, self._public_host = f"toolfold-ui-{port}", public_host

    def __repr__(self) -> str:
        return f"PageAccess(cookie_name={self._cookie_name!r})"

    def make_code(self) -> str:
        """Return what works once in place of the token: a browser is started with it, and other users can see that."""
        code = secrets.token_urlsafe(32)
        self._codes.add(code)
        return code

    def check(self, request: PageRequest) -> Response | None:
        """Return the response to a request that is refused or redirected, or None where it is allowed."""
        _check_origin(request, self._public_host)
        if request.path == "" and TOKEN_PARAMETER in request.query:
            return self._exchange(request)
        is_api = request.path.startswith(API)
        if self._is_allowed(request) or (request.path and not is_api):
            return None  # the files of the page are the same in every installation
        if is_api:
            raise ApiProblem(401, "TOKEN_REQUIRED", "This page has no access to the server.", _HOW_TO_OPEN)
        return page_answer(
            401,
            "This page needs its token",
            _HOW_TO_OPEN,
            "If you came here by a link with the token from another page, continue:",
            link=("./", "Open the page"),
        )

    def _exchange(self, request: PageRequest) -> Response:
        given = request.query[TOKEN_PARAMETER]
        if not (_is_equal(given, self.token) or self._use_code(given)):
            why = "The server has been started again, or the link used before."
            return page_answer(403, "This token is not valid", why, _HOW_TO_OPEN)
        cookie = f"{self._cookie_name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict"
        headers = (("location", "./"), ("set-cookie", cookie), NO_STORE)
        return Response(303, headers, b"", LOG_FIELDS)

    def _use_code(self, given: str) -> bool:
        """Return whether ``given`` is a code that is not used yet, and note that it is. Called by several threads."""
        try:
            self._codes.remove(given)
        except KeyError:
            return False
        return True

    def _is_allowed(self, request: PageRequest) -> bool:
        """Return whether the request has the cookie, or the token as a program sends it."""
        sent = ";".join(text.replace(",", ";") for header, text in request.source.headers if header == "cookie")
        cookies = (item.partition("=") for item in sent.split(";"))
        if any(
            name.strip() == self._cookie_name and _is_equal(value.strip(), self._cookie) for name, _, value in cookies
        ):
            return True
        scheme, _, token = (request.source.header("authorization") or "").partition(" ")
        return scheme.lower() == "bearer" and _is_equal(token.strip(), self.token)


def _check_origin(request: PageRequest, public_host: str) -> None:
    """Check that a request comes from the page itself, or from no page."""
    has_origin = any(name == "origin" for name, _ in request.source.headers)
    policy = OriginPolicy(public_host=public_host, has_page=True)
    is_other = has_origin and not is_from_page(request.source.headers, policy)
    site = (request.source.header("sec-fetch-site") or "none").lower()
    is_navigation = request.path == "" and request.source.method in ("GET", "HEAD")
    is_navigation = is_navigation and request.source.header("sec-fetch-mode") == "navigate"
    if is_other or (site not in ("same-origin", "none") and not is_navigation):
        step = "Only the page of this server may send it."
        raise ApiProblem(403, "ORIGIN_REFUSED", "This request comes from another page.", step)


def _is_equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())
