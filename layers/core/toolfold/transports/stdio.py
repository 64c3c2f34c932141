"""MCP over stdio, for an agent on the same machine: one session of one client, until stdin ends or a signal comes.

One JSON-RPC message per line, in both directions. Four kinds of thread, so that a slow call delays nothing else. A
reader thread reads stdin and answers at once what needs no upstream. Worker threads run ``tools/call``, which may wait
for an upstream, and ``resources/read``, which the limits of calls also apply to; an answer is sent as soon as it is
ready, in any order. A writer thread alone writes to stdout; logs go to stderr. The main thread waits for the end.

A client that does not read its answers is not read from either: when :data:`MAX_UNSENT_BYTES` of answers wait, no more
lines are read and no more calls are started. No lines are read, either, while :data:`MAX_PENDING` calls have no answer.

From the specification, 2026-07-28: a server of both eras answers each request by the era it belongs to, in one process
(Versioning); a cancelled request is never answered, and the end of stdin ends the server (Transports, stdio).
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO

from toolfold.app import build_app
from toolfold.client_call import ClientCall, running
from toolfold.errors import ToolfoldError
from toolfold.local_defaults import with_local_defaults
from toolfold.protocol import jsonrpc, versions
from toolfold.protocol.jsonrpc import JsonRpcError, Message
from toolfold.settings import Settings
from toolfold.transports.reloading import Reloading, SettingsSource

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from toolfold.client_call import ClientCall
    from toolfold.protocol.mcp import Server

logger = logging.getLogger("toolfold")

MAX_LINE_BYTES = 32 << 20
"""Longest line that is read: far longer than any request, and short enough for the memory of the process."""

MAX_WORKERS = 40
"""Calls that run at the same time; further ones are queued. A call spends most of its time waiting for the upstream."""

MAX_UNSENT_BYTES = 32 << 20
"""Bytes of answers that wait for the client to read. A client may write thousands of requests before it reads."""

MAX_PENDING = 10_000
"""Calls without an answer, of some 4 KB each: a file of a million requests may be piped in."""

MAX_LOGGED_LINES = 100
"""Skipped lines that are logged: a client need not read stderr, and a full pipe would stop the server."""


class StdioSession:
    """The requests of one client and the answers to them.

    Args:
        server: answers messages.
        drain_timeout_s: after the end of the input, the longest wait for the next answer that is still due, and for the
            client to read it; after :meth:`stop`, for all of them.
    """

    def __init__(self, server: Server, drain_timeout_s: float) -> None:
        self._server, self._drain_timeout_s = server, drain_timeout_s
        self._pool: Executor | None = None
        self._answers = SimpleQueue[bytes | None]()
        # Has an item at the end of the input, when the output is broken, and at a signal, whose handler may put it.
        self._ended = SimpleQueue[None]()
        self._is_stopping = self._is_initialized = False
        # Guards what follows; notified when something was sent or has ended.
        self._changed = threading.Condition()
        # With the id of each, which clients may use twice, and its type: 1 and "1" are two ids, and so are 1 and true.
        self._pending: dict[ClientCall, tuple[type, jsonrpc.Id | None]] = {}
        self._unsent_bytes = self._skipped_lines = 0
        self._error: Exception | None = None
        self._subscriptions: list[jsonrpc.Id] = []

    def serve(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        """Answer messages until the input has ended and every answer that is due was written.

        Raises:
            OSError: ``outgoing`` cannot be written to.
        """
        for target, stream in ((self._read_messages, incoming), (self._write_answers, outgoing)):
            threading.Thread(target=target, args=(stream,), name="stdio", daemon=True).start()
        self._ended.get()
        end = float("inf")
        with self._changed:
            while (self._pending or self._unsent_bytes) and self._error is None:
                if self._is_stopping:  # with a queue of any length: who sends a signal does not wait long
                    end = min(end, time.monotonic() + self._drain_timeout_s)
                if not self._changed.wait(min(self._drain_timeout_s, end - time.monotonic())):
                    break
        self._answers.put(None)
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End the session: read no more, and send the answers that are due. May be called by a signal handler."""
        self._is_stopping = True
        self._ended.put(None)

    # The writer

    def _write_answers(self, outgoing: BinaryIO) -> None:
        try:
            for answer in iter(self._answers.get, None):
                outgoing.write(answer + b"\n")
                outgoing.flush()
                with self._changed:
                    self._unsent_bytes -= len(answer)
                    self._changed.notify_all()
        except (OSError, ValueError) as error:  # ValueError: closed by this process, which waited long enough
            with self._changed:
                self._error = error
                self._changed.notify_all()
            self._ended.put(None)

    def _send(self, answer: bytes) -> None:
        """Send an answer. May be called with the lock held."""
        with self._changed:
            self._unsent_bytes += len(answer)
            self._answers.put(answer)

    def _wait_for_client(self, most_pending: int = sys.maxsize) -> None:
        """Wait until the client has read what it was sent, and fewer than ``most_pending`` calls have no answer."""
        with self._changed:
            while self._error is None and (self._unsent_bytes > MAX_UNSENT_BYTES or len(self._pending) >= most_pending):
                self._changed.wait()

    # The reader

    def _read_messages(self, incoming: BinaryIO) -> None:
        try:
            for line in _lines(incoming):
                if self._is_stopping:
                    return
                self._handle_line(line)
                self._wait_for_client(MAX_PENDING)  # until then, what the client writes stays in the pipe
        finally:
            self._ended.put(None)

    def _handle_line(self, line: bytes) -> None:
        try:
            if len(line) > MAX_LINE_BYTES:
                raise JsonRpcError(versions.PARSE_ERROR, f"It is longer than {MAX_LINE_BYTES} bytes.")
            message = jsonrpc.parse_message(line)
        except JsonRpcError as error:
            if error.id is not None:
                self._send(jsonrpc.encode_error(error))
            elif self._skipped_lines < MAX_LOGGED_LINES:  # the client could not match an answer to its request
                self._skipped_lines += 1
                more = "; further ones are not logged" if self._skipped_lines == MAX_LOGGED_LINES else ""
                logger.warning("a line on stdin was skipped: %s%s", error.message, more)
            return
        if message is None:
            return  # a response: this server sends no requests
        if message.id is None:
            self._handle_notification(message)
        elif message.method in ("tools/call", "resources/read"):
            self._queue_call(message)
        elif message.method == "subscriptions/listen" and message.meta.get(versions.META_VERSION) in versions.STATELESS:
            self._subscribe(message.id, message.params.get("notifications"))
        else:
            self._is_initialized = self._is_initialized or message.method == "initialize"
            self._send(self._answer(message))

    def _subscribe(self, id_: jsonrpc.Id, requested: Any) -> None:
        """Open a channel for the changes that a client requests, as long as it does not cancel its request."""
        if not isinstance(requested, dict):
            refusal = JsonRpcError(versions.INVALID_PARAMS, "params.notifications must be an object.", id_=id_)
            self._send(jsonrpc.encode_error(refusal))
            return
        wanted = {"toolsListChanged": True} if requested.get("toolsListChanged") is True else {}
        with self._changed:
            self._subscriptions += [id_] if wanted else []
        params = {"notifications": wanted, "_meta": {versions.META_SUBSCRIPTION: id_}}
        self._send(jsonrpc.encode_notification("notifications/subscriptions/acknowledged", params))

    def use(self, server: Server) -> None:
        """Answer by another server, and tell the client that its list of tools has changed.

        It is informed by its session, or by each of its subscriptions.
        """
        server.without_http = self._server.without_http  # the client is the same
        self._server = server
        with self._changed:
            channels = [{"_meta": {versions.META_SUBSCRIPTION: id_}} for id_ in self._subscriptions]
        for params in [*channels, *([{}] if self._is_initialized else [])]:
            self._send(jsonrpc.encode_notification("notifications/tools/list_changed", params))

    def _handle_notification(self, notification: Message) -> None:
        if notification.method != "notifications/cancelled":
            return
        id_ = notification.params.get("requestId")
        with self._changed:
            cancelled = [call for call, sent in self._pending.items() if sent == (type(id_), id_)]
            for call in cancelled:
                del self._pending[call]
            self._subscriptions = [one for one in self._subscriptions if (type(one), one) != (type(id_), id_)]
            self._changed.notify_all()
        for call in cancelled:
            call.cancel()

    # The workers

    def _queue_call(self, message: Message) -> None:
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor  # not needed by the first answers

            self._pool = ThreadPoolExecutor(MAX_WORKERS, "call")
        token = message.meta.get("progressToken")
        is_requested = isinstance(token, str | int) and not isinstance(token, bool)
        call = ClientCall((lambda *progress: self._send_progress(call, token, *progress)) if is_requested else None)
        with self._changed:
            self._pending[call] = (type(message.id), message.id)
        self._pool.submit(self._run_call, call, message)

    def _run_call(self, call: ClientCall, message: Message) -> None:
        self._wait_for_client()
        if call.is_cancelled:
            return
        with running(call):
            answer = self._answer(message)
        with self._changed:
            if self._pending.pop(call, None) is not None:  # not cancelled
                self._send(answer)

    def _send_progress(self, call: ClientCall, token: Any, progress: float, total: float | None, message: str) -> None:
        found = {"progressToken": token, "progress": progress, "total": total, "message": message}
        params = {name: value for name, value in found.items() if value not in (None, "")}
        with self._changed:
            if call in self._pending:  # not after the answer
                self._send(jsonrpc.encode_notification("notifications/progress", params))

    def _answer(self, request: Message) -> bytes:
        try:
            return self._server.handle_message(request)
        except Exception as error:  # noqa: BLE001 - an internal error must not end the server
            logger.error("defect in %s: %s", request.method[:64], type(error).__name__)
            defect = JsonRpcError(versions.INTERNAL_ERROR, "toolfold failed on this request.", id_=request.id)
            return jsonrpc.encode_error(defect)


def _lines(incoming: BinaryIO) -> Iterator[bytes]:
    """Yield the lines that are not blank, each with its line feed. One over the limit is cut one byte after it."""
    # The input ends as well where its terminal is gone, or where this process has closed it after a signal.
    with suppress(OSError, ValueError):
        while line := incoming.readline(MAX_LINE_BYTES + 1):
            rest = line if len(line) > MAX_LINE_BYTES else b""
            while rest and not rest.endswith(b"\n"):
                rest = incoming.readline(MAX_LINE_BYTES)
            if not line.isspace():
                yield line


def run(profile: str = "", path: str = "", from_file: Iterable[str] = ()) -> int:
    """Serve stdin and stdout until stdin ends, or until SIGINT or SIGTERM. A second signal ends the process at once.

    Args:
        profile: The profile whose tools are exposed; empty: ``default``.
        path: The settings file; empty: the user's own.
        from_file: The variables that were set from it.

    Returns:
        The exit code.

    Raises:
        SettingsError: the settings name a catalog that cannot be used, or a cache file that is not toolfold's.
        ProfileNotFound: the catalog has no such profile. One in S3 is read by the first request.
        BrokenPipeError: stdout was closed by its reader.
        ToolfoldError: stdout cannot be written to for another reason.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="toolfold: %(levelname)s: %(message)s")
    settings, source = _read_settings(), SettingsSource(_read_settings, path, from_file)
    reloading = Reloading(settings, source, lambda changed: session.use(_make_server(profile, changed)))
    # A call ends within its own time-outs; a call that runs longer is not waited for.
    session = StdioSession(_make_server(profile, settings), settings.connect_timeout_s + settings.timeout_s)
    reloading.start()
    _greet()
    incoming, outgoing = redirect_stdio()
    try:
        with stopping_at_signals(session.stop):
            session.serve(incoming, outgoing)
    except OSError as error:
        with suppress(OSError):  # Python would fail to flush it at exit, and print that
            outgoing.close()
        if isinstance(error, BrokenPipeError):
            raise
        raise ToolfoldError(f"The output cannot be written: {error.strerror}. It is not complete.") from None
    return 0


def _read_settings() -> Settings:
    settings = Settings.from_environment()
    if settings.cache:
        from toolfold.cache.sqlite import check_cache_file

        check_cache_file(settings)
    if settings.audit_file:
        from toolfold.execution.audit import check_audit_setting

        check_audit_setting(settings)
    return with_local_defaults(settings)


def _make_server(profile: str, settings: Settings) -> Server:
    app = build_app(settings, profile=profile)
    if settings.catalog or settings.source_urls or settings.keyed_sources:
        from toolfold.catalog.start_check import check_catalog

        check_catalog(settings, app.catalog_store)
    if profile and not settings.catalog.startswith("s3://"):
        app.server.tools_of(profile)
    app.server.reports_changes = True
    return app.server


def _greet() -> None:
    """Tell a person who started the server at a terminal what it waits for. Clients connect pipes."""
    if os.isatty(0) and os.isatty(2):
        print(
            "toolfold waits for JSON-RPC messages of an MCP client, one per line. To connect a client: toolfold "
            "install CLIENT. To call a tool from here: toolfold call TOOL_NAME. Ctrl-D ends.",
            file=sys.stderr,
        )


@contextmanager
def stopping_at_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call ``stop`` at the first SIGINT or SIGTERM inside the ``with`` statement; a second one ends the process.

    In another thread than the main one, which has no signals, nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stopping = (signal.SIGINT, signal.SIGTERM)

    def first(*_: object) -> None:
        for number in stopping:
            signal.signal(number, signal.SIG_DFL)
        stop()

    before = {number: signal.signal(number, first) for number in stopping}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def redirect_stdio() -> tuple[BinaryIO, BinaryIO]:
    """Reserve stdin and stdout for the protocol, for the rest of this process.

    Returns:
        The original stdin and stdout. Other code that reads stdin finds it empty; what it prints goes to stderr.
    """
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with suppress(OSError):  # Windows has it for pipes alone
        os.set_blocking(outgoing.fileno(), True)  # as the writer needs it, although a parent may have it otherwise
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(null, 1)
    os.close(null)
    return incoming, outgoing
