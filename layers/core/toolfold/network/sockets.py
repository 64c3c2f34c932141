"""Look-ups and sockets that keep to the limits of one request, its deadline and the size of the headers; its record.

urllib3 and http.client restart a time-out with every read, so a server that sends one byte now and then could keep a
request open forever. Here each socket operation gets the time that is left until the deadline of the current request.
"""

from __future__ import annotations

import errno
import io
import math
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from toolfold.network import errors
from toolfold.network.ssrf import literal_address

MAX_HEADER_BYTES = 16384
"""Bytes of one response's status lines and fields, with interim responses and trailers. As in Node."""


Address = tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[Any, ...]]
"""As ``socket.getaddrinfo`` returns it."""

_Lookup = Future[list[Any] | None]

_MAX_LOOKUPS = 16
"""Lookups at the same time. More are not needed: equal ones are one, and a process has few sources."""

_MAX_LOOKUPS_OF_NAME = 2
_JOIN_S = 5.0
"""A resolver tries its first name server for five seconds (resolv.conf(5)). A lookup that takes longer may never end,
so one that starts later does not wait for it."""


class Resolver:
    """Look up names before a deadline. Safe to use from many threads, and in a forked process.

    The system's resolver has no deadline: with name servers that do not answer, it returns after half a minute. It
    therefore runs in a thread, which nothing waits for when the time is up. The number of those threads is bounded.
    """

    def __init__(self) -> None:
        self._reset()

    def addresses(self, host: str, port: int, timeout_s: float) -> list[Address]:
        """Return the addresses of ``host``, a name or an IP address, in the order in which they should be tried.

        Raises:
            NameResolutionError: the name has no address, or too many lookups do not end.
            TimeoutError: no result in time.
        """
        is_address = literal_address(host) is not None
        found = _look_up(host, port) if is_address else self._find_or_start(host, port).result(timeout_s)
        if not found:
            raise errors.NameResolutionError
        return found

    def _find_or_start(self, host: str, port: int) -> _Lookup:
        if self._process != os.getpid():  # the threads stay in the parent
            self._reset()
        with self._lock:
            of_name = self._running.setdefault((host, port), [])
            if of_name and time.monotonic() - of_name[-1][0] < _JOIN_S:
                return of_name[-1][1]
            if len(of_name) >= _MAX_LOOKUPS_OF_NAME or sum(map(len, self._running.values())) >= _MAX_LOOKUPS:
                raise errors.NameResolutionError
            started: tuple[float, _Lookup] = time.monotonic(), Future()

            def run() -> None:
                addresses = None
                try:
                    addresses = _look_up(host, port)
                finally:
                    with self._lock:
                        of_name.remove(started)
                        if not of_name:
                            self._running.pop((host, port), None)
                    started[1].set_result(addresses)

            try:
                threading.Thread(target=run, daemon=True).start()
            except RuntimeError:  # no further thread
                raise errors.NameResolutionError from None
            of_name.append(started)
            return started[1]

    def _reset(self) -> None:
        self._process, self._lock = os.getpid(), threading.Lock()
        self._running: dict[tuple[str, int], list[tuple[float, _Lookup]]] = {}


def _look_up(host: str, port: int) -> list[Any] | None:
    try:
        # The name as bytes: for text, Python imports its tables of international names.
        return socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
    except (OSError, ValueError, OverflowError):
        return None


@dataclass
class RequestState:
    """Limits of one request, and what happens to it. Moments are those of ``time.monotonic``.

    Nothing in it holds a path, a query or a key: ``--verbose`` shows it.

    Attributes:
        origin: Scheme, host and port of the URL.
        is_allowed: Whether a host may have an address. Not called behind a proxy, which resolves names itself.
        answer_timeout_s: Seconds for the request and its response on an open connection.
        expires_at: When the current step must be done: connecting, or all of it.
        proxy: Host and port of the proxy, and the variable that names it; empty: none.
        addresses: Those that were tried, in order; none: an open connection was used.
        status: Of the response; 0: none.
        body_bytes: Of the response, decompressed.
        causes: The exceptions, outermost first.
        total_s: Seconds from the beginning to the end.
    """

    method: str
    origin: str
    deadline: float
    connect_timeout_s: float
    is_allowed: Callable[[str, str], bool] | None
    resolver: Resolver
    answer_timeout_s: float = math.inf
    expires_at: float = field(init=False)
    header_bytes_left: float = MAX_HEADER_BYTES
    is_connecting: bool = False
    proxy: str = ""
    addresses: list[str] = field(default_factory=list)
    status: int = 0
    body_bytes: int = 0
    causes: Sequence[str] = ()
    total_s: float = 0.0

    def __post_init__(self) -> None:
        self.begin_answer()

    def begin_answer(self) -> None:
        """Begin the step after connecting."""
        self.expires_at = min(self.deadline, time.monotonic() + self.answer_timeout_s)
        self.is_connecting = False

    def remaining_s(self) -> float:
        """Return the seconds that the current step has left."""
        remaining = self.expires_at - time.monotonic()
        if remaining <= 0:
            raise self.timeout()
        return remaining

    def timeout(self) -> errors.TransportError:
        """Return the error for a time-out in the current step."""
        if not self.is_connecting:
            return errors.ReadTimeout()
        return errors.ConnectTimeout() if self.expires_at < self.deadline else errors.DeadlineBeforeConnection()


current_request: ContextVar[RequestState] = ContextVar("current_request")
"""Set while a request is sent and its response read, which is all done by one thread."""


class DeadlineSocket(socket.socket):
    """A socket whose operations end at the deadline of the current request.

    ``TransportError`` is no ``OSError``, so urllib3 passes it on as it is.

    Attributes:
        last_used: When bytes were last received, by ``time.time``: the monotonic clock may stand still while a Lambda
            environment is frozen.
        process: The process that connected it. A forked one must not use it.
        is_new: Whether no response was read from it.
        has_unread_bytes: Whether bytes followed the last response.
    """

    last_used = 0.0
    process = 0
    is_new = True
    has_unread_bytes = False
    _may_wait = True

    def recv_into(self, buffer: Any, nbytes: int | None = 0, flags: int = 0) -> int:
        """Receive bytes before the deadline, and count them against the limit of the headers."""
        if not self._may_wait:
            return self._receive_at_once(buffer)
        with self._until_deadline() as request:
            size = min(len(buffer), request.header_bytes_left)
            if size <= 0:
                raise errors.InvalidResponse
            try:
                count = super().recv_into(memoryview(buffer)[: int(size)])
            except ConnectionResetError:
                raise errors.ConnectionBroken from None
        if not count and request.header_bytes_left < math.inf:
            raise errors.ConnectionBroken  # http.client would take the end of the stream for the end of the headers
        request.header_bytes_left -= count
        self.last_used = time.time()
        return count

    def send(self, data: Any, flags: int = 0) -> int:
        """Send bytes before the deadline."""
        with self._until_deadline():
            return super().send(data, flags)

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send all bytes before the deadline."""
        with self._until_deadline():
            super().sendall(data, flags)

    def end_response(self, reader: io.BufferedReader) -> None:
        """Note whether bytes have arrived that are no part of the response that was read by ``reader``."""
        self.is_new, self._may_wait = False, False
        self.has_unread_bytes = bool(reader.peek(1))
        self._may_wait = True

    def has_arrived(self) -> bool:
        """Return whether a byte has arrived, which is lost. For connections that must be silent."""
        try:
            return bool(self._receive_at_once(bytearray(1)))
        except BlockingIOError:
            return False

    def _receive_at_once(self, buffer: Any) -> int:
        timeout_s = self.gettimeout()
        self.settimeout(0)
        try:
            return super().recv_into(buffer)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError(errno.EAGAIN, "nothing has arrived") from None
        except OSError:
            return 0
        finally:
            self.settimeout(timeout_s)

    @contextmanager
    def _until_deadline(self) -> Iterator[RequestState]:
        request = current_request.get()
        self.settimeout(request.remaining_s())
        try:
            yield request
        except TimeoutError:
            raise request.timeout() from None


class DeadlineTlsSocket(DeadlineSocket, ssl.SSLSocket):
    """The same with TLS. The time-out of a handshake is one for all of it."""

    def do_handshake(self, block: bool = False) -> None:
        """Perform the TLS handshake before the deadline."""
        # An end without TLS's own message may be forged; it must not end a body without a length.
        self.suppress_ragged_eofs = False
        self.settimeout(current_request.get().remaining_s())
        super().do_handshake(block)


BUNDLE_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
"""Variables that name trusted certificates, in the order of requests: the first that is set decides."""


def ca_bundle(environment: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """Return the variable that decides which certificates are trusted, or an empty string, and the path they are at."""
    variable = next((name for name in BUNDLE_VARIABLES if environment.get(name)), "")
    if variable:
        return variable, environment[variable]
    from requests.utils import DEFAULT_CA_BUNDLE_PATH

    return "", DEFAULT_CA_BUNDLE_PATH


_CERTIFICATE_ERRORS: Mapping[int, type[errors.CertificateError]] = {
    **dict.fromkeys((9, 10), errors.CertificateExpired),
    **dict.fromkeys((62, 64), errors.CertificateHostMismatch),
}
"""Codes of X509_verify_cert, which ``ssl.SSLCertVerificationError.verify_code`` has:
https://docs.openssl.org/3.0/man3/X509_STORE_CTX_get_error/"""


def certificate_error(error: ssl.SSLCertVerificationError) -> errors.CertificateError:
    """Return the error for a certificate that was refused, by the reason."""
    return _CERTIFICATE_ERRORS.get(error.verify_code, errors.CertificateError)()


def create_tls_context(bundle: str) -> ssl.SSLContext:
    """Return a context that checks certificates by ``bundle``, a file or a folder, and speaks TLS 1.2 or newer.

    Raises:
        OSError: The file does not exist, or holds no certificate.
    """
    is_folder = os.path.isdir(bundle)
    context = ssl.create_default_context(cafile=None if is_folder else bundle, capath=bundle if is_folder else None)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A name belongs into the alternative names; the subject's common name is text: RFC 9525, section 6.3.
    context.hostname_checks_common_name = False
    context.sslsocket_class = DeadlineTlsSocket
    return context


_MAX_CAUSES = 8


def described_causes(failure: BaseException | None) -> list[str]:
    """Return the classes of an exception and of its causes, outermost first."""
    causes: list[str] = []
    while failure is not None and len(causes) < _MAX_CAUSES:
        causes.append(_described(failure))
        failure = failure.__cause__ or failure.__context__
    return causes


def _described(error: BaseException) -> str:
    """Return the class of an exception, with the code of an error of the system or of TLS: its text may hold a URL."""
    name = type(error).__name__
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{name} ({error.verify_code}: {error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return f"{name} ({error.reason})" if error.reason else name
    if isinstance(error, OSError) and error.errno is not None:
        return f"{name} ({errno.errorcode.get(error.errno, error.errno)})"
    return name
