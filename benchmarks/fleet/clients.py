"""A process of clients that send requests at a fixed rate, whether or not earlier ones were answered.

A latency counts from the moment at which the request was due, so that waiting for a busy server is part of it.

    python -m benchmarks.fleet.clients URL RATE SECONDS SEED

writes an :class:`Outcome` as JSON to standard output.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from benchmarks.fleet.requests import KEY, Planned, digest, planned_requests
from tests.support.raw_http import post

CONNECTIONS = 16
"""Connections of one process. Requests wait for one only while the server is slower than the rate."""

TIMEOUT_S = 60.0


@dataclass
class Outcome:
    """What the clients saw: milliseconds of answers, what was wrong, and the digests of answers to equal requests."""

    latencies_ms: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    answers: dict[str, list[str]] = field(default_factory=dict)
    elapsed_s: float = 0.0


async def send_requests(url: str, rate: float, seconds: float, seed: int) -> Outcome:
    """Send ``rate`` requests a second for ``seconds``, and return the outcome."""
    outcome = Outcome()
    planned = islice(planned_requests(seed), int(rate * seconds))
    started = time.perf_counter()
    due = _due(started, rate, planned)
    await asyncio.gather(*(_Connection(url, outcome).run(due) for _ in range(CONNECTIONS)))
    outcome.elapsed_s = time.perf_counter() - started
    return outcome


def _due(started: float, rate: float, planned: Iterator[Planned]) -> Iterator[tuple[float, Planned]]:
    return ((started + number / rate, request) for number, request in enumerate(planned))


class _Connection:
    def __init__(self, url: str, outcome: Outcome) -> None:
        self._url, self._outcome = url, outcome

    async def run(self, due: Iterator[tuple[float, Planned]]) -> None:
        """Send the requests that no other connection has taken, each when it is due."""
        parts = urlsplit(self._url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        for at, request in due:
            await asyncio.sleep(at - time.perf_counter())
            try:
                writer.write(post(self._url, request.body, f"X-API-Key: {KEY}"))
                found = await asyncio.wait_for(_answer(reader), TIMEOUT_S)
            except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
                self._outcome.failures.append(type(error).__name__)
                writer.close()
                reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
                continue
            self._outcome.latencies_ms.append((time.perf_counter() - at) * 1000)
            known = self._outcome.answers.setdefault(request.name, [])
            if isinstance(found, str):
                self._outcome.failures.append(found)
            elif (seen := digest(found)) not in known:
                known.append(seen)
        writer.close()


async def _answer(reader: asyncio.StreamReader) -> str | dict[str, Any]:
    """Read a response; return its structured content, or what is wrong with it."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    body = await reader.readexactly(length)
    if not head.startswith(b"HTTP/1.1 200 "):
        return head.partition(b"\r\n")[0].decode()
    result = json.loads(body)["result"]
    return str(result["structuredContent"])[:200] if result["isError"] else dict(result["structuredContent"])


if __name__ == "__main__":
    url, rate, seconds, seed = sys.argv[1:]
    print(json.dumps(asdict(asyncio.run(send_requests(url, float(rate), float(seconds), int(seed))))))
