"""The pages of a sign-in: a server on 127.0.0.1, which runs while one is under way.

=====================================  ================================================================================
``/connect/SOURCE?ticket=TICKET``      sends the browser to the authorization server; a ticket works once
``/callback?state=STATE&code=CODE``    ends the sign-in; a state works once, in the browser that opened the ticket
=====================================  ================================================================================
"""

from __future__ import annotations

import hmac
import html
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from toolfold.cache.records import Unavailable
from toolfold.errors import CallError

LIFETIME_S = 600.0
"""Seconds in which a user opens the link, and signs in."""

MAX_ATTEMPTS = 20
"""Sign-ins at one source that are under way; the oldest is dropped."""

_POLL_S = 0.5
_COOKIE = "toolfold_sign_in"
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
USED = "This link was used, or has expired. Repeat the call, or the command, to get another one."
FOREIGN = "This sign-in was not begun in this browser, has ended, or has expired. Begin it again."
REFUSED = "The sign-in was refused. Nothing was stored. Begin it again, if that was not intended."
FAILED = "The sign-in has failed. Nothing was stored. Begin it again."
DONE = "You are signed in. You can close this page, and go on where you were."


def _random() -> str:
    return secrets.token_urlsafe(32)


@dataclass(eq=False)
class Attempt:
    """A sign-in that is under way. ``repr`` hides what must not be known."""

    expires_at: float
    ticket: str = field(default_factory=_random, repr=False)
    state: str = field(default_factory=_random, repr=False)
    verifier: str = field(default_factory=_random, repr=False)
    cookie: str = field(default_factory=_random, repr=False)
    is_opened: bool = False
    is_signed_in: bool = False
    ended: threading.Event = field(default_factory=threading.Event, repr=False)

    def wait(self) -> None:
        """Wait until the sign-in has ended or expired."""
        self.ended.wait(max(0.0, self.expires_at - time.monotonic()))


class SignInPage:
    """Serve the pages of one source until its sign-ins have ended or expired.

    ``authorization_url`` returns where the browser is sent; ``finish`` exchanges the code for tokens and stores them,
    or raises CallError or Unavailable. Making this one raises OSError where the port is taken; 0 is any free one.
    """

    def __init__(
        self,
        source_id: str,
        title: str,
        port: int,
        authorization_url: Callable[[Attempt, str], str],
        finish: Callable[[Attempt, str, str], None],
    ) -> None:
        self._source_id, self._title = source_id, title
        self._authorization_url, self._finish = authorization_url, finish
        self._attempts: list[Attempt] = []
        self._lock = threading.Lock()
        page = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_GET(self) -> None:
                page._respond(self)

            def log_message(self, *_: Any) -> None:
                """Log nothing: the address has the code."""

            def version_string(self) -> str:
                return "toolfold"

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.timeout = _POLL_S
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        self.redirect_uri = f"{self.origin}/callback"
        self.is_closed = False
        self._thread = threading.Thread(target=self._serve, name="sign-in", daemon=True)

    def begin(self) -> Attempt | None:
        """Return a sign-in whose link was not opened yet, a new one if necessary; None: the server has just ended."""
        with self._lock:
            if self.is_closed:
                return None
            attempt = next((one for one in self._current() if not one.is_opened), None)
            if attempt is None:
                attempt = Attempt(time.monotonic() + LIFETIME_S)
                self._attempts = [*self._attempts, attempt][-MAX_ATTEMPTS:]
            if self._thread.ident is None:
                self._thread.start()
            return attempt

    def url(self, attempt: Attempt) -> str:
        """Return the link of a sign-in, for its user."""
        return f"{self.origin}/connect/{self._source_id}?ticket={attempt.ticket}"

    def newest(self) -> Attempt | None:
        """Return the sign-in that was begun last; None where none is under way."""
        with self._lock:
            return next(reversed(self._current()), None)

    def _current(self) -> list[Attempt]:
        now = time.monotonic()
        self._attempts = [one for one in self._attempts if one.expires_at > now and not one.ended.is_set()]
        return self._attempts

    def _serve(self) -> None:
        while True:
            with self._lock:
                if not self._current():
                    self.is_closed = True
                    break
            self._server.handle_request()
        self._server.server_close()

    def _respond(self, request: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(request.path)
        given = {name: values[0] for name, values in parse_qs(parts.query, max_num_fields=20).items()}
        if request.headers.get("Host") != urlsplit(self.origin).netloc:
            _send(request, 421, self._title, "This address is for the browser of this machine.")
        elif parts.path == f"/connect/{self._source_id}":
            self._open(request, given)
        elif parts.path == "/callback":
            self._end(request, given)
        else:
            _send(request, 404, self._title, "There is nothing at this address.")

    def _open(self, request: BaseHTTPRequestHandler, given: Mapping[str, str]) -> None:
        with self._lock:
            attempt = _find(self._current(), "ticket", given.get("ticket", ""))
            is_new = attempt is not None and not attempt.is_opened
            if attempt is not None:
                attempt.is_opened = True
        if attempt is None or not is_new:
            _send(request, 400, self._title, USED)
            return
        cookie = f"{_COOKIE}={attempt.cookie}; Path=/callback; HttpOnly; SameSite=Lax; Max-Age={LIFETIME_S:.0f}"
        location = self._authorization_url(attempt, self.redirect_uri)
        _send(request, 303, self._title, "", {"Location": location, "Set-Cookie": cookie})

    def _end(self, request: BaseHTTPRequestHandler, given: Mapping[str, str]) -> None:
        with self._lock:
            attempt = _find(self._current(), "state", given.get("state", ""))
            if attempt is not None and _is_equal(cookie_in(request.headers.get("Cookie", ""), _COOKIE), attempt.cookie):
                self._attempts.remove(attempt)  # a state works once
            else:
                attempt = None
        if attempt is None:
            _send(request, 400, self._title, FOREIGN)
            return
        status, text = 400, REFUSED
        try:
            if given.get("code") and "error" not in given:
                self._finish(attempt, given["code"], self.redirect_uri)
                attempt.is_signed_in, status, text = True, 200, DONE
        except (CallError, Unavailable):
            status, text = 502, FAILED
        finally:
            try:
                _send(request, status, self._title, text)
            finally:
                attempt.ended.set()  # a command ends then, and this server with it


def _find(attempts: list[Attempt], name: str, given: str) -> Attempt | None:
    return next((one for one in attempts if _is_equal(given, getattr(one, name))), None)


def _is_equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


def cookie_in(header: str, name: str) -> str:
    """Return the value of a cookie in a ``Cookie`` header; empty where it is absent, or the header is damaged."""
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _send(
    request: BaseHTTPRequestHandler, status: int, title: str, text: str, headers: Mapping[str, str] | None = None
) -> None:
    shown = html.escape(title)
    body = f'<!doctype html><html lang="en"><title>{shown}</title><h1>{shown}</h1><p>{html.escape(text)}</p></html>'
    content = body.encode()
    request.send_response(status)
    for name, value in {**_HEADERS, "Content-Length": str(len(content)), **(headers or {})}.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(content)
