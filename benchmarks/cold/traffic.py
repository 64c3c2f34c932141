"""Count the requests of a deployment to S3 and DynamoDB, and the bytes of its responses and its log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from benchmarks.cold.events import CACHED, GET, LISTING, SEARCH, Event, RequestSet, event
from benchmarks.cold.servers import COMPILED, MeasuredServer, Package
from benchmarks.cold.services import Services
from tests.support.faulty_proxy import FaultyProxy
from tests.support.lambda_runtime import LambdaRuntime

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
        with package.runtime(COMPILED, variables) as runtime:
            found[START] = invoke(runtime, request_sets[LISTING].at(0))
            for method in (LISTING, SEARCH, GET):
                found[method] = invoke(runtime, request_sets[method].at(0))
            found["initialize"] = invoke(runtime, event("initialize", {"protocolVersion": "2025-11-25"}))
            found[MISSED] = invoke(runtime, request_sets[CACHED].at(0))
            found[FROM_MEMORY] = invoke(runtime, request_sets[CACHED].at(0))
        with package.runtime(COMPILED, variables) as runtime:
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
