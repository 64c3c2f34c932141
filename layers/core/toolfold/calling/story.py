"""What is told of a call in the log: one line, of names and figures. No arguments, no answers, no keys."""

from __future__ import annotations

import logging
from dataclasses import dataclass

logger = logging.getLogger("toolfold")


@dataclass(slots=True)
class Story:
    """Filled in while the call goes on. Times in seconds."""

    tool: str
    code: str = "OK"
    problem: str = ""
    """The sentence of the error. Those of calls are fixed texts: they hold no arguments."""
    cached: str = "no"
    """Where the answer was held: memory, shared, another call under way (joined), or kept past its time (late), for
    which ``problem`` is the reason."""
    requests: int = 0
    refused: bool = True
    """Whether it ended before its next request, by a rule of ours: then it says nothing of the upstream."""
    upstream_s: float = 0.0
    waited_s: float = 0.0
    size: int = 0
    """Characters of the answer."""
    breaker: str = "closed"

    def tell(self) -> None:
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
