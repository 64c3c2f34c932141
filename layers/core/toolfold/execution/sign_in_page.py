"""The last steps of a sign-in at a source, in a browser: away to the source, and back with a code.

The callers of a shared server have the pages of ``explorer.sign_in_pages``; the user of this machine has a server on
127.0.0.1, which runs while a sign-in is under way:

=====================================  ================================================================================
``/connect/SOURCE?ticket=TICKET``      sends the browser to the authorization server; a ticket works once
``/callback?state=STATE&code=CODE``    ends the sign-in; a state works once, in the browser that opened the ticket
=====================================  ================================================================================
"""

from __future__ import annotations

import html
import logging
import threading
import time
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

from toolfold.cache.stores import Unavailable
from toolfold.errors import CallError
from toolfold.models import SIGN_IN_S
from toolfold.sources.http_api.oauth import authorization_query, requested_access
from toolfold.sources.http_api.request import join_url

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source
    from toolfold.execution.token_store import SignInStore, Step

logger = logging.getLogger("toolfold")

USED = "This link was used, or has expired. Repeat the call, or the command, to get another one."
FOREIGN = "This sign-in was not begun in this browser, has ended, or has expired. Begin it again."
REFUSED = "The sign-in was refused. Nothing was stored. Begin it again, if that was not intended."
FAILED = "The sign-in has failed. Nothing was stored. Begin it again."
DONE = "You are signed in. You can close this page, and go on where you were."


class Page(NamedTuple):
    """What a browser is answered: a sentence, or where it goes on.

    Attributes:
        cookie: the new value of the cookie, empty to delete it; None: it stays.
        ended: the id of the step that has ended with this page.
    """

    status: int
    text: str = ""
    location: str = ""
    cookie: str | None = None
    ended: str = ""


class SignInFlow(NamedTuple):
    """The sign-ins at one source.

    Attributes:
        exchange: gets tokens for the code of a step, and stores them, or raises CallError or Unavailable.
        client: the application, as ``user_tokens`` has it.
    """

    exchange: Callable[[SignInFlow, Step, str], None]
    store: SignInStore
    source: Source
    client: str
    redirect_uri: str

    def __repr__(self) -> str:
        return f"SignInFlow(source={self.source.id!r})"

    def send_away(self, step: Step) -> Page:
        """Return the page that sends the browser to the source."""
        step, oauth2 = step.next(), self.source.oauth2
        query = authorization_query(self.client.partition(":")[0], step.state, step.verifier, self.redirect_uri)
        location = join_url(oauth2["authorization_url"], "", [urlencode(query | requested_access(oauth2))])
        return Page(303, location=location, cookie=self.store.seal(step, "source"))

    def end(self, query: Mapping[str, str], cookie: str) -> Page:
        """Return the page for the browser that returns from the source, whose tokens are stored."""
        step = self.store.returned(query, cookie, "source")
        if step is None or step.source != self.source.id or not self.store.use(step, "source"):
            return Page(400, FOREIGN)
        if "error" in query or not query.get("code"):
            return Page(400, REFUSED, cookie="", ended=step.id)
        try:
            self.exchange(self, step, query["code"])
        except (CallError, Unavailable) as error:
            logger.error("a sign-in has failed: %s", type(error).__name__)
            return Page(502, FAILED, cookie="", ended=step.id)
        return Page(200, DONE, cookie="", ended=step.id)


def cookie_in(header: str, name: str) -> str:
    """Return the value of a cookie in a ``Cookie`` header; empty where it is absent, or the header is damaged."""
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


_POLL_S = 0.5
_COOKIE = "toolfold_sign_in"
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class LocalSignIn:
    """A sign-in of the user of this machine that is under way, and the server of its pages, until it ends or expires.

    Making it raises OSError where the port, ``redirect_port`` of the source, is taken.

    Attributes:
        url: the link, for its user alone; it works once.
        ended: set when the user has signed in, or has not allowed it.
    """

    def __init__(
        self, exchange: Callable[[SignInFlow, Step, str], None], store: SignInStore, source: Source, client: str
    ) -> None:
        sign_in = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_GET(self) -> None:
                sign_in._respond(self)

            def log_message(self, *_: Any) -> None:
                """Log nothing: the address has the code."""

            def version_string(self) -> str:
                return "toolfold"

        self._server = ThreadingHTTPServer(("127.0.0.1", source.oauth2.get("redirect_port", 0)), Handler)
        self._server.timeout = _POLL_S
        self._origin = f"http://127.0.0.1:{self._server.server_port}"
        self._flow = SignInFlow(exchange, store, source, client, f"{self._origin}/callback")
        self.url, self.ended, self.is_signed_in = "", threading.Event(), False
        self._ends_at, self._is_opened, self._is_closed = 0.0, False, False
        self._lock = threading.Lock()
        self.renew()
        threading.Thread(target=self._serve, name="sign-in", daemon=True).start()

    def renew(self) -> bool:
        """Make a link in place of one that was opened or has expired; return False where the server has just ended."""
        with self._lock:
            if self._is_opened or not self._is_under_way():
                self._step, self._is_opened = self._flow.store.first_step(self._flow.source.id), False
                self.url = f"{self._origin}/connect/{self._flow.source.id}?ticket={self._step.id}"
                self._ends_at = time.monotonic() + SIGN_IN_S
                self.ended.clear()
            return not self._is_closed

    def wait(self) -> None:
        """Wait until the sign-in has ended or expired."""
        self.ended.wait(max(0.0, self._ends_at - time.monotonic()))

    def _is_under_way(self) -> bool:
        return time.monotonic() < self._ends_at and not self.ended.is_set()

    def _serve(self) -> None:
        while not self._is_closed:
            self._server.handle_request()
            with self._lock:
                self._is_closed = not self._is_under_way()
        self._server.server_close()

    def _respond(self, request: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(request.path)
        try:
            query = {name: values[0] for name, values in parse_qs(parts.query, max_num_fields=20).items()}
            if request.headers.get("Host") != urlsplit(self._origin).netloc:
                page = Page(421, "This address is for the browser of this machine.")
            elif parts.path == f"/connect/{self._flow.source.id}":
                page = self._open(query.get("ticket", ""))
            elif parts.path == "/callback":
                page = self._flow.end(query, cookie_in(request.headers.get("Cookie", ""), _COOKIE))
            else:
                page = Page(404, "There is nothing at this address.")
        except (Unavailable, ValueError):  # or too many parameters
            page = Page(502, FAILED)
        try:
            self._send(request, page)
        finally:
            if page.ended == self._step.id:  # not that of a link before
                self.is_signed_in = page.status == 200
                self.ended.set()  # a command ends then, and this server with it

    def _open(self, ticket: str) -> Page:
        with self._lock:
            step = self._step
            if ticket != step.id or self._is_opened or not self._is_under_way():
                return Page(400, USED)
            self._is_opened = True
        return self._flow.send_away(step)

    def _send(self, request: BaseHTTPRequestHandler, page: Page) -> None:
        title = html.escape(self._flow.source.title)
        text = f"<h1>{title}</h1><p>{html.escape(page.text)}</p>"
        content = f'<!doctype html><html lang="en"><title>{title}</title>{text}</html>'.encode()
        headers = {**_HEADERS, "Content-Length": str(len(content))}
        if page.location:
            headers["Location"] = page.location
        if page.cookie is not None:
            age_s = SIGN_IN_S if page.cookie else 0
            headers["Set-Cookie"] = f"{_COOKIE}={page.cookie}; Path=/callback; HttpOnly; SameSite=Lax; Max-Age={age_s}"
        request.send_response(page.status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(content)
