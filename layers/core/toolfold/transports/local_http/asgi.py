"""The handler of requests as an ASGI application. It blocks, so it runs in threads."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any, TypeAlias

from toolfold.client_call import ClientCall, running
from toolfold.protocol.http import MAX_BODY_BYTES, Headers, Request, Response, error_response
from toolfold.transports.lambda_handler import RequestHandler
from toolfold.transports.local_http.protocol import REFUSED_TIMEOUT_S, is_stateless
from toolfold.transports.workers import WorkerPool

logger = logging.getLogger("toolfold")

MAX_CALLS = 40
"""Calls of tools that run at the same time. They spend most of their time waiting for the upstream."""

MAX_OTHERS = 4
"""Requests that call no tool, and run at the same time: they never wait behind slow calls."""

BODY_TIMEOUT_S = 20.0
"""Seconds for the body of a request."""

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
RawHeaders: TypeAlias = list[tuple[bytes, bytes]]

_CLOSE = (b"connection", b"close")
_BODY = "http.response.body"


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
        self._check_head, self._refusal_headers = check_head, refusal_headers
        self._calls = WorkerPool("call", MAX_CALLS)
        self._others = WorkerPool("request", MAX_OTHERS)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request whose head ``protocol`` has accepted."""
        request = _request(scope)
        body = _check_form(scope, request) or self._check_head(request) or await _read_body(request, receive)
        if isinstance(body, Response):
            await send(_start(body, self.refuse(body)))
            await send({"type": _BODY, "body": body.body, "more_body": True})
            with suppress(TimeoutError):
                async with asyncio.timeout(REFUSED_TIMEOUT_S):
                    while (await receive()).get("more_body"):
                        pass
            await send({"type": _BODY})
        elif body is not None:
            response = await self._answer(request._replace(body=body), scope, receive)
            if response is None:
                return
            headers = _encoded(response)
            if request.header("transfer-encoding") is not None:
                # The end of a chunked body has more than one form: what follows it is not read as a request.
                headers.append(_CLOSE)
            await send(_start(response, headers))
            await send({"type": _BODY, "body": response.body})

    def refuse(self, response: Response) -> RawHeaders:
        """Log the response to a request that the handler does not see, and return its headers."""
        self._current().log_request(response, 0.0)
        return [*_encoded(response._replace(headers=(*response.headers, *self._refusal_headers))), _CLOSE]

    async def _answer(self, request: Request, scope: Any, receive: Receive) -> Response | None:
        """Return the response of the handler, or one that says why it is missing; None: the client has disconnected."""
        started = time.monotonic()
        context, handler = ClientCall(), self._current()
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Response] = loop.create_future()

        def run() -> None:
            if answered.cancelled():  # it waited too long for a thread
                return
            try:
                with running(context):
                    response = handler.respond(request, started + self._timeout_s - time.monotonic())
            except Exception as error:  # noqa: BLE001 - a defect must end one request only
                logger.error("defect in the handler: %s", type(error).__name__)
                response = error_response(500, "toolfold failed on this request.")
            with suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(_resolve, answered, response)

        # It may call a tool: without escapes, JSON spells the method in one way only.
        may_call = b"tools/call" in request.body or b"\\" in request.body
        (self._calls if may_call else self._others).submit(run)
        watcher = asyncio.ensure_future(_wait_for_disconnect(receive))
        try:
            done, _ = await asyncio.wait((answered, watcher), timeout=self._timeout_s, return_when="FIRST_COMPLETED")
        finally:
            watcher.cancel()
        if answered in done:
            return answered.result()
        if watcher in done:
            # Since 2026-07-28 it cancels the request. An earlier one runs on, and a server that ends does not wait.
            if is_stateless(scope["headers"]):
                context.cancel()
            return None
        answered.cancel()
        late = error_response(504, f"The request took longer than {self._timeout_s:g} s.")
        handler.log_request(late, self._timeout_s)
        return late


def _resolve(future: asyncio.Future[Response], response: Response) -> None:
    if not future.done():
        future.set_result(response)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _request(scope: Any) -> Request:
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
    return Request(
        scope["method"],
        headers,
        b"",
        query=scope["query_string"].decode("latin-1"),
        path=scope["raw_path"].decode("latin-1"),
        source_address=scope["client"][0],
    )


def _check_form(scope: Any, request: Request) -> Response | None:
    if scope["http_version"] not in ("1.0", "1.1"):
        return error_response(505, "The HTTP version must be 1.1 or 1.0.")
    if scope["http_version"] == "1.0" and request.header("transfer-encoding") is not None:
        return error_response(400, "HTTP/1.0 has no transfer codings.")
    if not request.path.startswith("/"):
        return error_response(400, "The target of a request must be a path.")
    return None


async def _read_body(request: Request, receive: Receive) -> bytes | Response | None:
    """Return the body, or the response to one that is too large or too slow; None when the client has disconnected."""
    body, length, more_body = bytearray(), int(request.header("content-length") or 0), True
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            while more_body and max(length, len(body)) <= MAX_BODY_BYTES:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                body += message["body"]
                more_body = message["more_body"]
    except TimeoutError:
        return error_response(408, "The request took too long to arrive.")
    if max(length, len(body)) > MAX_BODY_BYTES:
        return error_response(413, f"The body is larger than {MAX_BODY_BYTES} bytes.")
    return bytes(body)


def _start(response: Response, headers: RawHeaders) -> Message:
    return {"type": "http.response.start", "status": response.status, "headers": headers}


def _encoded(response: Response) -> RawHeaders:
    headers = [(name.encode(), value.encode()) for name, value in response.headers]
    if response.status not in (204, 304) and not any(name == "content-length" for name, _ in response.headers):
        headers.append((b"content-length", b"%d" % len(response.body)))
    return headers
