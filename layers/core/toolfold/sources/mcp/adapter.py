"""The adapter of other MCP servers: each call is a ``tools/call`` over a connection that is reused.

The connections of an adapter have an event loop in a thread of its own, on behalf of threads that block.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import importlib
import json
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from toolfold import client_call
from toolfold.catalog.reader import damaged
from toolfold.errors import AuthRejected, CallCancelled, CatalogUnavailable, InvalidArguments, UpstreamError
from toolfold.extras import how_to_add
from toolfold.messages import CHECK_SERVER, SECURE_URL, TELL_OPERATOR_TO, TRY_AGAIN
from toolfold.models import ParsedResponse, SourceCredentials, UpstreamResponse
from toolfold.network.ssrf import address_check, is_secure_url
from toolfold.redaction import Redactor
from toolfold.sources.base import ConnectionFailed, ConnectionNotPossible, SourceAdapter
from toolfold.sources.http_api.oauth import TokenProvider
from toolfold.sources.http_api.request import exchange_for, secrets_of, upstream_timeout
from toolfold.sources.mcp.answers import failure_text, parse_result
from toolfold.sources.mcp.connection import SessionLimits, read_connection, with_key
from toolfold.sources.mcp.faults import FaultTexts, McpFault
from toolfold.sources.mcp.session import OpenSession, Session, Sessions, ToolRequest

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool
    from toolfold.sources.base import AdapterContext

CLOSE_S, END_S = 4.0, 5.0
"""Seconds for closing all connections, as long as ending a child may take, and that a process waits at its end."""

MAX_CALL_S = 600.0
"""Seconds of a call whose caller has no deadline, as long as the server reports progress."""

_RESERVE_S = 1.0
"""Seconds before the deadline of the caller that are left for what follows the response."""

MAX_ARGUMENT_BYTES = 4_000_000
"""Of one call: the size that servers of the SDK accept, less what surrounds the arguments."""


@dataclass(frozen=True)
class _McpResponse(UpstreamResponse):
    """A result of ``tools/call``, parsed already, and what it may not repeat."""

    result: Mapping[str, Any] = field(default_factory=dict)
    credentials: SourceCredentials = field(default_factory=SourceCredentials, repr=False)


class McpAdapter(SourceAdapter):
    """Call the tools of an MCP server. See :class:`toolfold.sources.base.SourceAdapter`.

    Its connections are closed when the adapter is dropped, and at the end of the process.

    Attributes:
        source: the source.
        texts: makes its errors.
        tokens: gets its access tokens, where it issues them for a key.
    """

    smaller_response_hint: ClassVar[str] = "Ask for less, where the tool has arguments for that."

    def __init__(self, source: Source, context: AdapterContext) -> None:
        self.source, self._settings = source, context.settings
        self._connection = read_connection(source)
        self._max_bytes = context.max_bytes(source)
        program, hint = "".join(self._connection.command[:1]), self.smaller_response_hint
        self.texts = FaultTexts(source, program=program, max_bytes=self._max_bytes, smaller_response_hint=hint)
        self.tokens = TokenProvider(source, exchange_for(source, context, hint))
        self._runner = _Runner(source.id)
        weakref.finalize(self, self._runner.stop).atexit = False

    @property
    def endpoint(self) -> str:
        """Where calls are sent: the server's address, or the one that the operator set; for a child its command."""
        if self._connection.command:
            return self._connection.endpoint
        return self._settings.source_urls.get(self.source.id, self._connection.url)

    def check_call(self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials) -> None:
        """Raise an error for a call that cannot be sent."""
        size = len(json.dumps(arguments))
        if size > MAX_ARGUMENT_BYTES:
            raise InvalidArguments(
                f"{tool.name}: the arguments have {size:,} bytes; {MAX_ARGUMENT_BYTES:,} are allowed.",
                "Split the call into several with less in each; nothing was sent.",
            )
        if not self._connection.command and not is_secure_url(self.endpoint):
            problem = "The URL set for this source is not https, so nothing was sent to it."
            raise ConnectionNotPossible(problem, SECURE_URL)

    def call(
        self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials, deadline: float
    ) -> UpstreamResponse:
        """Send one call and wait for its result before ``deadline``. A call that is given up is cancelled there."""
        self.check_call(tool, arguments, credentials)
        for sent in self.tokens.sent_keys(credentials.api_key, deadline, is_read=tool.effect == "read"):
            try:
                return self._call(tool, arguments, credentials, sent, deadline)
            except AuthRejected as error:
                refusal = error
        raise refusal

    async def describe(self, sent_key: str, is_wanted: Callable[[str], bool], max_tools: int) -> dict[str, Any]:
        """Return what the server says about itself, over a connection for this alone, and the tools that are wanted.

        Raises:
            McpFault: the server could not be reached, its answer cannot be used, or it lists more than ``max_tools``.
        """
        session = self._open_session(sent_key)
        try:
            return await session.describe(is_wanted, max_tools)
        finally:
            session.close()
            await session.wait_closed()

    def _call(
        self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials, sent_key: str, deadline: float
    ) -> UpstreamResponse:
        made = secrets_of(self.source.auth, credentials.api_key, sent_key)
        hidden = replace(credentials, secrets=(*credentials.secrets, *made))
        context = client_call.current()
        timer = _Timer(deadline, context)
        name, fingerprint = tool.call.get("function"), tool.call.get("fingerprint", "")
        if not isinstance(name, str) or not isinstance(fingerprint, str):
            raise damaged(f"the call of {tool.name!a}")
        request = ToolRequest(name, arguments, fingerprint, timer.report, client_call.trace_context())
        try:
            future = self._runner.submit(self._open_session, sent_key, request)
        except RuntimeError:  # this process is ending
            raise ConnectionNotPossible(f"{self.source.title} is closed.", TRY_AGAIN) from None
        with context.on_cancel(future.cancel):
            try:
                result = timer.wait(future)
            except McpFault as fault:
                raise self.texts.to_call_error(fault, tool, hidden) from None
            except CancelledError:
                if not context.is_cancelled:
                    raise ConnectionFailed(f"{self.source.title} was closed.", TRY_AGAIN) from None
                raise CallCancelled("The client cancelled this call.", "Call again if the answer is needed.") from None
            except TimeoutError:
                future.cancel()
                raise upstream_timeout(self.source) from None
        return _McpResponse(200, "", result=result, credentials=hidden)

    def parse(
        self, tool: Tool, arguments: Mapping[str, Any], response: UpstreamResponse, credentials: SourceCredentials
    ) -> ParsedResponse:
        """Return the data in ``response``, without what was made of the key. See :mod:`toolfold.sources.mcp.answers`.

        Raises:
            UpstreamError: the server says that the call failed, or sent no result of a call.
        """
        assert isinstance(response, _McpResponse)  # noqa: S101 - `call` has made it
        title = self.source.title
        try:
            if response.result.get("isError"):
                said = failure_text(response.result)
                raise self.texts.reported("reports that the call failed", said, response.credentials)
            found = parse_result(response.result)
        except ValueError:
            raise UpstreamError(f"{title} sent something that is not the result of a call.", CHECK_SERVER) from None
        redactor = Redactor(response.credentials.secrets)
        return found._replace(body=redactor.redact_text(found.body), blocks=redactor.redact_text(found.blocks))

    def warm_up(self) -> None:
        """Import what a call on Lambda needs, where it is installed. Nothing is opened."""
        with suppress(ImportError):
            if not self._connection.command:
                importlib.import_module("mcp.client.streamable_http")
                importlib.import_module("toolfold.sources.mcp.http_transport")

    def _open_session(self, api_key: str) -> Session:
        connection = with_key(self._connection, self.endpoint, self.source.auth, api_key)
        is_allowed = address_check(self._settings.private_hosts, self.source.id, connection.url)
        limits = SessionLimits(self._settings.connect_timeout_s, self._max_bytes, is_allowed)
        return Session(connection, limits)


class _Runner:
    """The event loop of one adapter and its sessions, without a reference to the adapter, which can be dropped.

    The first call starts its thread. A forked process starts another.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._process = 0
        self._is_stopped = False

    def submit(self, open_session: OpenSession, api_key: str, request: ToolRequest) -> Future[dict[str, Any]]:
        """Start a call, and return the future of its result. Cancelling the future cancels the call."""
        import_sdk(self._name)
        with self._lock:
            if self._is_stopped:
                raise RuntimeError("the event loop was stopped")
            if self._process != os.getpid():
                started = threading.Event()
                work = functools.partial(asyncio.run, self._keep_sessions(started))
                self._thread = threading.Thread(target=work, name=f"mcp {self._name}", daemon=True)
                # For a process that ends without the exit functions of Python: see cli.entry_point.
                vars(self._thread)["end"] = functools.partial(self.stop, END_S)
                self._thread.start()
                started.wait()
                self._process = os.getpid()
                atexit.register(self.stop, END_S)
            call = self._sessions.call(api_key, request, open_session)
            return asyncio.run_coroutine_threadsafe(call, self._loop)

    def stop(self, wait_s: float = 0.0) -> None:
        """End all connections; ``wait_s`` says how long to wait for that."""
        with self._lock:
            was_stopped, self._is_stopped = self._is_stopped, True
        atexit.unregister(self.stop)
        if was_stopped or self._process != os.getpid():
            return
        self._loop.call_soon_threadsafe(self._end.set)
        if wait_s and self._thread is not threading.current_thread():
            self._thread.join(wait_s)

    async def _keep_sessions(self, started: threading.Event) -> None:
        """Run until ``stop``, and close the sessions then. What is left is cancelled."""
        self._loop, self._sessions, self._end = asyncio.get_running_loop(), Sessions(), asyncio.Event()
        started.set()
        await self._end.wait()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._sessions.close(), CLOSE_S)


class _Timer:
    """The time-out of one call, which begins again with each progress notification. The caller's deadline stays."""

    def __init__(self, deadline: float, context: client_call.ClientCall) -> None:
        now = time.monotonic()
        self._timeout_s, self._end, self._context = deadline - now, deadline, context
        self._last = max(deadline, min(client_call.deadline() - _RESERVE_S, now + MAX_CALL_S))

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Begin the time-out again, and pass the progress on."""
        self._end = max(self._end, min(self._last, time.monotonic() + self._timeout_s))
        self._context.report_progress(progress, total, message)

    def wait(self, future: Future[dict[str, Any]]) -> dict[str, Any]:
        while True:
            end = self._end
            try:
                return future.result(max(0.0, end - time.monotonic()))
            except TimeoutError:
                if self._end <= end:
                    raise


def import_sdk(title: str) -> None:
    """Import the SDK's client, which takes about a second.

    Raises:
        CatalogUnavailable: it is not installed; ``title`` is what cannot be called then.
    """
    try:
        import mcp.client  # noqa: F401 - see above
    except ImportError:
        raise CatalogUnavailable(
            f"{title} cannot be called: the package mcp is not installed here.",
            TELL_OPERATOR_TO.filled(do=how_to_add("mcp")),
        ) from None
