"""Error messages for requests without a response: one sentence with the host, and the next step.

Read ``Retry-After``: after how long a service accepts the next request.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from toolfold import messages
from toolfold.errors import AnswerTooLarge, CallError, UpstreamError, UpstreamTimeout
from toolfold.network import errors
from toolfold.sources.base import ConnectionFailed, ConnectionNotPossible, ConnectTimeout, NotConnected

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source

MAX_RETRY_AFTER_S = 86_400
"""The longest wait that a response can ask for. No quota is reset less often than once a day."""


def parse_retry_after(value: str, date: str = "") -> int | None:
    """Return the seconds that ``Retry-After`` names, from 0 to :data:`MAX_RETRY_AFTER_S` (RFC 9110, 10.2.3).

    Args:
        value: a number of seconds, or an HTTP date.
        date: the ``Date`` of the response, against which a date counts: the clocks of two machines may differ.

    Returns:
        None where it is neither: the header is then ignored. A time that is over is 0.
    """
    value = value.strip()
    if value.isascii() and value.replace(".", "", 1).isdigit():
        whole, _, fraction = value.partition(".")
        digits = whole.lstrip("0") or "0"
        seconds = int(digits) if len(digits) < 10 else MAX_RETRY_AFTER_S
        return min(seconds + any(digit != "0" for digit in fraction), MAX_RETRY_AFTER_S)
    until = _parse_http_date(value)
    if until is None:
        return None
    now = _parse_http_date(date) or datetime.now(UTC)
    return min(max(0, math.ceil((until - now).total_seconds())), MAX_RETRY_AFTER_S)


def _parse_http_date(value: str) -> datetime | None:
    from email.utils import parsedate_to_datetime

    try:
        parsed = parsedate_to_datetime(value)
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


SMALLER_RESPONSE_HINT = "Ask for less, e.g. a shorter span or fewer items."
"""The next step after a response that is too large, where the source has no better one."""

_WORDINGS: dict[type[errors.TransportError], messages.Wording] = {
    errors.NameResolutionError: messages.NAME_UNKNOWN,
    errors.LookupsExhausted: messages.NOT_CONNECTED,
    errors.ConnectionRefused: messages.REFUSED,
    errors.ConnectTimeout: messages.CONNECT_TIMEOUT,
    errors.ProxyTimeout: messages.PROXY_TIMEOUT,
    errors.SelfSignedCertificate: messages.SELF_SIGNED,
    errors.CertificateExpired: messages.EXPIRED,
    errors.CertificateHostMismatch: messages.WRONG_HOST,
    errors.CertificateError: messages.UNTRUSTED,
    errors.TlsError: messages.TLS_FAILED,
    errors.ProxyUnreachable: messages.PROXY_UNREACHABLE,
    errors.ProxyRefused: messages.PROXY_REFUSED,
    errors.ProxyError: messages.PROXY_FAILED,
    errors.ConnectError: messages.UNREACHABLE,
    errors.InvalidResponse: messages.NOT_HTTP,
    errors.ConnectionReset: messages.RESET,
    errors.ConnectionBroken: messages.CLOSED,
    errors.InvalidRequest: messages.INVALID_URL,
    errors.ForbiddenAddress: messages.PRIVATE_ADDRESS,
    errors.CertificateBundleError: messages.BUNDLE_UNREADABLE,
    errors.UnsupportedProxy: messages.PROXY_KIND,
    errors.ProxyAuthenticationError: messages.PROXY_LOGIN,
    errors.DecompressionBomb: messages.HARMFUL,
    errors.ResponseTooLarge: messages.TOO_LARGE,
}
"""A class that is not here has the wording of its nearest base class."""


_PERMANENT: dict[type[errors.TransportError], type[CallError]] = {
    errors.ForbiddenAddress: ConnectionNotPossible,
    errors.CertificateBundleError: ConnectionNotPossible,
    errors.UnsupportedProxy: ConnectionNotPossible,
    errors.ProxyAuthenticationError: ConnectionNotPossible,
    errors.ResponseTooLarge: AnswerTooLarge,
}
"""The errors of calls that a retry cannot help; of the others it is ``UpstreamError``."""


def to_call_error(
    error: errors.TransportError, source: Source, max_bytes: int, smaller_response_hint: str = SMALLER_RESPONSE_HINT
) -> CallError:
    """Return the error of the call that ended in ``error``: one of ``sources.errors.NotSent`` if nothing was sent.

    Args:
        error: The failure.
        source: The source that was called.
        max_bytes: The largest response that was allowed.
        smaller_response_hint: The next step after a response that is larger.
    """
    if isinstance(error, errors.ConnectTimeout):
        return ConnectTimeout(*_text(error, source, {}), retryable=True)
    if isinstance(error, errors.ReadTimeout | errors.DeadlineBeforeConnection):
        return upstream_timeout(source)
    fields = {"max_mb": f"{max_bytes / 1e6:g}", "smaller_response_hint": smaller_response_hint}
    message, suggestion = _text(error, source, fields)
    if isinstance(error, errors.RetryableTransportError):
        failure = NotConnected if isinstance(error, errors.NotSent) else ConnectionFailed
        return failure(message, suggestion, retryable=True)
    return _PERMANENT.get(type(error), UpstreamError)(message, suggestion)


def upstream_timeout(source: Source) -> UpstreamTimeout:
    """Return the error of a call without a complete response before its deadline."""
    return UpstreamTimeout(f"{source.title} did not answer in time.", messages.SLOW.for_model, retryable=True)


def _text(error: errors.TransportError, source: Source, fields: Mapping[str, str]) -> tuple[str, str]:
    """Return message and next step for a model."""
    wording = next(_WORDINGS[kind] for kind in type(error).__mro__ if kind in _WORDINGS)
    values = {
        "title": source.title,
        "host": error.host,
        "reason": error.reason,
        "ratio": errors.MAX_DECOMPRESSION_RATIO,
        "variable": _bundle_variable() if "{variable}" in wording.for_model else "",
        **fields,
    }
    return wording.message.format_map(values), wording.for_model.format_map(values)


def _bundle_variable() -> str:
    """Return the variable that decides which certificates are trusted."""
    from toolfold.network.sockets import ca_bundle

    return ca_bundle()[0] or "REQUESTS_CA_BUNDLE"
