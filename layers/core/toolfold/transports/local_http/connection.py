"""HTTP of ``toolfold serve``: uvicorn's protocol, with limits, and the handler as its ASGI application.

Servers and proxies that read the same bytes differently can be made to see a request in the body of another. What is
ambiguous is therefore refused, and the connection closed: line ends without carriage return, folded headers, two
lengths, a length with a transfer coding. The handler blocks, so it runs in threads.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeAlias

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from toolfold.client_call import ClientCall, running
from toolfold.protocol.http import MAX_BODY_BYTES, Headers, Request, Response, error_response
from toolfold.protocol.versions import STATELESS
from toolfold.transports.lambda_handler import RequestHandler

logger = logging.getLogger("toolfold")

MAX_HEAD_BYTES = 16 * 1024
"""Largest request line with headers. API Gateway allows 10 KB."""

HEAD_TIMEOUT_S, BODY_TIMEOUT_S = 10.0, 20.0
"""Seconds for the headers of a request, and for its body. On the same machine they arrive at once."""

MAX_PARTS = MAX_BODY_BYTES // 64
"""Chunks, or other parts, of a body: one of a single byte costs microseconds, and all other clients wait."""

SEND_TIMEOUT_S = 20.0
"""Seconds for a client to read a response."""

REFUSED_TIMEOUT_S = 2.0
"""Seconds to read what a refused client still sends: closing at once would reset the connection, and the client could
not read the response (RFC 9112, section 9.6)."""

MAX_CALLS = 40
"""Calls of tools that run at the same time. They spend most of their time waiting for the upstream."""

MAX_OTHERS = 4
"""Requests that call no tool, and run at the same time: they never wait behind slow calls."""

# A line feed alone, a carriage return alone, a folded header, and control characters (RFC 9112, sections 2.2 and 5.2).
_REFUSED_BYTES = re.compile(rb"(?<!\r)\n|\r(?!\n)(?!\Z)|\n[ \t]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_FRAMING = re.compile(rb"\n(?:content-length|transfer-encoding)[ \t]*:([^\r]*)", re.IGNORECASE)
_FRAMED = re.compile(rb"[ \t]*(?:[0-9]{1,18}|chunked)[ \t]*", re.IGNORECASE)

_REFUSALS = {
    400: "The request is not valid HTTP/1.1, or is ambiguous.",
    408: "The request took too long to arrive.",
    413: f"The body is larger than {MAX_BODY_BYTES} bytes, or comes in more than {MAX_PARTS} parts.",
    431: f"The headers have more than {MAX_HEAD_BYTES} bytes.",
}
"""Status → why a request is refused."""

RawHeaders: TypeAlias = list[tuple[bytes, bytes]]
_CLOSE = (b"connection", b"close")


class StrictConnection(h11.Connection):
    """The server's side of one connection, which refuses heads that h11 would accept in more forms than one."""

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return the next event.

        Raises:
            h11.RemoteProtocolError: The request is not valid HTTP/1.1, ambiguous, too long, or in too many parts.
        """
        if self.their_state is h11.IDLE:
            self.parts = 0
            head, end, _ = self.trailing_data[0].partition(b"\r\n\r\n")
            if len(head) > MAX_HEAD_BYTES:
                raise h11.RemoteProtocolError("too long", 431)
            framing = _FRAMING.findall(head) if end else []
            if _REFUSED_BYTES.search(head) or len(framing) > 1 or not all(map(_FRAMED.fullmatch, framing)):
                raise h11.RemoteProtocolError("ambiguous", 400)
        event = super().next_event()
        self.parts += isinstance(event, h11.Data)
        if self.parts > MAX_PARTS:
            raise h11.RemoteProtocolError("too many parts", 413)
        return event


class LimitedProtocol(H11Protocol):
    """A connection whose client has limited times to send the head of a request, and to read a response."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.conn = StrictConnection(h11.SERVER, MAX_HEAD_BYTES)
        self._head_timer: asyncio.TimerHandle | None = None
        self._send_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        # Report every unsent byte: whether the client reads is known from that.
        transport.set_write_buffer_limits(high=0)
        self._limit_head()

    def data_received(self, data: bytes) -> None:
        """Process what the client sent. After the last request of a connection, nothing that follows is a request."""
        if h11.MUST_CLOSE in (self.conn.our_state, self.conn.their_state) or self.conn.their_state is h11.ERROR:
            return
        super().data_received(data)
        self._limit_head()
        if len(self.conn.trailing_data[0]) > MAX_BODY_BYTES:
            self.transport.abort()  # requests that come before the answer to this one would fill the memory

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._send_timer = self.loop.call_later(SEND_TIMEOUT_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Note that the client has read everything."""
        super().resume_writing()
        if self._send_timer is not None:
            self._send_timer.cancel()

    def send_400_response(self, msg: str) -> None:
        """Refuse what was just parsed."""
        status = getattr(sys.exception(), "error_status_hint", 400)
        self._refuse(status if status in _REFUSALS else 400)

    def shutdown(self) -> None:
        """Close the connection, after the answer to a request that has arrived as a whole."""
        super().shutdown()
        if self.cycle is not None and self.cycle.more_body:
            self.transport.close()

    def _limit_head(self) -> None:
        """Start the time for a head where one has begun, or is the first; stop it where the head is there."""
        if self.conn.their_state is h11.IDLE and self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_TIMEOUT_S, self._time_out)
        elif self.conn.their_state is not h11.IDLE and self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _time_out(self) -> None:
        if self.conn.trailing_data[0] and not self.transport.is_closing():
            self._refuse(408)
        else:
            self.transport.close()

    def _refuse(self, status: int) -> None:
        """Send a refusal where no response has begun, and close the connection: nothing that follows is read."""
        app: Any = self.app
        response = refusal(status)
        headers = [*self.server_state.default_headers, *app.log_refused(response)]
        with suppress(h11.LocalProtocolError):  # one has begun, or is of HEAD and has no body
            for event in (
                h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status]),
                h11.Data(data=response.body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        with suppress(OSError):  # the client has reset the connection
            self.transport.write_eof()
        self.flow.resume_reading()
        self.loop.call_later(REFUSED_TIMEOUT_S, self.transport.close)


class AsgiApp:
    """Answer requests with the handler that ``current`` returns, in ``timeout_s`` seconds with the time in the queue.

    ``check_head`` returns the response that refuses a request before its body is read, or None; ``refusal_headers`` are
    further headers of such responses.
    """

    def __init__(
        self,
        current: Callable[[], RequestHandler],
        timeout_s: float,
        check_head: Callable[[Request], Response | None],
        refusal_headers: Headers = (),
    ) -> None:
        self._current, self._timeout_s = current, timeout_s
        self._check_head, self._refusal_headers = check_head, refusal_headers
        self._calls, self._others = ThreadPoolExecutor(MAX_CALLS, "call"), ThreadPoolExecutor(MAX_OTHERS, "request")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request whose head was parsed."""
        request = Request(
            scope["method"],
            tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]),
            b"",
            query=scope["query_string"].decode("latin-1"),
            path=scope["raw_path"].decode("latin-1"),
            source_address=scope["client"][0] if scope["client"] else "",
        )
        refused, body, more_body = self._check_head(request), bytearray(), True
        try:
            async with asyncio.timeout(BODY_TIMEOUT_S):
                while refused is None and more_body:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return
                    body += message["body"]
                    more_body = message["more_body"]
                    refused = refusal(413) if len(body) > MAX_BODY_BYTES else None
        except TimeoutError:
            refused = refusal(408)
        response = refused or await self._answer(request._replace(body=bytes(body)), receive)
        if response is None:
            return
        headers = self.log_refused(response) if refused else _encoded(response)
        if not refused and request.header("transfer-encoding") is not None:
            # The end of a chunked body has more than one form: what follows it is not read as a request.
            headers.append(_CLOSE)
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": response.body, "more_body": bool(refused)})
        if refused:
            with suppress(TimeoutError):
                async with asyncio.timeout(REFUSED_TIMEOUT_S):
                    while (await receive()).get("more_body"):
                        pass
            await send({"type": "http.response.body"})

    def log_refused(self, response: Response) -> RawHeaders:
        """Log the response to a request that the handler does not see, and return its headers."""
        self._current().log_request(response, 0.0)
        return [*_encoded(response._replace(headers=(*response.headers, *self._refusal_headers))), _CLOSE]

    async def _answer(self, request: Request, receive: Any) -> Response | None:
        """Return the response of the handler, or one that says why it is missing; None: the client has disconnected."""
        started = time.monotonic()
        context, handler = ClientCall(), self._current()

        def run() -> Response:
            try:
                with running(context):
                    return handler.respond(request, started + self._timeout_s - time.monotonic())
            except Exception as error:  # noqa: BLE001 - a defect must not end the connection without an answer
                logger.error("defect in a request: %s", type(error).__name__)
                return error_response(500, "toolfold failed on this request.")

        # It may call a tool: without escapes, JSON spells the method in one way only.
        may_call = b"tools/call" in request.body or b"\\" in request.body
        pool = self._calls if may_call else self._others
        answered = asyncio.get_running_loop().run_in_executor(pool, run)
        watcher = asyncio.ensure_future(_wait_for_disconnect(receive))
        try:
            done, _ = await asyncio.wait((answered, watcher), timeout=self._timeout_s, return_when="FIRST_COMPLETED")
        finally:
            watcher.cancel()
            answered.cancel()  # it may still wait for a thread
        if answered in done:
            return answered.result()
        if watcher in done:
            # Since 2026-07-28 it cancels the request. An earlier one runs on, and a server that ends does not wait.
            if request.header("mcp-protocol-version") in STATELESS:
                context.cancel()
            return None
        late = error_response(504, f"The request took longer than {self._timeout_s:g} s.")
        handler.log_request(late, self._timeout_s)
        return late


async def _wait_for_disconnect(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def refusal(status: int) -> Response:
    """Return the response that refuses a request, which the handler then does not see, for one of the limits."""
    return error_response(status, _REFUSALS[status])


def _encoded(response: Response) -> RawHeaders:
    headers = [(name.encode(), value.encode()) for name, value in response.headers]
    if response.status not in (204, 304):
        headers.append((b"content-length", b"%d" % len(response.body)))
    return headers
