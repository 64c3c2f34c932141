"""Make the tables of docs/reference/measurements.md from the figures of a run, and compare the targets.

And those of docs/reference/cost.md, from the measured figures and the published prices of AWS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from benchmarks.cold.events import CACHED, FRESH, GET, LISTING, SEARCH
from benchmarks.cold.measuring import FROM_MEMORY, FROM_TABLE, MISSED, START
from benchmarks.cold.servers import AS_DEPLOYED, AWSLABS, EMBEDDED, FASTMCP, FLOOR, IN_S3
from benchmarks.harness import describe
from benchmarks.timing import middle
from scripts.measured_tables import markdown_table

COLD_NOTE = """\
Medians from the start of the process: until the runtime client requests the first event (init), to the response to
`tools/list`, and to the `TOOL_CALL` after it; `TOOL_LIST(query)` is the first request of another environment. The peers
([scripts/peers](../../scripts/peers)) have the same three tools. S3 and DynamoDB are moto. Memory is the peak
of the process (VmHWM), warm; the package is what a deployment adds to the managed runtime, unzipped.
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
                _median(of_one, SEARCH) if SEARCH in of_one[0] else "–",
                f"{results['warm'][one['name']]['memory']:.0f}",
                f"{results['sizes'][one['package']] / 1e6:.2f}",
            )
        )
    first = [f"first `{name}`" for name in ("tools/list", "TOOL_CALL", "TOOL_LIST(query)")]
    return markdown_table(("", "init, ms", first[0], "ratio", *first[1:], "memory, MB", "package, MB"), rows)


def _median(starts: Sequence[Mapping[str, float]], figure: str) -> str:
    return f"{middle(starts, figure):,.0f}"


MILLION = 1_000_000

_LAMBDA = "https://aws.amazon.com/lambda/pricing/"
_DYNAMODB = "https://aws.amazon.com/dynamodb/pricing/on-demand/"

PRICES: Mapping[str, tuple[float, float, str, str]] = {
    "HTTP API": (1.00, MILLION, "a million requests", "https://aws.amazon.com/api-gateway/pricing/"),
    "Lambda, requests": (0.20, MILLION, "a million requests", _LAMBDA),
    "Lambda, duration": (13.3334, MILLION, "a million GB-seconds, arm64", _LAMBDA),
    "SnapStart, cache": (1.5046, MILLION, "a million GB-seconds of a version", _LAMBDA),
    "SnapStart, restore": (139.7998, MILLION, "a million GB restored", _LAMBDA),
    "S3, GET": (0.40, MILLION, "a million requests", "https://aws.amazon.com/s3/pricing/"),
    "DynamoDB, read": (0.125, MILLION, "a million units of 4 KB; half a unit each", _DYNAMODB),
    "DynamoDB, write": (0.625, MILLION, "a million units of 1 KB", _DYNAMODB),
    "Logs": (0.50, 1e9, "a GB taken in", "https://aws.amazon.com/cloudwatch/pricing/"),
    "Data out": (0.09, 1e9, "a GB to the internet", "https://aws.amazon.com/ec2/pricing/on-demand/#Data_Transfer"),
}
"""Dollars in us-east-1, without free quotas: price, for how many, in words, where it is published."""

CORE_MB = 1769
"""Memory that comes with a whole vCPU: https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html. Below it
CPU is in proportion: a millisecond of a core takes as many times longer as there is less memory, and costs the same."""

UPSTREAM_S, TABLE_S = 0.2, 0.005
"""Assumed response times of the upstream and of DynamoDB; the function is billed while it waits."""

OTHER_LOG = 200
"""Bytes of log per request that toolfold does not write: the access log of the API. Its line, of the format in the
template, has 143 bytes with an IPv4 address and 167 with the longest IPv6 address; CloudWatch adds 26. Lambda's own
lines are left out by ``SystemLogLevel: WARN``."""


def costs(results: Mapping[str, Any], memory_mb: int) -> str:
    """Return the tables of the costs."""
    rows = [(f"[{name}]({where})", f"{each:,.4g}", unit) for name, (each, _, unit, where) in PRICES.items()]
    prices = "### Prices\n\n" + markdown_table(("", "$", "for"), rows)
    return f"{prices}\n{_of_requests(results, memory_mb)}"


def dollars(price: str, amount: float) -> float:
    """Return what ``amount`` of something in :data:`PRICES` costs."""
    each, of, *_ = PRICES[price]
    return each / of * amount


def of_duration(cpu_ms: float, waiting_s: float, memory_mb: int) -> float:
    """Return the dollars for an invocation that uses a whole core for ``cpu_ms`` and waits for ``waiting_s``."""
    gigabyte_seconds = cpu_ms / 1000 * CORE_MB / 1024 + waiting_s * memory_mb / 1024
    return dollars("Lambda, duration", gigabyte_seconds)


def _of_requests(results: Mapping[str, Any], memory_mb: int) -> str:
    times, traffic = results["warm"][IN_S3]["times"], results["traffic"]
    start = middle(results["cold"][AS_DEPLOYED], LISTING)
    kinds = {
        "`tools/list`": (LISTING, median(times[LISTING]), 0.0),
        "`TOOL_LIST(query)`": (SEARCH, median(times[SEARCH]), 0.0),
        "`TOOL_GET`": (GET, median(times[GET]), 0.0),
        "`TOOL_CALL`, fetched": (MISSED, median(times[FRESH]), UPSTREAM_S),
        "`TOOL_CALL`, cached in the table": (FROM_TABLE, median(times[CACHED]), 0.0),
        "`TOOL_CALL`, cached in memory": (FROM_MEMORY, median(times[CACHED]), 0.0),
        "a cold start with `tools/list`": (START, start, 0.0),
    }
    rows = []
    for title, (name, cpu_ms, waiting_s) in kinds.items():
        sent = traffic[name]
        parts = (
            dollars("HTTP API", 1) + dollars("Lambda, requests", 1),
            of_duration(cpu_ms, waiting_s + TABLE_S * (sent["reads"] + sent["writes"]), memory_mb),
            dollars("S3, GET", sent["s3"]),
            dollars("DynamoDB, read", sent["reads"] / 2) + dollars("DynamoDB, write", sent["writes"]),
            dollars("Logs", sent["log"] + OTHER_LOG),
            dollars("Data out", sent["answer"]),
        )
        rows.append((title, *(f"{part * MILLION:,.2f}" for part in (*parts, sum(parts)))))
    head = ("", "requests", "Lambda", "S3", "DynamoDB", "logs", "data out", "**in all**")
    return f"### A million requests to toolfold, as deployed with {memory_mb} MB, in $\n\n" + markdown_table(head, rows)
