"""Make the tables of docs/reference/cost.md from the measured figures and the published prices of AWS."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from benchmarks.cold.events import CACHED, FRESH, GET, LISTING, SEARCH
from benchmarks.cold.measuring import FROM_MEMORY, FROM_TABLE, MISSED, START
from benchmarks.cold.servers import AS_DEPLOYED, IN_S3
from benchmarks.timing import middle
from scripts.measured_tables import markdown_table

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


def page(results: Mapping[str, Any], memory_mb: int) -> str:
    """Return the tables."""
    return f"{_prices()}\n{_of_requests(results, memory_mb)}"


def dollars(price: str, amount: float) -> float:
    """Return what ``amount`` of something in :data:`PRICES` costs."""
    each, of, *_ = PRICES[price]
    return each / of * amount


def of_duration(cpu_ms: float, waiting_s: float, memory_mb: int) -> float:
    """Return the dollars for an invocation that uses a whole core for ``cpu_ms`` and waits for ``waiting_s``."""
    gigabyte_seconds = cpu_ms / 1000 * CORE_MB / 1024 + waiting_s * memory_mb / 1024
    return dollars("Lambda, duration", gigabyte_seconds)


def _prices() -> str:
    rows = [(name, f"{each:,.4g}", unit, where) for name, (each, _, unit, where) in PRICES.items()]
    return "### Prices\n\n" + markdown_table(("", "$", "for", "published at"), rows)


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
        counts = f"{sent['s3']} / {sent['reads']} / {sent['writes']}"
        rows.append((title, *(f"{part * MILLION:,.2f}" for part in (*parts, sum(parts))), counts))
    head = ("", "requests", "Lambda", "S3", "DynamoDB", "logs", "data out", "**in all**", "S3 / reads / writes")
    return f"### A million requests to toolfold, as deployed with {memory_mb} MB, in $\n\n" + markdown_table(head, rows)
