"""Further content blocks: data as it is, and text within the budget."""

from typing import Any

from toolfold.results.preview import fit_blocks
from toolfold.results.tokens import count

IMAGE: dict[str, Any] = {"type": "image", "data": "x" * 100_000, "mimeType": "image/png", "annotations": {"a": 1}}
LONG = "one word after another, " * 4000


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value, "_meta": {"b": 2}}


def resource(value: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": "note://1", "text": value}, "_meta": {"c": 3}}


def test_blocks_within_the_budget_are_the_same() -> None:
    blocks = [IMAGE, text("two"), resource("three"), {"type": "resource_link", "uri": "note://2", "name": "n"}]
    assert fit_blocks(blocks, 1000) == (blocks, "")


def test_text_over_the_budget_is_cut_and_the_rest_is_counted() -> None:
    blocks, note = fit_blocks([IMAGE, resource(LONG), text("after")], 1000)
    assert blocks[0] == IMAGE
    shown = blocks[1]["resource"]
    assert (blocks[1]["_meta"], shown["uri"]) == ({"c": 3}, "note://1")
    assert LONG.startswith(shown["text"])
    assert 300 < count(shown["text"]) <= 1000
    assert blocks[2]["text"] == ""
    assert note.startswith(f"{len(LONG) - len(shown['text']) + len('after'):,} characters")


def test_the_budget_is_that_of_all_texts_together() -> None:
    blocks, note = fit_blocks([text("word " * 800)] * 3, 1000)
    assert sum(count(block["text"]) for block in blocks) <= 1000
    assert note
