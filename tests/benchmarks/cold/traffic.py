"""What a deployment sends beside its answers: requests to S3 and DynamoDB, counted on their way, and bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from tests.benchmarks.cold.contenders import Contender
from tests.benchmarks.cold.events import GET, HELD, LISTING, SEARCH, Event, ListRequest, event
from tests.benchmarks.cold.packages import COMPILED, Package
from tests.benchmarks.cold.services import Services
from tests.support.faulty_proxy import FaultyProxy
from tests.support.lambda_runtime import LambdaRuntime

START, MISSED, FROM_TABLE, FROM_MEMORY = "the first request", "fetched", "held in the table", "held in memory"


@dataclass
class Traffic:
    """Of one invocation: S3 GETs, DynamoDB reads and writes (one item each), bytes of the answer and of log lines."""

    s3: int = 0
    reads: int = 0
    writes: int = 0
    answer: int = 0
    log: int = 0


def count(
    package: Package, ours: Contender, services: Services, asked: Mapping[str, ListRequest]
) -> dict[str, dict[str, int]]:
    """What happened → its :class:`Traffic`, as a dictionary."""
    services.forget()
    with FaultyProxy(services.variables["AWS_ENDPOINT_URL"]) as proxy:
        variables = {**services.variables, **ours.environment, "AWS_ENDPOINT_URL": proxy.url}

        def invoke(runtime: LambdaRuntime, sent: Event) -> Traffic:
            before, lines = len(proxy.requests), len(runtime.log)
            answer = runtime.invoke(sent)
            return _of(proxy.requests[before:], answer["body"], runtime.log[lines:])

        found: dict[str, Traffic] = {}
        with package.runtime(COMPILED, variables) as runtime:
            found[START] = invoke(runtime, asked[LISTING].at(0))
            for method in (LISTING, SEARCH, GET):
                found[method] = invoke(runtime, asked[method].at(0))
            found["initialize"] = invoke(runtime, event("initialize", {"protocolVersion": "2025-11-25"}))
            found[MISSED] = invoke(runtime, asked[HELD].at(0))
            found[FROM_MEMORY] = invoke(runtime, asked[HELD].at(0))
        with package.runtime(COMPILED, variables) as runtime:
            runtime.invoke(asked[LISTING].at(0))
            found[FROM_TABLE] = invoke(runtime, asked[HELD].at(0))
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
