"""MCP over stdio: one JSON-RPC message per line, for an agent on the same machine.

Three kinds of thread, so that a slow call delays nothing else. A reader thread reads stdin and answers at once what
needs no upstream. Worker threads run ``tools/call``, which may wait for an upstream; an answer is sent as soon as it is
ready, in any order. The main thread alone writes to stdout; logs go to stderr.

From the specification, 2026-07-28: a server of both eras answers each request by the era it belongs to, in one process
(Versioning); a cancelled request is never answered, and the end of stdin ends the server (Transports, stdio).
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import TYPE_CHECKING, BinaryIO

from toolfold.app import build_app
from toolfold.local_defaults import with_local_defaults
from toolfold.protocol import jsonrpc
from toolfold.protocol.jsonrpc import JsonRpcError, Message
from toolfold.protocol.versions import INTERNAL_ERROR

if TYPE_CHECKING:
    from toolfold.protocol.mcp import Server
    from toolfold.settings import Settings

logger = logging.getLogger("toolfold")

MAX_LINE_BYTES = 32 << 20
"""Longest line that is read: far longer than any request, and short enough for the memory of the process."""

MAX_WORKERS = 40
"""Calls that run at the same time; further ones are queued. A call spends most of its time waiting for the upstream."""


def main() -> int:
    """Serve stdin and stdout with the settings of the environment, and return the exit code."""
    from toolfold.settings import Settings

    run(Settings.from_environment())
    return 0


def run(settings: Settings) -> None:
    """Serve stdin and stdout until stdin ends.

    Raises:
        SettingsError: the settings name no catalog.
        BrokenPipeError: stdout was closed by its reader.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="toolfold: %(levelname)s: %(message)s")
    settings = with_local_defaults(settings)
    server = build_app(settings).server
    # A call ends within its own time-outs; a call that runs longer is not waited for.
    session = StdioSession(server, drain_timeout_s=settings.connect_timeout_s + settings.timeout_s)
    incoming, outgoing = redirect_stdio()
    try:
        session.serve(incoming, outgoing)
    except OSError:
        _close_quietly(outgoing)
        raise


def _close_quietly(stream: BinaryIO) -> None:
    """Close a broken pipe now: Python would fail to flush it at exit and print that to stderr."""
    from contextlib import suppress

    with suppress(OSError):
        stream.close()


def redirect_stdio() -> tuple[BinaryIO, BinaryIO]:
    """Reserve stdin and stdout for the protocol, for the rest of this process.

    Returns:
        The original stdin and stdout. Other code that reads stdin finds it empty; what it prints goes to stderr.
    """
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(null, 1)
    os.close(null)
    return incoming, outgoing


class StdioSession:
    """The requests of one client and the answers to them.

    Args:
        server: answers the messages.
        drain_timeout_s: after the end of the input, the longest wait for the next answer that is still due.
    """

    def __init__(self, server: Server, drain_timeout_s: float) -> None:
        self._server, self._drain_timeout_s = server, drain_timeout_s
        self._answers: SimpleQueue[bytes | None] = SimpleQueue()
        self._calls: SimpleQueue[Message] = SimpleQueue()
        self._changed = threading.Condition()
        self._pending: dict[int, Message] = {}  # by id() of the message: clients may use a JSON-RPC id twice
        self._unfinished, self._workers = 0, 0

    def serve(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        """Answer messages until the input has ended and every answer that is due was written.

        Raises:
            OSError: ``outgoing`` cannot be written to.
        """
        threading.Thread(target=self._read_messages, args=(incoming,), name="stdin", daemon=True).start()
        for answer in iter(self._answers.get, None):
            outgoing.write(answer + b"\n")
            outgoing.flush()

    def _read_messages(self, incoming: BinaryIO) -> None:
        try:
            for line in _lines(incoming):
                self._handle_line(line)
            with self._changed:
                while self._pending and self._changed.wait(self._drain_timeout_s):
                    pass
        finally:
            self._answers.put(None)

    def _handle_line(self, line: bytes) -> None:
        try:
            message = jsonrpc.parse_message(line)
        except JsonRpcError as error:
            if error.id is not None:
                self._answers.put(jsonrpc.encode_error(error))
            elif line.endswith(b"\n"):
                # Without an id the client cannot match an answer to its request. A last line may have been cut off.
                logger.warning("a line on stdin was skipped: %s", error.message)
            return
        if message is None:
            return  # a response: this server sends no requests
        if message.id is None:
            self._handle_notification(message)
        elif message.method == "tools/call":
            self._queue_call(message)
        else:
            self._answers.put(self._answer(message))

    def _handle_notification(self, notification: Message) -> None:
        if notification.method != "notifications/cancelled":
            return
        id_ = notification.params.get("requestId")
        with self._changed:
            for key, call in list(self._pending.items()):
                if call.id == id_ and type(call.id) is type(id_):
                    del self._pending[key]
            self._changed.notify()

    def _queue_call(self, call: Message) -> None:
        with self._changed:
            self._pending[id(call)] = call
            self._unfinished += 1
            all_busy = self._unfinished > self._workers
        if all_busy and self._workers < MAX_WORKERS:
            self._workers += 1
            threading.Thread(target=self._work, name=f"call {self._workers}", daemon=True).start()
        self._calls.put(call)

    def _work(self) -> None:
        while True:
            call = self._calls.get()
            answer = self._answer(call) if id(call) in self._pending else b""  # else cancelled while it was queued
            with self._changed:
                self._unfinished -= 1
                if self._pending.pop(id(call), None) is not None:
                    self._answers.put(answer)
                    self._changed.notify()

    def _answer(self, request: Message) -> bytes:
        try:
            return self._server.handle_message(request)
        except Exception as error:  # noqa: BLE001 - an internal error must not end the server
            logger.error("defect in %s: %s", request.method[:64], type(error).__name__)
            return jsonrpc.encode_error(
                JsonRpcError(INTERNAL_ERROR, "toolfold failed on this request.", id_=request.id)
            )


def _lines(incoming: BinaryIO) -> Iterator[bytes]:
    """Yield the lines that are not blank, each with its line feed; skip those over ``MAX_LINE_BYTES``."""
    while line := incoming.readline(MAX_LINE_BYTES):
        if len(line) < MAX_LINE_BYTES or line.endswith(b"\n"):
            if not line.isspace():
                yield line
            continue
        logger.warning("a line on stdin was skipped: it is longer than %d bytes", MAX_LINE_BYTES)
        while (rest := incoming.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
            pass
