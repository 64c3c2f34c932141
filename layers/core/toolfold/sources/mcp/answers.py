"""Read the result of a call: the data that ``select`` works on, and the content that is passed on as it is.

====================================  ========================================================================
the server sent                       the answer
====================================  ========================================================================
``structuredContent``                 JSON; text blocks that repeat it are left out. What a framework wrapped is what
                                      the text blocks are: a text, the JSON that it spells, any value
text blocks, one of them JSON         JSON: the first such block
text blocks that each are JSON        JSON: a list of them
one text: lines of JSON objects, or   that JSON; the line is a text block behind it
JSON in a fence or behind one line
other text                            the text of the first block
images, audio, resources, links,      content blocks behind the text, unaltered
and further text
====================================  ========================================================================
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolfold.models import ParsedResponse
from toolfold.text_safety import counted

_BEHIND_LINE = re.compile(
    r"(?:(?P<line>(?!```)[^\n]{1,300})\n\s*)?(?:```\w*[ \t]*\n(?P<fenced>.*)\n[ \t]*```|(?P<bare>[{\[].*[}\]]))",
    re.DOTALL,
)
"""JSON that is all of a text but for one line before it, in a fence of Markdown or not."""

_NO_CONTENT = "The call succeeded; it returned no content."


def parse_result(result: Mapping[str, Any]) -> ParsedResponse:
    """Return the answer in a result that is not an error.

    Raises:
        ValueError: it is not a result of ``tools/call``.
    """
    content, structured = _read(result)
    if structured is not None:
        value, others = _unwrapped(structured, content)
        if isinstance(value, str):
            return _parse_text(value, others)
        body = _dumps(value)
        for block in others:  # the bytes of images and sounds stand in their blocks
            if isinstance(data := block.get("data"), str) and data:
                body = body.replace(_dumps(data), '"(in the content block)"')
        return ParsedResponse("json", body, blocks=_encode(others))
    texts = [block for block in content if block["type"] == "text"]
    if not texts and content:  # a sentence about them, for those who see text alone
        return ParsedResponse(
            "text", f"The call returned {counted(len(content), 'content block')}.", blocks=_dumps(content)
        )
    if len(texts) == len(content) and not any(block["text"].strip() for block in texts):
        return ParsedResponse("text", _NO_CONTENT)
    values = [_json_value(block["text"]) for block in texts]
    if len(texts) > 1 and len(texts) == len(content) and None not in values:
        return ParsedResponse("json", _dumps(values))
    main = next((block for block, value in zip(texts, values, strict=True) if value is not None), texts[0])
    return _parse_text(main["text"], [block for block in content if block is not main])


def _parse_text(text: str, others: Sequence[Mapping[str, Any]]) -> ParsedResponse:
    """Return the answer that is one text: JSON, where all of it is, but for a line before it or a fence around it."""
    lines = list(filter(None, map(str.strip, text.split("\n"))))
    rows = f"[{','.join(lines)}]" if len(lines) > 1 and all(line[0] == "{" for line in lines) else ""
    body = next((one for one in (rows, text.strip()) if _json_value(one) is not None), None)
    found = None if body is not None else _BEHIND_LINE.fullmatch(text.strip())
    if found is not None:
        data = (found["fenced"] or found["bare"] or "").strip()
        value = _json_value(data)
        # A number in brackets behind a line may be a note to it.
        if isinstance(value, dict) or any(isinstance(item, dict) for item in value or ()):
            body = data
            others = [{"type": "text", "text": found["line"].strip()}, *others] if found["line"] else others
    if body is None:
        return ParsedResponse("text", text, blocks=_encode(others))
    return ParsedResponse("json", body, blocks=_encode(others))


def failure_text(result: Mapping[str, Any]) -> str:
    r"""Return what a failed result says: its texts, and the data that they do not repeat; empty for no content.

    >>> failure_text({"content": [{"type": "text", "text": "no berth"}], "structuredContent": {"code": "E1"}})
    'no berth\n{"code":"E1"}'

    Raises:
        ValueError: it is not a result of ``tools/call``.
    """
    content, structured = _read(result)
    value, others = (None, content) if structured is None else _unwrapped(structured, content)
    holders = (block.get("resource", block) for block in others)
    texts = [one["text"] for one in holders if isinstance(one, dict) and isinstance(one.get("text"), str)]
    if structured is not None:
        texts.append(value if isinstance(value, str) else _dumps(value))
    return "\n".join(texts)


def _read(result: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], Any]:
    """Return the content of a result, and its structured content; None where that is missing, or all of it again."""
    content = result.get("content", [])
    if not isinstance(content, list) or not all(
        isinstance(block, dict)
        and isinstance(block.get("type"), str)
        and (block["type"] != "text" or isinstance(block.get("text"), str))
        for block in content
    ):
        raise ValueError("not the content of a result")
    # No server may write the notes of toolfold: see toolfold.results.preview.
    content = [block for block in content if not block["type"].startswith("toolfold/")]
    structured = result.get("structuredContent")
    # Frameworks make structured content of all of the content again, for tools that return content.
    if structured is not None and content:
        wrapped = _wrapped(structured)
        if _signature(wrapped if isinstance(wrapped, list) else [wrapped]) == _signature(content):
            return content, None
    return content, structured


def _wrapped(structured: Any) -> Any:
    """Return what a framework may have wrapped: the only member of an object; anything else as it is."""
    return next(iter(structured.values())) if isinstance(structured, dict) and len(structured) == 1 else structured


def _unwrapped(structured: Any, content: Sequence[Mapping[str, Any]]) -> tuple[Any, list[Mapping[str, Any]]]:
    """Return structured content without what a framework wrapped it in, and the blocks that do not repeat it.

    Texts are the wrapped value, where one is all of it or each is an item: FastMCP wraps as "result", the server of
    files as "content". A text beside data may be a message of it, as a sentence besides.
    """
    value = _wrapped(structured)
    whole, items = _signature(value), [_signature(item) for item in (value if isinstance(value, list) else [value])]
    readings = [_readings(block["text"]) if block["type"] == "text" else frozenset[str]() for block in content]
    texts = list(filter(None, readings))
    is_each = len(texts) == len(items) > 0 and all(item in reading for item, reading in zip(items, texts, strict=True))
    said = structured.values() if isinstance(structured, dict) else ()
    known = {whole, _signature(structured), *items, *(_signature(text) for text in said if isinstance(text, str))}
    others = [block for block, reading in zip(content, readings, strict=True) if known.isdisjoint(reading)]
    return value if is_each or any(whole in reading for reading in texts) else structured, others


def _readings(text: str) -> frozenset[str]:
    """Return the signatures of what a text may be: itself, and the value that it spells."""
    try:
        return frozenset((_signature(text), _signature(json.loads(text))))
    except (ValueError, RecursionError):
        return frozenset((_signature(text),))


def _signature(value: Any) -> str:
    """Return what equal values have in common: JSON without an order of members, and without those that are null.

    Libraries write such members, or leave them out.
    """

    def given(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: given(inner) for key, inner in value.items() if inner is not None}
        return [given(inner) for inner in value] if isinstance(value, list) else value

    return json.dumps(given(value), sort_keys=True)


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
