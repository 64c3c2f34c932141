"""What can go wrong with a call of an MCP server, and the error of the call that it becomes.

::

    McpFault
    ├── ServerFault      the server could not be reached, or its answer cannot be used
    ├── ToolChanged      the tool is not what it was when the snapshot was written
    └── CallRefused      the server answered with an error, or requested something that this client does not offer

The SDK's client reports every failure as the same error. So the task that makes a request sets
:data:`current_exchange`, and the transports of this package, which run in a copy of its context, note there what they
see.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from toolfold import errors, messages
from toolfold.network.errors import InvalidResponse, ResponseTooLarge, TransportError
from toolfold.redaction import Redactor
from toolfold.sources.base import ConnectionFailed, ConnectionNotPossible, ConnectTimeout, NotConnected
from toolfold.sources.http_api.request import status_error, to_call_error
from toolfold.text_safety import encodable

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool
    from toolfold.models import SourceCredentials

MAX_SAID_CHARS = 2_000
"""Characters of a server's own text in an error: enough for a list of wrong arguments, too few to fill a context."""

_INVALID_PARAMS = -32602
_OK = 200

_AT_TERMINAL = messages.TELL_OPERATOR_TO.filled(
    do="run the server's command at a terminal, which shows what it writes."
)
_UNKNOWN_EFFECT = "It is not known whether the call took effect: check that before it is repeated."


MAX_BLOCKS = 50_000
"""Content blocks of one message, counted as members called ``type``. The SDK makes an object of 2 KB of each, in a
parser that nothing can interrupt: 25 MB of them take 1.4 GB."""

MAX_CONTAINERS = 500_000
"""Objects and lists of one message; 25 MB of rows have half as many."""


MAX_NOTIFICATIONS, NOTIFICATIONS_S = 10_000, 10.0
"""Notifications and requests in a number of seconds. The SDK takes up to 0.3 ms for each, on the loop of all calls."""


class TooManyNotifications(InvalidResponse, reason="more than 10,000 notifications in 10 s"):
    """A server sends notifications faster than a client can read them."""


class TooManyParts(ResponseTooLarge):
    """A message has so many small parts that they take far more memory than its bytes."""


class PartLimit:
    """Counts the parts of one message."""

    def __init__(self) -> None:
        self._blocks, self._containers = MAX_BLOCKS, MAX_CONTAINERS

    def is_exceeded_by(self, data: bytes) -> bool:
        """Count the next bytes of the message, and return whether it has too many parts."""
        self._blocks -= data.count(b'"type"')
        self._containers -= data.count(b"{") + data.count(b"[")
        return min(self._blocks, self._containers) < 0


@dataclass
class Exchange:
    """One request and its response.

    Attributes:
        fault: why there is no complete response; None: there is one, or the transport is stdio.
        status: HTTP status of the response; 0: none arrived, or the transport is stdio.
        retry_after_s: seconds that ``Retry-After`` names.
        location: where a redirect leads, without its query; empty: the response is not one.
        has_session: whether the request named a session of an earlier response.
    """

    fault: TransportError | None = None
    status: int = 0
    retry_after_s: int | None = None
    location: str = ""
    has_session: bool = False


@dataclass
class StreamState:
    """What is known of the stream that a child or a server sends its messages on.

    Attributes:
        fault: why it cannot be read any further; None: it can.
        is_ended: whether it has ended.
        refused: methods that the server requested of its client.
        log: the end of what a child has written to stderr. It may hold secrets of the child's own.
    """

    fault: TransportError | None = None
    is_ended: bool = False
    refused: list[str] = field(default_factory=list)
    log: bytes = b""


current_exchange: ContextVar[Exchange | None] = ContextVar("current_exchange", default=None)


class McpFault(Exception):
    """A call without a result."""


@dataclass(eq=False)
class ServerFault(McpFault):
    """The server could not be reached, or its answer cannot be used.

    Attributes:
        kind: ``start``: there is no connection; ``timeout``: it is not there in time; ``closed``: it ended;
            ``malformed``: the answer is not one of MCP; ``large``: it lists too much.
        was_sent: whether the call may have reached the server.
        exchange: what the HTTP request met; None: there was none.
        cause: what is known of the reason.
        reason: why a program could not be started, as the system says it, or what is too large.
        server_text: what the server answered.
        log: the end of what a program wrote to stderr, for the person who adds it; no caller receives it.
    """

    kind: Literal["start", "timeout", "closed", "malformed", "large"]
    _: KW_ONLY
    was_sent: bool
    exchange: Exchange | None = None
    cause: TransportError | None = None
    reason: str = ""
    server_text: str = ""
    log: bytes = b""

    def __post_init__(self) -> None:
        self.cause = self.cause or (None if self.exchange is None else self.exchange.fault)


@dataclass(eq=False)
class ToolChanged(McpFault):
    """The tool is not what it was when the snapshot was written; it was not called."""

    is_gone: bool


@dataclass(eq=False)
class CallRefused(McpFault):
    """The server answered with an error of the protocol, or did not do without ``methods``, which it requested."""

    code: int
    message: str
    data: Any = None
    methods: Sequence[str] = ()

    @property
    def text(self) -> str:
        """What the server says: its message, and the details beside it."""
        details = "" if self.data is None else json.dumps(self.data, ensure_ascii=False)
        return "\n".join(filter(str.strip, (self.message, details)))


class FaultTexts:
    """Make the errors of the calls of one source; ``program`` is what starts its server, empty for one at a URL."""

    def __init__(self, source: Source, *, program: str, max_bytes: int, smaller_response_hint: str) -> None:
        self._source, self._max_bytes = source, max_bytes
        self._program = program.replace("\\", "/").rpartition("/")[2]  # no error has a path of this machine
        self._hint = smaller_response_hint

    def to_call_error(self, fault: McpFault, tool: Tool | None, credentials: SourceCredentials) -> errors.CallError:
        """Return the error of a call that ended in ``fault``; without a tool, of a request for the list of tools."""
        title = self._source.title
        if isinstance(fault, ToolChanged):
            what = "no longer has" if fault.is_gone else "has changed"
            name = "" if tool is None else tool.name
            return errors.SourceChanged(
                f"{title} {what} {name} since its description was read; nothing was sent.",
                messages.REFRESH.filled(source=self._source.id),
            )
        if isinstance(fault, CallRefused):
            if fault.methods:
                methods = ", ".join(dict.fromkeys(fault.methods))
                return errors.UpstreamError(
                    f"{title} asked for {methods}, which is refused: toolfold offers servers nothing but calls.",
                    "Do not repeat this call; use another tool, or give in the arguments what it asks for.",
                    refused=methods,
                ).changed(upstream_says=self.said(fault.text, credentials).strip() or None)
            is_of_arguments = tool is not None and fault.code == _INVALID_PARAMS
            failure = errors.InvalidArguments if is_of_arguments else errors.UpstreamError
            what = "does not accept these arguments" if is_of_arguments else "refused the call"
            if tool is None:  # there are no arguments to check
                return self.reported("refused to list its tools", fault.text, credentials).changed(next_step="")
            return self.reported(what, fault.text, credentials, failure)
        assert isinstance(fault, ServerFault)  # noqa: S101 - there are no others
        error = self._server_error(fault, credentials)
        is_lost = fault.was_sent and tool is not None and tool.effect != "read"
        if is_lost and not isinstance(error, errors.AuthRejected | errors.RateLimited):
            return error.changed(next_step=_UNKNOWN_EFFECT)
        return error

    def reported(
        self,
        what: str,
        text: str,
        credentials: SourceCredentials,
        failure: type[errors.CallError] = errors.UpstreamError,
    ) -> errors.CallError:
        """Return the error of what the server itself reports: ``what`` it did, and its own text about it."""
        said, title = self.said(text, credentials), self._source.title
        if not said.strip():
            return failure(f"{title} {what}, without a reason.", "Check the arguments; the server says nothing more.")
        return failure(f"{title} {what}.", messages.READ_NOTICE, upstream_says=said)

    def said(self, text: str, credentials: SourceCredentials) -> str:
        """Return text of the server as it may be shown: without the secrets, and shortened after that."""
        said = Redactor((credentials.api_key, *credentials.secrets)).redact_text(text)
        if (surplus := len(said) - MAX_SAID_CHARS) > 0:  # of a traceback the end says what is wrong
            half = MAX_SAID_CHARS // 2
            said = f"{said[:half]}\n[{surplus:,} characters left out]\n{said[-half:]}"
        return encodable(said)

    def _server_error(self, fault: ServerFault, credentials: SourceCredentials) -> errors.CallError:
        title, cause, exchange = self._source.title, fault.cause, fault.exchange
        said = self.said(fault.server_text, credentials).strip() or None
        if isinstance(cause, TooManyParts):
            return errors.AnswerTooLarge("The response has too many parts to be read.", self._hint)
        if cause is not None and (cause.host or isinstance(cause, ResponseTooLarge)):
            return to_call_error(cause, self._source, self._max_bytes, self._hint)
        if isinstance(cause, InvalidResponse) or fault.kind == "malformed":
            failure = errors.UpstreamError if fault.was_sent else ConnectionNotPossible
            reason = f": {cause.reason}" if isinstance(cause, TooManyNotifications) else ""
            return failure(f"{title} sent something that is not a message of MCP{reason}.", messages.CHECK_SERVER)
        if fault.kind == "large":
            problem = f"{title} cannot be read: {fault.reason}."
            return errors.UpstreamError(problem, messages.TELL_OPERATOR_TO.filled(do="name tools under include."))
        if cause is None and exchange is not None and exchange.location:
            return errors.UpstreamError(
                f"{title} redirects to {self.said(exchange.location, credentials)}, which is not followed.",
                messages.CHECK_ADDRESS.filled(setting="url in source.yaml"),
            )
        if cause is None and exchange is not None and exchange.status > _OK:
            status = 401 if exchange.status == 403 else exchange.status
            error = status_error(title, status, exchange.retry_after_s, messages.CHECK_SERVER)
            return error.changed(upstream_says=said)
        if fault.kind == "timeout":
            return ConnectTimeout(f"{title} did not start in time.", messages.TRY_AGAIN, retryable=True)
        if fault.reason:
            return ConnectionNotPossible(
                f"{self._program}, the program of {title}, cannot be started: {fault.reason}.", _AT_TERMINAL
            )
        if said:
            return ConnectionNotPossible(f"{title} refuses to connect.", messages.READ_NOTICE, upstream_says=said)
        problem = f"{title} ended {'while it was starting' if fault.kind == 'start' else 'before it answered'}."
        if fault.was_sent:
            return ConnectionFailed(problem, messages.TRY_AGAIN, retryable=True)
        return NotConnected(problem, _AT_TERMINAL if self._program else messages.TRY_AGAIN, retryable=True)
