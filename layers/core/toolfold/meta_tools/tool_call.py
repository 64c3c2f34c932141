"""``TOOL_CALL(tool_name, arguments, select, max_tokens, fresh)``: call a tool and fit its answer into the budget."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolfold.budget import WorkBudget
from toolfold.errors import CallError, InvalidArguments
from toolfold.execution.validation import validator_of
from toolfold.meta_tools import call_arguments, completion
from toolfold.meta_tools.answer_reader import begin_shaping, read_answer, with_notes
from toolfold.meta_tools.arguments import boolean
from toolfold.meta_tools.call import Answer, Call, CallBase, LargeAnswerTurn, add_metadata
from toolfold.meta_tools.result import MetaRequest, Result
from toolfold.meta_tools.tool_names import tool_not_found
from toolfold.results import output
from toolfold.results.output import MIN_TOKENS, OutputOptions, RenderedResult

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog
    from toolfold.execution.executor import ToolExecutor
    from toolfold.execution.result import CallResult
    from toolfold.meta_tools.call_batch import Batch

MAX_RESERVE_S = 1.0
_RESERVED_SHARE = 8
"""Time for what follows the response: at most that many seconds, and that fraction of what the call has."""


def tool_call(request: MetaRequest) -> Result:
    """Call a tool.

    Returns:
        ``{"result", "cached", "age_s"}``, and ``preview`` where the result is shortened; the text is the result
        itself. The result has toolfold's own form, or, where the call gives the ``format_parameter`` of the source,
        the upstream's; see ``results.output``.

    Raises:
        CallError: the call failed; see ``errors``.
    """
    try:
        return _tool_call(request)
    except InvalidArguments as error:
        from toolfold.meta_tools.corrections import with_next_call

        raise with_next_call(request.catalog, request.arguments, error) from error.__cause__


def _tool_call(request: MetaRequest) -> Result:
    started = time.perf_counter()
    budget, fetch_deadline = time_budget(request.executor.settings.timeout_s, request.deadline)
    with LargeAnswerTurn(request.turns, budget) as turn:
        base = CallBase(
            request.catalog, request.executor, request.credentials, budget, fetch_deadline, turn, request.whole
        )
        call, sent = open_call(base, request.arguments)
        if boolean(request.arguments.get("inspect")):
            return _inspect(call, sent, started)
        batch, sent = plan_parts(call, sent)
        if batch is not None:
            answer = _call_parts(call, batch, sent)
        elif call.options.raw_by:
            response = fetch_response(call, sent)
            result = _with_notes(_render_raw(call, response), response.notes)
            return add_metadata(result, call, response.use, started)
        else:
            answer = complete_answer(call, sent, fetch_response(call, sent))
        return add_metadata(render_answer(call, answer), call, answer.use, started)


def _inspect(call: Call, sent: Mapping[str, Any], started: float) -> Result:
    """Perform a call, completed from the example of its tool, and describe its answer.

    Raises:
        CallError: the tool does more than read, or the call failed.
    """
    from toolfold.meta_tools import inspection

    if call.options.raw_by:
        sent = {name: value for name, value in sent.items() if name != call.options.raw_by}
        call = replace(call, options=replace(call.options, raw_by=""))
    sent, filled = inspection.completed_arguments(call, sent)
    answer = complete_answer(call, sent, fetch_response(call, sent))
    return add_metadata(inspection.render_inspection(call, answer, sent, filled), call, answer.use, started)


def open_call(base: CallBase, arguments: Mapping[str, Any]) -> tuple[Call, Mapping[str, Any]]:
    """Return a call, and the arguments of its tool. Nothing is sent.

    Args:
        base: what the call shares with others.
        arguments: the arguments of TOOL_CALL, in the documented form.

    Raises:
        CallError: no tool has the name, or an option cannot be used.
    """
    catalog, executor, credentials = base.catalog, base.executor, base.credentials
    tool = catalog.called_tool(arguments["tool_name"])
    if tool is None:
        raise tool_not_found(catalog, arguments["tool_name"])
    tool_arguments, options = call_arguments.split_arguments(tool, arguments)
    format_parameter = catalog.source(tool.source).format_parameter
    raw_by = format_parameter if _is_raw(catalog, tool, tool_arguments, format_parameter) else ""
    output_options = _output_options(executor, raw_by, options, base.whole)
    bypass_cache = call_arguments.parse_fresh(options["fresh"])
    if options["approval_token"] is not None:
        credentials = credentials._replace(approval_token=options["approval_token"])
    budget, turn = base.budget, base.turn
    call = Call(catalog, executor, tool, credentials, output_options, bypass_cache, budget, base.fetch_deadline, turn)
    return call, call_arguments.without_redundant_format(tool, tool_arguments, format_parameter)


def plan_parts(call: Call, sent: Mapping[str, Any]) -> tuple[Batch | None, Mapping[str, Any]]:
    """Return the calls that lists among the arguments stand for, or None, and the arguments of a single call.

    Raises:
        InvalidArguments: a list is empty or has lists in it, there are too many calls, or the tool does more than read.
    """
    if not call_arguments.may_have_lists(sent):
        return None, sent
    from toolfold.meta_tools import call_batch

    planned = call_batch.plan(validator_of(call.catalog, call.tool), sent)
    if planned is not sent:
        call_batch.thread_count(call.tool, None)  # refuses lists where each call changes something
    return (planned, sent) if isinstance(planned, call_batch.Batch) else (None, planned)


def _is_raw(catalog: Catalog, tool: Tool, arguments: Mapping[str, Any], parameter: str) -> bool:
    """Return whether a call gives the format parameter of its source, under any name for it."""
    if arguments.get(parameter) is not None or not parameter:
        return bool(parameter)
    validator = validator_of(catalog, tool)
    if arguments.keys() <= validator.properties.keys():
        return False
    from toolfold.execution.argument_repair import rename  # only other names need it

    return rename(validator, arguments).arguments.get(parameter) is not None


def for_parts(call: Call) -> Call:
    """Return the call of which parts are made: ``select`` is applied to all of their answers together."""
    selection = call.options.select
    return call if selection is None or selection.jmespath else replace(call, is_part=True)


def _call_parts(call: Call, batch: Batch, sent: Mapping[str, Any]) -> Answer:
    """Perform several calls in one, and return their answers as one table."""
    from toolfold.meta_tools import call_batch

    if call.options.raw_by:
        call_batch.refuse_raw(batch, validator_of(call.catalog, call.tool), sent, call.options.raw_by)
    end = call.budget.deadline - MAX_RESERVE_S if call.fetch_deadline is None else call.fetch_deadline
    part_call = replace(for_parts(call), fetch_deadline=end)
    outcomes = call_batch.fetch_parts(
        batch.parts,
        lambda arguments: fetch_response(part_call, arguments),
        lambda arguments, response: complete_answer(part_call, arguments, response),
        end,
        call_batch.thread_count(call.tool, call.executor.settings.requests_per_second),
    )
    return merged_answer(call, batch, outcomes)


def merged_answer(call: Call, batch: Batch, outcomes: Sequence[Any]) -> Answer:
    """Return the answers of the parts of a call as one, and what is selected of it.

    Raises:
        CallError: no part succeeded, or the ``select`` does not fit the table of all.
    """
    from toolfold.meta_tools import call_batch

    selection = call.options.select if for_parts(call).is_part else None
    merged = call_batch.merge(batch, outcomes, selection, call.executor.today(), call.budget)
    blocks = [block for one in outcomes if isinstance(one, Answer) for block in one.blocks]
    return Answer(merged.document, merged.status, merged.size, blocks, merged.use)


def complete_answer(call: Call, arguments: Mapping[str, Any], response: CallResult) -> Answer:
    """Select what a call requests of its response, and fetch what the response lacks of that.

    Args:
        call: the call.
        arguments: the arguments of its tool, as the caller sent them.
        response: what they returned.

    Raises:
        CallError: the response cannot be parsed within the budget, or the ``select`` does not fit it.
    """
    answer, gap = read_answer(call, response)
    if gap is None:
        return with_notes(answer)
    if not gap.is_fetched or call.tool.effect != "read" or call.tool.needs_approval:
        return with_notes(answer, completion.lacking_note(call.tool, response.arguments, gap))
    call.turn.release()  # the first answer is small: it lacks something
    if call.fetch_deadline is None:
        call = replace(call, fetch_deadline=call.budget.deadline - MAX_RESERVE_S)
    try:
        fuller_response = fetch_response(call, arguments, gap.complete)
        fuller, rest = read_answer(call, fuller_response)
    except CallError as error:
        return with_notes(answer, completion.lacking_note(call.tool, response.arguments, gap, error))
    notes = [completion.used_note(gap)]
    if rest is not None:
        notes.append(completion.lacking_note(call.tool, fuller_response.arguments, rest))
    complete = with_notes(fuller, *notes)
    return replace(complete, use=response.use + complete.use)


def fetch_response(
    call: Call, arguments: Mapping[str, Any], added: Mapping[str, Any] | None = None, *, only_cached: bool = False
) -> CallResult:
    """Perform a call, or answer it from the cache. Several parts of a call may be fetched at the same time.

    Args:
        call: the call.
        arguments: the arguments of its tool, as the caller sent them.
        added: further arguments, with which the answer is complete.
        only_cached: see :meth:`toolfold.execution.executor.ToolExecutor.call`.

    Raises:
        CallError: the call failed.
        NotCached: as there.
    """
    try:
        return call.executor.call(
            call.catalog,
            call.tool,
            arguments,
            call.credentials,
            bypass_cache=call.bypass_cache,
            deadline=call.fetch_deadline,
            added=added,
            only_cached=only_cached,
        )
    except CallError as error:
        from toolfold.meta_tools.next_steps import with_next_step

        raise with_next_step(error, call.catalog, call.tool, arguments) from None


def render_answer(call: Call, answer: Answer) -> Result:
    """Render an answer within the budget of tokens.

    Raises:
        AnswerTooLarge: the budget is used up.
    """
    rendered = output.render_document(answer.document, call.options, answer.status, call.budget, answer.size)
    return Result(rendered.structured, rendered.text, blocks=answer.blocks)


def _output_options(executor: ToolExecutor, raw_by: str, options: Mapping[str, Any], whole: bool) -> OutputOptions:
    """Return how the result is wanted; a wrong ``select`` fails here, before anything is sent."""
    settings = executor.settings
    requested = call_arguments.parse_max_tokens(options["max_tokens"], settings.max_tokens)
    max_tokens = max(MIN_TOKENS, min(requested, settings.max_tokens_ceiling))
    return OutputOptions(
        raw_by=raw_by,
        select=call_arguments.parse_select(options["select"]),
        max_tokens=max_tokens,
        requested_tokens=requested if options["max_tokens"] is not None and requested != max_tokens else 0,
        save_answer=executor.save_answer if settings.offload not in ("", "off") else None,
        whole=whole,
    )


def _render_raw(call: Call, response: CallResult) -> RenderedResult:
    """Render a response in the upstream's own form."""
    begin_shaping(call, response)
    status = output.AnswerStatus(response.cached, response.age_s, response.stale_reason)
    return output.render_raw(
        response.body, response.kind, call.tool.answer, call.options, status, response.redactor, call.budget
    )


def _with_notes(rendered: RenderedResult, notes: tuple[str, ...]) -> Result:
    """Return a result in the upstream's own form, whose text has no place for notes."""
    return Result({**rendered.structured, **({"notes": list(notes)} if notes else {})}, rendered.text)


def time_budget(timeout_s: float, deadline: float | None) -> tuple[WorkBudget, float | None]:
    """Return the budget of a call, and the time at which its response must have arrived: some time before its deadline.

    Without that time in reserve, a small answer that arrives in the last moment, or an expired one that replaces it,
    could not be rendered.
    """
    now = time.monotonic()
    if deadline is None:
        return WorkBudget(now + timeout_s + MAX_RESERVE_S), None
    reserve_s = min(MAX_RESERVE_S, (deadline - now) / _RESERVED_SHARE)
    return WorkBudget(min(deadline, now + timeout_s + reserve_s)), deadline - reserve_s
