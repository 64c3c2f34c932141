"""Figures of a log: what agents searched, read and called, and what that saved; from files or a pipe.

The fields of the lines are those of docs/reference/metrics.md.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolfold.errors import ToolfoldError
from toolfold.log_analysis.follower import parse_line

MOST_CALLED = 10
"""Tools that are listed."""

MAX_LINE_BYTES = 1 << 20
"""Longest line that is read: a line of the log has some 500 bytes."""

HITS = frozenset({"memory", "shared", "joined"})
"""Values of ``cache`` of calls that were answered without a request of their own."""


def is_of_request(line: Mapping[str, Any]) -> bool:
    """Return whether a line is that of a request for a meta-tool."""
    return line.get("message") == "request" and isinstance(line.get("tool"), str)


def is_of_call(line: Mapping[str, Any]) -> bool:
    """Return whether a line has a call: its own, or that of the request that made it alone.

    A call that was refused for its arguments has no ``cache``; its line is for the audit.
    """
    has_call = isinstance(line.get("code"), str) and isinstance(line.get("cache"), str)
    return has_call and line.get("message") in ("call", "request")


_SUMMED = ("tokens", "tokens_saved", *(f"schemas_{level}" for level in ("full", "medium", "minimal", "unchanged")))
"""Fields of the line of a request that are added up."""

ALL, _SEARCHES = "all requests", "all searches"
"""Groups of lines; no tool can have the name of one, which may be ``search``."""


@dataclass
class Figures:
    """Sums over the lines of a log.

    Attributes:
        requests: meta-tool → requests for it.
        failed_requests: those of them that ended in an error.
        searches: requests of TOOL_LIST with a query, from the first match on.
        empty_searches: those of them that found nothing.
        sums: tool, all searches or :data:`ALL` → the sums of fields of its lines.
        codes: code → finished calls of tools.
        cacheable: calls of tools that read.
        hits: those of them that were answered without a request of their own.
        upstream_requests: requests that were sent.
        times_ms: the time in requests of each call that sent some.
        tools: tool → its calls that succeeded.
        first, last: timestamps of the first and the last line; empty: not known.
    """

    requests: Counter[str] = field(default_factory=Counter)
    failed_requests: int = 0
    searches: int = 0
    empty_searches: int = 0
    sums: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    codes: Counter[str] = field(default_factory=Counter)
    cacheable: int = 0
    hits: int = 0
    upstream_requests: int = 0
    times_ms: deque[float] = field(default_factory=deque)
    tools: Counter[str] = field(default_factory=Counter)
    first: str = ""
    last: str = ""

    @property
    def upstream_ms(self) -> tuple[float, float] | None:
        """Median and 99th percentile of the time in requests, over the calls that sent some; None: none did."""
        if not (times := sorted(self.times_ms)):
            return None
        median, p99 = (times[max(0, math.ceil(share * len(times)) - 1)] for share in (0.5, 0.99))
        return median, p99

    def add(self, line: Mapping[str, Any]) -> None:
        """Add a line; others than those of requests and calls change nothing."""
        if is_of_request(line):
            is_search = number(line, "searched") != 0
            for group in (ALL, line["tool"], *([_SEARCHES] if is_search else [])):
                self.sums[group].update({name: int(number(line, name)) for name in _SUMMED})
            self.requests[line["tool"]] += 1
            self.failed_requests += "error" in line
            self.searches += is_search
            self.empty_searches += is_search and not number(line, "matched")
        if is_of_call(line):
            requests = int(number(line, "upstream_requests"))
            self.codes[line["code"]] += 1
            self.cacheable += line["cache"] != "bypass"
            self.hits += line["cache"] in HITS
            self.upstream_requests += requests
            self.times_ms.extend([number(line, "upstream_ms")] if requests else ())
            if isinstance(line.get("inner_tool"), str) and line["code"] == "OK":
                self.tools[line["inner_tool"]] += 1
        if (is_of_request(line) or is_of_call(line)) and isinstance(at := line.get("timestamp"), str):
            self.first, self.last = min(self.first or at, at), max(self.last, at)


def seven_figures(figures: Figures) -> dict[str, float | None]:
    """Return the figures by which progressive loading is judged; None for a mean or a share of nothing.

    - ``tokens_per_query``: tokens that a search answers, in the mean.
    - ``token_reduction_percent``: how much less that is than the definitions of all tools.
    - ``full_per_query``, ``medium_per_query``, ``minimal_per_query``: tools that a search describes at each level.
    - ``loaded_on_demand``: schemas that TOOL_GET sent.
    - ``cache_hit_percent``: calls that were answered without a request of their own, of those that read.
    """
    searches, found, got = figures.searches, figures.sums[_SEARCHES], figures.sums["TOOL_GET"]
    baseline = found["tokens_saved"] + found["tokens"] if found["tokens_saved"] else 0
    return {
        "tokens_per_query": _ratio(found["tokens"], searches),
        "token_reduction_percent": _ratio(100 * found["tokens_saved"], baseline, 1),
        "full_per_query": _ratio(found["schemas_full"], searches),
        "medium_per_query": _ratio(found["schemas_medium"], searches),
        "minimal_per_query": _ratio(found["schemas_minimal"], searches),
        "loaded_on_demand": got["schemas_full"] + got["schemas_medium"],
        "cache_hit_percent": _ratio(100 * figures.hits, figures.cacheable, 1),
    }


def as_json(figures: Figures) -> dict[str, Any]:
    """Return all figures as a JSON object."""
    median, p99 = figures.upstream_ms or (None, None)
    return {
        "first": figures.first or None,
        "last": figures.last or None,
        "figures": seven_figures(figures),
        "requests": {"by_tool": dict(figures.requests), "failed": figures.failed_requests},
        "searches": {"total": figures.searches, "found_nothing": figures.empty_searches},
        "tokens": {"answered": figures.sums[ALL]["tokens"], "saved": figures.sums[ALL]["tokens_saved"]},
        "schemas_unchanged": figures.sums["TOOL_GET"]["schemas_unchanged"],
        "calls": {"total": figures.codes.total(), "by_code": dict(figures.codes.most_common())},
        "cache": {"cacheable": figures.cacheable, "hits": figures.hits},
        "upstream": {"requests": figures.upstream_requests, "median_ms": median, "p99_ms": p99},
        "tools": dict(figures.tools.most_common(MOST_CALLED)),
    }


def number(line: Mapping[str, Any], name: str) -> float:
    """Return a figure of a line; 0 where it has none: a log may be cut, or of another version."""
    value = line.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return value
    return 0


def _ratio(amount: float, number: float, digits: int = 2) -> float | None:
    return round(amount / number, digits) if number else None


def read_log(paths: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the lines of several logs.

    Args:
        paths: files; ``-``: stdin.

    Raises:
        ToolfoldError: a file cannot be read, or has a line that is too long.
    """
    for path in paths:
        name = "stdin" if path == "-" else path
        try:
            with contextlib.nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as file:
                while raw := file.readline(MAX_LINE_BYTES):
                    if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
                        raise ToolfoldError(f"{name} has a line of more than 1 MB, so it is not a log of toolfold.")
                    if (line := parse_line(raw)) is not None:
                        yield line
        except OSError as error:
            raise ToolfoldError(f"The log {name} cannot be read: {error.strerror or error}.") from None
