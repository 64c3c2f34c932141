"""Parse objects and calls that models write as text: JSON, JSON in a fence of Markdown, Python, a call as code."""

from __future__ import annotations

import json
import re
from typing import Any

_MAX_CALL = 600
"""Characters of a call that is written as code."""

_MAX_NESTED = 5
"""Objects and lists in a text that is parsed as Python."""

_CALL_TEXT = re.compile(r"\s*([\w.:/-]+)\s*\((.{1,500})\)\s*;?\s*", re.DOTALL)


def parse_object(value: Any) -> dict[str, Any] | None:
    """Return the object that ``value`` is or spells as JSON, in a fence of Markdown or not; else None."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, str):
        return None
    text = value.strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    if text.startswith('"'):
        text = _decoded(text)
    if not text.startswith("{"):
        return None
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return _parse_python(text)
    return parsed if isinstance(parsed, dict) else None


def _decoded(text: str) -> str:
    """Return the text that a JSON string has: JSON may be encoded twice."""
    try:
        decoded = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return decoded.strip() if isinstance(decoded, str) else ""


_MAX_PYTHON = 2000
"""Characters of an object in Python's spelling that are parsed: its parser needs far more memory than that of JSON."""


def _parse_python(text: str) -> dict[str, Any] | None:
    """Return the object that ``text`` spells in Python: single quotes, True, None, a comma at the end."""
    if len(text) > _MAX_PYTHON or text.count("{") + text.count("[") > _MAX_NESTED:
        return None
    import ast  # few models send it

    try:
        parsed = ast.literal_eval(text)
        json.dumps(parsed, allow_nan=False)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return parsed if isinstance(parsed, dict) and all(isinstance(key, str) for key in parsed) else None


def parse_call_text(text: str) -> tuple[str, dict[str, Any]] | None:
    """Return name and arguments of a call that is written as code, ``NAME(symbol="IBM")``; None for other text."""
    found = _CALL_TEXT.fullmatch(text[:_MAX_CALL])
    if found is None or not found[2].strip():
        return None
    if (inner := parse_object(found[2])) is not None:
        return found[1], inner
    import ast  # few models send it

    try:
        call = ast.parse(f"f({found[2]})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(call, ast.Call) or call.args:
        return None
    arguments: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            return None
        if isinstance(keyword.value, ast.Name):
            arguments[keyword.arg] = keyword.value.id
            continue
        try:
            arguments[keyword.arg] = ast.literal_eval(keyword.value)
            json.dumps(arguments, allow_nan=False)
        except (ValueError, TypeError, RecursionError):
            return None
    return found[1], arguments


def json_problem(text: str) -> str:
    """Return why ``text`` is not the JSON text of an object."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"arguments is not valid JSON ({error.msg} at character {error.pos})"
    except RecursionError:
        return "arguments is nested too deeply"
    except ValueError:
        return "arguments is not valid JSON"
    return "arguments must be an object, or the JSON text of one"
