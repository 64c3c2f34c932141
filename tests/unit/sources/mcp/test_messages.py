"""What is read of servers that keep to the protocol less strictly than the SDK: lines, results, cursors, errors."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from tests.support.tables import differences
from toolfold.catalog.entries import Source
from toolfold.models import SourceCredentials
from toolfold.sources.mcp.child_process import parse_message
from toolfold.sources.mcp.client import complete, is_closed, is_unreadable
from toolfold.sources.mcp.faults import CallRefused, FaultTexts
from toolfold.sources.mcp.listing import list_all

OK = {"jsonrpc": "2.0", "id": 7, "result": {"content": []}}
ANSWER = json.dumps(OK).encode()
TRUNCATED = b'{"jsonrpc":"2.0","id":7,"result":{"said":"%s"}}'


def test_what_answers_no_call_is_skipped() -> None:
    rows = [
        b"Listening on stdio",
        b'{"level":"info","id":7,"msg":"ready"}',
        b"[1, 2]",
        b"null",
        b"\xff\xfe\x00",
        b'{"jsonrpc":"2.0","log":"ready"}',
        b'{"jsonrpc":"2.0","id":null,"result":{}}',
        b'{"jsonrpc":"2.0","id":7,"method":5}',
    ]
    assert differences(parse_message, [(line, None) for line in rows]) == {}


def test_a_message_whose_call_cannot_be_known_ends_the_connection() -> None:
    rows = [ANSWER[:30], b"log: " + ANSWER, b"[" + ANSWER + b"]"]
    for line in rows:
        with pytest.raises(ValueError, match="cut off"):
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
        ({"result": None}, ""),
        ({"result": [1]}, ""),
        ({}, ""),
        ({"jsonrpc": "1.0", "result": {}}, ""),
        ({"error": "boom"}, "boom"),
        ({"error": {"code": "E1", "message": "boom"}}, '{"code": "E1", "message": "boom"}'),
    ]
    for answer, said in rows:
        found = parse_message(json.dumps({"jsonrpc": "2.0", "id": 7, **answer}).encode())
        assert found.id == 7
        assert is_unreadable(MCPError(found.error.code, found.error.message)) != bool(said)
        assert not said or found.error.message == said


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

    assert asyncio.run(list_all(read_page, lambda _: True, 10)) == []
    assert cursors == [None, "same"]


def test_an_error_of_the_server_is_no_end_of_the_connection() -> None:
    rows = [(-32000, "Connection closed", True), (-32000, "Connection closed by the database", False), (1, "x", False)]
    assert differences(lambda code, message: is_closed(MCPError(code, message)), rows) == {}


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
