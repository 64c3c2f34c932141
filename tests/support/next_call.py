"""The call that an error proposes, and what becomes of it."""

import json
import re
from collections.abc import Mapping
from typing import Any

from toolfold.catalog.entries import META_TOOLS
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import Result

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
