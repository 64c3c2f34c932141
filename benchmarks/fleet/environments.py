"""A deployment with several environments of the built function behind one address, as API Gateway has it."""

from __future__ import annotations

import queue
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.support import http_api
from tests.support.deployment import Deployment, event
from tests.support.lambda_runtime import FunctionError, LambdaRuntime
from toolfold.build.publisher import publish
from toolfold.catalog.store import bundled_path


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

    def upstream_requests(self) -> Counter[str]:
        """Return how often the upstream was sent each request."""
        sent = self.deployment.mock_api.requests
        return Counter("&".join(f"{name}={value}" for name, value in sorted(query)) for query in sent)

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
