"""What is read of a response of an MCP server."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

pytest.importorskip("mcp")

import httpx2

from tests.support.tables import differences
from toolfold.catalog.entries import Source
from toolfold.errors import CallError
from toolfold.models import SourceCredentials
from toolfold.network.errors import InvalidResponse, ResponseTooLarge
from toolfold.sources.mcp.client import own_text
from toolfold.sources.mcp.connection import SessionLimits
from toolfold.sources.mcp.faults import (
    MAX_BLOCKS,
    MAX_CONTAINERS,
    Exchange,
    FaultTexts,
    ServerFault,
    TooManyParts,
    current_exchange,
)
from toolfold.sources.mcp.http_transport import GuardedTransport, StreamEnded, _LimitedStream, _redirect_target

BLOCK = b'{"type":"text","text":"x"},'


async def _parts(parts: list[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def read(parts: list[bytes], max_bytes: int | None) -> type[Exception] | None:
    """Read a body, and return the class of the fault that ends it."""
    exchange = Exchange()
    transport: Any = SimpleNamespace(_host="board.test")
    stream = _LimitedStream(_parts(parts), max_bytes, exchange, transport)

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


def test_a_redirect_is_noted_without_what_may_be_a_key() -> None:
    rows = [
        (307, b"/mcp/?key=abc123", "https://board.test/mcp/"),
        (302, b"https://reader:abc123@login.test/start?next=abc123#abc123", "https://login.test/start"),
        (308, b"//other.test/mcp", "https://other.test/mcp"),
        (301, b"x" * 2_000, ""),
        (304, b"/mcp/", ""),
        (301, b"", ""),
    ]

    def target(status: int, location: bytes) -> str:
        headers = httpx2.Headers([(b"Location", location)])
        return _redirect_target(httpx2.URL("https://board.test/mcp"), status, headers)

    assert differences(target, rows) == {}


@pytest.mark.parametrize("name", [b"content-encoding", b"Content-Encoding"])
def test_a_compressed_response_is_not_read(name: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = gzip.compress(b"x" * 1_000_000)
        writer.write(b"HTTP/1.1 200 OK\r\n%s: gzip\r\nContent-Length: %d\r\n\r\n%s" % (name, len(body), body))
        writer.close()

    async def get() -> tuple[httpx2.Response, Exchange]:
        exchange = Exchange()
        current_exchange.set(exchange)
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
            transport = GuardedTransport(url, SessionLimits(5.0, 100_000, lambda *_: True))
            async with httpx2.AsyncClient(transport=transport, trust_env=False) as client:
                return await client.get(url), exchange

    response, exchange = asyncio.run(get())
    assert (response.status_code, response.content) == (502, b"")
    assert isinstance(exchange.fault, InvalidResponse)


def described(fault: ServerFault, program: str = "", key: str = "") -> CallError:
    """Return the error of a request for the list of tools that ended in ``fault``."""
    source = Source("board", "Board", "mcp", "https://board.test/mcp", "", None, {}, (), "", ())
    texts = FaultTexts(source, program=program, max_bytes=1_000, smaller_response_hint="")
    return texts.to_description_error(fault, SourceCredentials(key))


def test_a_program_that_cannot_be_started_is_named_without_its_path() -> None:
    fault = ServerFault("start", was_sent=False, reason="No such file")
    for program, name in (("uvx", "uvx"), ("/home/me/bin/weather", "weather"), (r"C:\bin\mcp.exe", "mcp.exe")):
        message = f"{name}, the program of Board, cannot be started: No such file."
        assert described(fault, program).message == message


def test_the_error_of_a_status_has_what_the_server_says_and_not_what_the_sdk_says() -> None:
    def shown(said: str) -> str | None:
        text = own_text(MCPError(-32600, said))
        fault = ServerFault("closed", was_sent=True, exchange=Exchange(status=500), server_text=text)
        return described(fault, key="abc12345").details.get("upstream_says")

    rows = [
        ("the database is down", "the database is down"),
        ("no key like abc12345", "no key like [key]"),
        ("Server returned an error response", None),
        ("Session terminated", None),
        ("Unexpected content type: text/html", None),
    ]
    assert differences(shown, rows) == {}


def test_the_error_of_a_redirect_names_the_address_and_what_to_change() -> None:
    exchange = Exchange(status=307, location="https://board.test/abc12345/mcp/")
    said = own_text(MCPError(-32600, "Redirect to /mcp/ not followed"))
    error = described(ServerFault("start", was_sent=False, exchange=exchange, server_text=said), key="abc12345")
    assert error.message == "Board redirects to https://board.test/[key]/mcp/, which is not followed."
    assert "url in source.yaml" in error.suggestion
    assert "upstream_says" not in error.details
