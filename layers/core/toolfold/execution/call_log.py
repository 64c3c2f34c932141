"""The log line of a call: names and figures. No arguments, no responses, no API keys."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

logger = logging.getLogger("toolfold")


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
        was_refused: whether the call ended before its next request was sent, by a limit of toolfold's own: then it says
            nothing about the upstream.
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
    was_refused: bool = True

    def emit(self, on_call: Callable[[CallLog], None] | None = None) -> None:
        """Log the line, and pass this object to ``on_call``."""
        logger.info(
            "call",
            extra={
                "inner_tool": self.tool,
                "code": self.code,
                "error_message": self.error_message,
                "cache": self.cache,
                "upstream_requests": self.requests,
                "retries": max(0, self.requests - 1),
                "upstream_ms": round(self.upstream_s * 1000, 1),
                "wait_ms": round(self.wait_s * 1000, 1),
                "response_chars": self.response_chars,
                "circuit_breaker": self.circuit_breaker,
            },
        )
        if on_call is not None:
            on_call(self)
