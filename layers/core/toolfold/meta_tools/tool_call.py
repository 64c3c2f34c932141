"""``TOOL_CALL(tool_name, arguments, select, max_tokens, fresh)``: call a tool and fit its answer into the budget."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.budget import WorkBudget
from toolfold.errors import InvalidArguments
from toolfold.meta_tools.arguments import boolean, whole_number
from toolfold.meta_tools.detail_levels import properties
from toolfold.meta_tools.result import Result
from toolfold.meta_tools.tool_get import tool_not_found

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog, Tool
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.execution.executor import ToolExecutor
    from toolfold.results.select.parser import Selection

OPTIONS = ("select", "max_tokens", "fresh")
"""Arguments of TOOL_CALL itself, beside the tool's name and its arguments."""

_MAX_RESERVE_S = 1.0
_RESERVED_SHARE = 8
"""Time for what follows the response: at most that many seconds, and that fraction of what the call has."""

_MIN_SHAPING_S = 0.25
"""Time in which a response that has arrived may be shaped, however late it is: part of the transport's own reserve."""


def tool_call(
    catalog: Catalog,
    executor: ToolExecutor,
    arguments: Mapping[str, Any],
    credentials: RequestCredentials,
    large_answer_turns: threading.Semaphore,
    deadline: float | None = None,
) -> Result:
    """Call a tool.

    Args:
        catalog: the current catalog.
        executor: performs the call.
        arguments: the arguments of TOOL_CALL.
        credentials: the API keys of the request.
        large_answer_turns: how many large answers are shaped at the same time.
        deadline: ``time.monotonic()`` at which the answer must be complete; None: the time-outs of the settings.

    Returns:
        ``{"result", "cached", "age_s"}``, and ``preview`` where the result is shortened; the text is the result
        itself. The result has toolfold's own form, or, where the call gives the ``format_parameter`` of the source,
        the upstream's; see ``results.output``.

    Raises:
        CallError: the call failed; see ``errors``.
    """
    tool = _find_tool(catalog, arguments.get("tool_name"))
    tool_arguments, options = _split_arguments(tool, arguments)
    from toolfold.meta_tools.large_answers import large_answer_turn
    from toolfold.results.output import MIN_TOKENS, OutputOptions, render_result

    settings = executor.settings
    format_parameter = catalog.source(tool.source).format_parameter
    max_tokens = min(_parse_max_tokens(options["max_tokens"], settings.max_tokens), settings.max_tokens_ceiling)
    output_options = OutputOptions(
        raw_by=format_parameter if tool_arguments.get(format_parameter) is not None else "",
        select=_parse_select(options["select"]),  # a wrong expression fails before anything is sent
        max_tokens=max(MIN_TOKENS, max_tokens),
        save_answer=executor.save_answer if settings.offload not in ("", "off") else None,
    )
    budget, fetch_deadline = _budget(settings.timeout_s, deadline)
    answer = executor.call(
        catalog,
        tool,
        _without_redundant_format(tool, tool_arguments, format_parameter),
        credentials,
        bypass_cache=_parse_fresh(options["fresh"]),
        deadline=fetch_deadline,
    )
    budget.deadline = max(budget.deadline, time.monotonic() + _MIN_SHAPING_S)
    budget.suggestion = executor.smaller_response_hint(catalog, tool)
    with large_answer_turn(large_answer_turns, len(answer.body), budget):
        rendered = render_result(
            answer.body,
            answer.kind,
            tool.answer,
            output_options,
            cached=answer.cached,
            age_s=answer.age_s,
            stale_reason=answer.stale_reason,
            redactor=answer.redactor,
            budget=budget,
        )
    return Result(rendered.structured, rendered.text)


def _budget(timeout_s: float, deadline: float | None) -> tuple[WorkBudget, float | None]:
    """Return the budget of a call, and the time at which its response must have arrived: some time before its deadline.

    Without that time in reserve, a small answer that arrives in the last moment, or an expired one that replaces it,
    could not be rendered.
    """
    now = time.monotonic()
    if deadline is None:
        return WorkBudget(now + timeout_s + _MAX_RESERVE_S), None
    reserve_s = min(_MAX_RESERVE_S, (deadline - now) / _RESERVED_SHARE)
    return WorkBudget(min(deadline, now + timeout_s + reserve_s)), deadline - reserve_s


def _find_tool(catalog: Catalog, name: Any) -> Tool:
    if not isinstance(name, str) or not name.strip():
        raise InvalidArguments(
            "tool_name must be the name of a tool.",
            'Call TOOL_CALL again with {"tool_name": "NAME", "arguments": {…}}; TOOL_LIST has the names.',
        )
    tool = catalog.get(name)
    if tool is None:
        raise tool_not_found(catalog, name)
    return tool


def _split_arguments(tool: Tool, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
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


def _without_redundant_format(tool: Tool, arguments: Mapping[str, Any], parameter: str) -> Mapping[str, Any]:
    """Leave out the format where the tool has one format and no such parameter, and the call names that format."""
    requested = arguments.get(parameter)
    if requested is None or parameter in properties(tool.parameters):
        return arguments
    if str(requested).strip().lower() not in tool.formats:
        return arguments  # reported as an unknown argument
    return {name: value for name, value in arguments.items() if name != parameter}


def _parse_select(value: Any) -> Selection | None:
    if value is None:
        return None
    from toolfold.results.select import parser  # compiles its expressions when it is imported

    return parser.parse_select(value)


def _parse_max_tokens(value: Any, default: int) -> int:
    if value is None:
        return default
    number = whole_number(value)
    if number is None or number < 1:
        raise InvalidArguments("max_tokens must be a whole number above 0.", "Correct it, or leave it out.")
    return number


def _parse_fresh(value: Any) -> bool:
    fresh = boolean(value)
    if fresh is None:
        raise InvalidArguments("fresh must be true or false.", "Correct it, or leave it out.")
    return fresh
