"""What was wanted of toolfold, as ratios of the run, and whether it was reached."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.cold.contenders import AWSLABS, EMBEDDED, FASTMCP, FLOOR, IN_S3
from tests.benchmarks.cold.events import GET, HELD, LISTING, SEARCH
from tests.benchmarks.cold.packages import COMPILED


@dataclass(frozen=True, slots=True)
class Target:
    """``measured`` may be ``most``, in ``unit`` (``×`` of what the title names, or ms)."""

    title: str
    most: float
    measured: float
    unit: str

    @property
    def is_met(self) -> bool:
        return self.measured <= self.most


def targets(results: Mapping[str, Any]) -> list[Target]:
    """Every target with what this run says about it."""

    def cold(name: str, until: str) -> float:
        return statistics.median(start[until] for start in results["cold"][COMPILED][name])

    def warm(name: str, method: str) -> float:
        return statistics.median(results["warm"][name]["times"][method])

    def ratio(title: str, most: float, ours: float, theirs: float) -> Target:
        return Target(title, most, ours / theirs, "×")

    ours, in_s3, peer = cold(EMBEDDED, LISTING), cold(IN_S3, LISTING), cold(AWSLABS, LISTING)
    alone = {method: statistics.median(times) for method, times in results["handler"].items()}
    first = "first `tools/list`, catalog in the package"
    return [
        ratio(f"{first}: of the empty handler's", 2.5, ours, cold(FLOOR, LISTING)),
        ratio(f"{first}: of awslabs.mcp-lambda-handler's", 1 / 3, ours, peer),
        ratio(f"{first}: of FastMCP's", 1 / 10, ours, cold(FASTMCP, LISTING)),
        ratio("first `tools/list`, catalog in S3: of awslabs.mcp-lambda-handler's", 1 / 2, in_s3, peer),
        ratio(
            "first `TOOL_CALL`, catalog in the package: of awslabs.mcp-lambda-handler's",
            1 / 2, cold(EMBEDDED, HELD), cold(AWSLABS, HELD),
        ),
        ratio(
            "first `TOOL_CALL`, catalog in S3: of awslabs.mcp-lambda-handler's",
            1 / 2, cold(IN_S3, HELD), cold(AWSLABS, HELD),
        ),
        ratio("warm `TOOL_GET`: of FastMCP's", 1 / 5, warm(EMBEDDED, GET), warm(FASTMCP, GET)),
        Target("`tools/list`, the handler alone", 0.3, alone[LISTING], " ms"),
        Target("`TOOL_LIST(query)`, the handler alone", 1.0, alone[SEARCH], " ms"),
    ]  # fmt: skip
