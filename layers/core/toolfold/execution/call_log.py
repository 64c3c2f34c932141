"""The log line of a call: names and figures. No arguments, no responses, no API keys."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from toolfold.errors import InternalError, UpstreamError, UpstreamTimeout

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool

LOGGER_NAME = "toolfold.calls"
"""The logger of lines that are written at every TOOLFOLD_LOG_LEVEL: those that audit a call."""

CACHE_HITS = ("memory", "shared", "joined")
"""Values of :attr:`CallLog.cache` of calls that were answered without a request of their own."""

SERVICE_ERRORS = (UpstreamError.code, UpstreamTimeout.code, InternalError.code)
"""Codes of calls that failed through the source or through toolfold. Others depend on the caller: its arguments, its
API key, the plan of the key."""


@dataclass
class CallLog:
    """What is logged of one call, filled in while it runs. Times in seconds.

    Attributes:
        tool: name of the tool.
        source: id of its source.
        code: ``OK``, or the code of the error.
        error_message: sentence of the error. Those of call errors are fixed texts, without arguments.
        cache: ``miss``; ``memory`` or ``shared`` for a hit; ``joined`` to an equal call that was running; ``stale`` for
            an entry past its time, the reason being in ``error_message``; ``bypass`` where no cache is used.
        requests: requests sent to the upstream.
        upstream_s: time that those took.
        wait_s: time spent waiting for a turn and between attempts.
        response_chars: length of the data.
        circuit_breaker: state of the source's circuit breaker.
        quota_used_percent: how much of its calls of the day the API key has used, where a limit is known.
        is_operator_key: whether the API key is that of the deployment.
        was_refused: whether the call ended before its next request was sent, by a limit of toolfold's own: then it says
            nothing about the upstream.
        is_counted: whether it is a call in metrics and figures, and not one that was refused for its arguments or for
            what its caller may do.
        audit: fields of ``execution.audit`` for this line; empty: it writes its own, or none.
    """

    tool: str
    source: str = ""
    code: str = "OK"
    error_message: str = ""
    cache: str = "miss"
    requests: int = 0
    upstream_s: float = 0.0
    wait_s: float = 0.0
    response_chars: int = 0
    circuit_breaker: str = "closed"
    quota_used_percent: float | None = None
    is_operator_key: bool = False
    was_refused: bool = True
    is_counted: bool = True
    audit: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_cacheable(self) -> bool:
        """Whether the call may be answered from the cache: it reads."""
        return self.cache != "bypass"

    @property
    def is_hit(self) -> bool:
        """Whether the call was answered without a request of its own, and not because its source failed."""
        return self.cache in CACHE_HITS

    @property
    def is_service_error(self) -> bool:
        """Whether the call failed, and neither its arguments nor its API key are the reason."""
        return self.code in SERVICE_ERRORS

    def fields(self) -> dict[str, Any]:
        """Return the fields of the log line, without those that say nothing: zero, empty, or a closed breaker."""
        found = {
            "inner_tool": self.tool,
            "code": self.code,
            "error_message": self.error_message,
            "cache": self.cache if self.is_counted else "",
            "upstream_requests": self.requests,
            "retries": max(0, self.requests - 1),
            "upstream_ms": round(self.upstream_s * 1000, 1),
            "wait_ms": round(self.wait_s * 1000, 1),
            "response_chars": self.response_chars,
            "circuit_breaker": "" if self.circuit_breaker == "closed" else self.circuit_breaker,
            "quota_used_percent": round(self.quota_used_percent or 0, 1),
        }
        return {name: value for name, value in found.items() if value}


def log_call(call: CallLog) -> None:
    """Log the line ``call``, where no transport makes it a part of the line of its request."""
    logger = logging.getLogger(LOGGER_NAME if call.audit else "toolfold")
    if logger.isEnabledFor(logging.INFO):
        logger.info("call", extra={**call.fields(), **call.audit})


class Observer(Protocol):
    """Is called from many threads, must return at once, and must not raise."""

    def start_request(
        self, name: str, arguments: Mapping[str, Any], profile: str
    ) -> Callable[[Mapping[str, Any]], None]:
        """Note that a call of a meta-tool begins.

        Args:
            name: The meta-tool.
            arguments: As the client sent them.
            profile: The profile of the request; empty: the path without a name.

        Returns:
            What is called with the fields of the log line of the answer: ``error`` and the figures of
            ``meta_tools.usage``.
        """

    def start_call(self, tool: Tool, profile: str) -> Callable[[str], None]:
        """Note that a call of ``tool`` begins, in the thread that performs it.

        Returns:
            What is called with ``OK``, or with the code of the error; with an empty code for a call that was not made,
            because its answer is not in memory.
        """

    def record_call(self, call: CallLog) -> None:
        """Note the log line of a call, in the thread that performs it, before the call ends."""
