"""A deadline and a limit of size for each request of a botocore client.

botocore restarts its time-out with every read, so a response that arrives byte by byte could last forever. The sockets
of its connections are replaced: the time-out is then for all of a request and its response.
"""

from __future__ import annotations

import socket
import ssl
import time
from typing import Any

from botocore.awsrequest import (  # noqa: TID253 - this module is imported by the first client
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

from toolfold.network.errors import NameResolutionError
from toolfold.network.resolver import Resolver

MAX_RESPONSE_BYTES = 64_000_000
"""The largest values are cached responses, of at most ``TOOLFOLD_MAX_RESPONSE_BYTES`` (25 MB) and what JSON adds."""


class ResponseTooLarge(OSError):
    """AWS sent more than ``MAX_RESPONSE_BYTES``."""


class _LimitedSocket(socket.socket):
    """A socket for one request at a time.

    Attributes:
        expires_at: when the request must be done, by ``time.monotonic``; None before the first request.
        bytes_left: how much may still be received.
    """

    expires_at: float | None = None
    bytes_left = MAX_RESPONSE_BYTES

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        """Receive bytes before the deadline."""
        self._limit_time()
        count = super().recv_into(buffer, nbytes or len(buffer), flags)
        self.bytes_left -= count
        if self.bytes_left < 0:
            raise ResponseTooLarge
        return count

    def send(self, data: Any, flags: int = 0) -> int:
        """Send bytes before the deadline."""
        self._limit_time()
        return super().send(data, flags)

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send all bytes before the deadline."""
        self._limit_time()
        super().sendall(data, flags)

    def _limit_time(self) -> None:
        if self.expires_at is not None:
            remaining_s = self.expires_at - time.monotonic()
            if remaining_s <= 0:
                raise TimeoutError
            self.settimeout(remaining_s)


class _LimitedTlsSocket(_LimitedSocket, ssl.SSLSocket):
    """The same with TLS."""


class _Limits:
    """Set the limits of connections at each request."""

    resolver: Resolver
    sock: Any
    timeout: Any
    ssl_context: Any = None

    def connect(self) -> None:
        if self.ssl_context is not None:
            self.ssl_context.sslsocket_class = _LimitedTlsSocket
        super().connect()  # type: ignore[misc]  # a mixin, whose base is another

    def request(self, *args: Any, **kwargs: Any) -> Any:
        if self.sock is None:
            self.connect()
        self.sock.expires_at, self.sock.bytes_left = time.monotonic() + self.timeout, MAX_RESPONSE_BYTES
        return super().request(*args, **kwargs)  # type: ignore[misc]  # a mixin, whose base is another

    def _new_conn(self) -> socket.socket:
        expires_at = time.monotonic() + self.timeout
        try:
            addresses = self.resolver.addresses(self._dns_host, self.port, self.timeout)  # type: ignore[attr-defined]
        except NameResolutionError as error:
            raise NewConnectionError(self, error.reason) from None  # type: ignore[arg-type]
        except TimeoutError:
            raise ConnectTimeoutError(self, "DNS lookup timed out") from None
        failure: OSError | None = None
        for number, (family, kind, protocol, _, address) in enumerate(addresses, 1):
            sock = _LimitedSocket(family, kind, protocol)
            try:
                # Half of what is left, so that an address that does not answer leaves time for the next one.
                remaining_s = max(0.001, expires_at - time.monotonic())
                sock.settimeout(remaining_s / 2 if number < len(addresses) else remaining_s)
                sock.connect(address)
                sock.expires_at = expires_at  # of the proxy's CONNECT
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return sock
            except OSError as error:
                sock.close()
                failure = error
        if isinstance(failure, TimeoutError):
            raise ConnectTimeoutError(self, "connection timed out") from None
        raise NewConnectionError(self, str(failure)) from None  # type: ignore[arg-type]


def limit_requests(client: Any, resolver: Resolver) -> None:
    """Give the connections of ``client``, which has made none yet, a deadline and a limit of size."""

    class Connection(_Limits, AWSHTTPConnection):  # type: ignore[misc]  # botocore has no types
        pass

    class TlsConnection(_Limits, AWSHTTPSConnection):  # type: ignore[misc]  # botocore has no types
        pass

    class Pool(AWSHTTPConnectionPool):  # type: ignore[misc]  # botocore has no types
        ConnectionCls = Connection

    class TlsPool(AWSHTTPSConnectionPool):  # type: ignore[misc]  # botocore has no types
        ConnectionCls = TlsConnection

    Connection.resolver = TlsConnection.resolver = resolver
    session = client._endpoint.http_session  # botocore has no public way to another session
    session._pool_classes_by_scheme = {"http": Pool, "https": TlsPool}  # of proxies
    session._manager.pool_classes_by_scheme = session._pool_classes_by_scheme
