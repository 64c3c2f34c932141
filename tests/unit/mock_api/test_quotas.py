"""A plan counts the requests of each key and refuses them with the vendor's errors, over real HTTP."""

import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen

import pytest

from tests.support.clocks import Clock
from toolfold.mock_api import MockApi


class Free:
    """A client of a mock API whose keys are all on the free plan."""

    def __init__(self, mock_api: MockApi, clock: Clock) -> None:
        self.mock_api, self.clock = mock_api, clock

    def get(self, key: str = "KEY0", function: str = "MARKET_STATUS", after: float = 2, **more: str) -> Any:
        self.clock.now += after
        query = "".join(f"&{name}={value}" for name, value in more.items())
        with urlopen(f"{self.mock_api.url}?function={function}&apikey={key}{query}") as response:
            return json.load(response)


@pytest.fixture
def free() -> Iterator[Free]:
    clock = Clock("2026-01-14 06:00")
    with MockApi(plan="free", clock=clock) as mock_api:
        yield Free(mock_api, clock)


def test_the_26th_request_of_a_day_is_refused_until_midnight(free: Free) -> None:
    for _ in range(25):
        assert "markets" in free.get()
    assert "We have detected your API key as KEY0" in free.get()["Information"]
    assert "markets" in free.get(key="KEY1")
    assert "25 requests per day" in free.get(after=17 * 3600)["Information"]
    assert "markets" in free.get(after=3600)


def test_a_second_request_within_a_second_is_refused_and_does_not_count(free: Free) -> None:
    for _ in range(24):
        free.get()
    free.get()
    free.get(key="KEY1")
    assert "1 request per second" in free.get(key="KEY1", after=0.5)["Information"]
    assert "markets" in free.get(key="KEY1", after=0.5)


def test_an_invalid_request_counts(free: Free) -> None:
    for _ in range(25):
        assert "Invalid API call" in free.get(function="GLOBAL_QUOTE")["Error Message"]
    assert "25 requests per day" in free.get()["Information"]


def test_every_response_is_delayed_by_the_latency() -> None:
    with MockApi(latency_s=0.12) as mock_api:
        for symbol, least_s in (("IBM", 0.12), ("FAULT.SLOW.0.2", 0.32)):
            started = time.monotonic()
            Free(mock_api, Clock()).get(symbol=symbol)
            assert time.monotonic() - started >= least_s
