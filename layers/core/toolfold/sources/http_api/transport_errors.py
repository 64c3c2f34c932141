"""Error messages for requests without a response: one sentence with the host, and the next step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolfold.errors import TRY_AGAIN, AnswerTooLarge, CallError, UpstreamError, UpstreamTimeout
from toolfold.network import errors
from toolfold.sources.errors import ConnectionFailed, ConnectionNotPossible, ConnectTimeout, NotConnected

if TYPE_CHECKING:
    from toolfold.catalog.model import Source

_CHECK_CERTIFICATES = (
    "Tell the operator: behind a proxy that inspects TLS, SSL_CERT_FILE must name a file with the proxy's certificate."
)
_UNREACHABLE = "Try again in a moment; if it keeps failing, tell the user that the service is down or unreachable."

SMALLER_RESPONSE_HINT = "Ask for less, e.g. a shorter span or fewer items."
"""The next step after a response that is too large, where the source has no better one."""

_MESSAGES: dict[type[errors.TransportError], tuple[str, str]] = {
    errors.CertificateError: ("TLS certificate check failed for {host}.", _CHECK_CERTIFICATES),
    errors.TlsError: ("TLS handshake failed with {host}.", _CHECK_CERTIFICATES),
    errors.ProxyError: (
        "Cannot connect to {host}: no connection through the proxy.",
        "Try again in a moment; if it keeps failing, tell the operator: HTTPS_PROXY is wrong, or the proxy refuses.",
    ),
    errors.ConnectError: ("Cannot connect to {host}: {reason}.", _UNREACHABLE),
    errors.InvalidResponse: ("{host} sent a response that is not valid HTTP.", TRY_AGAIN),
    errors.ConnectionBroken: ("{host} closed the connection before the response was complete.", _UNREACHABLE),
    errors.InvalidRequest: (
        "The URL set for this source is not valid, so nothing was sent.",
        "Tell the operator to correct the URL of the source.",
    ),
    errors.ForbiddenAddress: (
        "{host} resolves to an address in a private network, so nothing was sent.",
        "Tell the operator: the DNS of this machine, or the URL set for the source, is wrong.",
    ),
    errors.CertificateBundleError: (
        "The file of trusted certificates cannot be read, so nothing was sent.",
        "Tell the operator: REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE or SSL_CERT_FILE must name a file of certificates.",
    ),
    errors.UnsupportedProxy: (
        "The proxy set for this machine is not an HTTP proxy; other kinds are not supported.",
        "Tell the operator to set HTTPS_PROXY, or ALL_PROXY, to a URL that begins with http://.",
    ),
    errors.ProxyAuthenticationError: (
        "The proxy set for this machine requires a user name and a password, or others.",
        "Tell the operator to put them into the URL of the proxy: http://name:password@host:port.",
    ),
    errors.DecompressionBomb: (
        "{host} sent a response that decompresses to more than {ratio} times its size.",
        "Do not call this again; tell the user that the service sends harmful responses.",
    ),
    errors.ResponseTooLarge: ("The response is larger than {max_mb:g} MB.", "{smaller_response_hint}"),
}
"""Message and next step. A class that is not here has those of its nearest base class."""


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
        return ConnectTimeout(*_timeout_text(source), retryable=True)
    if isinstance(error, errors.ReadTimeout | errors.DeadlineBeforeConnection):
        return upstream_timeout(source)
    message, suggestion = next(_MESSAGES[kind] for kind in type(error).__mro__ if kind in _MESSAGES)
    message = message.format(
        host=error.host, reason=error.reason, ratio=errors.MAX_DECOMPRESSION_RATIO, max_mb=max_bytes / 1e6
    )
    suggestion = suggestion.replace("{smaller_response_hint}", smaller_response_hint)
    if isinstance(error, errors.RetryableTransportError):
        failure = NotConnected if isinstance(error, errors.NotSent) else ConnectionFailed
        return failure(message, suggestion, retryable=True)
    return _PERMANENT.get(type(error), UpstreamError)(message, suggestion)


def upstream_timeout(source: Source) -> UpstreamTimeout:
    """Return the error of a call without a complete response before its deadline."""
    return UpstreamTimeout(*_timeout_text(source), retryable=True)


def _timeout_text(source: Source) -> tuple[str, str]:
    return (
        f"{source.title} did not answer in time.",
        "Try again in a moment, or ask for less; if it keeps failing, tell the user that the service is slow.",
    )
