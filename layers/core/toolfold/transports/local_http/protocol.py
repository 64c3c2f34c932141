"""One connection of ``toolfold serve``: uvicorn's protocol with the limits that it does not have.

A connection is always in one phase. In all phases but one it waits for its client, for a limited time: a client that
stalls delays no other client.

Servers and proxies that read the same bytes differently can be made to see a request in the body of another. What is
ambiguous is therefore refused, and the connection closed: line ends without carriage return, folded headers, two
lengths, a length with a transfer coding, targets that are not a path.

===========  ==========================================  ================================
phase        until                                       after its time
===========  ==========================================  ================================
idle         the first byte of a request                 closed (uvicorn's keep-alive)
head         the end of the headers                      408, closed
body         the end of the body                         408, closed
call         the response                                the application answers in time
sending      the client has read the response            closed
refused      the client has read why, and has closed     closed
===========  ==========================================  ================================
"""

from __future__ import annotations

import asyncio
import http
import logging
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import Enum
from typing import Any, TypeAlias

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from toolfold.protocol.http import MAX_BODY_BYTES, Headers, Response, error_response
from toolfold.protocol.versions import STATELESS

logger = logging.getLogger("toolfold")

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


HEAD_TIMEOUT_S = 10.0
"""Seconds for the headers of a request. On the same machine they arrive at once."""

BODY_TIMEOUT_S = 20.0
"""Seconds for the body of a request."""

SEND_TIMEOUT_S = 20.0
"""Seconds for a client to read a response."""

REFUSED_TIMEOUT_S = 2.0
"""Seconds to read what a refused client still sends: closing at once would reset the connection, and the client could
not read the response (RFC 9112, section 9.6)."""


class Phase(Enum):
    """What a connection waits for."""

    IDLE = "idle"
    HEAD = "head"
    BODY = "body"
    CALL = "call"
    SENDING = "sending"
    REFUSED = "refused"


_TIMEOUTS_S = {
    Phase.HEAD: HEAD_TIMEOUT_S,
    Phase.BODY: BODY_TIMEOUT_S,
    Phase.SENDING: SEND_TIMEOUT_S,
    Phase.REFUSED: REFUSED_TIMEOUT_S,
}


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
    """A connection with limited times, and sizes of what it receives.

    Args:
        check_head: Decides about a request before its body is read.
        on_refused: Called with the response to each request that the application does not see.
        refusal_headers: Further headers of these responses.
    """

    conn: StrictConnection

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        check_head: CheckHead,
        on_refused: Callable[[Response], None],
        refusal_headers: Headers = (),
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn = StrictConnection(check_head)
        self._on_refused, self._refusal_headers = on_refused, refusal_headers
        self._phase: Phase | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_refused = False

    # Called by the transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self.conn)
        # Report every unsent byte: whether the client reads is known from that.
        transport.set_write_buffer_limits(high=0)
        self._enter_phase()

    def data_received(self, data: bytes) -> None:
        """Process what the client sent."""
        # After the last request of a connection, nothing that follows is a request.
        if self._is_refused or self.conn.their_state in (h11.MUST_CLOSE, h11.CLOSED, h11.ERROR):
            return
        try:
            super().data_received(data)
        except Exception as error:  # noqa: BLE001 - a defect must end one connection only, and print no request
            logger.error("defect in the HTTP server: %s", type(error).__name__)
            self.transport.abort()
        self._enter_phase()

    def eof_received(self) -> bool:  # type: ignore[override]  # narrower than asyncio's
        """Answer a request that is complete, although its client sends no more; return whether to stay open.

        A client of a stateless version cancels its request so: it is closed, which ends the call.
        """
        if self._has_call() and not is_stateless(self.scope["headers"]):
            self.cycle.keep_alive = False
            return True
        if self._phase in (Phase.HEAD, Phase.BODY) and not self.conn.is_idle():
            self._refuse(error_response(400, "The request ended before its end."))
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        if self._timer is not None:
            self._timer.cancel()

    def pause_writing(self) -> None:
        """Note that the client has not read everything."""
        super().pause_writing()
        self._enter_phase()

    def resume_writing(self) -> None:
        """Note that the client has read everything."""
        super().resume_writing()
        self._enter_phase()

    # Called by uvicorn

    def send_400_response(self, msg: str) -> None:
        """Refuse the request that was just parsed."""
        self._refuse(self.conn.refusal)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self.flow.resume_reading()
        self._enter_phase()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection."""
        self.transport.close()

    def shutdown(self) -> None:
        """Close the connection, after the response when there is a complete request."""
        if self._has_call():
            self.cycle.keep_alive = False
        elif self._phase is Phase.BODY:
            self._refuse(error_response(503, "The server is stopping.", ("retry-after", "5")))
        elif not self._is_refused:
            self.transport.close()

    def _enter_phase(self) -> None:
        """Restart the timer when the phase has changed."""
        phase = self._current_phase()
        if phase is self._phase:
            return
        self._phase = phase
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if phase in _TIMEOUTS_S:
            self._timer = self.loop.call_later(_TIMEOUTS_S[phase], self._time_out)

    def _has_call(self) -> bool:
        """Return whether a complete request is being answered."""
        return (
            self.cycle is not None and not self.cycle.response_complete and self._phase in (Phase.CALL, Phase.SENDING)
        )

    def _current_phase(self) -> Phase:
        if self._is_refused:
            return Phase.REFUSED
        if self.flow.write_paused:
            return Phase.SENDING
        if self.conn.their_state is h11.SEND_BODY:
            return Phase.BODY
        if self.conn.their_state is h11.IDLE:
            # A new connection is expected to send a request at once.
            return Phase.IDLE if self.cycle is not None and self.conn.is_idle() else Phase.HEAD
        return Phase.CALL

    def _time_out(self) -> None:
        if self._phase in (Phase.HEAD, Phase.BODY) and not self.conn.is_idle():
            self._refuse(error_response(408, "The request took too long to arrive."))
        else:
            self.transport.abort()

    def _refuse(self, response: Response) -> None:
        """Send ``response``, and close the connection: what follows is not taken for a request."""
        if self._is_refused or self.transport.is_closing():
            return
        self._is_refused = True
        self._unset_keepalive_if_required()
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.abort()
                return
        headers = (*self.server_state.default_headers, *_encoded(response, self._refusal_headers))
        lines = [b"HTTP/1.1 %d %s" % (response.status, http.HTTPStatus(response.status).phrase.encode())]
        lines += [b"%s: %s" % header for header in headers]
        content = b"" if self.conn.method == b"HEAD" else response.body
        self.transport.write(b"\r\n".join([*lines, b"", content]))
        with suppress(OSError):  # the client has reset the connection
            self.transport.write_eof()
        self.flow.resume_reading()
        self._on_refused(response)
        self._enter_phase()


def _encoded(response: Response, further: Headers) -> list[tuple[bytes, bytes]]:
    headers = (*response.headers, *further, ("content-length", str(len(response.body))), ("connection", "close"))
    return [(name.encode(), value.encode()) for name, value in headers]
