"""Make the Markdown tables of docs/reference/measurements.md from the figures of a run, and compare the targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.cold.events import CACHED, LISTING, SEARCH
from benchmarks.cold.servers import AS_DEPLOYED, AWSLABS, EMBEDDED, FASTMCP, FLOOR, IN_S3
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


class Target(NamedTuple):
    """A ratio of two first responses, and the largest one that is good enough."""

    title: str
    limit: float
    ratio: float


def targets(results: Mapping[str, Any]) -> list[Target]:
    """Return all targets with the ratios of the run ``results``."""

    def target(until: str, ours: str, theirs: str, limit: float) -> Target:
        titles = {one["name"]: one["title"] for one in results["servers"]}
        measured, other = (middle(results["cold"][name], until) for name in (ours, theirs))
        return Target(f"first {until}, {titles[ours]} / {titles[theirs]}", limit, measured / other)

    return [
        target(LISTING, EMBEDDED, FLOOR, 2.5),
        target(LISTING, EMBEDDED, AWSLABS, 0.4),
        target(LISTING, EMBEDDED, FASTMCP, 0.1),
        target(LISTING, IN_S3, AWSLABS, 0.5),
        target(CACHED, EMBEDDED, AWSLABS, 1.0),
        target(CACHED, AS_DEPLOYED, AWSLABS, 1.4),
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
    starts = results["cold"][FLOOR]
    invocations = results["warm"][FLOOR]["times"][LISTING]
    return (
        f"awslambdaric {results['awslambdaric']} on Python {results['python']}; toolfold {results['toolfold']}, "
        f"{', '.join(titles)}. {len(starts)} cold starts of each, "
        f"{len(invocations):,} invocations of each method, about {results['tools']} tools in turn. "
        f"{describe(results['machine'])}\n"
    )


def cold(results: Mapping[str, Any]) -> str:
    starts = results["cold"]
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
        after = middle(results["cold"][one["name"]], "memory")
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
