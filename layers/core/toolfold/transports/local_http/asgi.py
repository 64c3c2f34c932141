"""The Lambda handler as an ASGI application.

A request becomes the event that API Gateway would make of it (payload format 2.0), not a
:class:`toolfold.protocol.http.Request`: the local server then runs the parser of events, the limits of time and the log
of the deployed function as well, and answers as it does. The handler blocks, so it runs in threads.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any, TypeAlias

from toolfold.client_call import ClientCall, running
from toolfold.protocol.http import Response, error_response
from toolfold.transports.lambda_handler import LambdaHandler
from toolfold.transports.local_http.protocol import is_stateless
from toolfold.transports.workers import WorkerPool

logger = logging.getLogger("toolfold")

MAX_CALLS = 40
"""Calls of tools that run at the same time. They spend most of their time waiting for the upstream."""

MAX_OTHERS = 4
"""Requests that call no tool, and run at the same time: they never wait behind slow calls."""

MAX_QUEUED = 500
"""Requests of each kind that wait for a thread; further ones get 503."""

RETRY_AFTER_S = 1

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


class AsgiApp:
    """Answer requests with a handler.

    Args:
        current: Returns the handler of a request.
        timeout_s: Seconds in which it must answer, including the time in the queue.
    """

    def __init__(self, current: Callable[[], LambdaHandler], timeout_s: float) -> None:
        self._current, self._timeout_s = current, timeout_s
        self._calls = WorkerPool("call", MAX_CALLS, MAX_QUEUED)
        self._others = WorkerPool("request", MAX_OTHERS, MAX_QUEUED)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request whose head was accepted by ``protocol``."""
        body = await _read_body(receive)
        if body is None:
            return
        answer = functools.partial(self._current(), _event(scope, body))
        context = ClientCall()
        # Before 2026-07-28 a closed connection does not cancel a request.
        watcher = (
            asyncio.ensure_future(_cancel_when_closed(receive, context)) if is_stateless(scope["headers"]) else None
        )
        # It may call a tool: without escapes, JSON spells the method in one way only.
        may_call = b"tools/call" in body or b"\\" in body
        response = await self._run(answer, self._calls if may_call else self._others, context)
        if watcher is not None:
            watcher.cancel()
        content = response["body"].encode()
        if response.get("isBase64Encoded"):
            content = base64.b64decode(content)
        headers = [(name.encode(), value.encode()) for name, value in response["headers"].items()]
        if response["statusCode"] not in (204, 304) and "content-length" not in response["headers"]:
            headers.append((b"content-length", b"%d" % len(content)))
        if any(name == b"transfer-encoding" for name, _ in scope["headers"]):
            # The end of a chunked body has more than one form: what follows it is not read as a request.
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": response["statusCode"], "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _run(
        self, answer: Callable[[float], dict[str, Any]], pool: WorkerPool, context: ClientCall
    ) -> dict[str, Any]:
        """Return the response of ``answer``, a function of the seconds left, or one that says why it is missing."""
        started = time.monotonic()
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[dict[str, Any] | None] = loop.create_future()

        def run() -> None:
            if answered.cancelled():  # it waited too long for a thread
                return
            response = None
            try:
                with running(context):
                    response = answer(started + self._timeout_s - time.monotonic())
            except Exception as error:  # noqa: BLE001 - a defect must end one request only
                logger.error("defect in the handler: %s", type(error).__name__)
            with suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(_resolve, answered, response)

        if not pool.submit(run):
            return self._log_and_encode(
                error_response(503, "Too many requests are waiting; try again.", ("retry-after", str(RETRY_AFTER_S))), 0
            )
        try:
            response = await asyncio.wait_for(answered, self._timeout_s)
        except TimeoutError:
            late = error_response(504, f"The request took longer than {self._timeout_s:g} s.")
            return self._log_and_encode(late, self._timeout_s)
        return response or _encode(error_response(500, "toolfold failed on this request."))

    def _log_and_encode(self, response: Response, elapsed_s: float) -> dict[str, Any]:
        self._current().log_request(response, elapsed_s)
        return _encode(response)


def _encode(response: Response) -> dict[str, Any]:
    return {"statusCode": response.status, "headers": dict(response.headers), "body": response.body.decode()}


def _resolve(future: asyncio.Future[dict[str, Any] | None], response: dict[str, Any] | None) -> None:
    if not future.done():
        future.set_result(response)


async def _cancel_when_closed(receive: Receive, context: ClientCall) -> None:
    """Cancel a call whose client closes the connection, which is how it cancels a request (2026-07-28)."""
    while (await receive())["type"] != "http.disconnect":
        pass
    context.cancel()


async def _read_body(receive: Receive) -> bytes | None:
    """Return the body, or None when the client has disconnected. Its size is limited by ``protocol``."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message["body"])
        if not message["more_body"]:
            return b"".join(parts)


def _event(scope: Any, body: bytes) -> dict[str, Any]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:  # API Gateway joins repeated headers with commas
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    try:
        text, is_base64 = body.decode(), False
    except UnicodeDecodeError:
        text, is_base64 = base64.b64encode(body).decode(), True
    path = scope["raw_path"].decode("latin-1")
    return {
        "version": "2.0",
        "routeKey": "ANY /" if path == "/" else "$default",
        "rawPath": path,
        "rawQueryString": scope["query_string"].decode("latin-1"),
        "headers": headers,
        "requestContext": {"http": {"method": scope["method"], "path": path, "sourceIp": scope["client"][0]}},
        "body": text,
        "isBase64Encoded": is_base64,
    }
