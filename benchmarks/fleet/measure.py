"""Run the clients against the environments, and state what happened."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.fleet.environments import Fleet

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Load:
    """How much is sent: requests a second in all, for how many seconds, from how many processes."""

    rate: float
    seconds: float
    processes: int


@dataclass(frozen=True, slots=True)
class Measured:
    """The outcome of a run.

    Attributes:
        latencies_ms: Milliseconds of each request that was answered, in ascending order.
        failures: What was wrong with others.
        different: Requests to which not all answers were equal.
        elapsed_s: Seconds from the first request to the last answer.
        upstream: Requests that the upstream received.
        most_equal: How many of those were equal, at most.
    """

    latencies_ms: list[float]
    failures: list[str]
    different: list[str]
    elapsed_s: float
    upstream: int
    most_equal: int

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.latencies_ms) / self.elapsed_s

    def percentile_ms(self, percent: float) -> float:
        """Return a percentile of the latencies."""
        return self.latencies_ms[min(len(self.latencies_ms) - 1, int(len(self.latencies_ms) * percent / 100))]


def measure(fleet: Fleet, url: str, load: Load, seed: int) -> Measured:
    """Send the load to ``url`` and return what happened."""
    fleet.deployment.mock_api.clear_requests()
    command = [sys.executable, "-m", "benchmarks.fleet.clients", url, str(load.rate / load.processes)]
    clients = [
        subprocess.Popen([*command, str(load.seconds), str(seed + number)], cwd=ROOT, stdout=subprocess.PIPE)
        for number in range(load.processes)
    ]
    outcomes: list[dict[str, Any]] = [json.loads(client.communicate()[0]) for client in clients]
    upstream = fleet.upstream_requests()
    return Measured(
        latencies_ms=sorted(latency for outcome in outcomes for latency in outcome["latencies_ms"]),
        failures=[failure for outcome in outcomes for failure in outcome["failures"]],
        different=_different(outcomes),
        elapsed_s=max(outcome["elapsed_s"] for outcome in outcomes),
        upstream=upstream.total(),
        most_equal=max(upstream.values(), default=0),
    )


def _different(outcomes: list[dict[str, Any]]) -> list[str]:
    answers: dict[str, set[str]] = {}
    for outcome in outcomes:
        for name, digests in outcome["answers"].items():
            answers.setdefault(name, set()).update(digests)
    return sorted(name for name, digests in answers.items() if len(digests) > 1)
