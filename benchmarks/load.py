"""Clients on real sockets: some send requests and check the answers, others stall in different ways."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from benchmarks.timing import elapsed_ms
from tests.support.mcp_requests import message
from tests.support.raw_http import PING, post

TIMEOUT_S = 60.0
"""After this a request has failed."""

SYMBOLS = ("AAPL", "IBM", "MSFT", "TSLA", "NVDA")
"""Their quotes are cached after the first call, as in practice."""

_LIST = json.dumps(message("tools/list")).encode()

STALLS: tuple[Callable[[str], bytes], ...] = (
    lambda url: b"",  # connected, and silent
    lambda url: post(url)[:40],  # a part of the headers
    lambda url: post(url)[: -len(PING)],  # headers only
    lambda url: post(url, b" " * 1_000_000)[:-10],  # most of a large body
    lambda url: post(url, _LIST) * 2_000,  # requests whose answers are never read
)


@dataclass
class Outcome:
    """What the correct clients saw: milliseconds for each request, and what was wrong with the others."""

    latencies_ms: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    elapsed_s: float = 0.0


def run(url: str, clients: int, stalled: int, requests: int) -> Outcome:
    """Return the outcome of ``clients`` clients with ``requests`` requests each, beside ``stalled`` others."""
    return asyncio.run(_run(url, clients, stalled, requests))


async def _run(url: str, clients: int, stalled: int, requests: int) -> Outcome:
    outcome = Outcome()
    stalling = [asyncio.create_task(_stall(url, STALLS[number % len(STALLS)](url))) for number in range(stalled)]
    await asyncio.sleep(0.5)  # they are there first
    started = time.perf_counter()
    await asyncio.gather(*(_send(url, number, requests, outcome) for number in range(clients)))
    outcome.elapsed_s = time.perf_counter() - started
    for task in stalling:
        task.cancel()
    await asyncio.gather(*stalling, return_exceptions=True)
    return outcome


async def _stall(url: str, data: bytes) -> None:
    """Connect, send ``data`` and stop, again and again: the server closes such connections."""
    parts = urlsplit(url)
    while True:
        _, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=1024)
        try:
            writer.write(data)
            await asyncio.wait_for(writer.drain(), 5)
            while not writer.is_closing():
                await asyncio.sleep(0.5)
        except (OSError, TimeoutError):
            continue
        finally:
            writer.transport.abort()


async def _send(url: str, number: int, requests: int, outcome: Outcome) -> None:
    parts = urlsplit(url)
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(parts.hostname, parts.port), TIMEOUT_S)
    except (OSError, TimeoutError) as error:
        outcome.failures += [f"connect: {type(error).__name__}"] * requests
        return
    for turn in range(requests):
        started = time.perf_counter()
        try:
            writer.write(post(url, _body(number + turn, turn), "X-API-Key: mock"))
            answer = await asyncio.wait_for(read_answer(reader, turn), TIMEOUT_S)
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            outcome.failures += [type(error).__name__] * (requests - turn)
            break
        outcome.latencies_ms.append(elapsed_ms(started))
        if isinstance(answer, str):
            outcome.failures.append(answer)
    writer.close()


def _body(choice: int, id_: int) -> bytes:
    """Return a call of a tool, or every fourth time a search."""
    symbol = SYMBOLS[choice % len(SYMBOLS)]
    arguments = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": symbol}}
    called = ("TOOL_LIST", {"query": f"price of {symbol}"}) if choice % 4 == 0 else ("TOOL_CALL", arguments)
    return json.dumps(message("tools/call", dict(zip(("name", "arguments"), called, strict=True)), id_)).encode()


async def read_answer(reader: asyncio.StreamReader, id_: int = 1) -> str | dict[str, Any]:
    """Read a response; return its structured content, or what is wrong with it."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    body = await reader.readexactly(length)
    if not head.startswith(b"HTTP/1.1 200 "):
        return head.partition(b"\r\n")[0].decode()
    answer = json.loads(body)
    content = answer["result"]["structuredContent"]
    return str(content)[:200] if answer["id"] != id_ or answer["result"]["isError"] else dict(content)
