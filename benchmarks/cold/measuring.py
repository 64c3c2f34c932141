"""Measure cold starts, warm invocations, memory and the handler alone, and what is sent.

Times in milliseconds, memory in MB. What is sent are the requests of a deployment to S3 and DynamoDB, and the bytes of
its responses and log. The upstream and AWS run in processes of their own, so that they take no time from the measured.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import harness, servers
from benchmarks.cold.events import CACHED, GET, LISTING, METHODS, SEARCH, SYMBOL, Event, RequestSet
from benchmarks.cold.servers import BUCKET, TABLE, MeasuredServer, Package
from benchmarks.timing import elapsed_ms, memory_mb
from tests.conformance.helpers import start_server
from tests.support import aws_services
from tests.support.catalogs import publish
from tests.support.lambda_runtime import LambdaRuntime
from tests.support.proxies import FaultyProxy
from toolfold.catalog.store import bundled_path

CATALOG, REGION = f"s3://{BUCKET}/catalog", "eu-central-1"


@dataclass(frozen=True, slots=True)
class Services:
    """The environment ``variables`` of the servers; ``clear_table`` deletes all cached responses."""

    variables: Mapping[str, str]
    clear_table: Callable[[], None]


@contextmanager
def services() -> Iterator[Services]:
    """Run the mock API without latency, and moto with the catalog, the bucket and the table."""
    with tempfile.TemporaryDirectory() as folder, servers.mock_api() as upstream:
        moto = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
        home = {"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1", "HOME": folder}
        with start_server(moto, env=home, log=Path(folder) / "moto.log") as aws:
            with urllib.request.urlopen(f"{upstream}?function=GLOBAL_QUOTE&symbol={SYMBOL}&apikey=any") as answer:
                json.load(answer)  # the first response of the mock API takes longer
            variables = {
                "AWS_ENDPOINT_URL": aws,
                "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": upstream,
                "ALPHA_VANTAGE_API_KEY": "mock-key",
                "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true",
            }
            yield Services(variables, _filled(aws))


def _filled(endpoint: str) -> Callable[[], None]:
    """Create the resources of a deployment; return the function that clears the table."""
    s3, dynamodb = (aws_services.client(service, endpoint, REGION) for service in ("s3", "dynamodb"))
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    publish(bundled_path().read_bytes(), CATALOG, s3)

    def clear_table() -> None:
        dynamodb.delete_table(TableName=TABLE)
        aws_services.create_table(dynamodb, TABLE)

    aws_services.create_table(dynamodb, TABLE)
    return clear_table


BLOCK = 50
"""Invocations of one server before those of the next one, so that other load of the machine affects all servers."""


class Bench:
    """The measured servers, their packages and the requests to send."""

    def __init__(
        self,
        servers: Sequence[MeasuredServer],
        packages: Mapping[str, Package],
        services: Services,
        request_sets: Mapping[str, RequestSet],
    ) -> None:
        self.servers, self._packages, self._services, self._request_sets = servers, packages, services, request_sets

    def runtime(self, server: MeasuredServer) -> LambdaRuntime:
        return self._packages[server.package].runtime({**self._services.variables, **server.environment})

    def cold(self, starts: int) -> dict[str, list[dict[str, float]]]:
        """Return the figures of so many cold starts of each server.

        Each start is :meth:`_start` for ``tools/list`` and a first call. A second start of toolfold measures a search.
        """
        found: dict[str, list[dict[str, float]]] = {server.name: [] for server in self.servers}
        for number in harness.track(range(starts), lambda number: f"Cold starts, round {number + 1}"):
            first = number % len(self.servers)
            for server in (*self.servers[first:], *self.servers[:first]):
                figures = self._start(server, (LISTING, CACHED))
                if server.kind == "toolfold":
                    figures[SEARCH] = self._start(server, (SEARCH,))[SEARCH]
                found[server.name].append(figures)
        return found

    def _start(self, server: MeasuredServer, methods: Sequence[str]) -> dict[str, float]:
        """Return the times from the start of the process to its first request for an event (``init``) and to the
        responses to ``methods``, one after the other; and its peak memory."""
        self._services.clear_table()
        with self.runtime(server) as runtime:
            answers = []
            started = time.perf_counter()
            runtime.start()
            figures = {"init": elapsed_ms(started)}
            for method in methods:
                answers.append(runtime.invoke(self._request_sets[method].at(0)))
                figures[method] = elapsed_ms(started)
            figures["memory"] = memory_mb(runtime.pid)
        if server.kind != "floor":
            for method, answer in zip(methods, answers, strict=True):
                self._request_sets[method].check(0, answer)
        return figures

    def warm(self, invocations: int) -> dict[str, dict[str, Any]]:
        """Return, for each server, ``times`` (milliseconds of each invocation by method) and ``memory`` at the end."""
        times: dict[str, dict[str, list[float]]] = {
            one.name: {method: [] for method in METHODS} for one in self.servers
        }
        with ExitStack() as stack:
            runtimes = {one.name: stack.enter_context(self.runtime(one)) for one in self.servers}
            for method in harness.track(METHODS, lambda method: f"Warm invocations: {method}"):
                for server in self.servers:  # without the imports of first invocations
                    self._round(server, runtimes[server.name], method, range(3))
                for first in range(0, invocations, BLOCK):
                    for server in self.servers:
                        block = range(first, min(first + BLOCK, invocations))
                        times[server.name][method] += self._round(server, runtimes[server.name], method, block)
            memory = {name: memory_mb(runtime.pid) for name, runtime in runtimes.items()}
        return {name: {"times": times[name], "memory": memory[name]} for name in times}

    def _round(self, server: MeasuredServer, runtime: LambdaRuntime, method: str, block: range) -> list[float]:
        taken = []
        for number in block:
            answer = runtime.invoke(self._request_sets[method].at(number))
            taken.append(runtime.duration_s * 1000)
            if server.kind != "floor":
                self._request_sets[method].check(number, answer)
        return taken


START, MISSED, FROM_TABLE, FROM_MEMORY = "the first request", "fetched", "cached in the table", "cached in memory"


@dataclass
class Traffic:
    """The traffic of one invocation.

    ``s3`` counts GET requests, ``reads`` and ``writes`` DynamoDB items; ``answer`` and ``log`` are bytes.
    """

    s3: int = 0
    reads: int = 0
    writes: int = 0
    answer: int = 0
    log: int = 0


def count(
    package: Package, ours: MeasuredServer, services: Services, request_sets: Mapping[str, RequestSet]
) -> dict[str, dict[str, int]]:
    """Return the :class:`Traffic` of each kind of invocation, as a dictionary."""
    services.clear_table()
    with FaultyProxy(services.variables["AWS_ENDPOINT_URL"]) as proxy:
        variables = {**services.variables, **ours.environment, "AWS_ENDPOINT_URL": proxy.url}

        def invoke(runtime: LambdaRuntime, sent: Event) -> Traffic:
            before, lines = len(proxy.requests), len(runtime.log)
            answer = runtime.invoke(sent)
            return _of(proxy.requests[before:], answer["body"], runtime.log[lines:])

        found: dict[str, Traffic] = {}
        with package.runtime(variables) as runtime:
            found[START] = invoke(runtime, request_sets[LISTING].at(0))
            for method in (LISTING, SEARCH, GET):
                found[method] = invoke(runtime, request_sets[method].at(0))
            found[MISSED] = invoke(runtime, request_sets[CACHED].at(0))
            found[FROM_MEMORY] = invoke(runtime, request_sets[CACHED].at(0))
        with package.runtime(variables) as runtime:
            runtime.invoke(request_sets[LISTING].at(0))
            found[FROM_TABLE] = invoke(runtime, request_sets[CACHED].at(0))
    return {name: asdict(traffic) for name, traffic in found.items()}


def _of(requests: Sequence[str], body: str, log: Sequence[str]) -> Traffic:
    operations = Counter(line.rpartition(".")[2] for line in requests if "DynamoDB" in line)
    return Traffic(
        s3=sum("DynamoDB" not in line for line in requests),
        reads=operations["GetItem"],
        writes=operations["PutItem"] + operations["UpdateItem"],
        answer=len(body.encode()),
        log=sum(len(line.encode()) + 1 for line in log),
    )
