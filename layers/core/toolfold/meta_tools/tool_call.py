"""``TOOL_CALL(tool_name, arguments)``: one tool, called."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.errors import InvalidArguments
from toolfold.meta_tools.result import Result
from toolfold.meta_tools.tool_get import not_found

if TYPE_CHECKING:
    from toolfold.calling.caller import Caller
    from toolfold.calling.keys import Presented
    from toolfold.catalog.model import Catalog, Tool


def tool_call(catalog: Catalog, caller: Caller, arguments: Mapping[str, Any], presented: Presented) -> Result:
    """``{"result": JSON value or CSV text}``; the text is the result itself.

    Raises:
        CallError: every way in which a call can fail; see ``errors``.
    """
    name = arguments.get("tool_name")
    if not isinstance(name, str) or not name.strip():
        raise InvalidArguments(
            "tool_name must be the name of a tool.",
            'Call TOOL_CALL again, e.g. with {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}.',
        )
    tool = catalog.get(name)
    if tool is None:
        raise not_found(catalog, name)
    answer = caller.call(catalog, tool, _inner(tool, arguments), presented)
    return Result({"result": answer.data}, answer.text)


def _inner(tool: Tool, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The tool's own arguments: an object, the JSON text of one, or, as models sometimes send them, one level up."""
    inner = arguments.get("arguments")
    if inner is None:
        return {key: value for key, value in arguments.items() if key not in ("tool_name", "arguments")}
    if isinstance(inner, str):
        inner = _parsed(tool, inner) if inner.strip() else {}
    if not isinstance(inner, dict):
        raise _unusable(tool, "arguments must be an object, or the JSON text of one")
    return inner


def _parsed(tool: Tool, text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise _unusable(tool, "arguments is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise _unusable(tool, f"arguments is not valid JSON ({error.msg} at character {error.pos})") from None
    except ValueError:
        raise _unusable(tool, "arguments is not valid JSON") from None


def _unusable(tool: Tool, problem: str) -> InvalidArguments:
    return InvalidArguments(
        f"{tool.name}: {problem}.",
        "Send arguments as an object by the schema; nothing was sent.",
        schema=tool.parameters,
    )
