"""``TOOL_CALL(tool_name, arguments, select, max_tokens, fresh)``: one tool, called, and its answer made to fit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.errors import InvalidArguments
from toolfold.meta_tools.result import Result
from toolfold.meta_tools.tool_get import not_found

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog, Tool
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.execution.executor import ToolExecutor
    from toolfold.results.select.parser import Selection

OWN = ("select", "max_tokens", "fresh")
"""What TOOL_CALL takes beside the tool's name and its arguments."""

_YES, _NO = ("true", "1", "yes"), ("false", "0", "no", "")


def tool_call(
    catalog: Catalog,
    caller: ToolExecutor,
    arguments: Mapping[str, Any],
    credentials: RequestCredentials,
    deadline: float | None = None,
) -> Result:
    """``{"result", "cached", "age_s"}``, and ``preview`` where the result is a part; the text is the result itself.

    In toolfold's own form where no ``datatype`` is named, in the upstream's where one is; see ``results.output``.

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
    inner, own = _apart(tool, arguments)
    from toolfold.results.output import LEAST_TOKENS, OutputOptions, present

    settings = caller.settings
    wishes = OutputOptions(
        raw=_names_a_form(tool, inner),
        select=_selection(own["select"]),  # before anything is sent
        max_tokens=max(LEAST_TOKENS, min(_tokens(own["max_tokens"], settings.max_tokens), settings.max_tokens_ceiling)),
        place="" if settings.offload == "off" else settings.offload,
        presigned_url_ttl_s=settings.presigned_url_ttl_s,
        keep_s=settings.s3_timeout_s,
        deadline=deadline,
        aws=caller.aws,
    )
    outcome = caller.call(catalog, tool, inner, credentials, bypass_cache=_flag(own["fresh"]), deadline=deadline)
    shown = present(
        outcome.body,
        outcome.kind,
        tool.answer,
        wishes,
        cached=outcome.cached,
        age_s=outcome.age_s,
        late=outcome.stale_reason,
    )
    return Result(shown.structured, shown.text)


def _selection(given: Any) -> Selection | None:
    if given is None:
        return None
    from toolfold.results.select import parser  # its expressions take time to compile

    return parser.parse(given)


def _apart(tool: Tool, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tool's arguments, and TOOL_CALL's own: beside them, or among them where the tool has none of that name."""
    inner = dict(_inner(tool, arguments))
    own = {}
    for name in OWN:
        inside = inner.pop(name, None) if name not in tool.parameters["properties"] else None
        own[name] = inside if arguments.get(name) is None else arguments[name]
    return inner, own


def _names_a_form(tool: Tool, inner: dict[str, Any]) -> bool:
    """Whether the call asks for the upstream's own form. A tool with one form needs no parameter to be asked for it."""
    wanted = inner.get("datatype")
    if wanted is None or "datatype" in tool.parameters["properties"]:
        return wanted is not None
    if str(wanted).strip().lower() in tool.formats:
        del inner["datatype"]
    return True


def _tokens(value: Any, default: int) -> int:
    if value is None:
        return default
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value.strip()[:9])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidArguments("max_tokens must be a whole number above 0.", "Correct it, or leave it out.")
    return value


def _flag(value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    spelled = str(value).strip().lower()
    if spelled not in _YES + _NO:
        raise InvalidArguments("fresh must be true or false.", "Correct it, or leave it out.")
    return spelled in _YES


def _inner(tool: Tool, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The tool's own arguments: an object, the JSON text of one, or, as models sometimes send them, one level up."""
    inner = arguments.get("arguments")
    if inner is None:
        beside = {"tool_name", "arguments"} | (set(OWN) - set(tool.parameters["properties"]))
        return {key: value for key, value in arguments.items() if key not in beside}
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
