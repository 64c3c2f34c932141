"""``TOOL_BATCH(calls, …)``: up to fifty independent calls, answered in their order, each with its result or error.

Answers share one budget of tokens fairly. The structured data has each answer completely. The text is for a model:
answers of the same form become one table with the ids as its first column; others stand below a line with their id.

What is left of a batch or a pipe when the time of a request is over is kept for the next request of the same caller.
The token in ``continue`` is the id under which the rest is kept. It is for the catalog that its calls were read with.
One with calls that may change something is used once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolfold.budget import WorkBudget
from toolfold.errors import InsufficientScope, InvalidArguments, WriteNotAllowed
from toolfold.messages import CALL_WRITE, READS_ONLY
from toolfold.meta_tools.arguments import invalid, is_blank, next_call
from toolfold.meta_tools.call import output_options
from toolfold.meta_tools.combination import Combination
from toolfold.meta_tools.plan import USUAL_PARALLEL, Plan
from toolfold.meta_tools.reader import read_values
from toolfold.meta_tools.references import refers
from toolfold.meta_tools.result import Result, dumps_compact, error_text, safe_line
from toolfold.results import output, render, tokens
from toolfold.results.combine import LabelledDocument, stack_documents
from toolfold.results.output import RenderedResult
from toolfold.text_safety import quoted, quoted_name
from toolfold.wording import joined

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.meta_tools.call import Answer, Item
    from toolfold.meta_tools.dispatcher import MetaRequest
    from toolfold.results.output import OutputOptions
    from toolfold.results.tables import Document


TOOL = "TOOL_BATCH"

_MAX_ID_CHARS = 64
_REFERS = (
    "This call refers to another one, and the calls of a batch are independent.",
    'Send both to TOOL_PIPE as steps, with {"$ref": "name.rows[0].column"}; this one was not sent.',
)


def tool_batch(request: MetaRequest) -> Result:
    """Perform the calls of a batch.

    Returns:
        ``{"results": [{"id", "tool_name", "ok", "elapsed_ms", "result", …} or {…, "error"}], "summary": {"total",
        "succeeded", "failed", "skipped"}, "continue": token or null}``. With ``join`` or SQL ``result`` is the one
        table, and ``results`` have none.

    Raises:
        InvalidArguments: the batch cannot be read. Every other failure is that of a call, beside the others.
        InsufficientScope: the access token of the caller allows none of the calls.
    """
    arguments = resume_arguments(request, TOOL)
    given = _with_ids(arguments["calls"])
    stop = bool(arguments.get("stop_on_error"))
    most = arguments.get("max_parallel", USUAL_PARALLEL)
    max_tokens = arguments.get("max_tokens")
    with closing(Plan(request)) as plan:
        items = [plan.open(id_, call) for id_, call in given.items()]
        for item in items:
            if item.error is None and refers(item.given.get("arguments"), list(given)):
                item.error = InvalidArguments(*_REFERS)
        if max_tokens is None and all(not is_blank(item.given.get("max_tokens")) for item in items):
            max_tokens = sum(item.call.options.max_tokens for item in items if item.call is not None) or None
        combination = Combination.plan(arguments.get("join"), arguments.get("select"), items)
        plan.perform(items, most, stops_on_error=stop)
        first = items[0].error
        if first is not None and all(isinstance(item.error, InsufficientScope) for item in items):
            raise first
        rest = [item for item in items if item.is_skipped]
        token = None
        if rest and not stop:
            repeated = items if combination is not None else rest
            left = [{"id": item.id, **call} for item in repeated if isinstance(call := given[item.id], dict)]
            tools = [item.call and item.call.tool for item in repeated]
            token = issue_token(request, TOOL, {**arguments, "calls": left}, tools)
        rendering = render_items(plan, items, max_tokens, combination)
    skipped, failed = len(rest), len(rendering.errors)
    summary = {"total": len(items), "succeeded": len(items) - failed - skipped, "failed": failed, "skipped": skipped}
    # What failed or is missing comes first, in a line of its own.
    lines = [rendering.text]
    if failed or skipped:
        parts = [f"{summary['succeeded']} of {len(items)} calls succeeded"]
        parts += [f"{failed} failed"] if failed else []
        parts += [f"{skipped} not answered"] if skipped else []
        lines.insert(0, f"# {', '.join(parts)}")
    if token is not None:
        lines.append(f"# The time was over. For the rest call TOOL_BATCH with {dumps_compact({'continue': token})}")
    elif skipped:
        lines.append("# Calls that were not made can be sent again in another batch")
    structured = {**rendering.structured, "summary": summary, "continue": token, "elapsed_ms": plan.elapsed_ms}
    answered = plan.progress(lacks_time=bool(rest) and not stop)
    text = "" if request.whole else "\n".join(lines)  # whole answers are in the data alone
    return rendering._replace(structured=structured, text=text, answered=answered)


def take_names(tool: str, items: Sequence[Any], rule: str, is_name: Callable[[str], bool]) -> list[str]:
    """Remove the name of each item, which is an object, and return the names; empty for one without.

    Raises:
        InvalidArguments: one is no name by ``rule``, or two are the same.
    """
    given = [[item.pop(key, None) for key in ("as", "id")] if isinstance(item, dict) else [] for item in items]
    found = [next((name for name in one if not is_blank(name)), "") for one in given]
    names = [str(name).strip() for name in found]
    for position, name in enumerate(names):
        if not isinstance(found[position], str | int) or (name and not is_name(name)):
            raise invalid(tool, f"{quoted(name)} cannot be the name of a call", rule)
        if name and name in names[:position]:
            problem = f"{quoted(name)} is the name of two calls, {names.index(name)} and {position} counted from 0"
            raise invalid(tool, problem, "Give each a name of its own, or none.")
    return names


def _with_ids(items: Sequence[Any]) -> dict[str, Any]:
    """Return each call under its id; one without an id gets ``c1``, ``c2``, … by its position."""
    given = [dict(item) if isinstance(item, dict) else item for item in items]
    rule = f"Send ids of at most {_MAX_ID_CHARS} characters, which can be printed."
    ids = take_names(TOOL, given, rule, lambda name: len(name) <= _MAX_ID_CHARS and name.isprintable())
    named: dict[str, Any] = {}
    for position, (id_, item) in enumerate(zip(ids, given, strict=True), 1):
        free = (f"c{number}" for number in itertools.count(position))
        named[id_ or next(name for name in free if name not in ids and name not in named)] = item
    return named


_MIN_SHARE = 100
"""Tokens that an answer gets at least: a header and a row of a usual table."""

_CHARS_PER_TOKEN = 8
"""Longer answers than that do not fit in one table: a token has some four characters."""


def render_items(
    plan: Plan, items: Sequence[Item], max_tokens: int | None, combination: Combination | None = None
) -> Result:
    """Render each item: answers of the same form as one table, others as previews where they are over their share.

    Where there is a ``combination``, its one result is rendered, once all items were performed.

    Raises:
        InvalidArguments: the results cannot be combined.
    """
    reader, options = plan.request.tools.reader, output_options(plan.request, max_tokens)
    texts = {item.id: error_text(item.error, reader) for item in items if item.error is not None}
    left = max(output.MIN_TOKENS, options.max_tokens - sum(tokens.count(text) + 8 for text in texts.values()))
    options = replace(options, max_tokens=left)
    answers = {item.id: item.answer for item in items if item.answer is not None}
    rendered: Mapping[str, RenderedResult] = {}
    one = RenderedResult({}, "")
    if combination is not None:
        if answers and not any(item.is_skipped for item in items):
            try:
                answer = combination.answer(answers, plan.services.today(), plan.budget)
            except InvalidArguments as error:
                names = ", ".join(map(quoted_name, texts))
                step = joined(error.next_step, names and f"Of {names} there is no answer: see results.")
                raise error.changed(next_step=step, results=[item.entry(None, reader) for item in items]) from None
            one = answer.render(options, WorkBudget(plan.budget.deadline))
    elif not options.whole and (table := _as_one_table(answers, left, plan.budget)) is not None:
        one = RenderedResult({}, table)
        rendered = _rendered(answers, replace(options, whole=True), plan.budget)
    else:
        rendered = _rendered(answers, options, plan.budget)
        texts |= {id_: found.text for id_, found in rendered.items()}
    entries = [item.entry(rendered.get(item.id), reader) for item in items]
    # No data can look like the line above an answer.
    heads = {item.id: f"# {quoted_name(item.id)}{' failed' if item.error is not None else ''}" for item in items}
    lines = [f"{heads[item.id]}\n{texts[item.id]}" for item in items if item.id in texts]
    text = "" if options.whole else "\n".join([one.text, *lines] if one.text else lines)
    blocks = [block for answer in answers.values() for block in answer.blocks]
    errors = [item.error for item in items if item.error is not None]
    return Result({**one.structured, "results": entries}, text, blocks=blocks, errors=errors)


def _rendered(answers: Mapping[str, Answer], options: OutputOptions, budget: WorkBudget) -> dict[str, RenderedResult]:
    """Return the rendered answers. Each has an equal share of the tokens, and what short ones leave is for the longer.

    An answer over its share becomes a preview.
    """

    def rendered(id_: str, options: OutputOptions) -> RenderedResult:
        return answers[id_].render(options, WorkBudget(budget.deadline))

    found = {id_: rendered(id_, replace(options, save_answer=None)) for id_ in answers}
    if options.whole:
        return found
    sizes = {
        id_: options.max_tokens + 1 if "preview" in one.structured else tokens.count(one.text)
        for id_, one in found.items()
    }
    left = options.max_tokens
    for position, (id_, size) in enumerate(sorted(sizes.items(), key=lambda item: item[1])):
        share = max(_MIN_SHARE, left // (len(sizes) - position))
        left -= min(size, share)
        if size > share:
            found[id_] = rendered(id_, replace(options, max_tokens=share))
    return found


def _as_one_table(answers: Mapping[str, Answer], max_tokens: int, budget: WorkBudget) -> str | None:
    """Return answers of the same form as one table, or None where they differ in form, or are too long together."""
    documents = [answer.document for answer in answers.values()]
    is_stale = any(answer.status.stale_reason for answer in answers.values())
    is_long = sum(answer.size for answer in answers.values()) > _CHARS_PER_TOKEN * max_tokens
    if len(documents) < 2 or is_stale or is_long:
        return None
    form, notes = _form(documents[0]), documents[0].notes
    if form is None or any(_form(document) != form or document.notes != notes for document in documents[1:]):
        return None
    parts = [LabelledDocument((id_,), answer.document) for id_, answer in answers.items()]
    document = stack_documents(("id",), parts, WorkBudget(budget.deadline))
    text = render.notes_to_text([safe_line(note) for note in notes]) + render.to_text(document)
    return text if tokens.fits(text, max_tokens) else None


def _form(document: Document) -> tuple[str, ...] | None:
    """Return the columns of a document that is one table or one object of simple values; None for others."""
    if len(document.tables) == 1 and not document.metadata:
        return ("table", *document.tables[0].columns)
    fields = document.metadata
    if document.tables or not isinstance(fields, dict) or not fields:
        return None
    return ("fields", *fields) if {type(value) for value in fields.values()}.isdisjoint((dict, list)) else None


def issue_token(
    request: MetaRequest, tool: str, arguments: Mapping[str, Any], tools: Sequence[Tool | None]
) -> str | None:
    """Return the token for the rest of a request, which calls ``tools``; None where it cannot be kept."""
    kept = request.tools.executor.services.kept_requests
    rest = {
        "tool": tool,
        "catalog": request.catalog.fingerprint,
        "caller": kept.caller(request.credentials),
        "is_read": all(one is not None and one.only_reads for one in tools),
        "writes": any(one is not None and one.effect != "read" for one in tools),
        "arguments": {name: value for name, value in arguments.items() if name not in ("continue", "approval_token")},
    }
    added = kept.add(rest)
    return None if added is None else added[0]


def resume_arguments(request: MetaRequest, tool: str) -> dict[str, Any]:
    """Return the arguments of a request: its own, or those of the token in ``continue``.

    Raises:
        WriteNotAllowed: the rest has calls that change something, and this request may only read.
        InvalidArguments: the token is unknown, of another catalog, caller or meta-tool, or was used before.
    """
    arguments = dict(request.arguments)
    token = arguments.pop("continue", None)
    if token is None:
        return arguments
    kept = request.tools.executor.services.kept_requests
    rest = kept.get(token) if isinstance(token, str) else None
    problem, step = "", "Send the remaining calls again; nothing was sent."
    if rest is None or rest.get("tool") != tool or rest["caller"] != kept.caller(request.credentials):
        problem = f"is not one of {tool} and this caller, or has expired"
    elif rest["catalog"] != request.catalog.fingerprint:
        problem = "was made with another catalog, whose tools may differ"
    elif rest.get("writes") and request.credentials.reads_only:
        call = next_call("TOOL_CALL_WRITE", {"tool_name": tool, "arguments": request.arguments})
        raise WriteNotAllowed(READS_ONLY.filled(tool=f"the rest of {tool}"), CALL_WRITE, **call)
    elif not rest["is_read"] and not kept.use_once(token):
        problem = "has calls that change something, and was used before"
        step = "They may have taken effect: check with a tool that reads before you send one again."
    if rest is None or problem:
        raise invalid(tool, f"the token in continue {problem}", step)
    main = "calls" if tool == TOOL else "steps"
    given = {**rest["arguments"], **arguments, main: rest["arguments"][main]}
    finished = {name: given.pop(name) for name in ("done", "values") if name in given}
    return {**read_values(request.catalog, tool, given), **finished}
