"""What is read of a response of an MCP server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("mcp")

from toolfold.network.errors import ResponseTooLarge
from toolfold.sources.mcp.exchange import MAX_BLOCKS, MAX_CONTAINERS, Exchange, TooManyParts
from toolfold.sources.mcp.http_transport import StreamEnded, _LimitedStream

BLOCK = b'{"type":"text","text":"x"},'


async def _parts(parts: list[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def read(parts: list[bytes], max_bytes: int | None) -> type[Exception] | None:
    """Read a body, and return the class of the fault that ends it."""
    exchange = Exchange()
    response: Any = SimpleNamespace(stream=_parts(parts))
    transport: Any = SimpleNamespace(_host="board.test")
    stream = _LimitedStream(response, max_bytes, exchange, transport)

    async def read_all() -> None:
        async for _ in stream:
            pass

    try:
        asyncio.run(read_all())
    except StreamEnded:
        return type(exchange.fault)  # type: ignore[return-value]  # the reading ends for no other reason
    return None


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ([b"x" * 999_999], None),
        ([b"x" * 500_000] * 3, ResponseTooLarge),
        ([BLOCK * 1_000] * 20, None),
        ([BLOCK * (MAX_BLOCKS // 10 + 1)] * 10, TooManyParts),
        ([b"[]" * (MAX_CONTAINERS // 2 + 1)] * 2, TooManyParts),
    ],
)
def test_a_body_has_limits_of_bytes_and_of_parts(parts: list[bytes], fault: type[Exception] | None) -> None:
    limit = 1_000_000 if fault is not TooManyParts else 25_000_000
    assert read(parts, limit) is fault
    assert read(parts, None) is None  # the stream of notifications
