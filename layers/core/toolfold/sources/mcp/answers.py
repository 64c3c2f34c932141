"""Read the result of a call: the data that ``select`` works on, and the content that is passed on as it is.

====================================  ========================================================================
the server sent                       the answer
====================================  ========================================================================
``structuredContent``                 JSON; text blocks that repeat it are left out. What a framework wrapped is what
                                      the text blocks are: a text, the JSON that it spells, any value
text blocks, one of them JSON         JSON: the first such block
text blocks that each are JSON        JSON: a list of them
one text: lines of JSON objects, or   that JSON; the line is a text block behind it
JSON in a fence or behind one line,
also as Python writes it
other text                            the text of the first block
images, audio, resources, links,      content blocks behind the text, unaltered
and further text
====================================  ========================================================================
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any

from toolfold.models import ParsedResponse

_NAMES = {"image": "image", "audio": "audio clip", "resource": "resource", "resource_link": "link to a resource"}
"""Type of a content block → its name."""

_BEHIND_LINE = re.compile(
    r"(?:(?P<line>(?!```)[^\n]{1,300})\n\s*)?(?:```\w*[ \t]*\n(?P<fenced>.*)\n[ \t]*```|(?P<bare>[{\[].*[}\]]))",
    re.DOTALL,
)
"""JSON that is all of a text but for one line before it, in a fence of Markdown or not."""

_PYTHON = re.compile(
    r"""'(?P<text>(?:[^'\\]++|\\.)*+)(?:'|\Z)|"(?P<quoted>(?:[^"\\]++|\\.)*+)(?:"|\Z)|\b(?P<constant>None|True|False)\b""",
    re.DOTALL,
)
"""What Python writes otherwise than JSON, texts and three constants. A text that does not end is read once, too.

Nothing is given back (``++``, ``*+``): for what could be, a long text would take 150 times its memory.
"""

_ESCAPED = re.compile(r'\\(.)|"', re.DOTALL)
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
        shown = {block["data"] for block in others if isinstance(block.get("data"), str) and block["data"]}
        return ParsedResponse("json", _dumps(_without(value, shown)), blocks=_encode(others))
    if not any(block["type"] != "text" or block["text"].strip() for block in content):
        return ParsedResponse("text", _NO_CONTENT)
    texts = [block for block in content if block["type"] == "text"]
    if not texts:  # a sentence about them, for those who see text alone
        counts = Counter(_NAMES.get(block["type"], "content block") for block in content)
        named = ", ".join(name if count == 1 else f"{count} × {name}" for name, count in counts.items())
        return ParsedResponse("text", f"The call returned: {named}.", blocks=_encode(content))
    values = [_json_value(block["text"]) for block in texts]
    if len(texts) > 1 and len(texts) == len(content) and None not in values:
        return ParsedResponse("json", _dumps(values))
    main, value = next((found for found in zip(texts, values, strict=True) if found[1] is not None), (texts[0], None))
    others = [block for block in content if block is not main]
    if value is None and len(texts) > 1:
        return ParsedResponse("text", main["text"], blocks=_encode(others))
    return _parse_text(main["text"], others)


def _parse_text(text: str, others: Sequence[Mapping[str, Any]]) -> ParsedResponse:
    """Return the answer that is one text: JSON, where all of it is, but for a line before it."""
    value, body = _in_json(text.strip())
    if value is not None:
        return ParsedResponse("json", body, blocks=_encode(others))
    lines = list(filter(None, map(str.strip, body.split("\n"))))
    rows = f"[{','.join(lines)}]"
    if len(lines) > 1 and all(line[0] == "{" for line in lines) and _json_value(rows) is not None:
        return ParsedResponse("json", rows, blocks=_encode(others))
    found = _BEHIND_LINE.fullmatch(body)
    value, data = (None, "") if found is None else _in_json((found["fenced"] or found["bare"] or "").strip())
    # A number in brackets behind a line may be a note to it.
    if found is None or not (isinstance(value, dict) or any(isinstance(item, dict) for item in value or ())):
        return ParsedResponse("text", text, blocks=_encode(others))
    before = [{"type": "text", "text": found["line"].strip()}] if found["line"] else []
    return ParsedResponse("json", data, blocks=_encode([*before, *others]))


def failure_text(result: Mapping[str, Any]) -> str:
    r"""Return what a failed result says: the answer that it would be, with further texts; empty for no content.

    >>> failure_text({"content": [{"type": "text", "text": "no berth"}], "structuredContent": {"code": "E1"}})
    'no berth\n{"code":"E1"}'

    Raises:
        ValueError: it is not a result of ``tools/call``.
    """
    content, structured = _read(result)
    found = parse_result(result)
    holders = (block.get("resource", block) for block in json.loads(found.blocks or "[]"))
    texts = [one["text"] for one in holders if isinstance(one, dict) and isinstance(one.get("text"), str)]
    # Without a text of the server, the answer is a sentence of toolfold about the content.
    is_said = structured is not None or any(block["type"] == "text" and block["text"].strip() for block in content)
    body = [found.body] if is_said else []
    return "\n".join([*texts, *body] if found.kind == "json" else [*body, *texts])


def _read(result: Mapping[str, Any]) -> tuple[list[dict[str, Any]], Any]:
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
    is_repeated = structured is not None and content and _given(_items(_wrapped(structured))) == _given(content)
    return content, None if is_repeated else structured


def _wrapped(structured: Any) -> Any:
    """Return what a framework may have wrapped: the only member of an object; anything else as it is."""
    return next(iter(structured.values())) if isinstance(structured, dict) and len(structured) == 1 else structured


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _given(value: Any) -> Any:
    """Return a value without the members that are null, which libraries write or leave out."""
    if isinstance(value, dict):
        return {key: _given(inner) for key, inner in value.items() if inner is not None}
    return [_given(inner) for inner in value] if isinstance(value, list) else value


def _unwrapped(structured: Any, content: Sequence[Mapping[str, Any]]) -> tuple[Any, list[Mapping[str, Any]]]:
    """Return structured content without what a framework wrapped it in, and the blocks that do not repeat it.

    Texts are the wrapped value, where one is all of it or each is an item: FastMCP wraps as "result", the server of
    files as "content". A text beside data may be a message of it, as a sentence besides.
    """
    value = _wrapped(structured)
    whole, items = _signature(value), [_signature(item) for item in _items(value)]
    readings = [_readings(block) for block in content]
    texts = list(filter(None, readings))
    is_each = len(texts) == len(items) > 0 and all(item in reading for item, reading in zip(items, texts, strict=True))
    is_said = is_each or any(whole in reading for reading in texts)
    said = structured.values() if isinstance(structured, dict) else ()
    known = {whole, _signature(structured), *items, *(_signature(text) for text in said if isinstance(text, str))}
    others = [block for block, reading in zip(content, readings, strict=True) if known.isdisjoint(reading)]
    return value if is_said else structured, others


def _readings(block: Mapping[str, Any]) -> frozenset[str]:
    """Return the signatures of what a text may be: itself, and the value that it spells; none of other content."""
    if block["type"] != "text":
        return frozenset()
    text = block["text"]
    try:
        return frozenset((_signature(text), _signature(json.loads(text))))
    except (ValueError, RecursionError):
        return frozenset((_signature(text),))


def _signature(value: Any) -> str:
    """Return what equal values have in common: JSON without an order of members, and without those that are null."""
    return json.dumps(_given(value), sort_keys=True)


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


def _in_json(text: str) -> tuple[Any, str]:
    r"""Return the object or list that a text is, as JSON or as Python writes it, and its JSON; else None and the text.

    >>> _in_json("{'name': \"O'Neil\", 'paid': None}")
    ({'name': "O'Neil", 'paid': None}, '{"name": "O\'Neil", "paid": null}')
    """
    value = _json_value(text)
    if value is None and text[:1] in ("{", "[") and text[-1] in "]}":
        in_json = _PYTHON.sub(_of_python, text)
        value = _json_value(in_json)
        text = text if value is None else in_json
    return value, text


def _of_python(found: re.Match[str]) -> str:
    if found["constant"]:
        return {"None": "null", "True": "true", "False": "false"}[found["constant"]]
    spelled = {"'": "'", "x": "\\u00", None: '\\"'}
    inner = found["quoted"] if found["text"] is None else found["text"]
    return f'"{_ESCAPED.sub(lambda sign: spelled.get(sign[1], sign[0]), inner)}"'


def _encode(blocks: Sequence[Mapping[str, Any]]) -> str:
    return _dumps(blocks) if blocks else ""


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
