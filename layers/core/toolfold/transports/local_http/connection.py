"""HTTP/1.1 as ``toolfold serve`` accepts it: h11's parser, without what HTTP allows and no MCP client sends.

Servers and proxies that read the same bytes differently can be made to see a request in the body of another. What is
ambiguous is therefore refused, and the connection closed: line ends without carriage return, folded headers, two
lengths, a length with a transfer coding, targets that are not a path. No I/O happens here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

import h11

from toolfold.protocol.http import MAX_BODY_BYTES, Headers, Response, error_response
from toolfold.protocol.versions import STATELESS

MAX_HEAD_BYTES = 16 * 1024
"""Largest request line with headers. API Gateway allows 10 KB."""

MAX_HEADERS = 100

MAX_CHUNKS = 10_000
"""Chunks of one body. A body of the largest size in smaller chunks would only cost the time to parse them."""

# A line feed alone, a carriage return alone, a folded header, and control characters (RFC 9112, sections 2.2 and 5.2).
_REFUSED_BYTES = re.compile(rb"(?<!\r)\n|\r(?!\n)(?!\Z)|\n[ \t]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LENGTH = re.compile(rb"[ \t]*[0-9]{1,18}[ \t]*")
_NOT_HTTP = "The request is not valid HTTP/1.1, or is ambiguous."

_STATELESS = frozenset(version.encode() for version in STATELESS)

CheckHead: TypeAlias = Callable[[Headers, str], Response | None]
"""Headers and path → the response that refuses the request, or None."""


class RequestRefused(h11.RemoteProtocolError):
    """A request that is refused before its body is read; ``response`` says why."""

    def __init__(self, response: Response) -> None:
        super().__init__("refused", error_status_hint=response.status)
        self.response = response


def is_stateless(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a request is of a version in which a closed connection cancels it."""
    return any(name == b"mcp-protocol-version" and value in _STATELESS for name, value in headers)


class StrictConnection(h11.Connection):
    """The server's side of one connection.

    Args:
        check_head: Decides about a request before its body is read.

    Attributes:
        refusal: Why the last request was refused.
        method: The method of the last request.
        body_bytes: The bytes of its body that were received.
    """

    def __init__(self, check_head: CheckHead) -> None:
        super().__init__(h11.SERVER, MAX_HEAD_BYTES)
        self._check_head = check_head
        self.refusal = error_response(400, _NOT_HTTP)
        self.method = b""
        self.body_bytes = self._chunks = 0

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return the next event.

        Raises:
            h11.RemoteProtocolError: The request is refused, for the reason in ``refusal``.
        """
        try:
            if self.their_state is h11.IDLE:
                self.body_bytes = self._chunks = 0
                self.method = b""
                _check_bytes(self.trailing_data[0])
            event = super().next_event()
            if isinstance(event, h11.Request):
                self._check_request(event)
            elif isinstance(event, h11.Data):
                self._count(event)
        except RequestRefused as error:
            self.refusal = error.response
            raise
        except h11.RemoteProtocolError as error:
            is_too_long = error.error_status_hint == 431
            self.refusal = _head_too_large() if is_too_long else error_response(400, _NOT_HTTP)
            raise
        return event

    def is_idle(self) -> bool:
        """Return whether no byte of a next request has arrived."""
        return self.their_state is h11.IDLE and not self.trailing_data[0]

    def _check_request(self, request: h11.Request) -> None:
        self.method = request.method
        headers = tuple((name.decode("ascii"), value.decode("latin-1")) for name, value in request.headers)
        named = dict(headers)
        if request.http_version not in (b"1.0", b"1.1"):
            raise RequestRefused(error_response(505, "The HTTP version must be 1.1 or 1.0."))
        if request.http_version == b"1.0" and "transfer-encoding" in named:
            raise RequestRefused(error_response(400, _NOT_HTTP))
        if not request.target.startswith(b"/"):
            raise RequestRefused(error_response(400, "The target of a request must be a path."))
        response = self._check_head(headers, request.target.partition(b"?")[0].decode("ascii"))
        if response is not None:
            raise RequestRefused(response)
        if int(named.get("content-length", "0")) > MAX_BODY_BYTES:
            raise RequestRefused(_body_too_large())

    def _count(self, data: h11.Data) -> None:
        self.body_bytes += len(data.data)
        self._chunks += data.chunk_start
        if self.body_bytes > MAX_BODY_BYTES:
            raise RequestRefused(_body_too_large())
        if self._chunks > MAX_CHUNKS:
            raise RequestRefused(error_response(413, f"The body has more than {MAX_CHUNKS} chunks."))


def _check_bytes(received: bytes) -> None:
    """Check the received part of a head, which h11 would accept in more forms."""
    end = received.find(b"\r\n\r\n")
    head = received if end < 0 else received[:end]
    if len(head) > MAX_HEAD_BYTES:
        raise RequestRefused(_head_too_large())
    if _REFUSED_BYTES.search(head):
        raise RequestRefused(error_response(400, _NOT_HTTP))
    if end < 0:
        return
    lines = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
    if len(lines) > MAX_HEADERS:
        raise RequestRefused(_head_too_large())
    framing = [(name.lower(), value) for name, _, value in lines if name.lower() in _FRAMING]
    if len(framing) > 1 or any(name == b"content-length" and not _LENGTH.fullmatch(value) for name, value in framing):
        raise RequestRefused(error_response(400, _NOT_HTTP))


_FRAMING = (b"content-length", b"transfer-encoding")


def _head_too_large() -> Response:
    return error_response(431, f"The headers have more than {MAX_HEAD_BYTES} bytes or {MAX_HEADERS} lines.")


def _body_too_large() -> Response:
    return error_response(413, f"The body is larger than {MAX_BODY_BYTES} bytes.")
