"""``TOOL_CALL(tool_name, arguments, select, max_tokens, fresh)``: call a tool and fit its answer into the budget."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.errors import InvalidArguments
from toolfold.meta_tools.answer_reader import begin_shaping, fetch_response
from toolfold.meta_tools.arguments import boolean
from toolfold.meta_tools.call import add_metadata
from toolfold.meta_tools.plan import Plan
from toolfold.meta_tools.result import MetaRequest, Result
from toolfold.results import output

if TYPE_CHECKING:
    from toolfold.meta_tools.call import Call


def tool_call(request: MetaRequest) -> Result:
    """Call a tool.

    Returns:
        ``{"result", "cached", "age_s"}``, and ``preview`` where the result is shortened; the text is the result
        itself. The result has toolfold's own form, or, where the call gives the ``format_parameter`` of the source,
        the upstream's; see ``results.output``.

    Raises:
        CallError: the call failed; see ``errors``.
    """
    started = time.perf_counter()
    inspects = bool(boolean(request.arguments.get("inspect")))
    with Plan(request, can_continue=False) as plan:
        try:
            item, call = plan.open_only(request.arguments, keeps_raw=not inspects)
            if call.options.raw_by:
                return _raw(call, item.parts[0], started)
            filled: tuple[str, ...] = ()
            if inspects:
                from toolfold.meta_tools import inspection

                item.notes, (item.parts, filled) = (), inspection.completed_parts(call, item.parts)
            answer = plan.answer(item)
            if inspects:
                result = inspection.render_inspection(call, answer, item.parts[0], filled)
            else:
                rendered = output.render_document(
                    answer.document, call.options, answer.status, plan.budget, answer.size
                )
                result = Result(rendered.structured, rendered.text, blocks=answer.blocks)
            result = result._replace(answered=plan.progress(lacks_time=plan.is_partial))
            return add_metadata(result, call, answer.use, started)
        except InvalidArguments as error:
            raise plan.with_next_call(request.arguments, error) from error.__cause__


def _raw(call: Call, arguments: Mapping[str, Any], started: float) -> Result:
    """Return a response in the upstream's own form, whose text has no place for notes."""
    response = fetch_response(call, arguments)
    begin_shaping(call, response)
    status = output.AnswerStatus(response.cached, response.age_s, response.stale_reason)
    rendered = output.render_raw(
        response.body, response.kind, call.tool.answer, call.options, status, response.redactor, call.budget
    )
    notes = {"notes": list(response.notes)} if response.notes else {}
    return add_metadata(Result({**rendered.structured, **notes}, rendered.text), call, response.use, started)
