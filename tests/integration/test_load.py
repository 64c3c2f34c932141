"""Clients that stall beside clients that do not."""

import pytest

from benchmarks import load, servers
from benchmarks.timing import memory_mb


@pytest.mark.slow
def test_no_request_fails_beside_stalled_clients() -> None:  # R14
    with servers.mock_api() as upstream, servers.gateway(upstream) as (url, process):
        outcome = load.run(url, clients=100, stalled=25, requests=10)
        memory = memory_mb(process)
    assert outcome.failures == []
    assert len(outcome.latencies_ms) == 1_000
    assert memory < 300
