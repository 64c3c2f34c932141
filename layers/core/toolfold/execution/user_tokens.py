"""The tokens of a user at sources with ``grant: authorization_code``: sign in, refresh, revoke.

OAuth 2.1: authorization code with PKCE (RFC 7636, S256), a new state and ticket for each sign-in, refresh tokens that
the server may rotate. The tokens are those of the user of this machine; or those of a caller with an access token, for
whom ``token_store`` has links that check who opens them. No other caller of a server that others can reach has one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolfold.cache.stores import Locked, Unavailable
from toolfold.errors import AuthorizationRequired, UpstreamError, UpstreamTimeout
from toolfold.execution.sign_in_page import LocalSignIn
from toolfold.extras import on_lambda
from toolfold.local_defaults import user_folder
from toolfold.messages import ENTER_KEY, SEE_LOG, SIGN_IN, SIGN_IN_ELSEWHERE, SIGN_IN_HOSTED, TRY_AGAIN
from toolfold.models import SourceCredentials, Tokens
from toolfold.sources.base import AdapterContext
from toolfold.sources.http_api.oauth import (
    GrantRejected,
    is_token,
    read_tokens,
    requested_access,
    token_request,
    used_for_s,
)
from toolfold.sources.http_api.request import HttpRequest, exchange_for

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source
    from toolfold.execution.call import CallContext
    from toolfold.execution.sign_in_page import SignInFlow
    from toolfold.execution.token_store import SignInStore, Step
    from toolfold.network.session import HttpClient, Response
    from toolfold.settings import Settings
    from toolfold.wording import Text

logger = logging.getLogger("toolfold")

FOLDER = "sign-ins"
"""In toolfold's folder for data of the user."""

MAX_WAIT_S = 20.0
"""Seconds for which a call waits for a user who has agreed to open the page: clients end calls after 30 to 60 s."""

_END_MARGIN_S, _POLL_S = 2.0, 1.0
_FOREVER = float(1 << 50)
"""End of a token without one: it is used until the source refuses it."""


class UserTokens:
    """Get, keep and revoke tokens. One for a process; safe to use from many threads.

    Args:
        settings: the settings in force.
        get_http_client: returns what sends HTTP requests.
        is_shared: whether others than the user of this machine can send requests.
        hosted: the sign-ins of callers with access tokens; None: they have none here.
        now: the clock.
    """

    def __init__(
        self,
        settings: Settings,
        get_http_client: Callable[[], HttpClient],
        is_shared: bool = False,
        hosted: SignInStore | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._settings, self._context, self._now = settings, AdapterContext(settings, get_http_client), now
        self._is_shared, self.hosted = is_shared, hosted
        self._own: SignInStore | None = None
        self._under_way: dict[str, LocalSignIn] = {}
        self._lock = threading.Lock()

    def get_credentials(self, call: CallContext, client: str = "") -> SourceCredentials:
        """Return the token that a call is made with, or its key, and what no answer may repeat besides.

        ``client`` is id and secret of the application, ``client_id:client_secret``; a public one has no secret. Without
        one, it is the key that the caller has entered on the page.

        Raises:
            AuthorizationRequired: the user has to sign in or to enter a key, or cannot at this server.
            CallError: the token could not be refreshed.
        """
        source, owner = call.source, self._owner(call)
        end = math.inf if call.deadline is None else call.deadline
        deadline = min(time.monotonic() + self._settings.timeout_s, end)
        found = self.find_credentials(source, client, deadline, owner)
        if found is None and call.credentials.awaits_sign_in:
            store, name = self._place(source, client, owner)
            end = min(time.monotonic() + MAX_WAIT_S, deadline - _END_MARGIN_S)
            with _store_of(source):
                while store.read(name) is None and time.monotonic() + _POLL_S < end:  # any process may end it
                    time.sleep(_POLL_S)
            found = self.find_credentials(source, client, deadline, owner)
        if found is not None:
            return found
        url = self._link(source, owner) if owner else self.begin(source, client).url
        step = SIGN_IN_HOSTED.filled(url=url) if owner else SIGN_IN.filled(id=source.id, url=url)
        needed = "its user to sign in" if client else "a key of its user"
        raise AuthorizationRequired(
            f"{source.title} needs {needed}; nothing was sent.",
            step if client else ENTER_KEY.filled(url=url),
            authorization_url=url,
        )

    def _link(self, source: Source, owner: str) -> str:
        assert self.hosted is not None  # noqa: S101 - there is no owner without
        with _store_of(source):
            ticket = self.hosted.seal(self.hosted.first_step(source.id, owner), "ticket")
        return f"{pages_url(self._settings)}{source.id}?ticket={ticket}"

    def has_page_for_key(self, call: CallContext) -> bool:
        """Return whether the caller, who has sent no key, can enter one of the source on a page of this server."""
        given, auth = call.credentials, call.source.auth
        has_key = bool(given.first() or given.named or given.conflict)
        is_person = self.hosted is not None and given.scopes is not None and bool(given.caller)
        return is_person and auth is not None and auth.caller_key and not has_key

    def another_key(self, call: CallContext) -> Text:
        """Return the next step of a caller whose key the source has refused."""
        return ENTER_KEY.filled(url=self._link(call.source, call.credentials.caller))

    def store_key(self, source: Source, owner: str, key: str) -> None:
        """Store the key of a caller in place of the one before; raises Unavailable where that is not possible."""
        store, name = self._place(source, "", owner)
        with store.locked(name, self._settings.timeout_s):
            store.write(name, Tokens(key, _FOREVER))

    def _owner(self, call: CallContext) -> str:
        """Return whose token a call uses: the id of its caller; empty for the user of this machine."""
        credentials = call.credentials
        if not (self._is_shared or credentials.caller or on_lambda()):
            return ""
        # A principal of AWS, or a key that several callers have, is no person who could open a link.
        if self.hosted is None or credentials.scopes is None or not credentials.caller:
            raise AuthorizationRequired(
                f"{call.source.title} needs a user who has signed in, and this server has more than one; "
                "nothing was sent.",
                SIGN_IN_ELSEWHERE,
            )
        return credentials.caller

    def find_credentials(
        self, source: Source, client: str, deadline: float, owner: str = ""
    ) -> SourceCredentials | None:
        """Return the token of the user of this machine, or of ``owner``, refreshed where necessary; None without one.

        Raises:
            CallError: the token could not be read or refreshed.
        """
        with _store_of(source):
            tokens = self._usable(source, client, deadline, owner)
        if tokens is None:
            return None
        hidden = (client.partition(":")[2], tokens.refresh_token, tokens.code)
        return SourceCredentials(tokens.access_token, tuple(filter(None, hidden)))

    def drop_token(self, call: CallContext, client: str) -> None:
        """Use the token of a call, which the source has refused, no more. A newer one, of another thread, is kept."""
        store, name = self._place(call.source, client, self._owner(call))
        with _store_of(call.source), store.locked(name, self._settings.timeout_s):
            tokens = store.read(name)
            if tokens is not None and tokens.access_token == call.source_credentials.api_key:
                if tokens.refresh_token:
                    store.write(name, tokens._replace(expires_at=0))
                else:
                    store.delete(name)

    def begin(self, source: Source, client: str) -> LocalSignIn:
        """Begin a sign-in of the user of this machine, or return the one whose link was not opened yet."""
        store, _ = self._place(source, client)
        with self._lock:
            sign_in = self._under_way.get(source.id)
            if sign_in is None or not sign_in.renew():
                try:
                    sign_in = self._under_way[source.id] = LocalSignIn(self.exchange_code, store, source, client)
                except OSError:
                    raise AuthorizationRequired(
                        f"{source.title} needs its user to sign in, and port {source.oauth2.get('redirect_port')} of "
                        "this machine is taken: another sign-in may be under way.",
                        TRY_AGAIN,
                    ) from None
            return sign_in

    def sign_out(self, source: Source, client: str) -> bool:
        """Revoke and delete the tokens of the user of this machine; return whether there were any.

        Raises:
            CallError: they are deleted, and the source has not confirmed that they are revoked.
        """
        store, name = self._place(source, client)
        with _store_of(source), store.locked(name, self._settings.timeout_s):
            tokens = store.read(name)
            store.delete(name)
        url = source.oauth2.get("revocation_url")
        if tokens is None or not url:
            return tokens is not None
        # A server that revokes a refresh token revokes the access tokens of the same grant: RFC 7009, section 2.1.
        kind = "refresh_token" if tokens.refresh_token else "access_token"
        form = {"token": getattr(tokens, kind), "token_type_hint": kind}
        response = self._send(source, token_request(source.oauth2, client, form, url))
        if response.status != 200:
            raise UpstreamError(
                f"The tokens are deleted here, but {source.title} has not confirmed that they are revoked "
                f"(HTTP status {response.status}).",
                f"Revoke the access of toolfold in your account at {source.title}.",
            )
        return True

    def _usable(self, source: Source, client: str, deadline: float, owner: str) -> Tokens | None:
        """Return tokens that are valid for some time yet, refreshed where necessary; None without a sign-in."""
        store, name = self._place(source, client, owner)
        if (tokens := store.read(name)) is None or self._now() < tokens.expires_at:
            return tokens
        try:
            with store.locked(name, deadline - time.monotonic()):  # one refresh: a refresh token may work once
                tokens = store.read(name)
                if tokens is not None and self._now() < tokens.expires_at:
                    return tokens
                if tokens is None or not tokens.refresh_token:
                    store.delete(name)
                    return None
                form = {"grant_type": "refresh_token", "refresh_token": tokens.refresh_token}
                try:
                    new = self._request_tokens(source, client, form, deadline)
                except GrantRejected:
                    store.delete(name)
                    return None
                new = new._replace(refresh_token=new.refresh_token or tokens.refresh_token, code=tokens.code)
                store.write(name, new)
                return new
        except Locked:
            raise UpstreamTimeout(
                f"{source.title} did not issue an access token in time.", TRY_AGAIN, retryable=True
            ) from None

    def exchange_code(self, flow: SignInFlow, step: Step, code: str) -> None:
        """Get tokens for a code, and store them for the user of this machine, or for the owner of the step.

        Raises:
            CallError: the source gives no tokens.
            Unavailable: they cannot be stored.
        """
        source, resource = flow.source, flow.source.oauth2.get("resource")
        form = {"grant_type": "authorization_code", "code": code, "code_verifier": step.verifier}
        form |= {"redirect_uri": flow.redirect_uri, **({"resource": resource} if resource else {})}
        tokens = self._request_tokens(source, flow.client, form, time.monotonic() + self._settings.timeout_s)
        store, name = self._place(source, flow.client, step.owner)
        with store.locked(name, self._settings.timeout_s):
            store.write(name, tokens._replace(code=code if is_token(code) else ""))

    def _request_tokens(self, source: Source, client: str, form: Mapping[str, str], deadline: float) -> Tokens:
        sent_at = self._now()
        data = read_tokens(source, self._send(source, token_request(source.oauth2, client, form), deadline))
        refresh_token = data["refresh_token"] if is_token(data.get("refresh_token")) else ""
        is_endless = form["grant_type"] == "authorization_code" and not refresh_token and not data.get("expires_in")
        expires_at = _FOREVER if is_endless else sent_at + used_for_s(data)
        return Tokens(data["access_token"], expires_at, refresh_token)

    def _send(self, source: Source, request: HttpRequest, deadline: float | None = None) -> Response:
        exchange = exchange_for(source, self._context, "")
        return exchange(request, deadline or time.monotonic() + self._settings.timeout_s)

    def _place(self, source: Source, client: str, owner: str = "") -> tuple[SignInStore, str]:
        """Return where the tokens are, and their name: a source that changes its hosts or its scopes has none."""
        endpoint, oauth2 = self._settings.source_urls.get(source.id, source.base_url), source.oauth2
        parts: list[Any] = [source.id, urlsplit(endpoint)[:2]]
        if source.signs_in:
            parts += [oauth2["authorization_url"], oauth2["token_url"], requested_access(oauth2)]
            parts += [client.partition(":")[0]]
        parts += [owner] if owner else []
        return self._store(source, owner), hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]

    def _store(self, source: Source, owner: str) -> SignInStore:
        if self.hosted is not None and owner:
            return self.hosted
        problem = f"{source.title} needs its user to sign in, "
        try:
            from toolfold.execution.token_store import local_sign_ins  # needs the extra oauth
        except ModuleNotFoundError:
            raise AuthorizationRequired(
                f"{problem}for which the extra oauth of toolfold is missing here.",
                "Install that extra where this server runs.",
            ) from None
        with self._lock:
            if self._own is None:
                folder = user_folder("data")
                if not folder:
                    raise AuthorizationRequired(
                        f"{problem}and this user has no folder to keep a token in.", SEE_LOG.filled(what="why")
                    )
                folder = os.path.join(folder, FOLDER)
                self._own = local_sign_ins(folder, self._settings.secret_timeout_s, self._now)
            return self._own


def pages_url(settings: Settings) -> str:
    """Return what the pages of a shared server are below: ``protocol.http.SIGN_IN_PATH``."""
    return f"{settings.public_url.removesuffix('/').removesuffix('/mcp')}/ui/sign-in/"


@contextlib.contextmanager
def _store_of(source: Source) -> Iterator[None]:
    """Raise the error of a call where the folder of the tokens cannot be used; the log has the path."""
    try:
        yield
    except Unavailable as error:
        logger.error("the tokens of users cannot be read or stored: %s", error)
        raise AuthorizationRequired(
            f"{source.title} needs its user to sign in, and the token of the user cannot be read or stored.",
            SEE_LOG.filled(what="why"),
        ) from None
