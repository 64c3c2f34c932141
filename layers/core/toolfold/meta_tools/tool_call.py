"""``TOOL_CALL(tool_name, arguments, select, max_tokens, fresh)``: call a tool and fit its answer into the budget."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.budget import WorkBudget
from toolfold.meta_tools import call_arguments
from toolfold.meta_tools.result import Result

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.execution.executor import ToolExecutor

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
    tool = call_arguments.find_tool(catalog, arguments.get("tool_name"))
    tool_arguments, options = call_arguments.split_arguments(tool, arguments)
    from toolfold.meta_tools.large_answers import large_answer_turn
    from toolfold.results.output import MIN_TOKENS, OutputOptions, render_result

    settings = executor.settings
    format_parameter = catalog.source(tool.source).format_parameter
    max_tokens = min(
        call_arguments.parse_max_tokens(options["max_tokens"], settings.max_tokens), settings.max_tokens_ceiling
    )
    output_options = OutputOptions(
        raw_by=format_parameter if tool_arguments.get(format_parameter) is not None else "",
        select=call_arguments.parse_select(options["select"]),  # a wrong expression fails before anything is sent
        max_tokens=max(MIN_TOKENS, max_tokens),
        save_answer=executor.save_answer if settings.offload not in ("", "off") else None,
    )
    budget, fetch_deadline = _budget(settings.timeout_s, deadline)
    answer = executor.call(
        catalog,
        tool,
        call_arguments.without_redundant_format(tool, tool_arguments, format_parameter),
        credentials,
        bypass_cache=call_arguments.parse_fresh(options["fresh"]),
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
