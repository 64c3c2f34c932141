"""Failures of an HTTP request that has no response.

After a :class:`RetryableTransportError` another attempt may succeed; after any other it would fail as well, or come too
late.

``NotSent`` marks those of a request that was not sent, for a reason that is the host's, the proxy's or this machine's.

Messages name the host and nothing else of the URL: paths and queries may hold a key.
"""

from __future__ import annotations

MAX_DECOMPRESSION_RATIO = 100
"""Prices as JSON shrink to a tenth at best, so what expands a hundredfold, and to over 1 MB, is made to do harm."""


class TransportError(Exception):
    """A request that has no response.

    Attributes:
        host: The host name of the URL.
        reason: What happened, as a phrase.
    """

    reason = "request failed"

    def __init_subclass__(cls, reason: str = "") -> None:
        if reason:
            cls.reason = reason

    def __init__(self, host: str = "") -> None:
        super().__init__(f"{host}: {self.reason}")
        self.host = host


class RetryableTransportError(TransportError):
    """Another attempt may succeed."""


class NotSent:
    """Mark an error of a request that was not sent, for a reason that is the same for every caller.

    The upstream has received nothing of the caller's, so no caller can cause such an error. What comes after a request
    was sent may depend on its key and its arguments.
    """


class ConnectError(RetryableTransportError, NotSent, reason="network unreachable"):
    """There was no connection, so nothing was sent."""


class NameResolutionError(ConnectError, reason="DNS lookup failed"):
    """The name of the host is not known, or the name servers do not answer."""


class ConnectionRefused(ConnectError, reason="connection refused"):
    """Nothing listens on the port."""


class ConnectTimeout(ConnectError, reason="connection timed out"):
    """There was no connection in time, including the proxy's CONNECT and the TLS handshake."""


class TlsError(ConnectError, reason="TLS handshake failed"):
    """The TLS handshake failed."""


class CertificateError(TlsError, reason="its TLS certificate is self-signed, or its issuer is not trusted"):
    """The certificate is not trusted: its issuer is not known here."""


class CertificateExpired(CertificateError, reason="its TLS certificate has expired, or is not valid yet"):
    """The certificate has expired, or is not valid yet."""


class CertificateHostMismatch(CertificateError, reason="its TLS certificate belongs to another host"):
    """The certificate belongs to another host."""


class ProxyError(ConnectError, reason="no connection through the proxy"):
    """The proxy cannot be used."""


class ConnectionBroken(RetryableTransportError, reason="connection closed before the response was complete"):
    """The connection was closed or reset before the response was complete."""


class InvalidResponse(ConnectionBroken, reason="response is not valid HTTP"):
    """The response is not HTTP, or not encoded as its ``Content-Encoding`` says."""


class InvalidRequest(TransportError, reason="invalid URL or header"):
    """The URL or a header cannot be sent."""


class ForbiddenAddress(TransportError, NotSent, reason="address not allowed"):
    """The host resolves to an address that is not allowed. Nothing was sent."""


class CertificateBundleError(TransportError, NotSent, reason="CA bundle cannot be read"):
    """The file of trusted certificates is missing or holds no certificate."""


class UnsupportedProxy(TransportError, NotSent, reason="unsupported proxy"):
    """The URL of the proxy does not begin with ``http://``."""


class ProxyAuthenticationError(TransportError, NotSent, reason="proxy authentication failed"):
    """The proxy answered 407: it wants a user name and a password, or others."""


class DeadlineBeforeConnection(TransportError, reason="no time left to connect"):
    """The call had less time left than connecting may take, and it passed. That says nothing about the host."""


class ReadTimeout(TransportError, reason="no response in time"):
    """There was no complete response before the deadline."""


class ResponseTooLarge(TransportError, reason="response too large"):
    """The body has more bytes than allowed, as sent or decompressed."""


class DecompressionBomb(ResponseTooLarge, reason="decompressed response too large"):
    """The decompressed body is larger than its compressed size explains."""
