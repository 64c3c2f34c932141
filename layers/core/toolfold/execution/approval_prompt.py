"""The question that a person answers before a call is approved."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from toolfold.text_safety import escape_unsafe

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool

__all__ = ["reason_of", "write_prompt"]

_MAX_VALUE_CHARS, _MAX_SHOWN = 200, 30
_DESTRUCTIVE = "It changes or deletes data that cannot be restored"


def reason_of(tool: Tool) -> str:
    """Return the sentence about calls of ``tool``: what the catalog says, else what its effect means."""
    return f"{tool.confirm or _DESTRUCTIVE}."


def write_prompt(source: Source, tool: Tool, arguments: str) -> str:
    """Return the question in one line. All names of arguments are in it; what is left out of a value is counted.

    Args:
        source: the source of ``tool``.
        tool: the tool that is called.
        arguments: the canonical ones, as JSON.
    """
    values: dict[str, Any] = json.loads(arguments)
    shown = [f"{name[:_MAX_VALUE_CHARS]}={_shorten(value)}" for name, value in list(values.items())[:_MAX_SHOWN]]
    if len(values) > _MAX_SHOWN:
        shown.append(f"and {len(values) - _MAX_SHOWN} more arguments")
    called = f" with {', '.join(shown)}" if shown else ""
    return escape_unsafe(f"Allow {tool.name} of {source.title}{called}? {reason_of(tool)}")


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= _MAX_VALUE_CHARS:
        return text
    return f"{text[:_MAX_VALUE_CHARS]}… ({len(text):,} characters)"
