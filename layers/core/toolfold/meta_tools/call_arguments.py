"""The arguments of TOOL_CALL: which tool, its own arguments, and the options beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.errors import InvalidArguments
from toolfold.meta_tools.arguments import boolean, whole_number
from toolfold.meta_tools.detail_levels import properties
from toolfold.meta_tools.tool_get import tool_not_found

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog, Tool
    from toolfold.results.select.parser import Selection

OPTIONS = ("select", "max_tokens", "fresh")
"""Arguments of TOOL_CALL itself, beside the tool's name and its arguments."""


def find_tool(catalog: Catalog, name: Any) -> Tool:
    """Return the tool of a name.

    Raises:
        InvalidArguments: it is not a name.
        ToolNotFound: the catalog has no such tool; the error names the closest ones.
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidArguments(
            "tool_name must be the name of a tool.",
            'Call TOOL_CALL again with {"tool_name": "NAME", "arguments": {…}}; TOOL_LIST has the names.',
        )
    tool = catalog.get(name)
    if tool is None:
        raise tool_not_found(catalog, name)
    return tool


def split_arguments(tool: Tool, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tool's arguments and :data:`OPTIONS`.

    Models put an option beside the tool's arguments or among them; the latter works unless the tool has a parameter of
    that name.
    """
    tool_arguments = dict(_tool_arguments(tool, arguments))
    options = {}
    for name in OPTIONS:
        nested = None if name in properties(tool.parameters) else tool_arguments.pop(name, None)
        options[name] = nested if arguments.get(name) is None else arguments[name]
    return tool_arguments, options


def _tool_arguments(tool: Tool, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the tool's own arguments: an object, the JSON text of one, or, as some models send them, one level up."""
    given = arguments.get("arguments")
    if given is None:
        own = {"tool_name", "arguments"} | (set(OPTIONS) - set(properties(tool.parameters)))
        return {name: value for name, value in arguments.items() if name not in own}
    if isinstance(given, str):
        given = _parse_arguments(tool, given) if given.strip() else {}
    if not isinstance(given, dict):
        raise _invalid_arguments(tool, "arguments must be an object, or the JSON text of one")
    return given


def _parse_arguments(tool: Tool, text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise _invalid_arguments(tool, "arguments is nested too deeply") from None
    except json.JSONDecodeError as error:
        problem = f"arguments is not valid JSON ({error.msg} at character {error.pos})"
        raise _invalid_arguments(tool, problem) from None
    except ValueError:
        raise _invalid_arguments(tool, "arguments is not valid JSON") from None


def _invalid_arguments(tool: Tool, problem: str) -> InvalidArguments:
    return InvalidArguments(
        f"{tool.name}: {problem}.",
        "Send arguments as an object by the schema; nothing was sent.",
        schema=tool.parameters,
    )


def without_redundant_format(tool: Tool, arguments: Mapping[str, Any], parameter: str) -> Mapping[str, Any]:
    """Leave out the format where the tool has one format and no such parameter, and the call names that format."""
    requested = arguments.get(parameter)
    if requested is None or parameter in properties(tool.parameters):
        return arguments
    if str(requested).strip().lower() not in tool.formats:
        return arguments  # reported as an unknown argument
    return {name: value for name, value in arguments.items() if name != parameter}


def parse_select(value: Any) -> Selection | None:
    """Return what ``select`` selects; None: everything."""
    if value is None:
        return None
    from toolfold.results.select import parser  # compiles its expressions when it is imported

    return parser.parse_select(value)


def parse_max_tokens(value: Any, default: int) -> int:
    """Return ``max_tokens``."""
    if value is None:
        return default
    number = whole_number(value)
    if number is None or number < 1:
        raise InvalidArguments("max_tokens must be a whole number above 0.", "Correct it, or leave it out.")
    return number


def parse_fresh(value: Any) -> bool:
    """Return ``fresh``."""
    fresh = boolean(value)
    if fresh is None:
        raise InvalidArguments("fresh must be true or false.", "Correct it, or leave it out.")
    return fresh
