"""Several environments under load share what one of them has fetched. ``make load-lambda`` sends more, and measures."""

import pytest

from benchmarks.fleet import Load, measure, new_environment, running_fleet
from tests.support.built_function import NEEDS_BUILD

pytestmark = [pytest.mark.e2e, NEEDS_BUILD]

ENVIRONMENTS = 3
LOAD = Load(rate=100, seconds=3, processes=2)


def test_nothing_fails_or_is_fetched_twice() -> None:
    with running_fleet(ENVIRONMENTS) as (fleet, url):
        first = measure(fleet, url, LOAD, seed=1)
        with new_environment(fleet.deployment) as started:
            fleet.add(started)
            second = measure(fleet, url, LOAD, seed=1)
        assert fleet.crashes() == 0
    for measured in (first, second):
        assert measured.failures == []
        assert measured.different == []
        assert len(measured.latencies_ms) == LOAD.rate * LOAD.seconds
    assert 1 <= first.most_equal <= ENVIRONMENTS
    assert second.upstream == 0, "the same requests again"
