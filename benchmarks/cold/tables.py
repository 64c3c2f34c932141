"""Make the Markdown tables of docs/reference/measurements.md from the figures of a run, and compare the targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.cold.events import CACHED, LISTING, SEARCH
from benchmarks.cold.servers import AS_DEPLOYED, AWSLABS, COMPILED, EMBEDDED, FASTMCP, FLOOR, IN_S3
from benchmarks.harness import describe
from benchmarks.timing import middle
from scripts.measured_tables import markdown_table

COLD_NOTE = """\
Medians from the start of the process: until the runtime client requests the first event (init), to the response to
`tools/list`, and to the `TOOL_CALL` after it; `TOOL_LIST(query)` is the first request of another environment. The peers
([scripts/peers](../../scripts/peers)) have the same three tools. S3 and DynamoDB are moto.
"""

SIZE_NOTE = """\
Memory is the peak of the process (VmHWM). The package is what a deployment adds to the managed runtime.
"""


@dataclass(frozen=True, slots=True)
class Target:
    """One target.

    Attributes:
        title: What is measured.
        limit: The largest value that meets the target.
        measured: The value of the run.
    """

    title: str
    limit: float
    measured: float

    @property
    def is_met(self) -> bool:
        """Return whether the run meets the target."""
        return self.measured <= self.limit


def targets(results: Mapping[str, Any]) -> list[Target]:
    """Return all targets with the values of the run ``results``."""

    def cold(name: str, until: str) -> float:
        return middle(results["cold"][COMPILED][name], until)

    def ratio(title: str, limit: float, ours: float, theirs: float) -> Target:
        return Target(title, limit, ours / theirs)

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
    ]


def page(results: Mapping[str, Any]) -> str:
    """Return the tables and their notes."""
    parts = [
        "### Cold starts on Lambda, beside the peers\n",
        about(results),
        cold(results),
        COLD_NOTE,
        sizes(results),
        SIZE_NOTE,
    ]
    return "\n".join(parts)


def about(results: Mapping[str, Any]) -> str:
    """Return a sentence about the versions, the size of the run and the machine."""
    titles = [one["title"] for one in results["servers"] if one["kind"] == "peer"]
    starts = results["cold"][COMPILED][FLOOR]
    invocations = results["warm"][FLOOR]["times"][LISTING]
    return (
        f"awslambdaric {results['awslambdaric']} on Python {results['python']}; toolfold {results['toolfold']}, "
        f"{', '.join(titles)}. {len(starts)} cold starts of each, "
        f"{len(invocations):,} invocations of each method, about {results['tools']} tools in turn. "
        f"{describe(results['machine'])}\n"
    )


def cold(results: Mapping[str, Any]) -> str:
    starts = results["cold"][COMPILED]
    floor = middle(starts[FLOOR], LISTING)
    rows = []
    for one in results["servers"]:
        of_one = starts[one["name"]]
        rows.append(
            (
                one["title"],
                _median(of_one, "init"),
                _median(of_one, LISTING),
                f"{middle(of_one, LISTING) / floor:.1f}",
                "–" if one["kind"] == "floor" else _median(of_one, CACHED),
                "–" if one["kind"] == "floor" else f"{middle(of_one, CACHED) / floor:.1f}",
                _median(of_one, SEARCH) if SEARCH in of_one[0] else "–",
            )
        )
    head = ("", "init", "first `tools/list`", "ratio", "first `TOOL_CALL`", "ratio", "first `TOOL_LIST(query)`")
    return "#### Cold start, in ms\n\n" + markdown_table(head, rows)


def sizes(results: Mapping[str, Any]) -> str:
    rows = []
    for one in results["servers"]:
        size = results["sizes"][one["package"]]
        after = middle(results["cold"][COMPILED][one["name"]], "memory")
        rows.append(
            (
                one["title"],
                f"{after:.0f}",
                f"{results['warm'][one['name']]['memory']:.0f}",
                f"{size['unzipped'] / 1e6:.2f}",
                f"{size['zipped'] / 1e6:.2f}",
            )
        )
    head = ("", "after the first `TOOL_CALL`", "after the warm rounds", "unzipped", "zipped")
    return "#### Peak memory and size of the package, in MB\n\n" + markdown_table(head, rows)


def _median(starts: Sequence[Mapping[str, float]], figure: str) -> str:
    return f"{middle(starts, figure):,.0f}"
