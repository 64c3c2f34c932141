"""A plan counts each key's requests, over real HTTP, and refuses in the vendor's own words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen

import pytest

from tests.support.clocks import Clock
from toolfold.mock_api import MockApi


class Free:
    """A mock API whose keys are all of the free plan."""

    def __init__(self, mock_api: MockApi, clock: Clock) -> None:
        self.mock_api, self.clock = mock_api, clock

    def ask(self, key: str = "KEY0", function: str = "MARKET_STATUS", after: float = 2, **more: str) -> Any:
        self.clock.now += after
        query = "".join(f"&{name}={value}" for name, value in more.items())
        with urlopen(f"{self.mock_api.url}?function={function}&apikey={key}{query}") as response:
            return json.load(response)


@pytest.fixture
def free() -> Iterator[Free]:
    clock = Clock("2026-01-14 06:00")
    with MockApi(plan="free", latency_s=0.12, clock=clock, sleep=clock.sleep) as mock_api:
        yield Free(mock_api, clock)


def test_after_25_requests_the_day_is_used_up_until_midnight(free: Free) -> None:
    for _ in range(25):
        assert "markets" in free.ask()
    assert "We have detected your API key as KEY0" in free.ask()["Information"]
    assert "markets" in free.ask(key="KEY1")
    assert "25 requests per day" in free.ask(after=17 * 3600)["Information"]
    assert "markets" in free.ask(after=3600)


def test_a_second_request_within_a_second_is_too_fast_and_does_not_count(free: Free) -> None:
    for _ in range(24):
        free.ask()
    free.ask()
    free.ask(key="KEY1")
    assert "1 request per second" in free.ask(key="KEY1", after=0.5)["Information"]
    assert "markets" in free.ask(key="KEY1", after=0.4)  # each answer took 0.12 s


def test_a_wrong_call_counts_like_any_other(free: Free) -> None:
    for _ in range(25):
        assert "Invalid API call" in free.ask(function="GLOBAL_QUOTE")["Error Message"]
    assert "25 requests per day" in free.ask()["Information"]


def test_premium_functions_are_refused_to_every_key(free: Free) -> None:
    more = {"function": "TIME_SERIES_INTRADAY", "symbol": "IBM", "interval": "5min"}
    assert "premium endpoint" in free.ask(**more)["Information"]


@pytest.mark.parametrize(("key", "said"), [("demo", "demo"), ("fault-premium-minute", "Minute-level")])
def test_keys_with_a_meaning_keep_it(free: Free, key: str, said: str) -> None:
    for _ in range(30):
        assert said in free.ask(key=key, after=0)["Information"]


def test_every_answer_comes_after_the_latency(free: Free) -> None:
    free.ask()
    free.ask(symbol="FAULT.SLOW.3")
    assert free.clock.slept == [0.12, 3.12]


def test_without_a_plan_nothing_is_counted() -> None:
    clock = Clock()
    with MockApi(clock=clock) as mock_api:
        for _ in range(30):
            assert "markets" in Free(mock_api, clock).ask(after=0)
