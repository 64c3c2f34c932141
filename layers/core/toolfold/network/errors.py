"""Failures of an HTTP request that has no response.

::

    TransportError
    ├── RetryableTransportError       another attempt may succeed
    │   ├── ConnectError              no connection, so nothing was sent
    │   │   ├── NameResolutionError   the name of the host is not known
    │   │   │   └── LookupsExhausted  too many lookups of names do not end
    │   │   ├── ConnectionRefused     nothing listens on the port
    │   │   ├── ConnectTimeout        no connection in time, including the proxy and TLS
    │   │   │   └── ProxyTimeout      the proxy did not answer in time
    │   │   ├── TlsError              the TLS handshake failed
    │   │   │   └── CertificateError  the certificate is not trusted
    │   │   │       ├── SelfSignedCertificate   signed with its own key, or its authority's is
    │   │   │       ├── CertificateExpired      expired, or not valid yet
    │   │   │       └── CertificateHostMismatch it belongs to another host
    │   │   └── ProxyError            the proxy cannot be used
    │   │       ├── ProxyUnreachable  there is no connection to the proxy
    │   │       └── ProxyRefused      the proxy refuses to connect to the host
    │   └── ConnectionBroken          closed before the response was complete
    │       ├── ConnectionReset       reset before the response was complete
    │       └── InvalidResponse       not HTTP, or not encoded as it says
    └── PermanentTransportError       another attempt would fail as well, or come too late
        ├── InvalidRequest            a URL or a header that cannot be sent
        ├── ForbiddenAddress          the host resolves to an address that is not allowed
        ├── CertificateBundleError    the file of trusted certificates cannot be read
        ├── UnsupportedProxy          the proxy's URL does not begin with http://
        ├── ProxyAuthenticationError  the proxy wants other credentials
        ├── DeadlineBeforeConnection  the call had less time left than connecting may take
        ├── ReadTimeout               no complete response before the deadline
        └── ResponseTooLarge          more bytes than allowed
            └── DecompressionBomb     more bytes than its compressed size explains

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

    def __init__(self, host: str = "") -> None:
        super().__init__(f"{host}: {self.reason}")
        self.host = host


class RetryableTransportError(TransportError):
    """Another attempt may succeed."""


class NotSent:
    """Mark an error of a request that was not sent, for a reason that is the same for every caller."""


class ConnectError(RetryableTransportError, NotSent):
    """There was no connection, so nothing was sent."""

    reason = "network unreachable"


class NameResolutionError(ConnectError):
    """The name of the host is not known."""

    reason = "DNS lookup failed"


class LookupsExhausted(NameResolutionError):
    """The name servers do not answer, and too many threads wait for them already."""

    reason = "DNS lookups do not end"


class ConnectionRefused(ConnectError):
    """Nothing listens on the port."""

    reason = "connection refused"


class ConnectTimeout(ConnectError):
    """There was no connection in time, including the proxy's CONNECT and the TLS handshake."""

    reason = "connection timed out"


class ProxyTimeout(ConnectTimeout):
    """The proxy did not answer in time."""

    reason = "the proxy does not answer in time"


class TlsError(ConnectError):
    """The TLS handshake failed."""

    reason = "TLS handshake failed"


class CertificateError(TlsError):
    """The certificate is not trusted: its issuer is not known here."""

    reason = "TLS certificate check failed"


class SelfSignedCertificate(CertificateError):
    """The certificate, or that of the authority which issued it, is signed with its own key and not trusted."""

    reason = "TLS certificate is self-signed"


class CertificateExpired(CertificateError):
    """The certificate has expired, or is not valid yet."""

    reason = "TLS certificate is not valid at this time"


class CertificateHostMismatch(CertificateError):
    """The certificate belongs to another host."""

    reason = "TLS certificate belongs to another host"


class ProxyError(ConnectError):
    """The proxy cannot be used."""

    reason = "no connection through the proxy"


class ProxyUnreachable(ProxyError):
    """There is no connection to the proxy: its name is not known, or nothing listens."""

    reason = "the proxy cannot be reached"


class ProxyRefused(ProxyError):
    """The proxy refuses to connect to the host."""

    reason = "the proxy refuses to connect"


class ConnectionBroken(RetryableTransportError):
    """The connection was closed or reset before the response was complete."""

    reason = "connection closed before the response was complete"


class ConnectionReset(ConnectionBroken):
    """The connection was reset before the response was complete."""

    reason = "connection reset before the response was complete"


class InvalidResponse(ConnectionBroken):
    """The response is not HTTP, or not encoded as its ``Content-Encoding`` says."""

    reason = "response is not valid HTTP"


class PermanentTransportError(TransportError):
    """Another attempt would fail as well, or come after the deadline."""


class InvalidRequest(PermanentTransportError):
    """The URL or a header cannot be sent."""

    reason = "invalid URL or header"


class ForbiddenAddress(PermanentTransportError, NotSent):
    """The host resolves to an address that is not allowed. Nothing was sent."""

    reason = "address not allowed"


class CertificateBundleError(PermanentTransportError, NotSent):
    """The file of trusted certificates is missing or holds no certificate."""

    reason = "CA bundle cannot be read"


class UnsupportedProxy(PermanentTransportError, NotSent):
    """The URL of the proxy does not begin with ``http://``."""

    reason = "unsupported proxy"


class ProxyAuthenticationError(PermanentTransportError, NotSent):
    """The proxy answered 407: it wants a user name and a password, or others."""

    reason = "proxy authentication failed"


class DeadlineBeforeConnection(PermanentTransportError):
    """The call had less time left than connecting may take, and it passed. That says nothing about the host."""

    reason = "no time left to connect"


class ReadTimeout(PermanentTransportError):
    """There was no complete response before the deadline."""

    reason = "no response in time"


class ResponseTooLarge(PermanentTransportError):
    """The body has more bytes than allowed, as sent or decompressed."""

    reason = "response too large"


class DecompressionBomb(ResponseTooLarge):
    """The decompressed body is larger than its compressed size explains."""

    reason = "decompressed response too large"
