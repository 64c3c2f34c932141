"""Clients that stall beside clients that do not. ``make load`` does the same with more of them, and measures."""

from __future__ import annotations

import pytest

from benchmarks.load import clients
from benchmarks.load.servers import memory_mb, serving


@pytest.mark.slow
def test_no_request_fails_beside_stalled_clients() -> None:  # R14
    with serving() as (url, process):
        outcome = clients.run(url, clients=100, stalled=25, requests=10)
        memory = memory_mb(process, "VmHWM")
    assert outcome.failures == []
    assert len(outcome.latencies_s) == 1_000
    assert memory < 300
