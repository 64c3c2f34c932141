"""What Lambda, API Gateway and DynamoDB count themselves, for a built function that runs on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from tests.support import stack
from tests.support.cloudwatch import CloudWatch, Span
from tests.support.deployment import KEY, Deployment, event
from tests.support.lambda_runtime import FunctionError, LambdaRuntime
from tests.support.metric_filters import read_filtered

_SERVICE_UNAVAILABLE = {"statusCode": 503, "body": '{"message":"Service Unavailable"}'}
_THROTTLED = ("ProvisionedThroughputExceededException", "ThrottlingException")
PERIOD_S = 300


class Platform:
    """Invoke functions and record what CloudWatch would count, until the end of a ``with`` statement.

    Args:
        deployment: What the functions belong to.
        concurrency: How many requests the function may answer at once; 0: any number.
        folder: For files of the caller.
    """

    def __init__(self, deployment: Deployment, concurrency: int, folder: Path) -> None:
        self.deployment, self._concurrency, self.folder = deployment, concurrency, folder
        self._runtimes: list[LambdaRuntime] = []
        self._counted: list[tuple[str, str, float]] = []
        self._running, self._lock = 0, threading.Lock()
        self._exit = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def start(self, **variables: str) -> LambdaRuntime:
        """Return an execution environment; its log is part of the evaluation."""
        return self.add(self.deployment.runtime(**variables))

    def add(self, runtime: LambdaRuntime) -> LambdaRuntime:
        """Evaluate the log of a runtime as well, and stop it at the end."""
        self._runtimes.append(self._exit.enter_context(runtime))
        return runtime

    def request(self, runtime: LambdaRuntime, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return what API Gateway answers to a request that becomes the event ``asked``."""
        answer = self._invoke(runtime, asked)
        self._count("AWS/ApiGateway", "Count", 1)
        self._count("AWS/ApiGateway", "5xx", int(answer.get("statusCode", 200) >= 500))
        return answer

    def call(self, runtime: LambdaRuntime, tool: str, key: str = KEY, **arguments: Any) -> str:
        """Call a tool; return the code of the outcome, or the HTTP status where there is no answer of the function."""
        own = {name: arguments.pop(name) for name in ("max_tokens", "select", "fresh") if name in arguments}
        return self.ask(runtime, "TOOL_CALL", {"tool_name": tool, "arguments": arguments, **own}, key)

    def ask(self, runtime: LambdaRuntime, name: str, arguments: Mapping[str, Any], key: str = KEY) -> str:
        """Call a meta-tool; return the code of the outcome, as :meth:`call`."""
        answer = self.request(runtime, event(name, dict(arguments), key))
        if answer["statusCode"] != 200:
            return str(answer["statusCode"])
        content = json.loads(answer["body"])["result"]["structuredContent"]
        return str(content["error"]["code"]) if "error" in content else "OK"

    def lines(self) -> list[dict[str, Any]]:
        """Return the log lines of all environments that are JSON."""
        written = (line for runtime in self._runtimes for line in runtime.log if line.startswith("{"))
        return [json.loads(line) for line in written]

    def alarms(self, periods: int) -> set[str]:
        """Return the alarms of the template that are raised when what was recorded recurs in so many periods."""
        cloudwatch, resources = CloudWatch(), self.deployment.stack
        filters = list(resources.of_type("AWS::Logs::MetricFilter").values())
        lines = self.lines()
        for period in range(periods):
            at_s = period * PERIOD_S + 1.0
            for line in lines:
                cloudwatch.read_line(line, at_s)
            read_filtered(cloudwatch, lines, filters, at_s)
            for namespace, name, value in [*self._counted, *self._throttles()]:
                cloudwatch.put(namespace, name, value, at_s, **self._dimensions(namespace))
        span = Span(0, max(periods * PERIOD_S, 3600))
        alarms = resources.of_type("AWS::CloudWatch::Alarm")
        return {name for name, alarm in alarms.items() if cloudwatch.alarm_periods(alarm, span)}

    def _invoke(self, runtime: LambdaRuntime, asked: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            is_throttled = bool(self._concurrency) and self._running >= self._concurrency
            self._running += not is_throttled
        self._count("AWS/Lambda", "Throttles", int(is_throttled))
        if is_throttled:
            return _SERVICE_UNAVAILABLE
        try:
            answer = runtime.invoke(asked)
        except FunctionError:
            self._count("AWS/Lambda", "Errors", 1)
            return {"statusCode": 500, "body": '{"message":"Internal Server Error"}'}
        finally:
            with self._lock:
                self._running -= 1
            self._count("AWS/Lambda", "Duration", runtime.duration_s * 1000)
        self._count("AWS/Lambda", "Errors", 0)
        return dict(answer)

    def _throttles(self) -> list[tuple[str, str, float]]:
        """Return the throttled requests of DynamoDB among those that the proxy has answered."""
        kinds = {"GetItem": "ReadThrottleEvents", "PutItem": "WriteThrottleEvents", "UpdateItem": "WriteThrottleEvents"}
        refused = (
            exchange.headers.get("x-amz-target", "").rpartition(".")[2]
            for exchange in self.deployment.proxy.exchanges
            if exchange.status == 400 and any(name in fault for fault in self._faults() for name in _THROTTLED)
        )
        return [("AWS/DynamoDB", kinds[operation], 1.0) for operation in refused if operation in kinds]

    def _faults(self) -> list[str]:
        return [fault.body.decode() for fault in self.deployment.proxy.faults.values()]

    def _count(self, namespace: str, name: str, value: float) -> None:
        self._counted.append((namespace, name, value))

    def _dimensions(self, namespace: str) -> dict[str, str]:
        names = {"AWS/Lambda": ("FunctionName", "GatewayFunction"), "AWS/ApiGateway": ("ApiId", "Api")}
        key, logical = {**names, "AWS/DynamoDB": ("TableName", "CacheTable")}[namespace]
        return {key: stack.physical_name(logical, self.deployment.stack.resources[logical])}
