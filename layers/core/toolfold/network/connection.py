"""urllib3 connections on sockets that keep to the limits of a request, to peers whose addresses are allowed.

HTTP/1.1 responses are read by h11, as RFC 9112 frames them. http.client accepts what the RFC forbids: a length of
``6_2``, ``+5`` or ``-1``, two lengths, a length beside chunks, lines that are no fields and end the head. Each makes a
body shorter than the one that was sent, and a shorter body may look complete. Here they are errors.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import math
import os
import socket
import ssl
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import h11
from urllib3.connection import HTTPConnection, HTTPSConnection

from toolfold.network import errors
from toolfold.network.sockets import Resolver, tls_error

_MAX_CAUSES = 8


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
        causes: Classes of the exceptions, outermost first, with codes of the system and of TLS.
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
    is_connecting: bool = False
    proxy: str = ""
    addresses: list[str] = field(default_factory=list)
    status: int = 0
    body_bytes: int = 0
    causes: list[str] = field(default_factory=list)
    total_s: float = 0.0

    def begin_answer(self) -> None:
        """Begin the step on an open connection."""
        self.expires_at = min(self.deadline, time.monotonic() + self.answer_timeout_s)
        self.is_connecting = False

    def remaining_s(self) -> float:
        """Return the seconds that the current step has left."""
        remaining = self.expires_at - time.monotonic()
        if remaining <= 0:
            raise self.timeout()
        return remaining

    def record_failure(self, failure: BaseException | None) -> None:
        """Record why there is no response, without the texts of exceptions: they may hold a URL."""
        while failure is not None and len(self.causes) < _MAX_CAUSES:
            code: object = None
            if isinstance(failure, ssl.SSLCertVerificationError):
                code = f"{failure.verify_code}: {failure.verify_message}"
            elif isinstance(failure, OSError):
                code = failure.reason if isinstance(failure, ssl.SSLError) else errno.errorcode.get(failure.errno or 0)
            self.causes.append(f"{type(failure).__name__} ({code})" if code else type(failure).__name__)
            failure = failure.__cause__ or failure.__context__

    def timeout(self) -> errors.TransportError:
        """Return the error for a time-out in the current step."""
        if not self.is_connecting:
            return errors.ReadTimeout()
        return errors.ConnectTimeout() if self.expires_at < self.deadline else errors.DeadlineBeforeConnection()


current_request: ContextVar[RequestState] = ContextVar("current_request")
"""Set while a request is sent and its response read, which is all done by one thread."""


MAX_HEADER_BYTES = 16384
"""Bytes of one response's status lines and fields, with interim responses. As in Node."""

_MAX_FIELDS = 100
"""Fields of one head, as in http.client."""

_READ_BYTES = 65_536
_SENT_BYTES = 16_384
"""Bytes that are sent at a time: one record of TLS, whose time-out is for each."""


class FramedResponse(http.client.HTTPResponse):
    """One response on a connection. What is read from it is what h11 has framed, or an exception.

    Reading raises ``ConnectionBroken`` where the connection ends too early, and ``InvalidResponse`` where the response
    is not as RFC 9112 has it, or where bytes follow that belong to no response.
    """

    fp: Any
    _method: str | None  # of http.client

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)  # its reader keeps the socket open until the end of the body
        self._sock, self._data, self._is_ended, self._head_bytes_left = sock, bytearray(), False, MAX_HEADER_BYTES
        self._parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEADER_BYTES)
        self._parser.send(h11.Request(method=self._method or "GET", target="/", headers=[("Host", "-")]))
        self._parser.send(h11.EndOfMessage())

    def begin(self) -> None:
        """Read the head of the final response, which interim ones may precede."""
        if self.headers is not None:
            return
        event = self._next_event()
        while isinstance(event, h11.InformationalResponse):
            event = self._next_event()
        is_known = isinstance(event, h11.Response) and event.http_version.startswith(b"1.")
        if not is_known or len(event.headers) > _MAX_FIELDS:
            raise errors.InvalidResponse
        self.status, self.reason = event.status_code, event.reason.decode("latin-1")
        self.version = 10 if event.http_version == b"1.0" else 11
        self.headers = self.msg = http.client.HTTPMessage()
        for name, value in event.headers:
            self.headers[name.decode("ascii")] = value.decode("latin-1")
        self.chunked = self.headers.get("transfer-encoding") is not None
        has_length = "content-length" in self.headers
        if self.chunked and (has_length or self.version < 11):
            raise errors.InvalidResponse
        has_end = self.chunked or has_length or self.status in (204, 304)
        self.will_close = self._parser.our_state is h11.MUST_CLOSE or not (has_end or self._method == "HEAD")

    def read1(self, n: int = -1) -> bytes:
        """Return at least one and at most ``n`` bytes of the body, or none after its end."""
        while self.fp is not None and not self._data:
            self._take(self._next_event())
        data = bytes(self._data[: n if n >= 0 else None])
        del self._data[: len(data)]
        # The end is noted with the last bytes: urllib3 reads no further than the head states.
        if self.fp is not None and not self._data and self._parser.their_state is h11.SEND_BODY:
            with contextlib.suppress(h11.RemoteProtocolError):  # raised again by the next read
                self._take(self._parser.next_event())
        return data

    def read(self, amt: int | None = None) -> bytes:
        """Return up to ``amt`` bytes of the body; all of it without ``amt``."""
        return b"".join(iter(self.read1, b"")) if amt is None else self.read1(amt)

    @property
    def has_rest(self) -> bool:
        """Return whether bytes have followed the response, which are lost."""
        return bool(self._parser.trailing_data[0]) or _has_arrived(self._sock)

    def _take(self, event: Any) -> None:
        if isinstance(event, h11.Data):
            self._data += event.data
        elif isinstance(event, h11.EndOfMessage):
            is_longer = self.has_rest
            self._close_conn()  # type: ignore[attr-defined]  # not in the stubs
            if is_longer:
                # The body is longer than the head states, so what was read may be a part of it.
                raise errors.InvalidResponse

    def _next_event(self) -> Any:
        request = current_request.get()
        while True:
            try:
                event = self._parser.next_event()
            except h11.RemoteProtocolError:
                raise (errors.ConnectionBroken if self._is_ended else errors.InvalidResponse) from None
            if event is not h11.NEED_DATA:
                return event
            is_head = self.headers is None
            if is_head and not self._head_bytes_left:
                raise errors.InvalidResponse
            self._sock.settimeout(request.remaining_s())
            try:
                received = self._sock.recv(self._head_bytes_left if is_head else _READ_BYTES)
            except TimeoutError:
                raise request.timeout() from None
            self._is_ended = not received
            self._head_bytes_left -= len(received) if is_head else 0
            self._parser.receive_data(received)


def _has_arrived(sock: socket.socket) -> bool:
    """Return whether a byte has arrived, which is lost. For connections that must be silent."""
    sock.settimeout(0)
    try:
        return bool(sock.recv(1))
    except OSError:  # nothing has arrived, or it is closed
        return False


MAX_IDLE_S = 55.0
"""Servers close idle connections, many after 60 seconds:
https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-load-balancer-attributes.html"""

_MAX_ADDRESSES = 32
"""Addresses of a host that are tried. Names have a handful; each takes a share of the time."""


class Connection(HTTPConnection):
    """A connection for requests one after another, each of which is ``current_request`` while it is sent and answered.

    Every exception other than those of ``errors`` is one of a connection that broke.
    """

    response_class = FramedResponse
    _is_tunneled = False
    _process, _last_used = 0, 0.0
    debuglevel = 0  # a process-wide flag of http.client prints requests, with their keys

    @property
    def is_connected(self) -> bool:
        """Return whether a pooled connection can take the current request; urllib3 closes it if not."""
        # The process: a forked one must not use it. The time of day: the monotonic clock may stand still while a
        # Lambda environment is frozen.
        idle_s = time.time() - self._last_used
        return super().is_connected and self._process == os.getpid() and 0 <= idle_s < MAX_IDLE_S

    def connect(self) -> None:
        """Connect before the time for that is over, including the proxy's CONNECT and the TLS handshake."""
        request = current_request.get()
        self._is_tunneled = False
        request.expires_at = min(request.deadline, time.monotonic() + request.connect_timeout_s)
        request.is_connecting = True
        try:
            super().connect()
        except (TimeoutError, errors.ConnectTimeout):
            error = request.timeout()
            is_of_proxy = self.proxy and not self._is_tunneled and type(error) is errors.ConnectTimeout
            raise (errors.ProxyError() if is_of_proxy else error) from None
        except ssl.SSLError as error:
            raise tls_error(error) from None
        except (errors.ConnectionBroken, OSError, ValueError, h11.LocalProtocolError):
            raise errors.ProxyError if self.proxy and not self._is_tunneled else errors.TlsError from None
        request.begin_answer()
        self._process = os.getpid()
        if isinstance(self.sock, ssl.SSLSocket):
            # An end without TLS's own message may be forged; it must not end a body without a length.
            self.sock.suppress_ragged_eofs = False  # type: ignore[attr-defined]  # not in the stubs
        if _has_arrived(self.sock):
            raise errors.InvalidResponse  # to no request

    def _tunnel(self) -> None:
        """Connect to the host through the proxy: RFC 9110, section 9.3.6."""
        host = self._tunnel_host or ""
        target = f"[{host}]:{self._tunnel_port}" if ":" in host else f"{host}:{self._tunnel_port}"
        headers = {"Host": target, **self._tunnel_headers}  # type: ignore[attr-defined]  # not in the stubs
        head = h11.Request(method="CONNECT", target=target, headers=list(headers.items()))
        self.send(h11.Connection(h11.CLIENT).send(head))
        response = FramedResponse(self.sock, method="CONNECT")
        with response:
            response.begin()
            if response.status == 407:
                raise errors.ProxyAuthenticationError
            if response.status != 200:
                raise errors.ProxyError
            if response.has_rest:
                raise errors.ProxyError
        self._is_tunneled = True
        self.sock.settimeout(current_request.get().remaining_s())  # for the TLS handshake

    def _new_conn(self) -> socket.socket:
        """Connect to one of the host's addresses, in their order, none of which may be forbidden."""
        request = current_request.get()
        try:
            addresses = request.resolver.addresses(self._dns_host, self.port, request.remaining_s())[:_MAX_ADDRESSES]
        except TimeoutError:
            raise request.timeout() from None
        except errors.NameResolutionError:
            raise (errors.ProxyError if self.proxy else errors.NameResolutionError) from None
        for *_, address in addresses:
            self._check_address(address[0])
        error: BaseException | None = None
        for tried, (family, kind, protocol, _, address) in enumerate(addresses, 1):
            sock = socket.socket(family, kind, protocol)
            request.addresses.append(str(address[0]))
            try:
                # Half of what is left, so that an address that does not answer leaves time for the next one.
                remaining = request.remaining_s()
                sock.settimeout(remaining / 2 if tried < len(addresses) else remaining)
                sock.connect(address)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._check_address(sock.getpeername()[0])
                sock.settimeout(request.remaining_s())  # for the TLS handshake, all of it
                return sock
            except BaseException as failure:
                sock.close()
                if not isinstance(failure, OSError):
                    raise
                error = failure
        if isinstance(error, TimeoutError):
            raise request.timeout()
        refused = errors.ConnectionRefused if isinstance(error, ConnectionRefusedError) else errors.ConnectError
        raise (errors.ProxyError if self.proxy else refused) from error

    def _check_address(self, address: str) -> None:
        request = current_request.get()
        if request.is_allowed and not self.proxy and not request.is_allowed(self.host, address):
            raise errors.ForbiddenAddress

    def request(self, *args: Any, **kwargs: Any) -> None:
        """Send a request, on an open connection only if its peer is allowed."""
        if self.sock is not None:
            self._check_address(self.sock.getpeername()[0])
        super().request(*args, **kwargs)

    def send(self, data: Any) -> None:
        """Send bytes before the deadline."""
        if self.sock is None:
            self.connect()
        request, self._last_used = current_request.get(), time.time()
        for begin in range(0, len(data), _SENT_BYTES):
            self.sock.settimeout(request.remaining_s())
            try:
                super().send(memoryview(data)[begin : begin + _SENT_BYTES])
            except TimeoutError:
                raise request.timeout() from None


class TlsConnection(Connection, HTTPSConnection):
    """The same with TLS."""
