"""What is read of servers that keep to the protocol less strictly than the SDK: lines, responses, results, errors."""

import asyncio
import gzip
import json
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import JSONRPCRequest

from tests.support.tables import differences
from toolfold.catalog.entries import Source
from toolfold.errors import CallError
from toolfold.models import SourceCredentials
from toolfold.network.errors import InvalidResponse, ResponseTooLarge
from toolfold.sources.mcp.child_process import parse_message
from toolfold.sources.mcp.client import complete, is_closed, is_unreadable, own_text, to_fault, watched
from toolfold.sources.mcp.connection import SessionLimits
from toolfold.sources.mcp.faults import (
    MAX_BLOCKS,
    MAX_CONTAINERS,
    MAX_NOTIFICATIONS,
    CallRefused,
    Exchange,
    FaultTexts,
    ServerFault,
    StreamState,
    ToolChanged,
    TooManyNotifications,
    TooManyParts,
    current_exchange,
)
from toolfold.sources.mcp.http_transport import GuardedTransport, StreamEnded, _LimitedStream, _redirect_target
from toolfold.sources.mcp.session import (
    MAX_SESSIONS,
    OpenSession,
    Session,
    Sessions,
    ToolRequest,
    _requested_methods,
    listed,
)

OK = {"jsonrpc": "2.0", "id": 7, "result": {"content": []}}
ANSWER = json.dumps(OK).encode()
REQUEST = ToolRequest("berths", {})
TRUNCATED = b'{"jsonrpc":"2.0","id":7,"result":{"said":"%s"}}'


def test_what_answers_no_call_is_skipped() -> None:
    rows = [
        b"Listening on stdio",
        b'{"level":"info","id":7,"msg":"ready"}',
        b"[1, 2]",
        b"\xff\xfe\x00",
        b'{"jsonrpc":"2.0","log":"ready"}',
        b'{"jsonrpc":"2.0","id":null,"result":{}}',
        b'{"jsonrpc":"2.0","id":7,"method":5}',
    ]
    assert differences(parse_message, [(line, None) for line in rows]) == {}


def test_a_message_whose_call_cannot_be_known_ends_the_connection() -> None:
    rows = [ANSWER[:30], b"log: " + ANSWER, b"[" + ANSWER + b"]"]
    for line in rows:
        with pytest.raises(InvalidResponse):
            parse_message(line)


def test_a_text_that_was_cut_anywhere_is_read() -> None:
    rows = [
        (ANSWER, {"content": []}),
        (b"\xef\xbb\xbf" + ANSWER, {"content": []}),
        (TRUNCATED % b"a\\ud83d", {"said": "a?"}),
        (TRUNCATED % b"caf\xc3", {"said": "caf\ufffd"}),
        (TRUNCATED % b"\\ud83d\\uddfc", {"said": "🗼"}),
    ]
    assert differences(lambda line: parse_message(line).result, rows) == {}


def test_an_answer_that_cannot_be_used_fails_its_call_alone() -> None:
    rows = [
        {"result": None},
        {"result": [1]},
        {"jsonrpc": "1.0", "result": {}},
        {"error": "boom"},
        {"error": {"code": "E1", "message": "boom"}},
    ]
    for answer in rows:
        found = parse_message(json.dumps({"jsonrpc": "2.0", "id": 7, **answer}).encode())
        assert found.id == 7
        assert is_unreadable(MCPError(found.error.code, found.error.message))


def test_a_result_gets_what_other_clients_do_without() -> None:
    rows = [
        ({}, {"content": []}),
        ({"structuredContent": {"a": 1}}, {"structuredContent": {"a": 1}, "content": []}),
        ({"content": None, "isError": True}, {"content": [], "isError": True}),
        ({"content": [1]}, {"content": [1]}),
        ({"protocolVersion": "2025-11-25"}, {"protocolVersion": "2025-11-25"}),
        ({"tools": [{"name": "a"}, {"name": "b", "inputSchema": {"properties": {}}}]},
         {"tools": [{"name": "a", "inputSchema": {"type": "object"}},
                    {"name": "b", "inputSchema": {"type": "object", "properties": {}}}]}),
        ({"tools": 5}, {"tools": 5}),
    ]  # fmt: skip

    def completed(result: dict[str, Any]) -> dict[str, Any]:
        complete(result)
        return result

    assert differences(completed, rows) == {}


@pytest.mark.parametrize("end", [None, "", "same"])
def test_a_list_ends_where_no_further_page_begins(end: str | None) -> None:
    cursors: list[str | None] = []

    async def read_page(cursor: str | None) -> Any:
        cursors.append(cursor)
        return SimpleNamespace(tools=[], next_cursor="same" if cursor is None else end)

    async def read_all() -> list[Any]:
        return [tool async for tool in listed(read_page)]

    assert asyncio.run(read_all()) == []
    assert cursors == [None, "same"]


def test_a_listing_is_kept_until_the_server_reports_a_change_also_while_it_is_read() -> None:
    cursors = list[str | None]()

    async def check() -> None:
        session: Any = Session.__new__(Session)  # without a connection
        session._fingerprints, session._listing_ends_at, session._listing = {}, -math.inf, asyncio.Lock()

        async def read_page(client: object, cursor: str | None) -> Any:
            if not cursors:
                await session._on_notification(SimpleNamespace(method="notifications/tools/list_changed"))
            cursors.append(cursor)
            return SimpleNamespace(tools=[], next_cursor=None)

        session._read_page = read_page
        for _ in range(3):
            with pytest.raises(ToolChanged):
                await session._check_tool(None, ToolRequest("berths", {}, "a fingerprint"))

    asyncio.run(check())
    assert len(cursors) == 2


def test_an_error_of_the_server_is_no_end_of_the_connection() -> None:
    rows = [(-32000, "Connection closed", True), (-32000, "Connection closed by the database", False), (1, "x", False)]
    assert differences(lambda code, message: is_closed(MCPError(code, message)), rows) == {}


def test_a_server_of_another_version_writes_no_messages() -> None:
    error = RuntimeError("Unsupported protocol version from the server: 1999-01-01")
    fault: Any = to_fault(error, Exchange(), StreamState(), "start", was_sent=False)
    assert fault.kind == "malformed"


def test_a_server_that_sends_more_requests_than_a_client_can_refuse_is_disconnected() -> None:
    request = JSONRPCRequest(jsonrpc="2.0", id=1, method="sampling/createMessage")

    async def arriving() -> AsyncIterator[Any]:
        for _ in range(MAX_NOTIFICATIONS + 1):
            yield SimpleNamespace(message=request)

    @asynccontextmanager
    async def transport() -> AsyncIterator[Any]:
        yield arriving(), None

    async def read_all(state: StreamState) -> int:
        async with watched(transport(), state) as (received, _):
            return len([one async for one in received])

    state = StreamState()
    assert asyncio.run(read_all(state)) == MAX_NOTIFICATIONS
    assert isinstance(state.fault, TooManyNotifications)


def test_a_refusal_says_what_the_server_says() -> None:
    rows = [
        (CallRefused(-32602, "bad"), "INVALID_ARGUMENTS", "bad"),
        (CallRefused(-32602, "bad", {"field": "a"}), "INVALID_ARGUMENTS", 'bad\n{"field": "a"}'),
        (CallRefused(1, "", ["full"]), "UPSTREAM_ERROR", '["full"]'),
        (CallRefused(1, " "), "UPSTREAM_ERROR", None),
        (CallRefused(1, "a" * 1_200 + "b" * 1_000), "UPSTREAM_ERROR",
         f"{'a' * 1_000}\n[200 characters left out]\n{'b' * 1_000}"),
    ]  # fmt: skip
    source = Source("quay", "Quay", "mcp", "", "", None, {}, "", (), ())
    texts = FaultTexts(source, program="quay", max_bytes=1, smaller_response_hint="")
    tool: Any = SimpleNamespace(name="quay__berths", effect="read")  # what the texts read of a tool
    for refusal, code, said in rows:
        error = texts.to_call_error(refusal, tool, SourceCredentials())
        assert (error.code, error.details.get("upstream_says")) == (code, said)
        assert ("without a reason" in error.message) == (said is None)
        listing = texts.to_call_error(refusal, None, SourceCredentials())  # which has no arguments
        assert listing.message.startswith("Quay refused to list its tools")
        assert (listing.code, str(listing.next_step)) == ("UPSTREAM_ERROR", "")


def test_of_many_sessions_the_one_that_was_not_used_for_the_longest_time_is_closed() -> None:
    closed: list[str] = []

    class Opened:
        is_usable, calls, is_closed = True, 0, True

        def __init__(self, key: str) -> None:
            self.key = key

        def close(self) -> None:
            closed.append(self.key)

        async def call(self, request: Any) -> Any:
            return self

    async def call_all() -> None:
        sessions, opened = Sessions(), cast(OpenSession, Opened)  # what is read of a session
        first: Any = await sessions.call("0", REQUEST, opened)
        first.calls = 1
        for number in (*range(1, MAX_SESSIONS), 1, MAX_SESSIONS):
            await sessions.call(str(number), REQUEST, opened)

    asyncio.run(call_all())
    assert closed == ["2"]


def test_what_a_result_requires_of_its_client_is_named() -> None:
    rows = [
        ({}, []),
        ({"resultType": "input_required"}, ["more input"]),
        ({"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}}, ["roots/list"]),
        ({"resultType": "input_required", "inputRequests": [{"method": 5}]}, ["more input"]),
    ]
    assert differences(_requested_methods, rows) == {}


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
    return texts.to_call_error(fault, None, SourceCredentials(key))


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
