"""Access tokens by OAuth 2: of a source by the client credentials grant (RFC 6749, section 4.4), or of its user.

A source with ``grant: authorization_code`` gets the token of its user in place of a key: ``execution.user_tokens``.

One :class:`TokenProvider` belongs to the adapter of one source, so that no token can reach another. A token is kept in
memory until shortly before it expires. While one thread requests it, the others wait for its result.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, urlencode

from cachetools import TLRUCache

from toolfold.budget import SingleFlight
from toolfold.errors import AuthRejected, UpstreamError, UpstreamTimeout
from toolfold.messages import CHECK_KEY, TRY_AGAIN
from toolfold.sources.http_api.request import Exchange, HttpRequest, basic_credentials, stated_wait_s, status_error

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source
    from toolfold.network.session import Response


class GrantRejected(AuthRejected):
    """The token endpoint accepts a code or a refresh token no more: it has expired, or was used or revoked."""


DEFAULT_EXPIRES_IN_S = 300
"""Seconds for which a token is kept whose response does not say how long it is valid (RFC 6749, section 5.1)."""

MAX_EXPIRES_IN_S = 86_400
"""Longer than a token is kept: a leaked secret that is revoked must lose its effect within a day."""

MARGIN_S = 30.0
"""Seconds before its end in which a token is not used any more: the request takes some."""

MAX_TOKENS = 64
"""Credentials of callers whose tokens are kept at the same time; the oldest is dropped."""

MAX_TOKEN_CHARS = 16_000
"""Headers of a request have 8 to 64 KB at usual servers; a token with many claims has 4 KB."""

_REFUSED = (400, 401, 403)
"""Statuses by which a token endpoint refuses the client: RFC 6749, section 5.2."""

_ERROR_CODES = ("invalid_client", "invalid_scope", "unauthorized_client", "invalid_request", "unsupported_grant_type",
                "invalid_grant", "invalid_target")  # fmt: skip
"""Codes of the same section. Nothing else of the response is repeated."""

_TOKEN = re.compile(r"[!-~]+")


MAX_TOKEN_BYTES = 100_000
"""Bytes of a response of a token endpoint; a token has up to 16,000 characters."""


class TokenProvider:
    """Get and keep the access tokens of one source by client credentials. Safe to use from many threads.

    Args:
        source: the source, which may have none; its ``auth.oauth2`` has ``token_url``, and may have ``scopes``,
            ``audience``, ``resource`` and ``client_authentication`` (``basic`` or ``body``).
        exchange: sends the request for a token.
        monotonic: the clock.
    """

    def __init__(self, source: Source, exchange: Exchange, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._source, self._exchange, self._monotonic = source, exchange, monotonic
        self._tokens = TLRUCache[str, tuple[str, float]](MAX_TOKENS, lambda _, token, __: token[1], monotonic)
        self._flights, self._lock = SingleFlight[str](), threading.Lock()
        self._issues_tokens = bool(source.oauth2) and not source.signs_in

    def sent_keys(self, key: str, deadline: float, *, is_read: bool = True) -> Iterator[str]:
        """Yield what is sent for ``key``: itself or a token, and another token where that one is refused.

        A write is sent once, regardless of the answer: the next call has a new token.
        """
        if not key or not self._issues_tokens:
            yield key
            return
        token = self.get_token(key, deadline)
        yield token
        self.drop_token(key, token)
        if is_read:
            yield self.get_token(key, deadline)

    def get_token(self, key: str, deadline: float) -> str:
        """Return a token that is valid for some time yet, requesting one where none is kept."""
        name = _name_of(key)

        def request() -> str:
            with self._lock:
                known = self._tokens.get(name)
            if known is not None:
                return known[0]
            sent_at = self._monotonic()
            data = read_tokens(self._source, self._exchange(token_request(self._source.oauth2, key), deadline))
            with self._lock:
                self._tokens[name] = data["access_token"], sent_at + used_for_s(data)
            return str(data["access_token"])

        try:
            return self._flights.run(name, request, max(0.0, deadline - self._monotonic()))
        except TimeoutError:
            raise UpstreamTimeout(
                f"{self._source.title} did not issue an access token in time.", TRY_AGAIN, retryable=True
            ) from None

    def drop_token(self, key: str, token: str) -> None:
        """Drop ``token``, which the source has refused. A newer one, of another thread, is kept."""
        with self._lock:
            if self._tokens.get(_name_of(key), ("",))[0] == token:
                del self._tokens[_name_of(key)]


def _name_of(key: str) -> str:
    # A hash: the table must not have the secrets of callers whose request is over.
    return hashlib.sha256(key.encode()).hexdigest()


def requested_access(oauth2: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters that say what a token is for."""
    scope = {"scope": " ".join(oauth2["scopes"])} if oauth2.get("scopes") else {}
    return scope | {name: oauth2[name] for name in ("audience", "resource") if oauth2.get(name)}


def authorization_query(client_id: str, state: str, verifier: str, redirect_uri: str) -> dict[str, str]:
    """Return the parameters of a request for a code, with PKCE (RFC 7636, S256)."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    return {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }


def token_request(
    oauth2: Mapping[str, Any], key: str, parameters: Mapping[str, str] | None = None, url: str = ""
) -> HttpRequest:
    """Return the request for a token; ``parameters`` of another grant, or for another ``url`` than ``token_url``."""
    client_id, _, secret = key.partition(":")
    fields = {"grant_type": "client_credentials", **requested_access(oauth2)} if parameters is None else {**parameters}
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    if parameters is not None and not secret:  # a public client: RFC 6749, section 3.2.1
        fields["client_id"] = client_id
    elif oauth2.get("client_authentication") == "body":
        fields |= {"client_id": client_id, "client_secret": secret}
    else:
        # Both are form-encoded before they are joined: RFC 6749, section 2.3.1.
        headers["Authorization"] = f"Basic {basic_credentials(f'{quote_plus(client_id)}:{quote_plus(secret)}')}"
    return HttpRequest("POST", url or oauth2["token_url"], headers, urlencode(fields).encode())


def read_tokens(source: Source, response: Response) -> dict[str, Any]:
    """Return what a token endpoint has answered, with a usable ``access_token``.

    Raises:
        GrantRejected: it does not accept the code or the refresh token.
        CallError: it does not accept the client, or it failed.
    """
    try:
        data = json.loads(response.body[:MAX_TOKEN_BYTES].decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        data = None
    data = data if isinstance(data, dict) else {}
    title = source.title
    if response.status in _REFUSED:
        error = data.get("error")
        code = f" ({error})" if error in _ERROR_CODES else ""
        failure = GrantRejected if error == "invalid_grant" else AuthRejected
        raise failure(f"The token endpoint of {title} does not accept the client id and secret{code}.", CHECK_KEY)
    if response.status != 200:
        raise status_error(f"The token endpoint of {title}", response.status, stated_wait_s(response), TRY_AGAIN)
    if not is_token(data.get("access_token")):
        raise UpstreamError(f"The token endpoint of {title} answered without an access token.", TRY_AGAIN)
    if str(data.get("token_type", "bearer")).lower() != "bearer":
        raise UpstreamError(f"The token endpoint of {title} issued a token of another type than bearer.", TRY_AGAIN)
    return data


def is_token(given: Any) -> bool:
    """Return whether ``given`` can be sent as a token."""
    return isinstance(given, str) and len(given) <= MAX_TOKEN_CHARS and _TOKEN.fullmatch(given) is not None


def used_for_s(data: Mapping[str, Any]) -> float:
    """Return the seconds for which a token is used: it is replaced before its end."""
    given = data.get("expires_in")
    if isinstance(given, str) and given.isascii() and given.isdigit() and len(given) < 12:  # some servers send text
        given = int(given)
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < float("inf"):
        given = DEFAULT_EXPIRES_IN_S
    lifetime_s = float(min(given, MAX_EXPIRES_IN_S))
    return max(lifetime_s - MARGIN_S, lifetime_s / 2)
