"""Calls of the meta-tools, what all their results share, and the call that an error proposes."""

import json
import re
from collections.abc import Mapping
from typing import Any

import bpe_openai

from toolfold.catalog.entries import META_TOOLS
from toolfold.errors import CALL_ERRORS
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import Result

_ENCODING = bpe_openai.get_encoding("o200k_base")


def tokens(value: Any) -> int:
    """Return the number of tokens of ``value``, which is a text or is encoded as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return len(_ENCODING.encode(text))


def error(result: Result) -> dict[str, Any]:
    """Return the error of ``result`` and check the members that every error has."""
    assert result.is_error
    assert json.loads(result.text) == result.structured
    found = result.structured["error"]
    assert found["code"] in CALL_ERRORS
    assert found["message"]
    assert found["suggestion"]
    return dict(found)


def call(tools: MetaTools, tool_name: Any, arguments: Any = None, **more: Any) -> Result:
    given = {"tool_name": tool_name, **more}
    return tools.call("TOOL_CALL", given if arguments is None else {**given, "arguments": arguments})


_IN_WORDS = re.compile(r"(TOOL_[A-Z]+) with (\{.*\})")


def proposed_call(error: Mapping[str, Any] | str) -> tuple[str, dict[str, Any]] | None:
    """Return meta-tool and arguments of the call that an error says to make next, or None where it has none.

    Args:
        error: the ``error`` of a result, or the message of a JSON-RPC error.
    """
    if isinstance(error, str):
        found = _IN_WORDS.search(error)
        return None if found is None else (found[1], json.loads(found[2]))
    if "next_call" not in error:
        return None
    ((name, arguments),) = error["next_call"].items()
    assert name in META_TOOLS
    return name, arguments


def follow(tools: MetaTools, result: Result) -> Result:
    """Make the call that the error in ``result`` proposes, and return its result."""
    assert result.is_error, result.text
    call = proposed_call(result.structured["error"])
    assert call is not None, result.text
    return tools.call(*call)
