"""What is told of a call in the log: one line, of names and figures. No arguments, no answers, no keys."""

from __future__ import annotations

import logging

logger = logging.getLogger("toolfold")


class CallLog:
    """Filled in while the call goes on. Times in seconds."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.code = "OK"
        self.problem = ""
        """The sentence of the error. Those of calls are fixed texts: they hold no arguments."""
        self.cached = "no"
        """Where the answer was held: memory, shared, another call under way (joined), or kept past its time (late), for
        which ``problem`` is the reason."""
        self.requests = 0
        self.refused = True
        """Whether it ended before its next request, by a rule of ours: then it says nothing of the upstream."""
        self.upstream_s = 0.0
        self.waited_s = 0.0
        self.size = 0
        """Characters of the answer."""
        self.breaker = "closed"

    def emit(self) -> None:
        """Write the line."""
        logger.info(
            "call",
            extra={
                "inner_tool": self.tool,
                "code": self.code,
                "problem": self.problem,
                "cached": self.cached,
                "upstream_requests": self.requests,
                "retries": max(0, self.requests - 1),
                "upstream_ms": round(self.upstream_s * 1000, 1),
                "waited_ms": round(self.waited_s * 1000, 1),
                "characters": self.size,
                "breaker": self.breaker,
            },
        )
