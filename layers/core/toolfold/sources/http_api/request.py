"""A request that is ready to be sent, with its credentials; what sends it, and the errors of those without a response.

Credentials go where ``auth`` of ``source.yaml`` says, and nowhere else:

======================  ===============================================================================================
``auth``                what is sent of the key
======================  ===============================================================================================
``query_key: NAME``     a parameter of the query
``header: NAME``        a header; with ``prefix: WORD`` the word and a space before the key
``cookie: NAME``        a cookie
``bearer: true``        ``Authorization: Bearer KEY``
``basic: true``         ``Authorization: Basic …`` of ``user:password``
``oauth2: …``           ``Authorization: Bearer TOKEN``; the key is ``client_id:client_secret``, see ``oauth``
======================  ===============================================================================================

An error has one sentence with the host, and the next step. ``Retry-After`` states after how long a service accepts the
next request.
"""

from __future__ import annotations

import base64
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from toolfold.errors import AnswerTooLarge, AuthRejected, CallError, RateLimited, UpstreamError, UpstreamTimeout
from toolfold.messages import CHECK_KEY, SLOW, TRY_AGAIN, WAIT
from toolfold.network import errors
from toolfold.network.ssrf import address_check, is_allowed_address
from toolfold.sources.base import ConnectionFailed, ConnectionNotPossible, ConnectTimeout, NotConnected
from toolfold.sources.http_api.styles import cookie_text
from toolfold.version import __version__
from toolfold.wording import Text

if TYPE_CHECKING:
    from toolfold.catalog.entries import Auth, Source
    from toolfold.network.session import Response
    from toolfold.sources.base import AdapterContext

MAX_URL_CHARS = 16_000
"""Servers accept from 8 KB (nginx, Apache) to 16 KB (Node, Amazon CloudFront) before they answer with an error page."""


@dataclass(frozen=True)
class HttpRequest:
    """A request to be sent. ``repr`` hides what may contain the API key."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)


def join_url(base_url: str, path: str, query: Sequence[str]) -> str:
    """Return ``base_url`` with ``path`` after its own path, and ``query`` after its own query.

    Args:
        base_url: the address of a source.
        path: percent-encoded, with a slash at its beginning; empty to keep the path of ``base_url``.
        query: percent-encoded pairs.

    >>> join_url("https://a.example/v1/?version=2", "/pets", ["id=7"])
    'https://a.example/v1/pets?version=2&id=7'
    """
    parts = urlsplit(base_url)
    joined = "&".join(filter(None, (parts.query, *query)))
    whole = f"{parts.path.rstrip('/')}{path}" if path else parts.path
    return parts._replace(path=whole, query=joined, fragment="").geturl()


@dataclass(frozen=True, repr=False)
class SentCredentials:
    """What a request has for the credentials of its source. ``repr`` hides the values.

    Attributes:
        query: percent-encoded pairs.
        headers: name → value.
        cookies: pairs.
    """

    query: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: tuple[str, ...] = ()


def credentials_to_send(auth: Auth | None, key: str) -> SentCredentials:
    """Return where ``key`` goes."""
    if auth is None or not key:
        return SentCredentials()
    if auth.query_key is not None:
        return SentCredentials(query=(f"{quote(auth.query_key, safe='')}={quote(key, safe='')}",))
    if auth.header is not None:
        return SentCredentials(headers={auth.header: f"{auth.prefix} {key}" if auth.prefix else key})
    if auth.cookie is not None:
        return SentCredentials(cookies=(f"{auth.cookie}={cookie_text(key)}",))
    if auth.basic:
        return SentCredentials(headers={"Authorization": f"Basic {basic_credentials(key)}"})
    if auth.bearer or auth.oauth2 is not None:
        return SentCredentials(headers={"Authorization": f"Bearer {key}"})
    return SentCredentials()


def basic_credentials(key: str) -> str:
    """Return ``user:password`` as RFC 7617 has it; a key without a colon is a user without a password.

    >>> basic_credentials("user:pass"), basic_credentials("sk_1")
    ('dXNlcjpwYXNz', 'c2tfMTo=')
    """
    return base64.b64encode((key if ":" in key else f"{key}:").encode()).decode()


def secrets_of(auth: Auth | None, key: str, sent: str = "") -> tuple[str, ...]:
    """Return what must not appear in a response, besides ``key``: its parts, and the token that was ``sent`` for it."""
    if auth is None or not (auth.basic or auth.oauth2 is not None):
        return ()
    secrets = (key.partition(":")[2], basic_credentials(key), sent if sent != key else "")
    return tuple(filter(None, secrets))


def taken_names(auth: Auth | None) -> frozenset[tuple[str, str]]:
    """Return location and name of what the credentials are sent as; names of headers in lower case."""
    if auth is None:
        return frozenset()
    header = None if auth.header is None else auth.header.lower()
    names = (("header", "authorization"), ("query", auth.query_key), ("header", header), ("cookie", auth.cookie))
    return frozenset((location, name) for location, name in names if name is not None)


Exchange = Callable[[HttpRequest, float], "Response"]
"""Sends a request once, before a deadline, and returns the response. Redirects are not followed."""


def exchange_for(source: Source, context: AdapterContext, smaller_response_hint: str) -> Exchange:
    """Return what sends the requests of a source, within the limits of the settings, and of its own if those are less.

    Its responses may have any status; it raises the errors of :func:`to_call_error`.
    """
    settings, max_bytes = context.settings, context.max_bytes(source)

    def exchange(request: HttpRequest, deadline: float) -> Response:
        if time.monotonic() >= deadline:
            raise upstream_timeout(source)
        private = settings.private_hosts
        try:
            return context.get_http_client().request(
                request.method,
                request.url,
                headers={"User-Agent": f"toolfold/{__version__}", "Accept": "*/*", **request.headers},
                body=request.body,
                deadline=deadline,
                connect_timeout_s=settings.connect_timeout_s,
                max_bytes=max_bytes,
                is_allowed=address_check(private, source.id, request.url) if private else is_allowed_address,
            )
        except errors.TransportError as error:
            raise to_call_error(error, source, max_bytes, smaller_response_hint) from None

    return exchange


MAX_RETRY_AFTER_S = 86_400
"""The longest wait that a response can ask for. No quota is reset less often than once a day."""


def parse_retry_after(value: str) -> int | None:
    """Return the seconds that ``Retry-After`` names, at most :data:`MAX_RETRY_AFTER_S`; None for a date.

    A date (RFC 9110, 10.2.3) counts by the clock of another machine, and few services send one.
    """
    try:
        seconds = float(value)
    except ValueError:
        return None
    return math.ceil(min(seconds, MAX_RETRY_AFTER_S)) if seconds >= 0 else None


_LIMITS = ("ratelimit", "x-ratelimit", "x-rate-limit")
_MIN_TIMESTAMP = 1_000_000_000


def parse_limit_reset(headers: Mapping[str, str]) -> int | None:
    """Return the seconds until the limits that are used up are reset: those of GitHub and many others.

    >>> parse_limit_reset({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"})
    30
    """
    for name in _LIMITS:
        reset = headers.get(f"{name}-reset", "").strip()[:10]
        if headers.get(f"{name}-remaining", "").strip() == "0" and reset.isascii() and reset.isdigit():
            # In seconds, or at a time in seconds or milliseconds.
            wait_s = int(reset) - (int(time.time()) if int(reset) >= _MIN_TIMESTAMP else 0)
            return min(max(1, wait_s), MAX_RETRY_AFTER_S)
    return None


def stated_wait_s(response: Response) -> int | None:
    """Return the seconds after which a service accepts the next request, by its response; None: it states none."""
    named = response.headers.get("retry-after", "")
    wait_s = parse_retry_after(named) if named else None
    return parse_limit_reset(response.headers) if wait_s is None and response.status in (403, 429) else wait_s


SMALLER_RESPONSE_HINT = "Ask for less, e.g. a shorter span or fewer items."
"""The next step after a response that is too large, where the source has no better one."""

_Texts = Mapping[type[errors.TransportError], str]
"""Class → text. A class that is not there has the text of its nearest base class."""

PROBLEMS: _Texts = {
    errors.ConnectError: "Cannot connect to {host}: {reason}.",
    errors.ConnectionBroken: "{host} closed the connection before the response was complete.",
    errors.InvalidResponse: "{host} sent a response that is not valid HTTP.",
    errors.InvalidRequest: "The URL set for this source is not valid, so nothing was sent.",
    errors.ForbiddenAddress: "{host} resolves to an address in a private network, so nothing was sent.",
    errors.CertificateBundleError: "The file of trusted certificates cannot be read, so nothing was sent.",
    errors.UnsupportedProxy: "The proxy set for this machine is not an HTTP proxy; other kinds are not supported.",
    errors.ProxyAuthenticationError: "The proxy set for this machine requires a user name and a password, or others.",
    errors.ResponseTooLarge: "The response is larger than {max_mb} MB.",
    errors.DecompressionBomb: "{host} sent a response that decompresses to more than {ratio} times its size.",
}
"""What is wrong."""

_UNREACHABLE = "Try again in a moment; if it keeps failing, tell the user that the service is down or unreachable."

_STEPS_FOR_MODEL: _Texts = {
    errors.TransportError: "Tell the operator: {step}",
    errors.ConnectError: _UNREACHABLE,
    errors.ProxyError: "Try again in a moment; if it keeps failing, tell the operator: {step}",
    errors.TlsError: "Tell the operator: {step}",
    errors.ConnectionBroken: _UNREACHABLE,
    errors.InvalidResponse: TRY_AGAIN.for_model,
    errors.ResponseTooLarge: "{smaller_response_hint}",
    errors.DecompressionBomb: "Do not call this again; tell the user that the service sends harmful responses.",
}
"""The next step; ``step`` is that of a person."""

STEPS: _Texts = {
    errors.ConnectError: "This machine has no way to it: check its connection, a VPN or a firewall.",
    errors.NameResolutionError: (
        "Check the connection of this machine to the network, and its DNS: `nslookup {host}` must find an address."
    ),
    errors.ConnectionRefused: "Nothing listens there: check the URL of the source ({source_variable}), or a firewall.",
    errors.ConnectTimeout: (
        "Nothing answers there: check a firewall or a VPN, and whether a proxy must be used (HTTPS_PROXY)."
    ),
    errors.ProxyError: "Check the proxy, {proxy}, which must allow {host}. NO_PROXY={host} goes around it.",
    errors.TlsError: "The port may not speak TLS (https:// for http://), or a proxy interferes.",
    errors.CertificateError: "Where a proxy inspects TLS, its certificate must be in {bundle}.",
    errors.CertificateExpired: (
        "Check the clock of this machine; else the service, or a proxy that inspects TLS, must renew its certificate."
    ),
    errors.CertificateHostMismatch: (
        "Check the URL of the source ({source_variable}), DNS and proxy: another host answers."
    ),
    errors.ConnectionBroken: (
        "Try again in a moment; if it stays so, a firewall or a proxy on the way breaks the connection."
    ),
    errors.InvalidResponse: (
        "Check the URL of the source ({source_variable}) and the proxy: something else than the service answers."
    ),
    errors.InvalidRequest: "Correct {source_variable}.",
    errors.ForbiddenAddress: (
        "Check the DNS of this machine, and the URL of the source ({source_variable}); a host of your own network "
        "belongs in TOOLFOLD_PRIVATE_HOSTS."
    ),
    errors.CertificateBundleError: "Correct {bundle}: it must be a file of certificates in PEM form.",
    errors.UnsupportedProxy: "Set the variable that names the proxy, {proxy}, to a URL that begins with http://.",
    errors.ProxyAuthenticationError: (
        "Put them into the variable that names the proxy, {proxy}: http://name:password@host:port."
    ),
    errors.ResponseTooLarge: "",
    errors.DecompressionBomb: "Do not call this again: the service, or a proxy before it, sends harmful responses.",
}
"""The next step of a person at a terminal."""


def url_variable(source: Source) -> str:
    """Return the environment variable that replaces the URL of ``source``."""
    return f"TOOLFOLD_SOURCE_{source.id.upper()}_URL"


def to_call_error(
    error: errors.TransportError, source: Source, max_bytes: int, smaller_response_hint: str = SMALLER_RESPONSE_HINT
) -> CallError:
    """Return the error of the call that ended in ``error``: one of ``network.errors.NotSent`` if nothing was sent."""
    if isinstance(error, errors.ReadTimeout | errors.DeadlineBeforeConnection):
        return upstream_timeout(source)
    fields = {
        "host": error.host,
        "reason": error.reason,
        "ratio": errors.MAX_DECOMPRESSION_RATIO,
        "max_mb": f"{max_bytes / 1e6:g}",
        "smaller_response_hint": smaller_response_hint,
        "source_variable": url_variable(source),
    }
    said, for_model, for_person = templates(type(error))
    problem = Text(said, fields=fields)
    step = Text(for_person[:1].lower() + for_person[1:], fields=fields)
    step = Text(for_model, for_person, {**fields, "step": step})
    if isinstance(error, errors.ConnectTimeout):
        return ConnectTimeout(problem, step, retryable=True)
    if isinstance(error, errors.RetryableTransportError):
        failure = NotConnected if isinstance(error, errors.NotSent) else ConnectionFailed
        return failure(problem, step, retryable=True)
    if isinstance(error, errors.NotSent):
        return ConnectionNotPossible(problem, step)
    return (AnswerTooLarge if type(error) is errors.ResponseTooLarge else UpstreamError)(problem, step)


_DEFAULT_RETRY_AFTER_S = 60
"""The wait after a status 429 that names none."""

_UNAVAILABLE = (408, 425, 502, 503, 504)
"""Statuses by which a gateway reports that the service behind it is not available at the moment, or a server that it
has not read or not processed the request and that it may be repeated (RFC 9110, 15.5.9; RFC 8470, 5.2)."""


def status_error(title: str, status: int, retry_after_s: int | None, next_step: Text) -> CallError:
    """Return the error that a status of HTTP means; ``next_step`` is that of one without a meaning of its own."""
    if status == 429:
        wait_s = _DEFAULT_RETRY_AFTER_S if retry_after_s is None else max(1, retry_after_s)
        # The text has no number: the seconds that are left become fewer when the error is returned again.
        return RateLimited(f"{title} is limiting calls.", WAIT, retry_after_s=wait_s)
    if status == 401:
        return AuthRejected(f"{title} does not accept the API key.", CHECK_KEY)
    message = f"{title} answered with HTTP status {status}."
    if status in _UNAVAILABLE:
        if not retry_after_s:
            return ConnectionFailed(message, TRY_AGAIN, retryable=True)
        return ConnectionFailed(message, WAIT, retryable=True, retry_after_s=retry_after_s)
    if status >= 500:
        return UpstreamError(message, TRY_AGAIN, retryable=True)
    return UpstreamError(message, next_step)


def upstream_timeout(source: Source) -> UpstreamTimeout:
    """Return the error of a call without a complete response before its deadline."""
    return UpstreamTimeout(f"{source.title} did not answer in time.", SLOW, retryable=True)


def templates(kind: type[errors.TransportError]) -> tuple[str, ...]:
    """Return what is wrong, the next step for a model, and that for a person; each with its fields in braces."""
    tables = (PROBLEMS, _STEPS_FOR_MODEL, STEPS)
    return tuple(next(table[base] for base in kind.__mro__ if base in table) for table in tables)
