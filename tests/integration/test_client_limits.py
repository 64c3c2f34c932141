"""Limits of callers, counted by all environments of the function in DynamoDB, over real HTTP (moto server)."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import aws_services
from tests.support.clocks import Clock
from tests.support.executor import settings_for
from tests.support.lambda_handler import http_event
from tests.support.mcp_requests import tool_call
from tests.support.threads import run_concurrently
from toolfold import client_call
from toolfold.app import build_app
from toolfold.aws.clients import AwsClients
from toolfold.cache import create_shared_store
from toolfold.errors import ClientLimit
from toolfold.execution.limits import ClientLimits
from toolfold.mock_api.server import MockApi
from toolfold.telemetry import configure
from toolfold.transports.lambda_handler import LambdaHandler

TABLE = "limits-of-callers"
CACHE = f"dynamodb://{TABLE}"
ADDRESS, OTHER_ADDRESS = "192.0.2.1", "192.0.2.2"


@pytest.fixture
def table(on_moto: None) -> Iterator[Any]:
    """DynamoDB's client; the table exists."""
    with aws_services.table(TABLE) as dynamodb:
        yield dynamodb


_NOW = time.time()
WITHIN_A_MINUTE = client_call.Clock(lambda: _NOW, time.monotonic, time.sleep)
"""A clock of calls that are all in one minute, however long they take."""


class Environment:
    """An environment of the function.

    Attributes:
        writes: the keys of the items that it updated.
        failures: the codes that it reported.
    """

    def __init__(self, mock_api: MockApi, monkeypatch: pytest.MonkeyPatch, **environment: str) -> None:
        monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", "operators-key")
        settings = settings_for(mock_api.url, CACHE=CACHE, CACHE_TIMEOUT_S="30", **environment)
        self.failures: list[str] = []
        self.calls: list[str] = []
        app = build_app(
            settings, on_failure=self.failures.append, on_call=lambda log: self.calls.append(f"{log.code} {log.cache}")
        )
        app.executor.clock = WITHIN_A_MINUTE
        self.handler = LambdaHandler(app, configure(settings))
        self.kept = app.server.tools.executor.services.kept_requests
        self.writes: list[str] = []
        client = app.aws.client("dynamodb", timeout_s=settings.cache_timeout_s)
        client.meta.events.register(
            "before-parameter-build.dynamodb.UpdateItem",
            lambda params, **_: self.writes.append(params["Key"]["pk"]["S"]),
        )

    @property
    def counted(self) -> int:
        """The writes for limits of callers."""
        return sum(key.startswith("clients/") for key in self.writes)

    def call(
        self,
        tool: str = "GLOBAL_QUOTE",
        address: str = ADDRESS,
        headers: dict[str, str] | None = None,
        **arguments: Any,
    ) -> dict[str, Any]:
        called = tool_call(tool, {"symbol": "IBM", **arguments})
        return self.handler(http_event(called, headers, address=address))

    def code(self, *given: Any, **call: Any) -> str:
        """Return the code of the error in the response to a TOOL_CALL, or ``OK``."""
        response = self.call(*given, **call)
        assert response["statusCode"] == 200
        result = json.loads(response["body"])["result"]
        return str(result["structuredContent"]["error"]["code"]) if result["isError"] else "OK"


@pytest.fixture
def make(table: Any, mock_api: MockApi, monkeypatch: pytest.MonkeyPatch) -> Any:
    mock_api.clear_requests()
    return lambda **environment: Environment(mock_api, monkeypatch, **environment)


def test_a_caller_is_refused_by_every_environment_and_others_are_not(make: Any) -> None:
    one, two = make(CALLS_PER_MINUTE="3"), make(CALLS_PER_MINUTE="3")
    assert [environment.code() for environment in (one, two, one, two, one)] == ["OK"] * 3 + ["CLIENT_LIMIT"] * 2
    assert two.code(address=OTHER_ADDRESS) == "OK"
    assert two.code(headers={"x-api-key": "somebody"}) == "OK"
    assert two.code(headers={"x-api-key": "somebody else"}) == "OK"


def test_a_refusal_is_a_result_and_cached_answers_go_on(make: Any) -> None:
    environment = make(CALLS_PER_DAY="1")
    environment.call()
    response = environment.call(symbol="MSFT")
    error = json.loads(response["body"])["result"]["structuredContent"]["error"]
    assert (error["code"], error["limit"]) == ("CLIENT_LIMIT", "1 per day")
    assert environment.calls == ["OK miss", "CLIENT_LIMIT miss"]
    assert environment.code() == "OK"  # cached


def test_a_call_with_lists_counts_once_for_each_part(make: Any) -> None:
    environment = make(CALLS_PER_DAY="3")
    assert environment.code(symbol=["IBM", "MSFT"]) == "OK"
    assert environment.code(symbol="AAPL") == "OK"
    assert environment.code(symbol="TSLA") == "CLIENT_LIMIT"


def test_what_cannot_work_and_what_asks_for_no_data_counts_for_nothing(make: Any) -> None:
    environment = make(CALLS_PER_MINUTE="1")
    assert environment.code(interval="no such argument", symbol=["a"] * 1000) == "INVALID_ARGUMENTS"
    assert environment.code("NO_SUCH_TOOL") == "TOOL_NOT_FOUND"
    assert environment.code() == "OK"


def test_the_table_holds_a_hash_and_the_time_to_delete_it(make: Any, table: Any) -> None:
    make(CALLS_PER_MINUTE="5", CALLS_PER_DAY="5", CACHE_COOLDOWN_S="1").call(headers={"x-api-key": "CANARYKEY0123456"})
    items = [item for item in table.scan(TableName=TABLE)["Items"] if item["pk"]["S"].startswith("clients/")]
    assert len(items) == 2
    assert "CANARY" not in str(items)
    assert ADDRESS not in str(items)
    assert time.time() < float(items[0]["expires_at"]["N"]) < time.time() + 2 * 86_400


class TestStore:
    def limits(self, clock: Clock, **environment: str) -> ClientLimits:
        """The limits of a new environment."""
        settings = settings_for("", CACHE=CACHE, CACHE_TIMEOUT_S="30", **environment)
        return ClientLimits(settings, create_shared_store(settings, clock.monotonic, AwsClients()), clock.clocks())

    def test_of_calls_at_the_same_time_in_several_environments_exactly_the_limit_is_admitted(self, table: Any) -> None:
        clock, outcomes = Clock(), list[bool]()
        environments = [self.limits(clock, CALLS_PER_MINUTE="11", CALLS_PER_DAY="100") for _ in range(4)]

        def call(limits: ClientLimits) -> None:
            try:
                limits.admit("one", is_cached=False)
                outcomes.append(True)
            except ClientLimit:
                outcomes.append(False)

        run_concurrently([lambda limits=limits: call(limits) for limits in environments * 4])
        assert (outcomes.count(True), outcomes.count(False)) == (11, 5)


def test_a_table_that_fails_is_reported_and_refuses_nobody(make: Any, table: Any) -> None:
    environment = make(CALLS_PER_MINUTE="2")
    table.delete_table(TableName=TABLE)
    try:
        assert [environment.code() for _ in range(3)] == ["OK", "OK", "CLIENT_LIMIT"]
        assert sorted(environment.failures) == ["CACHE_UNAVAILABLE", "LIMITS_UNAVAILABLE"]
        assert environment.kept.add({}) is None
        assert environment.failures[2:] == ["CACHE_UNAVAILABLE"]
    finally:
        aws_services.create_table(table, TABLE)
