"""Calls of the meta-tools, and checks that all their results share."""

import json
from typing import Any

import bpe_openai

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
