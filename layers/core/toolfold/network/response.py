"""A response of http.client that is read by the rules in ``framing``, and is an error where it does not keep to them.

urllib3 reads the body of a response by ``read1``. Everything that http.client would parse is replaced here.
"""

from __future__ import annotations

import http.client
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from toolfold.network.errors import ConnectionBroken, InvalidResponse
from toolfold.network.framing import (
    MAX_HEADER_BYTES,
    BodyEnd,
    StatusLine,
    body_end,
    is_last_response,
    parse_chunk_size,
    parse_fields,
    parse_status_line,
)

if TYPE_CHECKING:
    from toolfold.network.sockets import DeadlineSocket


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
        """Read the head, and with it how the end of the body is marked."""
        if self.headers is not None:
            return
        status_line, fields = self.read_head()
        self.version, self.status, self.reason = status_line
        self.headers = self.msg = http.client.HTTPMessage()
        for name, value in fields:
            self.headers[name] = value
        end = body_end(str(self._method), status_line, fields)
        self.chunked, self.chunk_left = end is BodyEnd.CHUNKS, None
        self.length = end if isinstance(end, int) else None
        self.will_close = end is BodyEnd.CLOSE or is_last_response(status_line, fields)

    def read_head(self) -> tuple[StatusLine, list[tuple[str, str]]]:
        """Return the status line and the fields of the final response, which interim ones may precede."""
        while True:
            status_line = parse_status_line(self._line())
            fields = parse_fields(self._lines())
            if status_line.status >= http.HTTPStatus.OK:
                return status_line, fields
            # Other interim responses say nothing that is used here: RFC 9110, section 15.2.
            if status_line.status == http.HTTPStatus.SWITCHING_PROTOCOLS:
                raise InvalidResponse

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
            raise ConnectionBroken
        if left is not None:
            left -= len(data)
            self.chunk_left, self.length = (left, None) if self.chunked else (None, left)
        # The end is noted with the last bytes: urllib3 reads no further than the head states.
        if self.length == 0:
            self._end()
        return data

    def read(self, amt: int | None = None) -> bytes:
        """Return up to ``amt`` bytes of the body; all of it without ``amt``."""
        if amt is not None:
            return self.read1(amt)
        return b"".join(iter(self.read1, b""))

    def _end(self) -> bytes:
        self._close_conn()  # type: ignore[attr-defined]  # not in the stubs
        if self._sock.has_unread_bytes:
            # The body is longer than the head states, so what was read may be a part of it.
            raise InvalidResponse
        return b""

    def _line(self) -> bytes:
        """Return one line of a head, a trailer or before a chunk, with its line feed."""
        line: bytes = self.fp.readline(MAX_HEADER_BYTES)
        if not line.endswith(b"\n"):
            raise InvalidResponse if len(line) == MAX_HEADER_BYTES else ConnectionBroken
        return line

    def _lines(self) -> Iterator[bytes]:
        """Return the lines before the next empty one."""
        while (line := self._line()) not in (b"\r\n", b"\n"):
            yield line

    def _chunk_left(self) -> int:
        """Return the bytes that are left of the current chunk, or of the next one; 0 after the last."""
        if self.chunk_left:
            return self.chunk_left
        if self.chunk_left == 0 and self._line() != b"\r\n":
            raise InvalidResponse
        self.chunk_left, extension_bytes = parse_chunk_size(self._line())
        self._count_extra(extension_bytes)
        # The last chunk completes the body, with or without the trailer: RFC 9112, section 8.
        if not self.chunk_left and self.fp.peek(1):
            parse_fields(self._counted(self._lines()))
        return self.chunk_left

    def _counted(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        for line in lines:
            self._count_extra(len(line))
            yield line

    def _count_extra(self, size: int) -> None:
        """Count bytes that are neither data nor needed to find it."""
        self._extra_bytes += size
        if self._extra_bytes > MAX_HEADER_BYTES:
            raise InvalidResponse
