"""The requests of the clients: searches, descriptions and calls of tools."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.mcp_requests import message

KEY = "LOADKEY000000001"

SYMBOLS = ("AAPL", "AMZN", "GOOGL", "IBM", "META", "MSFT", "NFLX", "NVDA", "ORCL", "TSLA")
CALLS: tuple[tuple[str, dict[str, str]], ...] = (
    *(("TIME_SERIES_DAILY", {"symbol": symbol}) for symbol in SYMBOLS),
    *(("COMPANY_OVERVIEW", {"symbol": symbol}) for symbol in SYMBOLS),
    *(("GLOBAL_QUOTE", {"symbol": symbol}) for symbol in SYMBOLS),
    *((name, {}) for name in ("CPI", "WTI", "BRENT", "COPPER", "INFLATION", "TREASURY_YIELD")),
)
"""The different calls, which are repeated: a team follows the same few companies."""

SEARCHES = ("price of a share", "inflation", "exchange rate of two currencies", "earnings calendar", "oil price")


@dataclass(frozen=True, slots=True)
class Planned:
    """A request: a name that equal ones share, and its body."""

    name: str
    body: bytes


def planned_requests(seed: int) -> Iterator[Planned]:
    """Return requests without end: of ten, seven call a tool, two search, and one describes a tool."""
    draw = random.Random(seed)
    while True:
        kind = draw.randrange(10)
        tool, arguments = draw.choice(CALLS)
        if kind < 7:
            yield _call("TOOL_CALL", {"tool_name": tool, "arguments": arguments, "max_tokens": 2000})
        elif kind < 9:
            yield _call("TOOL_LIST", {"query": draw.choice(SEARCHES)})
        else:
            yield _call("TOOL_GET", {"tool_name": tool})


def _call(name: str, arguments: dict[str, Any]) -> Planned:
    asked = {"name": name, "arguments": arguments}
    return Planned(json.dumps(asked), json.dumps(message("tools/call", asked)).encode())


def digest(content: Mapping[str, Any]) -> str:
    """Return a hash of what equal requests have in common in their answers: not the age of a cached answer."""
    preview = {name: value for name, value in content.get("preview", {}).items() if name != "full"}
    common = content.get("result", preview or content)
    return hashlib.sha256(json.dumps(common, sort_keys=True).encode()).hexdigest()[:16]
