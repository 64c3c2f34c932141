"""What an answer of an MCP server becomes: data for ``select``, text, and content that is passed on as it is."""

import json
from typing import Any

from tests.support.cpu_time import cpu_within
from tests.support.tables import accepted, differences
from toolfold.sources.mcp.answers import failure_text, parse_result

ROWS = [{"city": "Oslo", "people": 717710}, {"city": "Bergen", "people": 291940}]
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png", "annotations": {"audience": ["user"]}}
AUDIO = {"type": "audio", "data": "aGk=", "mimeType": "audio/wav", "_meta": {"x": 1}}
RESOURCE = {"type": "resource", "resource": {"uri": "note://1", "text": "Low tide.", "_meta": {"page": 2}}}
SHOWN = "(in the content block)"
ONE_BLOCK = "The call returned 1 content block."
HOLOGRAM = {"type": "hologram", "x": 1}
LINK = {"type": "resource_link", "uri": "note://2", "name": "two"}


def text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": value if isinstance(value, str) else json.dumps(value, indent=2)}


def test_an_answer_keeps_all_that_the_server_sent() -> None:
    rows = [
        ({"content": [text("Hello\nthere")]}, "text", "Hello\nthere", []),
        ({"content": [text(ROWS)]}, "json", ROWS, []),
        ({"content": [text({"rows": ROWS})]}, "json", {"rows": ROWS}, []),
        ({"content": [text(row) for row in ROWS]}, "json", ROWS, []),
        ({"content": [text("42")]}, "text", "42", []),
        ({"content": [text("{not json}")]}, "text", "{not json}", []),
        # Data in disguise, where all of a text but one line is data
        ({"content": [text("\n".join(map(json.dumps, ROWS)))]}, "json", ROWS, []),
        ({"content": [text('{"a": 1}\nDone')]}, "text", '{"a": 1}\nDone', []),
        *(({"content": [text(before + form.format(json.dumps(ROWS, indent=1)))]}, "json", ROWS,
           [text("2 rows:")] if before else [])
          for form in ("{}", "```json\n{}\n```", "```\n{}\n```\n") for before in ("", "2 rows:\n", "2 rows:\n\n")),
        ({"content": [text("2 rows:\n[]"), IMAGE]}, "text", "2 rows:\n[]", [IMAGE]),
        *(({"content": [text(other)]}, "text", other, [])
          for other in ("As he says\n[1]", "# Use\nPut this\n```json\n{}\n```", "```json\n{}\n```\nand so on",
                        "```json\n{}\n```\n```json\n{}\n```", "2 rows:\n[{broken}]", "a: {}\n{1}")),
        ({"content": [text("2 rows:\n[{}]")], "structuredContent": {"result": "2 rows:\n[{}]"}}, "json", [{}],
         [text("2 rows:")]),
        ({"content": [text("one"), text("two")]}, "text", "one", [text("two")]),
        ({"content": [], "structuredContent": {"rows": ROWS}}, "json", {"rows": ROWS}, []),
        ({"content": [text({"rows": ROWS})], "structuredContent": {"rows": ROWS}}, "json", {"rows": ROWS}, []),
        ({"content": [text("2 rows")], "structuredContent": {"rows": ROWS}}, "json", {"rows": ROWS}, [text("2 rows")]),
        # What frameworks wrap, as content again: a text, or one block for each item of a list.
        ({"content": [text("noon")], "structuredContent": {"result": "noon"}}, "text", "noon", []),
        ({"content": [text("hi\n")], "structuredContent": {"content": "hi\n"}}, "text", "hi\n", []),
        ({"content": [text(ROWS)], "structuredContent": {"result": json.dumps(ROWS, indent=2)}}, "json", ROWS, []),
        ({"content": [], "structuredContent": {"city": "Oslo"}}, "json", {"city": "Oslo"}, []),
        ({"content": [IMAGE], "structuredContent": {"png": "aGk=", "w": 1}}, "json", {"png": SHOWN, "w": 1}, [IMAGE]),
        ({"content": [text(row) for row in ROWS], "structuredContent": {"result": ROWS}}, "json", ROWS, []),
        ({"content": [text(ROWS)], "structuredContent": {"result": ROWS}}, "json", ROWS, []),
        ({"content": [text("a"), text("1")], "structuredContent": {"result": ["a", "1"]}}, "json", ["a", "1"], []),
        ({"content": [text({"a": {"b": 1}})], "structuredContent": {"result": {"a": {"b": 1}}}}, "json",
         {"a": {"b": 1}}, []),
        ({"content": [text("true")], "structuredContent": {"result": True}}, "json", True, []),
        ({"content": [text("1.5")], "structuredContent": {"result": 1.5}}, "json", 1.5, []),
        ({"content": [text("1")], "structuredContent": {"result": True}}, "json", {"result": True}, [text("1")]),
        ({"content": [text("2 rows")], "structuredContent": {"result": ROWS}}, "json", {"result": ROWS},
         [text("2 rows")]),
        ({"content": [], "structuredContent": {"result": []}}, "json", {"result": []}, []),
        ({"content": [text("Done")], "structuredContent": {"ok": True, "message": "Done"}}, "json",
         {"ok": True, "message": "Done"}, []),
        ({"content": [RESOURCE], "structuredContent": {"content": [RESOURCE]}}, "text",
         ONE_BLOCK, [RESOURCE]),
        ({"content": [text("one"), IMAGE], "structuredContent": {"result": [{**text("one"), "_meta": None}, IMAGE]}},
         "text", "one", [IMAGE]),
        ({"content": [RESOURCE], "structuredContent": {**RESOURCE, "annotations": None}}, "text",
         ONE_BLOCK, [RESOURCE]),
        ({"content": [text({"branch": "main", "message": None})], "structuredContent": {"branch": "main"}}, "json",
         {"branch": "main"}, []),
        # structuredContent may be any JSON since 2026-07-28.
        ({"content": [text(ROWS)], "structuredContent": ROWS}, "json", ROWS, []),
        ({"content": [], "structuredContent": []}, "json", [], []),
        ({"content": [text("A picture"), IMAGE, AUDIO]}, "text", "A picture", [IMAGE, AUDIO]),
        ({"content": [IMAGE, text("A picture")]}, "text", "A picture", [IMAGE]),
        ({"content": [text("2 rows:"), text(ROWS)]}, "json", ROWS, [text("2 rows:")]),
        ({"content": [IMAGE, text(ROWS), LINK]}, "json", ROWS, [IMAGE, LINK]),
        ({"content": [IMAGE] * 2 + [LINK]}, "text", "The call returned 3 content blocks.", [IMAGE, IMAGE, LINK]),
        ({"content": [RESOURCE]}, "text", ONE_BLOCK, [RESOURCE]),
        ({"content": [HOLOGRAM]}, "text", ONE_BLOCK, [HOLOGRAM]),
        ({"content": []}, "text", "The call succeeded; it returned no content.", []),
        ({"content": [text(" \n")]}, "text", "The call succeeded; it returned no content.", []),
        ({}, "text", "The call succeeded; it returned no content.", []),
    ]  # fmt: skip

    def parsed(result: Any) -> tuple[str, Any, list[Any]]:
        found = parse_result(result)
        body = json.loads(found.body) if found.kind == "json" else found.body
        return found.kind, body, json.loads(found.blocks) if found.blocks else []

    assert differences(parsed, [(result, (kind, body, blocks)) for result, kind, body, blocks in rows]) == {}


def test_text_that_is_json_is_kept_to_the_character() -> None:
    exact = '{"id": 12345678901234567890, "price": 1.10}'
    assert parse_result({"content": [text(exact)]}).body == exact


def test_text_in_the_notation_of_python_is_read_in_linear_time() -> None:
    with cpu_within(5):
        for odd in ("{'a': '" + "\\'" * 50_000, "[{'" * 50_000, "{'a': " + "'b' " * 50_000, "{'a':" + '"' * 100_001):
            assert parse_result({"content": [text(f"{odd}}}")]}).body == f"{odd}}}"


def test_what_is_no_content_is_refused() -> None:
    rows = [
        {"content": "hi"},
        {"content": ["hi"]},
        {"content": [{"text": "hi"}]},
        {"content": [{"type": "text", "text": 1}]},
    ]
    assert accepted(parse_result, rows, ValueError) == []


def test_the_words_of_a_failure_are_all_that_can_be_read_of_it() -> None:
    rows = [
        ([text("no"), IMAGE, text("berth")], None, "no\nberth"),
        ([], {"error": "full"}, '{"error":"full"}'),
        ([], None, ""),
        ([IMAGE, IMAGE, HOLOGRAM], None, ""),
        ([{"type": "resource", "resource": {"uri": "quay://log", "text": "full"}}], None, "full"),
        ([text("The call succeeded; it returned no content.")], None, "The call succeeded; it returned no content."),
        # The data of a failure, unless a text is all of it.
        ([text("no berth")], {"code": "E1", "hint": "ask for B2"}, 'no berth\n{"code":"E1","hint":"ask for B2"}'),
        ([text("no berth")], {"code": "E1", "message": "no berth"}, '{"code":"E1","message":"no berth"}'),
        ([text("no berth")], {"result": "no berth"}, "no berth"),
        ([text({"code": "E1"})], {"code": "E1"}, '{"code":"E1"}'),
        ([text("no"), IMAGE], {"result": [text("no"), IMAGE]}, "no"),
    ]

    def words(content: list[Any], data: Any) -> str:
        return failure_text({"content": content, "structuredContent": data})

    assert differences(words, rows) == {}


def test_a_list_that_is_sent_as_one_block_for_each_item_is_read_in_linear_time() -> None:
    rows = [{"i": number, "name": f"row {number}"} for number in range(3_000)]
    with cpu_within(5):
        found = parse_result({"content": [text(row) for row in rows], "structuredContent": {"result": rows}})
        assert (json.loads(found.body), found.blocks) == (rows, "")
        found = parse_result({"content": [text(row) for row in [*rows, {}]], "structuredContent": {"result": rows}})
        assert json.loads(found.blocks) == [text({})]
