"""One connection of ``toolfold serve``: uvicorn's protocol, with limited times for a head and for a response.

Servers and proxies that read the same bytes differently can be made to see a request in the body of another. What is
ambiguous is therefore refused, and the connection closed: line ends without carriage return, folded headers, two
lengths, a length with a transfer coding. ``asgi`` checks what h11 has parsed, and limits the body.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from toolfold.protocol.http import Response, error_response
from toolfold.protocol.versions import STATELESS

MAX_HEAD_BYTES = 16 * 1024
"""Largest request line with headers. API Gateway allows 10 KB."""

HEAD_TIMEOUT_S = 10.0
"""Seconds for the headers of a request. On the same machine they arrive at once."""

SEND_TIMEOUT_S = 20.0
"""Seconds for a client to read a response."""

REFUSED_TIMEOUT_S = 2.0
"""Seconds to read what a refused client still sends: closing at once would reset the connection, and the client could
not read the response (RFC 9112, section 9.6)."""

# A line feed alone, a carriage return alone, a folded header, and control characters (RFC 9112, sections 2.2 and 5.2).
_REFUSED_BYTES = re.compile(rb"(?<!\r)\n|\r(?!\n)(?!\Z)|\n[ \t]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_FRAMING = re.compile(rb"\n(?:content-length|transfer-encoding)[ \t]*:([^\r]*)", re.IGNORECASE)
_FRAMED = re.compile(rb"[ \t]*(?:[0-9]{1,18}|chunked)[ \t]*", re.IGNORECASE)

_REFUSALS = {
    400: "The request is not valid HTTP/1.1, or is ambiguous.",
    431: f"The headers have more than {MAX_HEAD_BYTES} bytes.",
}
"""Status → why a request is refused."""

_STATELESS = frozenset(version.encode() for version in STATELESS)


def is_stateless(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a request is of a version in which a closed connection cancels it."""
    return any(name == b"mcp-protocol-version" and value in _STATELESS for name, value in headers)


class StrictConnection(h11.Connection):
    """The server's side of one connection, which refuses what h11 would accept in more forms than one."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, MAX_HEAD_BYTES)

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return the next event.

        Raises:
            h11.RemoteProtocolError: The request is not valid HTTP/1.1, ambiguous, or too long.
        """
        if self.their_state is h11.IDLE:
            head, end, _ = self.trailing_data[0].partition(b"\r\n\r\n")
            if len(head) > MAX_HEAD_BYTES:
                raise h11.RemoteProtocolError("too long", error_status_hint=431)
            framing = _FRAMING.findall(head) if end else []
            if _REFUSED_BYTES.search(head) or len(framing) > 1 or not all(map(_FRAMED.fullmatch, framing)):
                raise h11.RemoteProtocolError("ambiguous")
        return super().next_event()


HALF_CLOSED_S = 3.0
"""Seconds that a server which stops waits for the response to a client that sends no more: it may have gone."""


class _Flow(FlowControl):
    """Flow control that reads nothing more while a request is answered.

    uvicorn resumes reading for the body of each request, also when the body is complete: the buffer of a client that
    sends requests faster than they are answered would grow without bound.
    """

    def __init__(self, transport: asyncio.Transport, conn: h11.Connection) -> None:
        super().__init__(transport)
        self._conn = conn

    def resume_reading(self) -> None:
        """Read again, unless the next request has to wait."""
        if self._conn.their_state is not h11.DONE:
            super().resume_reading()


class LimitedProtocol(H11Protocol):
    """A connection whose client has limited times to send a head, and to read a response."""

    conn: StrictConnection

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn = StrictConnection()
        self._head_timer: asyncio.TimerHandle | None = None
        self._send_timer: asyncio.TimerHandle | None = None
        self._is_half_closed = self._is_stopping = False

    # Called by the transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self.conn)
        # Report every unsent byte: whether the client reads is known from that.
        transport.set_write_buffer_limits(high=0)
        self._limit_head()

    def data_received(self, data: bytes) -> None:
        """Process what the client sent. After the last request of a connection, nothing that follows is a request."""
        if h11.MUST_CLOSE in (self.conn.our_state, self.conn.their_state) or self.conn.their_state is h11.ERROR:
            return
        super().data_received(data)
        self._limit_head()

    def eof_received(self) -> bool:  # type: ignore[override]  # narrower than asyncio's
        """Answer a request that is complete, although its client sends no more; return whether to stay open.

        A client of a stateless version cancels its request so: it is closed, which ends the call.
        """
        if self.cycle is None or self.cycle.more_body or self.cycle.response_complete:
            return False
        self.cycle.keep_alive, self._is_half_closed = False, True
        self._limit_stop()
        return not is_stateless(self.scope["headers"])

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        for timer in (self._head_timer, self._send_timer):
            if timer is not None:
                timer.cancel()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._send_timer = self.loop.call_later(SEND_TIMEOUT_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Note that the client has read everything."""
        super().resume_writing()
        if self._send_timer is not None:
            self._send_timer.cancel()

    # Called by uvicorn

    def send_400_response(self, msg: str) -> None:
        """Refuse what was just parsed."""
        status = getattr(sys.exception(), "error_status_hint", 400)
        self._refuse(error_response(status, _REFUSALS.get(status, _REFUSALS[400])))

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self.flow.resume_reading()
        self._limit_head()

    def shutdown(self) -> None:
        """Close the connection, after the response when there is a complete request."""
        self._is_stopping = True
        self._limit_stop()
        if self.cycle is not None and self.cycle.more_body and not self.cycle.response_started:
            self._refuse(error_response(503, "The server is stopping.", ("retry-after", "5")))
        else:
            super().shutdown()

    def _limit_stop(self) -> None:
        if self._is_half_closed and self._is_stopping:
            self.loop.call_later(HALF_CLOSED_S, self.transport.abort)

    def _limit_head(self) -> None:
        """Start the time for a head where one has begun, or is the first; stop it where none is awaited."""
        is_awaited = self.conn.their_state is h11.IDLE and (self.cycle is None or bool(self.conn.trailing_data[0]))
        if not is_awaited and self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        elif is_awaited and self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_TIMEOUT_S, self._time_out)

    def _time_out(self) -> None:
        if self.conn.trailing_data[0]:
            self._refuse(error_response(408, "The request took too long to arrive."))
        else:
            self.transport.close()

    def _refuse(self, response: Response) -> None:
        """Send ``response``, and close the connection: what follows is not taken for a request."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        app: Any = self.app  # an AsgiApp, which imports this module
        headers = app.refuse(response)
        for event in (
            h11.Response(status_code=response.status, headers=headers),
            h11.Data(data=response.body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None:  # which may wait for its body
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        with suppress(OSError):  # the client has reset the connection
            self.transport.write_eof()
        self.flow.resume_reading()
        self.loop.call_later(REFUSED_TIMEOUT_S, self.transport.close)
