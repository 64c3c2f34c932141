"""Make the Markdown tables of docs/reference/measurements.md from the figures of a run, and compare the targets."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.cold.events import CACHED, GET, LISTING, METHODS, SEARCH
from benchmarks.cold.measuring import FILE, S3
from benchmarks.cold.servers import AS_DEPLOYED, AWSLABS, COMPILED, EMBEDDED, FASTMCP, FLOOR, IN_S3, PLAIN
from benchmarks.harness import describe
from benchmarks.timing import middle, percentile, short, spread
from scripts.measured_tables import markdown_table

COLD_NOTE = """\
The times begin with the process and end when the runtime client requests the first event (init), at the response to
`tools/list`, and at the response to the `TOOL_CALL` after it. `TOOL_LIST(query)` is the first request of another
environment. Median, with the quartiles in brackets; the servers start in turn, one at a time. The ratios compare with
the first response of the empty handler.

The peers ([scripts/peers](../../scripts/peers)) have the same three tools with the same definitions. They start without
the core of toolfold and import it at the first call. Each is stateless and returns JSON, set up as its documentation
says. The session manager of the SDK runs only once, and Mangum starts it at each invocation; its users make a new app
for each invocation ([python-sdk 3121]), as this peer does, with a server that is made once. S3 and DynamoDB are moto,
the upstream is the mock API without latency, each in a process of its own; a response of moto takes some milliseconds.

[python-sdk 3121]: https://github.com/modelcontextprotocol/python-sdk/issues/3121
"""

PLAIN_NOTE = """\
The same packages without compiled files. The packages of the managed runtime are compiled, as they are on Lambda;
awslabs.mcp-lambda-handler spends most of its start with the import of boto3, which is one of them.
"""

WARM_NOTE = """\
From passing the event to receiving the response, as the Runtime API sees it: median / 99th percentile. The servers run
in turn, fifty invocations at a time. The empty handler returns the same few bytes for every request: its time is that
of the transport. “Handler alone” calls the handler without the runtime client. A fresh call sends a request to the mock
API, a cached one does not. The queries are titles of tools.
"""

SIZE_NOTE = """\
Memory is the peak of the process (VmHWM). The package is what a deployment adds to the managed runtime, with compiled
files, for the processor of this machine; for a peer these are its libraries, its handler and the definitions, without
the core of toolfold. awslabs.mcp-lambda-handler depends only on boto3, which the managed runtime has.
"""

GROWTH_NOTE = """\
The package of toolfold in the runtime client. S3 is a server that delays each response by 20 ms. Search and get are
`TOOL_LIST(query)` and `TOOL_GET`, whole invocations, each kind in an environment of its own: the first one, and the
median of a hundred different others, many of which first read another part of a large catalog. Medians of all starts,
in ms; memory in MB, the larger peak of the two environments.
"""


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
        return middle(results["cold"][COMPILED][name], until)

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


def page(results: Mapping[str, Any]) -> str:
    """Return the tables and their notes."""
    parts = [
        "### Cold starts on Lambda, beside the peers\n",
        about(results),
        "![Cold start by server](../images/cold-start.png)\n",
        cold(results, COMPILED, "Cold start, in ms"),
        COLD_NOTE,
        cold(results, PLAIN, "Cold start without `.pyc`, in ms"),
        PLAIN_NOTE,
        warm(results),
        WARM_NOTE,
        sizes(results),
        SIZE_NOTE,
        "![As the catalog grows](../images/growth.png)\n",
        growth(results),
        GROWTH_NOTE,
        wanted(targets(results)),
    ]
    return "\n".join(parts)


def about(results: Mapping[str, Any]) -> str:
    """Return a sentence about the versions, the size of the run and the machine."""
    titles = [one["title"] for one in results["servers"] if one["kind"] == "peer"]
    starts = results["cold"][COMPILED][FLOOR]
    plain = results["cold"][PLAIN][FLOOR]
    invocations = results["warm"][FLOOR]["times"][LISTING]
    return (
        f"awslambdaric {results['awslambdaric']} on Python {results['python']}; toolfold {results['toolfold']}, "
        f"{', '.join(titles)}. {len(starts)} cold starts of each ({len(plain)} without `.pyc`), "
        f"{len(invocations):,} invocations of each method, about {results['tools']} tools in turn. "
        f"{describe(results['machine'])}\n"
    )


def cold(results: Mapping[str, Any], variant: str, title: str) -> str:
    starts = results["cold"][variant]
    floor = middle(starts[FLOOR], LISTING)
    rows = []
    for one in results["servers"]:
        of_one = starts[one["name"]]
        rows.append(
            (
                one["title"],
                _spread(of_one, "init"),
                _spread(of_one, LISTING),
                f"{middle(of_one, LISTING) / floor:.1f}",
                "–" if one["kind"] == "floor" else _spread(of_one, CACHED),
                "–" if one["kind"] == "floor" else f"{middle(of_one, CACHED) / floor:.1f}",
                _spread(of_one, SEARCH) if SEARCH in of_one[0] else "–",
            )
        )
    head = ("", "init", "first `tools/list`", "ratio", "first `TOOL_CALL`", "ratio", "first `TOOL_LIST(query)`")
    return f"#### {title}\n\n" + markdown_table(head, rows)


def warm(results: Mapping[str, Any]) -> str:
    rows = [
        (one["title"], *(_percentiles(results["warm"][one["name"]]["times"][method]) for method in METHODS))
        for one in results["servers"]
    ]
    alone = ("toolfold, catalog in the package: handler alone", *(_percentiles(results["handler"][m]) for m in METHODS))
    rows.insert(2, alone)
    head = ("", *(f"`{method}`" if "," not in method else f"`{method.replace(', ', '`, ')}" for method in METHODS))
    return "#### Warm, in ms\n\n" + markdown_table(head, rows)


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
                f"{size['files']:,}",
                f"{size['unzipped'] / 1e6:.2f}",
                f"{size['zipped'] / 1e6:.2f}",
            )
        )
    head = ("", "after the first `TOOL_CALL`", "after the warm rounds", "files", "unzipped", "zipped")
    return "#### Peak memory and size of the package, in MB\n\n" + markdown_table(head, rows)


def growth(results: Mapping[str, Any]) -> str:
    figures = ("listed", "first search", "search", "first get", "get", "memory")
    found = {(one["tools"], one["place"]): one["starts"] for one in results["growth"]}
    rows = [
        (f"{size:,}", place, *(short(middle(found[size, place], figure)) for figure in figures))
        for size in sorted({size for size, _ in found})
        for place in (FILE, S3)
    ]
    head = ("tools", "catalog in", "first `tools/list`", "first search", "search", "first get", "get", "peak memory")
    count = len(results["growth"][0]["starts"])
    return f"#### As the catalog grows, {count} starts of each\n\n" + markdown_table(head, rows)


def wanted(found: Sequence[Target]) -> str:
    rows = [
        (
            target.title,
            f"≤ {short(target.limit)}{target.unit}",
            f"{short(target.measured)}{target.unit}",
            "met" if target.is_met else "**missed**",
        )
        for target in found
    ]
    return "#### Targets\n\n" + markdown_table(("", "target", "measured", ""), rows)


def _spread(starts: Sequence[Mapping[str, float]], figure: str) -> str:
    return spread([start[figure] for start in starts])


def _percentiles(times: Sequence[float]) -> str:
    return f"{short(statistics.median(times))} / {short(percentile(times, 99))}"
