"""urllib3 connections on sockets that keep to the limits of a request, to peers whose addresses are allowed.

HTTP/1.1 responses are read as RFC 9112 frames them. http.client accepts what the RFC forbids: a length of ``6_2``,
``+5`` or ``-1``, two lengths, a length beside chunks, lines that are no fields and end the head. Each makes a body
shorter than the one that was sent, and a shorter body may look complete. Here they are errors: urllib3 reads the body
by ``read1``, and everything that http.client would parse is replaced.
"""

from __future__ import annotations

import http.client
import io
import math
import os
import re
import socket
import ssl
import time
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.response import HTTPResponse

from toolfold.network import errors
from toolfold.network.sockets import MAX_HEADER_BYTES, DeadlineSocket, certificate_error, current_request

_MAX_FIELDS = 100
"""Fields of one head, as in http.client."""

# https://www.rfc-editor.org/rfc/rfc9112#section-4: the reason may be missing, with the space before it.
_STATUS_LINE = re.compile(rb"HTTP/1\.([0-9]) ([1-9][0-9]{2})(?: ([\t\x20-\x7e\x80-\xff]*))?\r?\n")
# https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2 (token) and #section-5.5 (value)
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)\r?\n")
_FOLDED = re.compile(rb"[\t ]([\t\x20-\x7e\x80-\xff]*)\r?\n")
# https://www.rfc-editor.org/rfc/rfc9112#section-7.1, with at most 60 bits
_CHUNK_SIZE = re.compile(rb"0*([0-9A-Fa-f]{1,15})[\t ]*(;[\t\x20-\x7e\x80-\xff]*)?\r\n")
_LENGTH = re.compile(r"[0-9]{1,18}")

Fields = list[tuple[str, str]]


class FramedResponse(http.client.HTTPResponse):
    """One response on a connection. What is read from it is what was framed, or an exception.

    Reading raises ``ConnectionBroken`` where the connection ends too early, and ``InvalidResponse`` where the head, a
    chunk or a trailer is not as RFC 9112 has it, or where bytes follow that belong to no response.
    """

    fp: Any
    chunk_left: int | None
    _extra_bytes = 0

    def __init__(self, sock: DeadlineSocket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self._sock = sock

    def begin(self) -> None:
        """Read the head, and with it how the end of the body is marked: RFC 9112, sections 6.3 and 9.3."""
        if self.headers is not None:
            return
        fields = self.read_head()
        self.headers = self.msg = http.client.HTTPMessage()
        for name, value in fields:
            self.headers[name] = value
        lengths, codings = _members(fields, "content-length"), _members(fields, "transfer-encoding")
        if not all(map(_LENGTH.fullmatch, lengths)) or len(set(map(int, lengths))) > 1:
            raise errors.InvalidResponse
        if codings and (lengths or self.version < 11 or codings != ["chunked"]):
            raise errors.InvalidResponse
        has_body = self._method != "HEAD" and self.status not in (204, 304)
        self.chunked, self.chunk_left = has_body and bool(codings), None
        self.length = int(lengths[0]) if has_body and lengths else None if has_body else 0
        options = _members(fields, "connection")
        is_last = "close" in options or (self.version < 11 and "keep-alive" not in options)
        self.will_close = is_last or (self.length is None and not self.chunked)

    def read_head(self) -> Fields:
        """Read the status line and return the fields of the final response, which interim ones may precede."""
        while True:
            found = _STATUS_LINE.fullmatch(self._line())
            if found is None:
                raise errors.InvalidResponse
            # A higher minor version is processed as the highest known one: RFC 9110, section 2.5.
            self.version, self.status = 10 if found[1] == b"0" else 11, int(found[2])
            self.reason = (found[3] or b"").decode("latin-1").strip()
            fields = self._fields()
            if self.status >= http.HTTPStatus.OK:
                return fields
            # Other interim responses say nothing that is used here: RFC 9110, section 15.2.
            if self.status == http.HTTPStatus.SWITCHING_PROTOCOLS:
                raise errors.InvalidResponse

    def read1(self, n: int = -1) -> bytes:
        """Return at least one and at most ``n`` bytes of the body, or none after its end."""
        if self.fp is None:
            return b""
        left = self._chunk_left() if self.chunked else self.length
        if left == 0:
            return self._end()
        size = io.DEFAULT_BUFFER_SIZE if n < 0 else n
        data: bytes = self.fp.read1(size if left is None else min(size, left))
        if not data:
            if left is None:  # the end of the connection is the end of the body
                return self._end()
            raise errors.ConnectionBroken
        if left is not None:
            left -= len(data)
            self.chunk_left, self.length = (left, None) if self.chunked else (None, left)
        # The end is noted with the last bytes: urllib3 reads no further than the head states.
        if self.length == 0:
            self._end()
        return data

    def read(self, amt: int | None = None) -> bytes:
        """Return up to ``amt`` bytes of the body; all of it without ``amt``."""
        return b"".join(iter(self.read1, b"")) if amt is None else self.read1(amt)

    def _close_conn(self) -> None:
        """Close the reader of this response; the socket stays open, and notes what has arrived after it."""
        self._sock.end_response(self.fp)
        super()._close_conn()  # type: ignore[misc]  # not in the stubs

    def _end(self) -> bytes:
        self._close_conn()
        if self._sock.has_unread_bytes:
            # The body is longer than the head states, so what was read may be a part of it.
            raise errors.InvalidResponse
        return b""

    def _line(self) -> bytes:
        """Return one line of a head, a trailer or before a chunk, with its line feed."""
        line: bytes = self.fp.readline(MAX_HEADER_BYTES)
        if not line.endswith(b"\n"):
            raise errors.InvalidResponse if len(line) == MAX_HEADER_BYTES else errors.ConnectionBroken
        return line

    def _fields(self, *, is_trailer: bool = False) -> Fields:
        """Return the names and values of a head or a trailer."""
        fields: Fields = []
        while (line := self._line()) not in (b"\r\n", b"\n"):
            if is_trailer:
                self._count_extra(len(line))
            if found := _FIELD.fullmatch(line):
                fields.append((found[1].decode("ascii"), found[2].decode("latin-1").strip("\t ")))
            elif fields and (found := _FOLDED.fullmatch(line)):
                # A line break inside a value becomes a space: RFC 9112, section 5.2.
                name, value = fields[-1]
                folded = found[1].decode("latin-1").strip("\t ")
                fields[-1] = name, f"{value} {folded}".strip("\t ")
            else:
                raise errors.InvalidResponse
            if len(fields) > _MAX_FIELDS:
                raise errors.InvalidResponse
        return fields

    def _chunk_left(self) -> int:
        """Return the bytes that are left of the current chunk, or of the next one; 0 after the last."""
        if self.chunk_left:
            return self.chunk_left
        if self.chunk_left == 0 and self._line() != b"\r\n":
            raise errors.InvalidResponse
        line = self._line()
        found = _CHUNK_SIZE.fullmatch(line)
        if found is None:
            raise errors.InvalidResponse
        self._count_extra(len(line) - 2 - len(found[1]))
        self.chunk_left = int(found[1], 16)
        # The last chunk completes the body, with or without the trailer: RFC 9112, section 8.
        if not self.chunk_left and self.fp.peek(1):
            self._fields(is_trailer=True)
        return self.chunk_left

    def _count_extra(self, size: int) -> None:
        """Count bytes that are neither data nor needed to find it."""
        self._extra_bytes += size
        if self._extra_bytes > MAX_HEADER_BYTES:
            raise errors.InvalidResponse


def _members(fields: Fields, name: str) -> list[str]:
    """Return the members of a list that may be spread over several fields; empty ones too, which no length may be."""
    values = [value for field, value in fields if field.lower() == name]
    return [member.strip("\t ").lower() for value in values for member in value.split(",")]


MAX_IDLE_S = 55.0
"""Servers close idle connections, many after 60 seconds:
https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-load-balancer-attributes.html"""

_MAX_ADDRESSES = 32
"""Addresses of a host that are tried. Names have a handful; each takes a share of the time."""


class _Connection(HTTPConnection):
    sock: DeadlineSocket | None
    response_class = FramedResponse
    _tunnel_headers: dict[str, str]  # of http.client
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
            request.trace.addresses.append(str(address[0]))
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
