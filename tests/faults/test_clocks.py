"""Clocks that jump: the time of day corrected by the network, and the monotonic clock of a suspended environment."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from tests.faults.scenario import BUCKET, OTHER_KEY, TABLE, Aws, Row, Scenario, all_rows, parametrize_rows
from tests.support.catalogs import publish
from tests.support.upstream import CSV, Reply, Upstream, notice
from toolfold.catalog import store as stores
from toolfold.catalog.store import S3Store, bundled_path
from toolfold.meta_tools.result import Result
from toolfold.network.errors import ConnectionRefused
from toolfold.network.session import HttpClient

HOUR, YEAR = 3600, 365 * 86400
OK: Reply = (200, {}, CSV.encode())
DAILY = notice("our standard API rate limit is 25 requests per day")


class ClockJumps:
    """Moves each clock of a scenario without the other."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario

    def wall(self, seconds: float) -> None:
        self.scenario.clock.now += seconds
        self.scenario.clock._start += seconds

    def monotonic(self, seconds: float) -> None:
        self.scenario.clock._start -= seconds


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(OK) as running:
        yield running


Make = Callable[..., Scenario]


def forward_with_a_cached_response(scenario: Scenario, times: ClockJumps, upstream: Upstream) -> Result:
    scenario.call("CPI")
    times.wall(YEAR)
    return scenario.call("CPI")


def backward_with_a_cached_response(scenario: Scenario, times: ClockJumps, upstream: Upstream) -> Result:
    scenario.call("CPI")
    times.wall(-HOUR)
    return scenario.call("CPI")


def a_little_backward(scenario: Scenario, times: ClockJumps, upstream: Upstream) -> Result:
    scenario.call("CPI")
    times.wall(-60)
    result = scenario.call("CPI")
    assert result.structured["cached"]
    assert result.structured["age_s"] == 0
    return result


def ahead_when_the_day_was_used_up(scenario: Scenario, times: ClockJumps, upstream: Upstream) -> Result:
    upstream.replies = [DAILY, OK]
    times.wall(YEAR)
    assert scenario.call("CPI").structured["error"]["code"] == "RATE_LIMITED"
    times.wall(-YEAR)
    return scenario.call("CPI")


def ahead_when_too_fast(scenario: Scenario, times: ClockJumps, upstream: Upstream) -> Result:
    upstream.replies = [notice("spreading out your free API requests more sparingly (1 request per second)"), OK]
    times.wall(YEAR)
    scenario.call("CPI")
    times.wall(-YEAR)
    upstream.requests.clear()
    result = scenario.call("WTI")
    assert sum(scenario.clock.slept) <= 4
    return result


def asleep_over_another_try(scenario: Scenario, times: ClockJumps, upstream: Upstream) -> Result:
    def busy(query: dict[str, str]) -> Reply:
        times.monotonic(HOUR)
        return 503, {}, b""

    upstream.replies = [busy]
    return scenario.call("CPI")


def asleep_while_it_is_answered(scenario: Scenario, times: ClockJumps, upstream: Upstream) -> Result:
    def late(query: dict[str, str]) -> Reply:
        times.monotonic(HOUR)
        return OK

    upstream.replies = [late]
    return scenario.call("CPI")


def back_while_a_source_is_left_alone(scenario: Scenario, times: ClockJumps, upstream: Upstream) -> Result:
    times.monotonic(HOUR)
    with pytest.MonkeyPatch.context() as unplugged:
        unplugged.setattr(HttpClient, "request", _not_connected)
        for _ in range(scenario.settings.breaker_failures):
            scenario.call("CPI")
        assert scenario.call("CPI").structured["error"]["retry_after_s"] in range(10, 31)  # in real seconds
    times.monotonic(-HOUR)
    upstream.replies = [OK]
    upstream.requests.clear()
    return scenario.call("CPI")


def _not_connected(*_: object, **__: object) -> None:
    raise ConnectionRefused("a.example")


JUMPS = {
    "time of day forward, cached answer": forward_with_a_cached_response,
    "time of day backward, cached answer": backward_with_a_cached_response,
    "time of day a minute backward": a_little_backward,
    "time of day ahead when the day's calls were used up": ahead_when_the_day_was_used_up,
    "time of day ahead when calls were too fast": ahead_when_too_fast,
    "monotonic clock forward before another try": asleep_over_another_try,
    "monotonic clock forward during a request": asleep_while_it_is_answered,
    "monotonic clock backward, open circuit breaker": back_while_a_source_is_left_alone,
}


@parametrize_rows("test_jump")
def test_jump(row: Row, scenario: Make, upstream: Upstream) -> None:
    here = scenario(upstream.url)
    result = JUMPS[row.fault](here, ClockJumps(here), upstream)
    if row.code == "OK":
        assert not result.is_error, result.text
        assert result.structured["result"]["rows"] == [["2026-01-01", 1.5]]
        assert result.structured.get("age_s", 0) == 0
    else:
        error = result.structured["error"]
        assert (error["code"], error["message"], error["suggestion"]) == (row.code, row.message, row.next_step)
    assert len(upstream.requests) == int(row.requests)
    assert f"`call` `{vars(here.calls()[-1])['code']}`" == row.log
    assert here.warnings() == []
    upstream.replies = [OK]
    assert not here.call("CPI").is_error
    assert not here.call("COPPER", OTHER_KEY).is_error


@parametrize_rows("test_jump_elsewhere")
def test_jump_elsewhere(row: Row, scenario: Make, upstream: Upstream, aws: Aws) -> None:
    """Check what a machine whose clock is ahead stores in the shared table."""
    place = {"CACHE": f"dynamodb://{TABLE}", "CACHE_TIMEOUT_S": "30"}
    wrong, right = (scenario(upstream.url, **place) for _ in range(2))
    ClockJumps(wrong).wall(YEAR)
    if "used up" in row.fault:
        upstream.replies = [DAILY]
        assert wrong.call("CPI").is_error
    else:
        upstream.replies = [(200, {}, b"timestamp,value\n2026-01-01,666\n")]
        wrong.call("CPI")
    upstream.replies = [OK]
    upstream.requests.clear()
    assert right.call("CPI").structured["result"]["rows"] == [["2026-01-01", 1.5]]
    third = scenario(upstream.url, **place)
    assert third.call("CPI").structured["cached"]  # the right one is in its place
    assert len(upstream.requests) == int(row.requests)
    assert right.warnings() == []


def test_a_file_of_a_clock_that_was_ahead_is_written_over(scenario: Make, upstream: Upstream, tmp_path: object) -> None:
    place = {"CACHE": f"{tmp_path}/answers.sqlite"}
    wrong = scenario(upstream.url, **place)
    ClockJumps(wrong).wall(YEAR)
    wrong.call("CPI")
    assert not scenario(upstream.url, **place).call("CPI").structured["cached"]
    assert scenario(upstream.url, **place).call("CPI").structured["cached"]


@parametrize_rows("test_back_while_aws_is_left_alone")
def test_back_while_aws_is_left_alone(
    row: Row, scenario: Make, make_scenario: Make, upstream: Upstream, aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that a monotonic clock that jumps back ends a pause of AWS requests."""
    if "cache" in row.fault:
        here = scenario(upstream.url, CACHE="dynamodb://nobody", CACHE_TIMEOUT_S="30")
        ClockJumps(here).monotonic(HOUR)
        here.call("CPI")
        asked = len(aws.faulty.requests)
        ClockJumps(here).monotonic(-HOUR)
        assert not here.call("WTI").is_error
        assert len(aws.faulty.requests) > asked
        assert len(upstream.requests) == 2 * int(row.requests)
        return
    publish(bundled_path().read_bytes(), f"s3://{BUCKET}")
    store = S3Store(f"s3://{BUCKET}", max_age_s=60)
    here = make_scenario(store)
    monkeypatch.setattr(stores, "time", SimpleNamespace(monotonic=here.clock.monotonic))
    ClockJumps(here).monotonic(HOUR)
    store()
    asked = len(aws.faulty.requests)
    ClockJumps(here).monotonic(-HOUR)
    assert store()
    assert len(aws.faulty.requests) == asked + 1


def test_every_prepared_fault_is_in_the_table() -> None:
    assert {row.fault for row in all_rows() if row.test == "test_jump"} == set(JUMPS)
