"""``TOOL_BATCH(calls, …)``: up to fifty independent calls, answered in their order, each with its result or error."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from toolfold.errors import InsufficientScope
from toolfold.meta_tools import continuation
from toolfold.meta_tools.arguments import invalid, own_option, quote, read_items, read_value
from toolfold.meta_tools.combination import Combination, render_items
from toolfold.meta_tools.definitions import MAX_CALLS
from toolfold.meta_tools.plan import USUAL_PARALLEL, Item, Plan
from toolfold.meta_tools.result import MetaRequest, Result, dumps_compact

TOOL = "TOOL_BATCH"

_EXAMPLE = '[{"id": "a", "tool_name": "NAME", "arguments": {…}}, …]'
_MAX_ID_CHARS = 64


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
    started = time.perf_counter()
    arguments = continuation.resume(request, TOOL)
    given = _with_ids(read_items(TOOL, "calls", arguments.get("calls"), MAX_CALLS, _EXAMPLE))
    stop = bool(read_value(TOOL, arguments, "stop_on_error"))
    most = read_value(TOOL, arguments, "max_parallel") or USUAL_PARALLEL
    max_tokens = read_value(TOOL, arguments, "max_tokens") or 0
    with Plan(request) as calls:
        items = [calls.open(id_, call) for id_, call in given.items()]
        combination = Combination.plan(arguments.get("join"), arguments.get("select"), items)
        calls.perform(items, most, stops_on_error=stop)
        _raise_scope(items)
        rest = [item for item in items if item.is_skipped]
        token = None
        if rest and not stop:
            repeated = items if combination is not None else rest
            left = [{"id": item.id, **call} for item in repeated if isinstance(call := given[item.id], dict)]
            token = continuation.issue(request, TOOL, {**arguments, "calls": left}, repeated)
        if combination is not None:
            rendering = combination.render(request, items, calls.budget, max_tokens)
        else:
            rendering = render_items(request, items, calls.budget, max_tokens)
    structured = {**rendering.structured, "summary": _summary(items), "continue": token}
    structured["elapsed_ms"] = round((time.perf_counter() - started) * 1000, 1)
    blocks = [block for item in items if item.answer is not None for block in item.answer.blocks]
    answered = calls.progress(lacks_time=bool(rest) and not stop)
    return Result(structured, _text(rendering.text, items, token), blocks=blocks, answered=answered)


def _with_ids(items: Sequence[Any]) -> dict[str, Any]:
    """Return each call under its id; one without an id gets ``c1``, ``c2``, … by its position."""
    given = [dict(item) if isinstance(item, dict) else item for item in items]
    ids = [own_option(item, ("id", "as", "key", "label")) if isinstance(item, dict) else "" for item in given]
    known = [id_ for id_ in ids if id_]
    for id_ in known:
        if len(id_) > _MAX_ID_CHARS or not id_.isprintable():
            raise invalid(TOOL, f"the id {quote(id_)} is too long or has signs that cannot be printed",
                          f"Send ids of at most {_MAX_ID_CHARS} characters.")  # fmt: skip
    twice = next((id_ for index, id_ in enumerate(known) if id_ in known[:index]), None)
    if twice is not None:
        raise invalid(TOOL, f"the id {quote(twice)} is given twice", "Give each call an id of its own, or none.")
    named: dict[str, Any] = {}
    for position, (id_, item) in enumerate(zip(ids, given, strict=True), 1):
        name, number = id_ or f"c{position}", position
        while not id_ and (name in known or name in named):
            number += 1
            name = f"c{number}"
        named[name] = item
    return named


def _raise_scope(items: Sequence[Item]) -> None:
    """Raise the lack of a scope where it is the reason for every failure and no call succeeded."""
    errors = [item.error for item in items]
    if errors and all(isinstance(error, InsufficientScope) for error in errors) and errors[0] is not None:
        raise errors[0]


def _summary(items: Sequence[Item]) -> dict[str, int]:
    skipped = sum(item.is_skipped for item in items)
    failed = sum(item.error is not None for item in items)
    return {"total": len(items), "succeeded": len(items) - failed - skipped, "failed": failed, "skipped": skipped}


def _text(answers: str, items: Sequence[Item], token: str | None) -> str:
    """Return the answer as text: what failed or is missing first, in a line of its own."""
    found = _summary(items)
    lines = []
    if found["failed"] or found["skipped"]:
        parts = [f"{found['succeeded']} of {found['total']} calls succeeded"]
        parts += [f"{found['failed']} failed"] if found["failed"] else []
        parts += [f"{found['skipped']} were not made"] if found["skipped"] else []
        lines.append(f"# {', '.join(parts)}")
    lines.append(answers)
    if token is not None:
        following = dumps_compact({"continue": token})
        lines.append(f"# The time was over. For the rest call TOOL_BATCH with {following}")
    elif found["skipped"]:
        lines.append("# Calls that were not made can be sent again in another batch")
    return "\n".join(lines)
