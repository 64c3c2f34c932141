"""urllib3 connections that keep to the limits of one request: its deadline, its allowed peers, the size of headers.

urllib3 and http.client start a time-out anew for every read, so a server that sends a byte now and then could hold a
request forever. Here each operation of a socket gets what is left until the deadline of the current request.
"""

from __future__ import annotations

import errno
import http.client
import io
import math
import os
import socket
import ssl
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.response import HTTPResponse

from toolfold.network.errors import (
    CertificateError,
    ConnectError,
    ConnectionBroken,
    ConnectionRefused,
    ConnectTimeout,
    ForbiddenAddress,
    InvalidResponse,
    NameResolutionError,
    ProxyAuthenticationError,
    ProxyError,
    ReadTimeout,
    TlsError,
    TransportError,
)

MAX_HEADER_BYTES = 16384
"""As in Node. The parser of headers in the standard library takes quadratic time for some, and knows no deadline."""

MAX_IDLE_S = 55.0
"""Servers close idle connections, many after 60 seconds:
https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-load-balancer-attributes.html"""


@dataclass
class RequestState:
    """Limits of one request, and what is known of its connection.

    Attributes:
        deadline: When the response must be complete, by ``time.monotonic``.
        connect_timeout_s: Seconds for a new connection, including proxy and TLS.
        is_allowed: Whether a host may have an address. Not asked behind a proxy, which resolves names itself.
        needs_new_connection: Whether pooled connections must not be used.
        expires_at: When the current step must be done: connecting, or all of it.
        header_bytes_left: Bytes that the headers may still have.
        received_bytes: Bytes of the response that were received.
        idle_s: Seconds that a pooled connection was idle before this request; None for a new one.
        is_connecting: Whether the current step is to connect.
    """

    deadline: float
    connect_timeout_s: float
    is_allowed: Callable[[str, str], bool] | None
    needs_new_connection: bool = False
    expires_at: float = field(init=False)
    header_bytes_left: float = MAX_HEADER_BYTES
    received_bytes: int = 0
    idle_s: float | None = None
    is_connecting: bool = False

    def __post_init__(self) -> None:
        self.expires_at = self.deadline

    def remaining_s(self) -> float:
        """Return the seconds that the current step has left.

        Raises:
            ConnectTimeout: There are none, and the step is to connect.
            ReadTimeout: There are none.
        """
        remaining = self.expires_at - time.monotonic()
        if remaining <= 0:
            raise self.timeout()
        return remaining

    def timeout(self) -> TransportError:
        """Return the error for a time-out in the current step."""
        return ConnectTimeout() if self.is_connecting else ReadTimeout()


current_request: ContextVar[RequestState] = ContextVar("current_request")
"""Set while a request is sent and its response read, which is all done by one thread."""


class _Socket(socket.socket):
    """A socket whose operations end at the deadline of the current request.

    ``TransportError`` is no ``OSError``, so urllib3 passes it on as it is.
    """

    last_used = 0.0
    """By ``time.time``: the monotonic clock may stand still while a Lambda environment is frozen."""

    process = 0
    is_new = True
    has_unread_bytes = False
    _is_paused = False

    def recv_into(self, buffer: Any, nbytes: int | None = 0, flags: int = 0) -> int:
        if self._is_paused:
            raise BlockingIOError(errno.EAGAIN, "the response is complete")
        request = current_request.get()
        self.settimeout(request.remaining_s())
        size = min(len(buffer), request.header_bytes_left)
        if size <= 0:
            raise InvalidResponse
        try:
            count = super().recv_into(memoryview(buffer)[: int(size)])
        except TimeoutError:
            raise request.timeout() from None
        if not count and request.header_bytes_left < math.inf:
            raise ConnectionBroken  # http.client would take the end of the stream for the end of the headers
        request.received_bytes += count
        request.header_bytes_left -= count
        self.last_used = time.time()
        return count

    def send(self, data: Any, flags: int = 0) -> int:
        request = current_request.get()
        self.settimeout(request.remaining_s())
        try:
            return super().send(data, flags)
        except TimeoutError:
            raise request.timeout() from None

    def sendall(self, data: Any, flags: int = 0) -> None:
        request = current_request.get()
        self.settimeout(request.remaining_s())
        try:
            super().sendall(data, flags)
        except TimeoutError:
            raise request.timeout() from None

    def makefile(self, *_: Any, **__: Any) -> Any:
        return _ResponseReader(super().makefile("rb", buffering=0), self)

    def end_response(self, reader: io.BufferedReader) -> None:
        """Note whether ``reader`` holds bytes that are no part of the response that was read from it."""
        self._is_paused, self.is_new = True, False
        self.has_unread_bytes = bool(reader.peek(1))
        self._is_paused = False


class _TlsSocket(_Socket, ssl.SSLSocket):
    def do_handshake(self, block: bool = False) -> None:
        self.settimeout(current_request.get().remaining_s())
        super().do_handshake(block)


class _ResponseReader(io.BufferedReader):
    """Closed by http.client at the end of each response; the socket stays open."""

    def __init__(self, raw: socket.SocketIO, sock: _Socket) -> None:
        super().__init__(raw)
        self._sock = sock

    def close(self) -> None:
        if not self.closed:
            self._sock.end_response(self)
        super().close()


class _Response(http.client.HTTPResponse):
    def begin(self) -> None:
        super().begin()
        while (
            100 <= self.status < 200
        ):  # http.client skips 100 only; https://www.rfc-editor.org/rfc/rfc9110#section-15.2
            if self.status == http.HTTPStatus.SWITCHING_PROTOCOLS:
                raise InvalidResponse
            self.headers = self.msg = None  # type: ignore[assignment]  # as before the first call
            super().begin()


class _Connection(HTTPConnection):
    sock: _Socket | None
    response_class = _Response
    debuglevel = 0  # a process-wide flag of http.client prints requests, with their keys

    @property
    def is_connected(self) -> bool:
        """Whether this pooled connection can be used for the current request; urllib3 replaces it if not."""
        sock = self.sock
        return (
            sock is not None
            and super().is_connected
            and not sock.has_unread_bytes
            and sock.process == os.getpid()
            and 0 <= time.time() - sock.last_used < MAX_IDLE_S
            and not current_request.get().needs_new_connection
        )

    def connect(self) -> None:
        request = current_request.get()
        request.expires_at = min(request.deadline, time.monotonic() + request.connect_timeout_s)
        request.is_connecting = True
        try:
            super().connect()
        except TimeoutError:
            raise ConnectTimeout from None
        except ssl.SSLCertVerificationError:
            raise CertificateError from None
        except ssl.SSLError:
            raise TlsError from None
        except (ConnectionBroken, OSError, ValueError, http.client.HTTPException) as error:
            if "Tunnel connection failed: 407" in str(error):  # the status is in no other place
                raise ProxyAuthenticationError from None
            raise ProxyError if self.proxy else TlsError from None
        request.expires_at, request.is_connecting = request.deadline, False
        if self.sock is not None:
            self.sock.process, self.sock.last_used = os.getpid(), time.time()

    def _new_conn(self) -> _Socket:
        request = current_request.get()
        try:
            # The name as bytes: for text, Python imports its tables of international names.
            addresses = socket.getaddrinfo(self._dns_host.encode("ascii"), self.port, type=socket.SOCK_STREAM)
        except (OSError, ValueError):
            raise ProxyError if self.proxy else NameResolutionError from None
        error: Exception = ConnectError()
        for following, (family, kind, protocol, _, address) in zip(
            reversed(range(len(addresses))), addresses, strict=True
        ):
            sock = _Socket(family, kind, protocol)
            try:
                # Half of what is left, so that an address that does not answer leaves time for the next one.
                remaining = request.remaining_s()
                sock.settimeout(remaining / 2 if following else remaining)
                sock.connect(address)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._check_peer(sock)
                return sock
            except OSError as failure:
                sock.close()
                error = failure
            except BaseException:
                sock.close()
                raise
        if self.proxy:
            raise ProxyError
        if isinstance(error, TimeoutError):
            raise ConnectTimeout
        raise ConnectionRefused if isinstance(error, ConnectionRefusedError) else ConnectError

    def _check_peer(self, sock: socket.socket) -> None:
        request = current_request.get()
        if request.is_allowed and not self.proxy and not request.is_allowed(self.host, sock.getpeername()[0]):
            raise ForbiddenAddress

    def request(self, *args: Any, **kwargs: Any) -> None:
        request = current_request.get()
        if self.sock is not None and not self.sock.is_new:
            self._check_peer(self.sock)
            request.idle_s = time.time() - self.sock.last_used
        super().request(*args, **kwargs)

    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as in urllib3
        request = current_request.get()
        request.received_bytes, request.header_bytes_left = 0, MAX_HEADER_BYTES
        try:
            response = super().getresponse()
        except TransportError:
            raise
        except OSError:
            raise ConnectionBroken from None
        except Exception:  # noqa: BLE001 - the parser of headers raises more than HTTPException
            raise InvalidResponse from None
        request.header_bytes_left = math.inf
        return response


class _TlsConnection(_Connection, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


POOL_CLASSES = {"http": _Pool, "https": _TlsPool}


def create_tls_context(bundle: str) -> ssl.SSLContext:
    """Return a context that checks certificates by ``bundle``, a file or a folder, and speaks TLS 1.2 or newer.

    Raises:
        OSError: The file does not exist, or holds no certificate.
    """
    is_folder = os.path.isdir(bundle)
    context = ssl.create_default_context(cafile=None if is_folder else bundle, capath=bundle if is_folder else None)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.sslsocket_class = _TlsSocket
    return context
