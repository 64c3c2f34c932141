"""Read the result of a call: the data that ``select`` works on, and the content that is passed on as it is.

====================================  ========================================================================
the server sent                       the answer
====================================  ========================================================================
``structuredContent``                 JSON; text blocks that repeat it are left out. A text that a framework wrapped
                                      is text again, or the JSON that it spells
one text block that is JSON           JSON
text blocks that each are JSON        JSON: a list of them
text                                  the text of the first block
images, audio, resources, links,      content blocks behind the text, unaltered
and further text
====================================  ========================================================================
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any

from toolfold.models import ParsedResponse

_NAMES = {"image": "image", "audio": "audio clip", "resource": "resource", "resource_link": "link to a resource"}
"""Type of a content block → its name."""

_NO_CONTENT = "The call succeeded; it returned no content."


def parse_result(result: Mapping[str, Any]) -> ParsedResponse:
    """Return the answer in a result that is not an error.

    Raises:
        ValueError: it is not a result of ``tools/call``.
    """
    content = _content(result)
    structured = result.get("structuredContent")
    if structured is not None and not _is_content(structured, content):
        others = [block for block in content if not _repeats(block, structured)]
        text = next(iter(structured.values())) if isinstance(structured, dict) and len(structured) == 1 else None
        if isinstance(text, str) and any(block["type"] == "text" and block["text"] == text for block in content):
            return ParsedResponse("text" if _json_value(text) is None else "json", text, blocks=_encode(others))
        shown = {block["data"] for block in others if isinstance(block.get("data"), str) and block["data"]}
        return ParsedResponse("json", _dumps(_without(structured, shown)), blocks=_encode(others))
    if not any(block["type"] != "text" or block["text"].strip() for block in content):
        return ParsedResponse("text", _NO_CONTENT)
    texts = [block["text"] for block in content if block["type"] == "text"]
    values = [_json_value(text) for text in texts]
    if texts and len(texts) == len(content) and all(value is not None for value in values):
        return ParsedResponse("json", texts[0].strip() if len(texts) == 1 else _dumps(values))
    if not texts:
        # A sentence about them, for those who see text alone.
        counts = Counter(_NAMES.get(block["type"], "content block") for block in content)
        parts = ", ".join(name if count == 1 else f"{count} × {name}" for name, count in counts.items())
        return ParsedResponse("text", f"The call returned: {parts}.", blocks=_encode(content))
    first = next(index for index, block in enumerate(content) if block["type"] == "text")
    others = [*content[:first], *content[first + 1 :]]
    if values[0] is not None:
        return ParsedResponse("json", texts[0].strip(), blocks=_encode(others))
    return ParsedResponse("text", texts[0], blocks=_encode(others))


def result_text(result: Mapping[str, Any]) -> str:
    """Return what a result says in words: all of its text, or its structured content.

    Raises:
        ValueError: it is not a result of ``tools/call``.
    """
    texts = [block["text"] for block in _content(result) if block["type"] == "text"]
    if any(text.strip() for text in texts):
        return "\n".join(texts)
    structured = result.get("structuredContent")
    return "" if structured is None else _dumps(structured)


def _content(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = result.get("content", [])
    if not isinstance(content, list) or not all(
        isinstance(block, dict)
        and isinstance(block.get("type"), str)
        and (block["type"] != "text" or isinstance(block.get("text"), str))
        for block in content
    ):
        raise ValueError("not the content of a result")
    # No server may write the notes of toolfold: see toolfold.results.preview.
    return [block for block in content if not block["type"].startswith("toolfold/")]


def _is_content(structured: Any, content: Sequence[Any]) -> bool:
    """Return whether structured content is all of the content again, which frameworks make of tools that return it."""
    wrapped = next(iter(structured.values())) if isinstance(structured, dict) and len(structured) == 1 else structured
    return bool(content) and _given(wrapped if isinstance(wrapped, list) else [wrapped]) == _given(content)


def _given(value: Any) -> Any:
    """Return a value without the members that are null, which libraries write or leave out."""
    if isinstance(value, dict):
        return {key: _given(inner) for key, inner in value.items() if inner is not None}
    return [_given(inner) for inner in value] if isinstance(value, list) else value


def _repeats(block: Mapping[str, Any], structured: Any) -> bool:
    """Return whether a text block is the structured content again, or the value that a framework wrapped in it."""
    if block["type"] != "text":
        return False
    text, structured = block["text"], _given(structured)
    # FastMCP wraps it as "result", the server of files in "content".
    wrapped = next(iter(structured.values())) if isinstance(structured, dict) and len(structured) == 1 else None
    is_member = isinstance(structured, dict) and text in structured.values()  # a message, as a sentence besides
    if is_member or (isinstance(wrapped, list) and text in wrapped):
        return True
    try:
        value = _given(json.loads(text))
    except (ValueError, RecursionError):
        return False
    # A framework sends a list as one block for each item.
    return value in (structured, wrapped) or (isinstance(wrapped, list) and value in wrapped)


def _without(value: Any, shown: Container[str]) -> Any:
    """Return a value without the bytes of images and sounds that are content blocks."""
    if isinstance(value, dict):
        return {key: _without(inner, shown) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without(inner, shown) for inner in value]
    return "(in the content block)" if isinstance(value, str) and value in shown else value


def _json_value(text: str) -> Any:
    """Return the object or list that ``text`` is; None for anything else: a number or a word is text."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _encode(blocks: Sequence[Mapping[str, Any]]) -> str:
    return _dumps(blocks) if blocks else ""


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
