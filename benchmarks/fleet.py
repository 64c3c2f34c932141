"""Measure several environments of the built function under 200 requests a second: ``make load-lambda``.

python -m benchmarks.fleet            print the table; two minutes
python -m benchmarks.fleet --write    put it into docs/reference/measurements.md
python -m benchmarks.fleet --quick    a few seconds; not to be written

Processes of clients send requests at a fixed rate, whether or not earlier ones were answered. A latency counts from the
moment at which the request was due, so that waiting for a busy server is part of it. What the environments logged is in
build/fleet/log.jsonl afterwards.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import queue
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from benchmarks import harness
from benchmarks.harness import ROOT
from benchmarks.load import TIMEOUT_S, Outcome, read_answer
from benchmarks.timing import elapsed_ms, percentile
from scripts.measured_tables import markdown_table
from tests.support import http_api
from tests.support.catalogs import publish
from tests.support.deployment import Deployment, event
from tests.support.lambda_runtime import FunctionError, LambdaRuntime
from tests.support.mcp_requests import message
from tests.support.raw_http import post
from toolfold.catalog.store import bundled_path

LOG = ROOT / "build/fleet/log.jsonl"
ENVIRONMENTS = 4
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


def planned_requests(seed: int) -> Iterator[tuple[str, bytes]]:
    """Return requests without end, as a name that equal ones share and a body.

    Of ten, seven call a tool, two search, and one describes a tool.
    """
    draw = random.Random(seed)
    while True:
        kind = draw.randrange(10)
        tool, arguments = draw.choice(CALLS)
        if kind < 7:
            asked = _asked("TOOL_CALL", tool_name=tool, arguments=arguments, max_tokens=2000)
        elif kind < 9:
            asked = _asked("TOOL_LIST", query=draw.choice(SEARCHES))
        else:
            asked = _asked("TOOL_GET", tool_name=tool)
        yield json.dumps(asked), json.dumps(message("tools/call", asked)).encode()


def _asked(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def digest(content: Mapping[str, Any]) -> str:
    """Return a hash of what equal requests have in common in their answers: not the age of a cached answer."""
    preview = {name: value for name, value in content.get("preview", {}).items() if name != "full"}
    common = content.get("result", preview or content)
    return hashlib.sha256(json.dumps(common, sort_keys=True).encode()).hexdigest()[:16]


CONNECTIONS = 16
"""Connections of one process. Requests wait for one only while the server is slower than the rate."""


@dataclass
class Seen(Outcome):
    """What the clients saw, and the upstream beside them.

    Attributes:
        answers: Name that equal requests share → the digests of different answers.
        upstream: Requests that the upstream received.
        most_equal: How many of those were equal, at most.
    """

    answers: dict[str, list[str]] = field(default_factory=dict)
    upstream: int = 0
    most_equal: int = 0

    @property
    def different(self) -> list[str]:
        """The requests to which not all answers were equal."""
        return sorted(name for name, digests in self.answers.items() if len(digests) > 1)

    def note_answer(self, name: str, digest: str) -> None:
        """Note the digest of an answer."""
        known = self.answers.setdefault(name, [])
        known += [] if digest in known else [digest]


def send_requests(url: str, rate: float, seconds: float, seed: int) -> dict[str, Any]:
    """Send ``rate`` requests a second for ``seconds``; return a :class:`Seen` as a dictionary."""
    return asdict(asyncio.run(_send_requests(url, rate, seconds, seed)))


async def _send_requests(url: str, rate: float, seconds: float, seed: int) -> Seen:
    seen, started = Seen(), time.perf_counter()
    planned = enumerate(islice(planned_requests(seed), int(rate * seconds)))
    due = ((started + number / rate, *request) for number, request in planned)
    await asyncio.gather(*(_send(url, due, seen) for _ in range(CONNECTIONS)))
    seen.elapsed_s = time.perf_counter() - started
    return seen


async def _send(url: str, due: Iterator[tuple[float, str, bytes]], seen: Seen) -> None:
    """Send the requests that no other connection has taken, each when it is due."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    for at, name, body in due:
        await asyncio.sleep(at - time.perf_counter())
        try:
            writer.write(post(url, body, f"X-API-Key: {KEY}"))
            found = await asyncio.wait_for(read_answer(reader), TIMEOUT_S)
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            seen.failures.append(type(error).__name__)
            writer.close()
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
            continue
        seen.latencies_ms.append(elapsed_ms(at))
        if isinstance(found, str):
            seen.failures.append(found)
        else:
            seen.note_answer(name, digest(found))
    writer.close()


class Fleet:
    """``size`` environments that share the table, the buckets and the upstream of ``deployment``.

    An environment answers one request at a time; a request waits until one is free. Lambda would start another.
    """

    def __init__(self, deployment: Deployment, size: int) -> None:
        self.deployment, self.size = deployment, size
        self.environments: list[LambdaRuntime] = []
        self._idle: queue.LifoQueue[LambdaRuntime] = queue.LifoQueue()

    def add(self, environment: LambdaRuntime) -> None:
        """Start an environment and let it answer requests."""
        environment.invoke(event("TOOL_LIST"))
        self.environments.append(environment)
        self._idle.put(environment)

    def answer(self, asked: Mapping[str, Any]) -> Any:
        """Return the result of an idle environment for an event."""
        environment = self._idle.get()
        try:
            return environment.invoke(asked)
        except FunctionError:
            return http_api.INTERNAL_ERROR
        finally:
            self._idle.put(environment)

    def crashes(self) -> int:
        """Return how many environments had to be started again."""
        return sum(len(environment.init_times_s) - 1 for environment in self.environments)


@contextmanager
def running_fleet(size: int) -> Iterator[tuple[Fleet, str]]:
    """Start a deployment with ``size`` environments; yield it and the URL of its endpoint."""
    with ExitStack() as running:
        deployment = running.enter_context(Deployment())
        publish(bundled_path().read_bytes(), deployment.catalog_location, deployment.s3)
        fleet = Fleet(deployment, size)
        for _ in range(size):
            fleet.add(running.enter_context(new_environment(deployment)))
        yield fleet, running.enter_context(http_api.serve(fleet.answer))


def new_environment(deployment: Deployment) -> LambdaRuntime:
    """Return an environment that reaches AWS directly: the proxy would record thousands of requests.

    It checks no caller: the clients sign nothing.
    """
    return deployment.runtime(AWS_ENDPOINT_URL=deployment.endpoint, TOOLFOLD_ACCESS="")


@dataclass(frozen=True, slots=True)
class Load:
    """How much is sent: requests a second in all, for how many seconds, from how many processes."""

    rate: float
    seconds: float
    processes: int


def measure(fleet: Fleet, url: str, load: Load, seed: int) -> Seen:
    """Send the load to ``url`` and return what happened."""
    fleet.deployment.mock_api.clear_requests()
    clients = [
        harness.start("benchmarks.fleet:send_requests", url, load.rate / load.processes, load.seconds, seed + number)
        for number in range(load.processes)
    ]
    all_ = Seen()
    for client in clients:
        one = Seen(**harness.result(client))
        all_.latencies_ms += one.latencies_ms
        all_.failures += one.failures
        all_.elapsed_s = max(all_.elapsed_s, one.elapsed_s)
        for name, digests in one.answers.items():
            for each in digests:
                all_.note_answer(name, each)
    upstream = Counter(tuple(sorted(query)) for query in fleet.deployment.mock_api.requests)
    all_.upstream, all_.most_equal = upstream.total(), max(upstream.values(), default=0)
    return all_


FULL, QUICK = Load(200, 30, 4), Load(200, 4, 2)


def run(options: argparse.Namespace) -> harness.Measured:
    """Return the table, and what must not happen."""
    load = QUICK if options.quick else FULL
    with running_fleet(ENVIRONMENTS) as (fleet, url):
        parts = [
            (f"{ENVIRONMENTS} environments, empty cache, no call made before", measure(fleet, url, load, seed=1)),
            ("the same environments afterwards", measure(fleet, url, load, seed=11)),
        ]
        with new_environment(fleet.deployment) as started:
            fleet.add(started)
            parts.append(("another environment started", measure(fleet, url, load, seed=21)))
            LOG.parent.mkdir(parents=True, exist_ok=True)
            LOG.write_text("".join(f"{line}\n" for one in fleet.environments for line in one.log), encoding="utf-8")
    return table(load, parts), [problem for _, one in parts for problem in (*one.failures, *one.different)]


def table(load: Load, parts: list[tuple[str, Seen]]) -> str:
    """Return the table of the page."""
    rows = [
        [
            name,
            f"{len(measured.latencies_ms) + len(measured.failures):,}",
            f"{len(measured.latencies_ms) / measured.elapsed_s:,.0f}",
            *(f"{percentile(measured.latencies_ms, percent):,.0f} ms" for percent in (50, 99)),
            f"{measured.upstream}",
            f"{measured.most_equal}",
        ]
        for name, measured in parts
    ]
    columns = ("part", "requests", "per second", "p50", "p99")
    columns += ("upstream requests", "of which equal, at most")
    return (
        f"{markdown_table(columns, rows)}\n"
        f"{load.rate:.0f} requests a second from {load.processes} processes of clients, {load.seconds:.0f} s for "
        f"each part, with {len(CALLS)} different calls.\n{harness.measured_on()}"
    )


if __name__ == "__main__":
    sys.exit(harness.run(__doc__, "make load-lambda", run, "docs/reference/measurements.md", "--quick"))
