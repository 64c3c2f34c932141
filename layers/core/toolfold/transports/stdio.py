"""MCP over stdio: a JSON-RPC message a line, for agents on the same machine.

Three kinds of thread, so that nobody waits for somebody else. One reads stdin, and answers at once what can be answered
at once. ``tools/call`` may wait for an upstream: workers take it, and answers leave in the order in which they are
ready. The main thread alone writes to stdout; what is logged goes to stderr.

From the specification, 2026-07-28: a server of both eras answers each request by the era it is of, in one process
(Versioning); what was cancelled is never answered, and the end of stdin ends the server (Transports, stdio).
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

LINE_LIMIT = 32 << 20
"""Bytes of a line. More is no request of ours, and must not fill the memory."""

WORKERS = 40
"""Calls at the same time; further ones wait their turn. Most of a call is waiting for the upstream."""


def run(settings: Settings) -> None:
    """Serve stdin and stdout until stdin ends.

    Raises:
        SettingsError: the settings name no catalog.
        BrokenPipeError: nobody reads stdout any more.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="toolfold: %(levelname)s: %(message)s")
    settings = with_local_defaults(settings)
    server = build_app(settings).server
    # A call ends within its own time-out; what is older than that has been given up.
    conversation = StdioSession(server, settings.connect_timeout_s + settings.timeout_s)
    incoming, outgoing = take_stdio()
    try:
        conversation.hold(incoming, outgoing)
    except OSError:
        _give_up(outgoing)
        raise


def _give_up(outgoing: BinaryIO) -> None:
    """Close it now: what nobody reads would fail once more when Python ends, and be told on stderr."""
    from contextlib import suppress

    with suppress(OSError):
        outgoing.close()


def take_stdio() -> tuple[BinaryIO, BinaryIO]:
    """stdin and stdout for the protocol alone, for the rest of this process.

    Whatever else reads stdin finds its end; whatever else prints, prints to stderr.
    """
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(nothing, 1)
    os.close(nothing)
    return incoming, outgoing


class StdioSession:
    """One client's requests and their answers. ``patience_s`` bounds the wait for each answer that is still owed when
    the input has ended."""

    def __init__(self, server: Server, patience_s: float) -> None:
        self._server, self._patience_s = server, patience_s
        self._answers: SimpleQueue[bytes | None] = SimpleQueue()
        self._calls: SimpleQueue[Message] = SimpleQueue()
        self._changed = threading.Condition()
        self._owed: dict[int, Message] = {}  # by identity: ids are the client's, which may use one twice
        self._unfinished, self._workers = 0, 0

    def hold(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        """Answer what comes in until it ends and nothing is owed any more.

        Raises:
            OSError: ``outgoing`` cannot be written to.
        """
        threading.Thread(target=self._listen, args=(incoming,), name="stdin", daemon=True).start()
        for answer in iter(self._answers.get, None):
            outgoing.write(answer + b"\n")
            outgoing.flush()

    def _listen(self, incoming: BinaryIO) -> None:
        try:
            for line in _lines(incoming):
                self._hear(line)
            with self._changed:
                while self._owed and self._changed.wait(self._patience_s):
                    pass
        finally:
            self._answers.put(None)

    def _hear(self, line: bytes) -> None:
        try:
            message = jsonrpc.parse_message(line)
        except JsonRpcError as rejected:
            if rejected.id is not None:
                self._answers.put(jsonrpc.error(rejected))
            elif line.endswith(b"\n"):
                # Without an id no client can tell what the answer is to. The last line may have been cut off.
                logger.warning("a line on stdin was skipped: %s", rejected.sentence)
            return
        if message is None:
            return  # an answer, though nothing was asked
        if message.id is None:
            self._note(message)
        elif message.method == "tools/call":
            self._hand_over(message)
        else:
            self._answers.put(self._answer(message))

    def _note(self, notification: Message) -> None:
        if notification.method != "notifications/cancelled":
            return
        id_ = notification.params.get("requestId")
        with self._changed:
            for key, call in list(self._owed.items()):
                if call.id == id_ and type(call.id) is type(id_):
                    del self._owed[key]
            self._changed.notify()

    def _hand_over(self, call: Message) -> None:
        with self._changed:
            self._owed[id(call)] = call
            self._unfinished += 1
            all_busy = self._unfinished > self._workers
        if all_busy and self._workers < WORKERS:
            self._workers += 1
            threading.Thread(target=self._work, name=f"call {self._workers}", daemon=True).start()
        self._calls.put(call)

    def _work(self) -> None:
        while True:
            call = self._calls.get()
            answer = self._answer(call) if id(call) in self._owed else b""
            with self._changed:
                self._unfinished -= 1
                if self._owed.pop(id(call), None) is not None:
                    self._answers.put(answer)
                    self._changed.notify()

    def _answer(self, request: Message) -> bytes:
        try:
            return self._server.reply(request)
        except Exception as error:  # noqa: BLE001 - a defect of ours must not take the server down
            logger.error("defect in %s: %s", request.method[:64], type(error).__name__)
            return jsonrpc.error(JsonRpcError(INTERNAL_ERROR, "toolfold failed on this request.", id_=request.id))


def _lines(incoming: BinaryIO) -> Iterator[bytes]:
    """The lines that hold something, each with its end; those over ``LINE_LIMIT`` are skipped."""
    while line := incoming.readline(LINE_LIMIT):
        if len(line) < LINE_LIMIT or line.endswith(b"\n"):
            if not line.isspace():
                yield line
            continue
        logger.warning("a line on stdin was skipped: it is longer than %d bytes", LINE_LIMIT)
        while (rest := incoming.readline(LINE_LIMIT)) and not rest.endswith(b"\n"):
            pass
