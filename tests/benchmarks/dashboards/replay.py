"""Replay a day of searches and calls through the handler of the function, with a clock that the workload sets."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, NamedTuple
from unittest import mock

from aws_lambda_powertools.logging import correlation_paths

from tests.benchmarks.calls.replay import DAY, LATENCY_S, memoized_responses
from tests.benchmarks.calls.workload import SEED, generate_calls
from tests.support import stack
from tests.support.clocks import Clock
from tests.support.lambda_handler import CONTEXT
from tests.support.mcp_requests import message
from toolfold.app import App
from toolfold.aws.clients import AwsClients
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.mock_api.server import MockApi
from toolfold.protocol.mcp import Server
from toolfold.settings import Settings
from toolfold.telemetry import configure
from toolfold.transports.lambda_handler import LambdaHandler

CALLS = 700
"""Enough for a line through the working hours; a day of a small team."""

REQUESTS_PER_DAY = 325
"""Set limit of the deployment's key, which the evening exceeds."""

KEY = "mock-key"
FAULT_KEY = "fault-http503"
OUTAGE_S = (14.25 * 3600, 14.75 * 3600)
"""Half an hour in which the service answers 503."""

NEVER_FOUND = ("zzqqxx yyzzqq", "qqzzww", "xyzzyq plugh")
EMPTY_SHARE, LOAD_SHARE, SEARCH_SHARE = 0.06, 0.2, 0.7
"""Shares of the searches that find nothing, that are followed by TOOL_GET, and of the questions that begin with one."""

CATALOG_AGE_S = 3.2 * 86_400


class Request(NamedTuple):
    """One request: when it came, how long it took, and its HTTP status."""

    at_s: float
    duration_s: float
    status: int


class Day(NamedTuple):
    """A replayed day: when it began, its log lines, and its requests."""

    start_s: float
    lines: list[dict[str, Any]]
    requests: list[Request]


def replay_day() -> Day:
    """Return the log of a day. Times are those of the workload, and those that the mock API waits."""
    clock, chance = Clock(DAY), Random(SEED)
    start_s = clock.now
    lines: list[dict[str, Any]] = []
    requests: list[Request] = []
    environment = {"ALPHA_VANTAGE_API_KEY": KEY, "POWERTOOLS_SERVICE_NAME": stack.NAME}
    # Not the clock's own sleep: a service does not answer in the same time twice.
    pause = lambda seconds: clock.sleep(seconds * chance.lognormvariate(0, 0.6))  # noqa: E731
    with (
        mock.patch.dict(os.environ, environment),
        memoized_responses(),
        MockApi(latency_s=LATENCY_S, clock=clock, sleep=pause) as upstream,
    ):
        handler = _handler(upstream.url, clock)
        for at_s, name, arguments in _requests(chance):
            clock.now = max(clock.now, start_s + at_s)
            began = clock.now
            is_out = OUTAGE_S[0] <= began - start_s < OUTAGE_S[1]
            with contextlib.redirect_stdout(io.StringIO()) as output:
                response = handler(_event(name, arguments, FAULT_KEY if is_out else ""), CONTEXT)
            written = [json.loads(line) for line in output.getvalue().splitlines()]
            lines += [_at(line, began) for line in written]
            own_s = next(line["ms"] for line in written if line.get("message") == "request") / 1000
            requests.append(Request(began, clock.now - began + own_s, response["statusCode"]))
    return Day(start_s, lines, requests)


def _handler(url: str, clock: Clock) -> Any:
    """Return the handler, decorated as in handlers/gateway/app.py, with the clock of the replay."""
    settings = Settings.from_environment(
        {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": url, "TOOLFOLD_REQUESTS_PER_DAY": str(REQUESTS_PER_DAY)}
    )
    telemetry = configure(settings)
    telemetry.metrics.clear_metrics()
    executor = ToolExecutor(settings, on_call=telemetry.record_call, clock=clock.clocks())
    store = FileStore(bundled_path())
    app = App(settings, store, executor, Server(MetaTools(store, executor)), AwsClients())
    app.catalog_age_s = lambda: CATALOG_AGE_S + clock.now - clock._start  # type: ignore[method-assign]
    gateway = LambdaHandler(app, telemetry, telemetry.record_request)

    def handle(event: dict[str, Any], _context: object) -> dict[str, Any]:
        return gateway(event, 29.0)

    measured = telemetry.metrics.log_metrics(handle)
    return telemetry.logger.inject_lambda_context(
        measured, correlation_id_path=correlation_paths.API_GATEWAY_HTTP, log_event=False
    )


def _requests(chance: Random) -> Iterator[tuple[float, str, Mapping[str, Any]]]:
    """Yield time, meta-tool and arguments. A question of a user about another tool begins with a search."""
    catalog = FileStore(bundled_path())()
    last: dict[int, str] = {}
    for call in generate_calls(CALLS):
        tool = catalog.get(call.tool)
        if last.get(call.user) != call.tool and tool is not None and chance.random() < SEARCH_SHARE:
            if chance.random() < EMPTY_SHARE:
                yield call.at - 12, "TOOL_LIST", {"query": chance.choice(NEVER_FOUND)}
            yield call.at - 8, "TOOL_LIST", {"query": tool.title}
            if chance.random() < LOAD_SHARE:
                yield call.at - 4, "TOOL_GET", {"tool_name": call.tool}
        last[call.user] = call.tool
        arguments: dict[str, Any] = {"tool_name": call.tool, "arguments": call.arguments}
        arguments |= {"select": call.select} if call.select else {}
        yield call.at, "TOOL_CALL", arguments | ({"fresh": True} if call.fresh else {})


def _event(name: str, arguments: Mapping[str, Any], key: str) -> dict[str, Any]:
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    return {
        "version": "2.0",
        "rawPath": "/mcp",
        "headers": headers | ({"x-api-key": key} if key else {}),
        "requestContext": {"requestId": "replay", "http": {"method": "POST", "path": "/mcp"}},
        "body": json.dumps(message("tools/call", {"name": name, "arguments": arguments})),
    }


def _at(line: dict[str, Any], at_s: float) -> dict[str, Any]:
    """Return a line with the time of the replay."""
    from datetime import UTC, datetime

    if "_aws" in line:
        return {**line, "_aws": {**line["_aws"], "Timestamp": int(1000 * at_s)}}
    return {**line, "timestamp": datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds")}
