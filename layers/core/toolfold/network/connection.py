"""urllib3 connections on sockets that keep to the limits of a request, to peers whose addresses are allowed.

HTTP/1.1 responses are read by h11, as RFC 9112 frames them. http.client accepts what the RFC forbids: a length of
``6_2``, ``+5`` or ``-1``, two lengths, a length beside chunks, lines that are no fields and end the head. Each makes a
body shorter than the one that was sent, and a shorter body may look complete. Here they are errors.
"""

from __future__ import annotations

import contextlib
import http.client
import math
import os
import socket
import ssl
import time
from typing import Any

import h11
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.response import HTTPResponse

from toolfold.network import errors
from toolfold.network.sockets import MAX_HEADER_BYTES, DeadlineSocket, certificate_error, current_request

_READ_BYTES = 65_536
_MAX_FIELDS = 100
"""Fields of one head, as in http.client."""


class FramedResponse(http.client.HTTPResponse):
    """One response on a connection. What is read from it is what h11 has framed, or an exception.

    Reading raises ``ConnectionBroken`` where the connection ends too early, and ``InvalidResponse`` where the response
    is not as RFC 9112 has it, or where bytes follow that belong to no response.
    """

    fp: Any
    _method: str | None  # of http.client

    def __init__(self, sock: DeadlineSocket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self._sock, self._data, self._is_ended = sock, bytearray(), False
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

    def _take(self, event: Any) -> None:
        if isinstance(event, h11.Data):
            self._data += event.data
        elif isinstance(event, h11.EndOfMessage):
            self._close_conn()
            if self._sock.has_unread_bytes:
                # The body is longer than the head states, so what was read may be a part of it.
                raise errors.InvalidResponse

    def _next_event(self) -> Any:
        while True:
            try:
                event = self._parser.next_event()
            except h11.RemoteProtocolError:
                raise (errors.ConnectionBroken if self._is_ended else errors.InvalidResponse) from None
            if event is not h11.NEED_DATA:
                return event
            received = self.fp.read1(_READ_BYTES)
            self._is_ended = not received
            self._parser.receive_data(received)

    def _close_conn(self) -> None:
        """Close the reader of this response; the socket stays open, and notes what has arrived after it."""
        self._sock.end_response(self.fp)
        self._sock.has_unread_bytes |= bool(self._parser.trailing_data[0])
        super()._close_conn()  # type: ignore[misc]  # not in the stubs


MAX_IDLE_S = 55.0
"""Servers close idle connections, many after 60 seconds:
https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-load-balancer-attributes.html"""

_MAX_ADDRESSES = 32
"""Addresses of a host that are tried. Names have a handful; each takes a share of the time."""


class _Connection(HTTPConnection):
    sock: DeadlineSocket | None
    response_class = FramedResponse
    _is_tunneled = False
    debuglevel = 0  # a process-wide flag of http.client prints requests, with their keys

    @property
    def is_connected(self) -> bool:
        """Return whether a pooled connection can take the current request; urllib3 closes it if not."""
        sock = self.sock
        return (
            sock is not None
            and super().is_connected
            and not sock.has_unread_bytes
            and sock.process == os.getpid()
            and 0 <= time.time() - sock.last_used < MAX_IDLE_S
        )

    def connect(self) -> None:
        request = current_request.get()
        self._is_tunneled = False
        request.expires_at = min(request.deadline, time.monotonic() + request.connect_timeout_s)
        request.is_connecting = True
        try:
            super().connect()
        except (TimeoutError, errors.ConnectTimeout):
            error = request.timeout()
            is_of_proxy = self.proxy and not self._is_tunneled and type(error) is errors.ConnectTimeout
            raise (errors.ProxyTimeout() if is_of_proxy else error) from None
        except ssl.SSLCertVerificationError as error:
            raise certificate_error(error) from None
        except ssl.SSLError:
            raise errors.TlsError from None
        except (errors.ConnectionBroken, OSError, ValueError, http.client.HTTPException):
            raise errors.ProxyError if self.proxy and not self._is_tunneled else errors.TlsError from None
        request.begin_answer()
        if self.sock is not None:
            self.sock.process, self.sock.last_used = os.getpid(), time.time()
            if self.sock.has_arrived():
                raise errors.InvalidResponse  # to no request

    def _tunnel(self) -> None:
        """Connect to the host through the proxy: RFC 9110, section 9.3.6."""
        try:
            super()._tunnel()
        except OSError as error:
            text, _, status = str(error).partition(": ")  # http.client has the status in the text alone
            if text != "Tunnel connection failed":
                raise
            refused = errors.ProxyAuthenticationError if status.startswith("407") else errors.ProxyRefused
            raise refused from None
        if self.sock is not None and self.sock.has_unread_bytes:
            raise errors.ProxyError
        self._is_tunneled = True

    def _new_conn(self) -> DeadlineSocket:
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
        error: Exception = errors.ConnectError()
        for following, (family, kind, protocol, _, address) in zip(
            reversed(range(len(addresses))), addresses, strict=True
        ):
            sock = DeadlineSocket(family, kind, protocol)
            request.addresses.append(str(address[0]))
            try:
                # Half of what is left, so that an address that does not answer leaves time for the next one.
                remaining = request.remaining_s()
                sock.settimeout(remaining / 2 if following else remaining)
                sock.connect(address)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._check_address(sock.getpeername()[0])
                return sock
            except OSError as failure:
                sock.close()
                error = failure
            except BaseException:
                sock.close()
                raise
        if isinstance(error, TimeoutError):
            raise request.timeout()
        refused = errors.ConnectionRefused if isinstance(error, ConnectionRefusedError) else errors.ConnectError
        raise (errors.ProxyError if self.proxy else refused) from error

    def _check_address(self, address: str) -> None:
        request = current_request.get()
        if request.is_allowed and not self.proxy and not request.is_allowed(self.host, address):
            raise errors.ForbiddenAddress

    def request(self, *args: Any, **kwargs: Any) -> None:
        if self.sock is not None and not self.sock.is_new:
            self._check_address(self.sock.getpeername()[0])
        super().request(*args, **kwargs)

    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as in urllib3
        request = current_request.get()
        request.header_bytes_left = MAX_HEADER_BYTES
        try:
            response = super().getresponse()
        except errors.TransportError:
            raise
        except OSError:
            raise errors.ConnectionBroken from None
        except Exception:  # noqa: BLE001 - the parser of headers raises more than HTTPException
            raise errors.InvalidResponse from None
        request.header_bytes_left = math.inf
        return response


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    class ConnectionCls(_Connection, HTTPSConnection):
        pass


POOL_CLASSES = {"http": _Pool, "https": _TlsPool}
