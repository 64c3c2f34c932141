"""One connection of ``toolfold serve``: uvicorn's protocol, with limits, and the handler as its ASGI application.

Servers and proxies that read the same bytes differently can be made to see a request in the body of another. What is
ambiguous is therefore refused, and the connection closed: line ends without carriage return, folded headers, two
lengths, a length with a transfer coding. All that is refused before the handler sees it is refused while it is parsed,
by :class:`StrictConnection`. The handler blocks, so it runs in threads.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any, TypeAlias

import h11
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from toolfold.client_call import ClientCall, running
from toolfold.protocol.http import MAX_BODY_BYTES, Headers, Request, Response, error_response
from toolfold.protocol.versions import STATELESS
from toolfold.transports.lambda_handler import RequestHandler
from toolfold.transports.workers import WorkerPool

MAX_HEAD_BYTES = 16 * 1024
"""Largest request line with headers. API Gateway allows 10 KB."""

HEAD_TIMEOUT_S, BODY_TIMEOUT_S = 10.0, 20.0
"""Seconds for the headers of a request, and for its body. On the same machine they arrive at once."""

SEND_TIMEOUT_S = 20.0
"""Seconds for a client to read a response."""

REFUSED_TIMEOUT_S = 2.0
"""Seconds to read what a refused client still sends: closing at once would reset the connection, and the client could
not read the response (RFC 9112, section 9.6)."""

MAX_CALLS = 40
"""Calls of tools that run at the same time. They spend most of their time waiting for the upstream."""

MAX_OTHERS = 4
"""Requests that call no tool, and run at the same time: they never wait behind slow calls."""

MIN_PART_BYTES = 64
"""Bytes that each chunk, or other part of a body, counts as: a chunk of one byte takes nine microseconds."""

# A line feed alone, a carriage return alone, a folded header, and control characters (RFC 9112, sections 2.2 and 5.2).
_REFUSED_BYTES = re.compile(rb"(?<!\r)\n|\r(?!\n)(?!\Z)|\n[ \t]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_FRAMING = re.compile(rb"\n(?:content-length|transfer-encoding)[ \t]*:([^\r]*)", re.IGNORECASE)
_FRAMED = re.compile(rb"[ \t]*(?:[0-9]{1,18}|chunked)[ \t]*", re.IGNORECASE)

_REFUSALS = {
    400: "The request is not valid HTTP/1.1, or is ambiguous.",
    408: "The request took too long to arrive.",
    413: f"The body is larger than {MAX_BODY_BYTES} bytes, or comes in too many parts.",
    431: f"The headers have more than {MAX_HEAD_BYTES} bytes.",
}
"""Status → why a request is refused."""

RawHeaders: TypeAlias = list[tuple[bytes, bytes]]
_CLOSE = (b"connection", b"close")


def _refusal(status: int) -> Response:
    return error_response(status, _REFUSALS.get(status, _REFUSALS[400]))


class Refused(h11.RemoteProtocolError):
    """A request that the handler does not see, with the response to it."""

    def __init__(self, response: Response) -> None:
        super().__init__("refused", response.status)
        self.response = response


class StrictConnection(h11.Connection):
    """The server's side of one connection, which refuses what h11 would accept in more forms than one.

    Args:
        check: Returns the response that refuses a request for its head, or None.

    Attributes:
        method: Of the request whose head was read last.
    """

    def __init__(self, check: Callable[[h11.Request], Response | None]) -> None:
        super().__init__(h11.SERVER, MAX_HEAD_BYTES)
        self.method, self._check, self._body_bytes = b"", check, 0

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return the next event.

        Raises:
            Refused: The request is not valid HTTP/1.1, ambiguous, too long, or not allowed.
        """
        if self.their_state is h11.IDLE:
            self.method, self._body_bytes = b"", 0
            head, end, _ = self.trailing_data[0].partition(b"\r\n\r\n")
            if len(head) > MAX_HEAD_BYTES:
                raise Refused(_refusal(431))
            framing = _FRAMING.findall(head) if end else []
            if _REFUSED_BYTES.search(head) or len(framing) > 1 or not all(map(_FRAMED.fullmatch, framing)):
                raise Refused(_refusal(400))
        try:
            event = super().next_event()
        except h11.RemoteProtocolError as error:
            raise Refused(_refusal(error.error_status_hint)) from None
        if isinstance(event, h11.Request):
            self.method = event.method
            response = self._check(event)
            if response is not None:
                raise Refused(response)
        elif isinstance(event, h11.Data):
            self._body_bytes += max(len(event.data), MIN_PART_BYTES)
            if self._body_bytes > MAX_BODY_BYTES:
                raise Refused(_refusal(413))
        return event


class _Flow(FlowControl):
    """Flow control that reads nothing more while a request is answered, as uvicorn does for the body of each."""

    def __init__(self, transport: asyncio.Transport, conn: h11.Connection) -> None:
        super().__init__(transport)
        self._conn = conn

    def resume_reading(self) -> None:
        """Read again, unless the next request has to wait: what its client sends would fill the memory."""
        if self._conn.their_state is not h11.DONE:
            super().resume_reading()


class LimitedProtocol(H11Protocol):
    """A connection whose client has limited times to send a request, and to read a response."""

    conn: StrictConnection

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.app_state = {}  # of this connection: "request" is the one whose head was read last
        self.conn = StrictConnection(self._check)
        self._awaited: object = None  # the state of the client's side in which the timer runs
        self._request_timer: asyncio.TimerHandle | None = None
        self._send_timer: asyncio.TimerHandle | None = None

    # Called by the transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self.conn)
        # Report every unsent byte: whether the client reads is known from that.
        transport.set_write_buffer_limits(high=0)
        self._limit_request()

    def data_received(self, data: bytes) -> None:
        """Process what the client sent. After the last request of a connection, nothing that follows is a request."""
        if h11.MUST_CLOSE in (self.conn.our_state, self.conn.their_state) or self.conn.their_state is h11.ERROR:
            return
        super().data_received(data)
        self._limit_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        for timer in (self._request_timer, self._send_timer):
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
        error = sys.exception()
        assert isinstance(error, Refused)  # noqa: S101 - what StrictConnection raises
        self._refuse(error.response)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self.flow.resume_reading()
        self._limit_request()

    def shutdown(self) -> None:
        """Close the connection, after the response when there is a complete request."""
        if self.cycle is not None and self.cycle.more_body and not self.cycle.response_started:
            self._refuse(error_response(503, "The server is stopping.", ("retry-after", "5")))
        else:
            super().shutdown()

    def _check(self, event: h11.Request) -> Response | None:
        """Keep the request whose head was parsed; return the response that refuses it, or None."""
        path, _, query = event.target.partition(b"?")
        request = self.app_state["request"] = Request(
            event.method.decode(),
            tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers),
            b"",
            query=query.decode("latin-1"),
            path=path.decode("latin-1"),
            source_address=self.client[0] if self.client else "",
        )
        if event.http_version not in (b"1.0", b"1.1"):
            return error_response(505, "The HTTP version must be 1.1 or 1.0.")
        if event.http_version == b"1.0" and request.header("transfer-encoding") is not None:
            return error_response(400, "HTTP/1.0 has no transfer codings.")
        if not request.path.startswith("/"):
            return error_response(400, "The target of a request must be a path.")
        app: Any = self.app
        refused: Response | None = app.check_head(request)
        is_too_large = int(request.header("content-length") or 0) > MAX_BODY_BYTES
        return _refusal(413) if refused is None and is_too_large else refused

    def _limit_request(self) -> None:
        """Start the time for a head where one has begun, or is the first, and for a body; stop it where it is there."""
        state = self.conn.their_state
        is_head = state is h11.IDLE and (self.cycle is None or bool(self.conn.trailing_data[0]))
        awaited = state if is_head or state is h11.SEND_BODY else None
        if awaited is self._awaited:
            return
        if self._request_timer is not None:
            self._request_timer.cancel()
        self._awaited = awaited
        if awaited is not None:
            timeout_s = HEAD_TIMEOUT_S if is_head else BODY_TIMEOUT_S
            self._request_timer = self.loop.call_later(timeout_s, self._time_out)

    def _time_out(self) -> None:
        if self._awaited is h11.SEND_BODY or self.conn.trailing_data[0]:
            self._refuse(_refusal(408))
        else:
            self.transport.close()

    def _refuse(self, response: Response) -> None:
        """Send ``response``, and close the connection: what follows is not taken for a request."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        app: Any = self.app
        headers = [*self.server_state.default_headers, *app.log_refused(response)]
        content = b"" if self.conn.method == b"HEAD" else response.body
        for event in (
            h11.Response(status_code=response.status, headers=headers, reason=STATUS_PHRASES[response.status]),
            h11.Data(data=content),
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


Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


class AsgiApp:
    """Answer requests with a handler.

    Args:
        current: Returns the handler of a request.
        timeout_s: Seconds in which it must answer, including the time in the queue.
        check_head: Returns the response that refuses a request before its body is read, or None.
        refusal_headers: Further headers of these responses.
    """

    def __init__(
        self,
        current: Callable[[], RequestHandler],
        timeout_s: float,
        check_head: Callable[[Request], Response | None],
        refusal_headers: Headers = (),
    ) -> None:
        self._current, self._timeout_s = current, timeout_s
        self.check_head, self._refusal_headers = check_head, refusal_headers
        self._calls = WorkerPool("call", MAX_CALLS)
        self._others = WorkerPool("request", MAX_OTHERS)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request whose head was accepted."""
        request, body, more_body = scope["state"]["request"], bytearray(), True
        while more_body:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message["body"]
            more_body = message["more_body"]
        response = await self._answer(request._replace(body=bytes(body)), receive)
        if response is None:
            return
        headers = _encoded(response)
        if request.header("transfer-encoding") is not None:
            # The end of a chunked body has more than one form: what follows it is not read as a request.
            headers.append(_CLOSE)
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": response.body})

    def log_refused(self, response: Response) -> RawHeaders:
        """Log the response to a request that the handler does not see, and return its headers."""
        self._current().log_request(response, 0.0)
        return [*_encoded(response._replace(headers=(*response.headers, *self._refusal_headers))), _CLOSE]

    async def _answer(self, request: Request, receive: Receive) -> Response | None:
        """Return the response of the handler, or one that says why it is missing; None: the client has disconnected."""
        started = time.monotonic()
        context, handler = ClientCall(), self._current()

        def run() -> Response:
            with running(context):
                return handler.respond(request, started + self._timeout_s - time.monotonic())

        # It may call a tool: without escapes, JSON spells the method in one way only.
        may_call = b"tools/call" in request.body or b"\\" in request.body
        answered = asyncio.wrap_future((self._calls if may_call else self._others).submit(run))
        watcher = asyncio.ensure_future(_wait_for_disconnect(receive))
        try:
            done, _ = await asyncio.wait((answered, watcher), timeout=self._timeout_s, return_when="FIRST_COMPLETED")
            if answered in done:
                is_defect = answered.exception() is not None  # which the pool has logged
                return error_response(500, "toolfold failed on this request.") if is_defect else answered.result()
        finally:
            watcher.cancel()
            answered.cancel()  # it may still wait for a thread
        if watcher in done:
            # Since 2026-07-28 it cancels the request. An earlier one runs on, and a server that ends does not wait.
            if request.header("mcp-protocol-version") in STATELESS:
                context.cancel()
            return None
        late = error_response(504, f"The request took longer than {self._timeout_s:g} s.")
        handler.log_request(late, self._timeout_s)
        return late


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _encoded(response: Response) -> RawHeaders:
    headers = [(name.encode(), value.encode()) for name, value in response.headers]
    if response.status not in (204, 304) and not any(name == "content-length" for name, _ in response.headers):
        headers.append((b"content-length", b"%d" % len(response.body)))
    return headers
