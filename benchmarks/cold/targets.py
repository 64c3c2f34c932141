"""The start-up and response time targets of toolfold, and whether a run meets them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.cold.events import CACHED, GET, LISTING, SEARCH
from benchmarks.cold.measured_servers import AS_DEPLOYED, AWSLABS, EMBEDDED, FASTMCP, FLOOR, IN_S3
from benchmarks.cold.packages import COMPILED


@dataclass(frozen=True, slots=True)
class Target:
    """One target.

    Attributes:
        title: What is measured.
        limit: The largest value that meets the target.
        measured: The value of the run.
        unit: ``×`` for a ratio to what the title names, or `` ms``.
    """

    title: str
    limit: float
    measured: float
    unit: str

    @property
    def is_met(self) -> bool:
        """Return whether the run meets the target."""
        return self.measured <= self.limit


def targets(results: Mapping[str, Any]) -> list[Target]:
    """Return all targets with the values of the run ``results``."""

    def cold(name: str, until: str) -> float:
        return statistics.median(start[until] for start in results["cold"][COMPILED][name])

    def ratio(title: str, limit: float, ours: float, theirs: float) -> Target:
        return Target(title, limit, ours / theirs, "×")

    def alone(method: str, limit: float) -> Target:
        return Target(f"`{method}`, handler alone", limit, statistics.median(results["handler"][method]), " ms")

    listed, call = "first `tools/list`", "first `TOOL_CALL`"
    in_package, in_s3, deployed = "catalog in the package", "catalog in S3", "as deployed"
    empty, awslabs, fastmcp = "empty handler", "awslabs.mcp-lambda-handler", "FastMCP + Mangum"
    return [
        ratio(f"{listed}, {in_package} / {empty}", 2.5, cold(EMBEDDED, LISTING), cold(FLOOR, LISTING)),
        ratio(f"{listed}, {in_package} / {awslabs}", 0.4, cold(EMBEDDED, LISTING), cold(AWSLABS, LISTING)),
        ratio(f"{listed}, {in_package} / {fastmcp}", 0.1, cold(EMBEDDED, LISTING), cold(FASTMCP, LISTING)),
        ratio(f"{listed}, {in_s3} / {awslabs}", 0.5, cold(IN_S3, LISTING), cold(AWSLABS, LISTING)),
        ratio(f"{call}, {in_package} / {awslabs}", 1.0, cold(EMBEDDED, CACHED), cold(AWSLABS, CACHED)),
        ratio(f"{call}, {deployed} / {awslabs}", 1.4, cold(AS_DEPLOYED, CACHED), cold(AWSLABS, CACHED)),
        alone(LISTING, 0.3),
        alone(SEARCH, 1.0),
        alone(GET, 0.3),
    ]
