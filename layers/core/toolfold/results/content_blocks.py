"""Keep the text in further content blocks of an answer within its budget. Images and other data stay as they are.

Blocks of the types :data:`NEXT_PAGE` and :data:`NOTE` are of a source adapter, not of a service, and become notes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolfold.results import tokens

__all__ = ["MAX_CHARS", "NEXT_PAGE", "NOTE", "fit_blocks", "split_notes"]

NEXT_PAGE = "toolfold/next_page"
"""Type of a block with the ``arguments`` that return the next page, and the ``unknown`` names that are no argument."""

NOTE = "toolfold/note"
"""Type of a block whose ``text`` is a note."""

MAX_CHARS = 5_000_000
"""Of the JSON of all blocks: a Lambda function returns at most 6 MB, and the answer has more than these."""

_CHARS_PER_TOKEN = 3
"""Characters of a cut text for each token that is left: prose has four, data two to three."""


def fit_blocks(blocks: Sequence[Mapping[str, Any]], max_tokens: int) -> tuple[list[Mapping[str, Any]], str]:
    """Return the blocks, their text cut where it is longer than the budget, and a note about that, or ``""``.

    Args:
        blocks: content blocks of MCP.
        max_tokens: budget of all texts in them together.
    """
    left, cut, fitted = max_tokens, 0, []
    for block in blocks:
        resource = block.get("resource")
        holder = resource if isinstance(resource, Mapping) else block
        text = holder.get("text")
        if not isinstance(text, str):
            fitted.append(block)
            continue
        if tokens.fits(text, left):
            left -= tokens.count(text)
            fitted.append(block)
            continue
        shown = {**holder, "text": text[: left * _CHARS_PER_TOKEN]}
        cut += len(text) - len(shown["text"])
        left = 0
        fitted.append({**block, "resource": shown} if holder is resource else shown)
    note = f"{cut:,} characters of text in further content blocks are left out; max_tokens allows more." if cut else ""
    return fitted, note


def split_notes(blocks: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], tuple[str, ...]]:
    """Return the blocks for the model, and notes made of the others.

    >>> split_notes([{"type": NEXT_PAGE, "arguments": {"page": "3"}, "unknown": []}])
    ([], ('There is more: call again with page=3, other arguments unchanged.',))
    """
    notes = [block["text"] for block in blocks if block.get("type") == NOTE]
    notes += [_next_page_note(block) for block in blocks if block.get("type") == NEXT_PAGE]
    return [block for block in blocks if block.get("type") not in (NEXT_PAGE, NOTE)], tuple(notes)


def _next_page_note(block: Mapping[str, Any]) -> str:
    if block["unknown"]:
        return f"There is more, on a page that this tool has no argument for ({', '.join(block['unknown'])})."
    if not block["arguments"]:
        return "There is more, on a page that this tool has no argument for."
    values = [
        f"{name}={value if value.isalnum() else json.dumps(value, ensure_ascii=False)}"
        for name, value in block["arguments"].items()
    ]
    return f"There is more: call again with {', '.join(values)}, other arguments unchanged."
