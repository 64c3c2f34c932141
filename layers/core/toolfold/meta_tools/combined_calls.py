"""Perform several calls of tools for one request: those of a batch, the steps of a pipe, the calls of a script.

Each passes through ``ToolExecutor.call`` as a call of its own: scope, validation, limits, approval, cache. They share
one deadline, the memory of one call and the turn for large answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.budget import MAX_BYTES, WorkBudget
from toolfold.cache.key import simple_text
from toolfold.errors import CallError, InvalidArguments, NotCached, UpstreamTimeout
from toolfold.execution.argument_repair import rename
from toolfold.execution.validation import validator_of
from toolfold.meta_tools import tool_call
from toolfold.meta_tools.call import Call, CallBase, LargeAnswerTurn
from toolfold.meta_tools.call_batch import late, thread_count
from toolfold.meta_tools.call_forms import read_call
from toolfold.meta_tools.corrections import with_next_call
from toolfold.meta_tools.next_steps import with_executor
from toolfold.meta_tools.parallel import Unanswered, run_parts
from toolfold.results import limits

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.execution.result import CallResult
    from toolfold.meta_tools.call import Answer
    from toolfold.meta_tools.call_batch import Batch
    from toolfold.meta_tools.result import MetaRequest
    from toolfold.results.output import OutputOptions
    from toolfold.results.tables import Document

__all__ = ["MAX_CALLS", "MAX_PARALLEL", "USUAL_PARALLEL", "CombinedCalls", "Item"]

MAX_CALLS = 50
"""Calls of one request, each value of a list counted: a free key has some tens of calls a day."""

MAX_PARALLEL, USUAL_PARALLEL = 16, 10
"""Calls of a batch at the same time, at most and by default: they wait for their source most of the time."""

_CELL_BYTES = 60
"""What a cell of a document takes about: a number or a short text, and its place."""

_OPENED_BYTES = 4_000
"""What a call that was read takes beside its texts: four objects and the selection."""

_NEAR_END_S = 0.25
"""A read that ends in a time-out this close to the end of the request was ended by it, and is one of the rest."""


@dataclass
class Item:
    """One call of several.

    Attributes:
        id: names it in the answer.
        given: the arguments of TOOL_CALL, in the documented form where they could be read.
        call: the call; None where it could not be read.
        parts: the arguments of each request; several where an argument is a list.
        batch: what the parts stand for; None for a single call.
        answer: its answer; None while it has none.
        error: why it has none.
        is_skipped: whether it was not performed, because of an error before it or of the time.
        elapsed_s: the time from its first request to its answer.
        notes: what was read in a way that the caller may not expect.
    """

    id: str
    given: Mapping[str, Any]
    call: Call | None = None
    parts: Sequence[Mapping[str, Any]] = ()
    batch: Batch | None = None
    answer: Answer | None = None
    error: CallError | None = None
    is_skipped: bool = False
    elapsed_s: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def tool_name(self) -> str:
        """The name of its tool, as it was given where there is no such tool."""
        name = self.given.get("tool_name") if self.call is None else self.call.tool.name
        return name if isinstance(name, str) else ""

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing at its source, so that it may be repeated."""
        return self.call is not None and self.call.tool.effect == "read" and not self.call.tool.needs_approval


@dataclass
class _Part:
    """One request of an item."""

    item: Item
    call: Call
    arguments: Mapping[str, Any]
    started: float = 0.0
    ended: float = 0.0
    outcome: Any = None


class _Opened(NamedTuple):
    """A call that was read, for as many requests as have the same."""

    given: Mapping[str, Any]
    tool: Tool
    sent: Mapping[str, Any]
    options: OutputOptions
    bypass_cache: bool


class CombinedCalls:
    """The calls of one request. A context manager, used by one thread.

    Args:
        request: of the meta-tool that combines calls.
        change_tool: returns a tool as it is called here; None: as the catalog has it.
    """

    def __init__(self, request: MetaRequest, change_tool: Callable[[Tool], Tool] | None = None) -> None:
        settings = request.executor.settings
        self.request, self._change_tool = request, change_tool
        self.budget, fetch_deadline = tool_call.time_budget(settings.timeout_s, request.deadline)
        self.end = self.budget.deadline - tool_call.MAX_RESERVE_S if fetch_deadline is None else fetch_deadline
        self._turn = LargeAnswerTurn(request.turns, self.budget)
        self._retained = self._count = 0
        self.is_full = False
        """Whether a call was refused because there were :data:`MAX_CALLS`."""

    def __enter__(self) -> CombinedCalls:
        return self

    def __exit__(self, *_: object) -> None:
        self._turn.release()

    @property
    def is_over(self) -> bool:
        """Whether the time for further calls is over."""
        return time.monotonic() >= self.end

    @property
    def count(self) -> int:
        """Requests for calls so far, each value of a list counted."""
        return self._count

    def open(self, id_: str, given: Any, credentials: RequestCredentials | None = None) -> Item:
        """Return a call that is not performed yet. One that cannot be read has its error.

        Args:
            id_: names it in the answer.
            given: the arguments of a TOOL_CALL, in any form that models send.
            credentials: of the call; None: those of the request.
        """
        if not isinstance(given, Mapping):
            kind = "a list" if isinstance(given, list) else type(given).__name__
            error = InvalidArguments(
                f"A call must be an object, not {kind}.", 'Send {"tool_name": "NAME", "arguments": {…}}.'
            )
            return Item(id_, {}, error=error)
        item = Item(id_, given)
        try:
            call, sent, item.batch = self._opened(item, credentials)
            item.call = call if self._change_tool is None else replace(call, tool=self._change_tool(call.tool))
            if item.batch is not None:
                thread_count(call.tool, None)  # refuses a list of writes
                item.call = tool_call.for_parts(item.call)
            item.parts = [sent] if item.batch is None else [part.arguments for part in item.batch.parts]
            self._take(len(item.parts))
        except CallError as error:
            item.error = _with_next_call(self.request, item.given, error)
        return item

    def perform(
        self, items: Sequence[Item], max_parallel: int = USUAL_PARALLEL, *, stops_on_error: bool = False
    ) -> None:
        """Perform calls, which are changed: those that only read at the same time, each other one alone.

        A call that writes is performed when all before it have ended, and before any that follow it.
        """
        is_stopped = False
        for group in _groups(items, one_by_one=stops_on_error and max_parallel == 1):
            if is_stopped or self.is_over:
                for item in group:
                    item.is_skipped = item.error is None
                continue
            self._perform_group(group, max_parallel, stops_on_error)
            is_stopped = stops_on_error and any(item.error is not None for item in group)

    def _opened(
        self, item: Item, credentials: RequestCredentials | None
    ) -> tuple[Call, Mapping[str, Any], Batch | None]:
        """Return the call of an item, whose ``given`` becomes the documented form; the arguments; what they stand for.

        An equal call of the same catalog is read once.
        """
        request, base = self.request, self._base(credentials)
        memo, owners, text = request.executor.memo, (request.catalog,), _text_of(item.given)
        found: _Opened | None = None if text is None else memo.get("opened", owners, (text, request.whole))
        if found is not None:
            item.given = found.given
            call = Call(
                base.catalog, base.executor, found.tool, base.credentials, found.options, found.bypass_cache,
                base.budget, base.fetch_deadline, base.turn,
            )  # fmt: skip
            return call, found.sent, None
        item.given = read_call(request.catalog, item.given)
        call, sent = tool_call.open_call(base, item.given)
        if call.options.raw_by:
            call, sent = self._without_raw_form(item, call.options.raw_by, credentials)
            text = None
        batch, sent = tool_call.plan_parts(call, sent)
        if text is not None and batch is None and call.credentials is base.credentials:
            opened = _Opened(item.given, call.tool, sent, call.options, call.bypass_cache)
            memo.put("opened", owners, (text, request.whole), opened, _OPENED_BYTES + 4 * len(text))
        return call, sent, batch

    def _base(self, credentials: RequestCredentials | None) -> CallBase:
        request = self.request
        used = request.credentials if credentials is None else credentials
        return CallBase(request.catalog, request.executor, used, self.budget, self.end, self._turn, request.whole)

    def _without_raw_form(
        self, item: Item, parameter: str, credentials: RequestCredentials | None
    ) -> tuple[Call, Mapping[str, Any]]:
        """Return the call without the parameter that requests the form of the service, and note it in ``item``."""
        catalog = self.request.catalog
        tool = catalog.get(item.given["tool_name"])
        arguments = dict(item.given.get("arguments") or {})
        if parameter not in arguments and tool is not None:
            arguments = dict(rename(validator_of(catalog, tool), arguments).arguments)
        del arguments[parameter]
        item.given = {**item.given, "arguments": arguments}
        item.notes = (f"{parameter} was left out: answers of several calls have one form.",)
        return tool_call.open_call(self._base(credentials), item.given)

    def _take(self, count: int) -> None:
        """Count requests.

        Raises:
            InvalidArguments: there are more than one request may make.
        """
        if self._count + count > MAX_CALLS:
            self.is_full = True
            raise InvalidArguments(
                f"These are more than {MAX_CALLS} calls, each value of a list counted.",
                f"Make at most {MAX_CALLS} calls in one, and the others in another; this one was not sent.",
            )
        self._count += count

    def _perform_group(self, group: Sequence[Item], max_parallel: int, stops_on_error: bool) -> None:
        parts = [
            _Part(item, item.call, given) for item in group if item.call and not item.error for given in item.parts
        ]
        if stops_on_error and any(item.error is not None for item in group):
            first = next(index for index, item in enumerate(group) if item.error is not None)
            before = {id(item) for item in group[:first]}
            parts = [part for part in parts if id(part.item) in before]
            for item in group[first:]:
                item.is_skipped = item.error is None
        per_second = self.request.executor.settings.requests_per_second
        threads = 1 if per_second is not None and per_second <= 1 else max_parallel
        outcomes = run_parts(
            parts,
            _fetch,
            self._read,
            self.end,
            threads,
            fetch_cached=_fetch_cached,
            ends_with_budget=False,
            stops_on_error=stops_on_error,
        )
        for part, outcome in zip(parts, outcomes, strict=True):
            part.outcome = outcome
        for item in group:
            own = [part for part in parts if part.item is item]
            if own:
                self._finish(item, own, stops_on_error)

    def _read(self, part: _Part, response: CallResult) -> Answer:
        """Return the answer of one request, in what memory the answers before it have left."""
        budget = WorkBudget(self.budget.deadline, max(0, MAX_BYTES - self._retained))
        answer = tool_call.complete_answer(replace(part.call, budget=budget), part.arguments, response)
        self._retained += document_size(answer.document)
        part.ended = time.perf_counter()
        return answer

    def _finish(self, item: Item, parts: Sequence[_Part], stops_on_error: bool) -> None:
        """Set the answer of an item, its error, or that it is one of the rest."""
        outcomes = [part.outcome for part in parts]
        if began := [part.started for part in parts if part.started]:
            item.elapsed_s = max(0.0, max(part.ended for part in parts) - min(began))
        if all(one is Unanswered.NOT_STARTED for one in outcomes):
            item.is_skipped = True
            return
        is_late = any(isinstance(one, UpstreamTimeout | Unanswered) for one in outcomes)
        if is_late and item.is_read and not stops_on_error and time.monotonic() >= self.end - _NEAR_END_S:
            item.is_skipped = True
            return
        outcomes = [late() if isinstance(one, Unanswered) else one for one in outcomes]
        try:
            if item.batch is not None and item.call is not None:
                item.answer = tool_call.merged_answer(item.call, item.batch, outcomes)
            elif isinstance(outcomes[0], CallError):
                raise outcomes[0]
            else:
                item.answer = outcomes[0]
            if item.notes and item.answer is not None:
                document = item.answer.document
                document = replace(document, notes=(*document.notes, *item.notes))
                item.answer = replace(item.answer, document=document)
        except CallError as error:
            item.error = _with_next_call(self.request, item.given, error)


def _text_of(given: Mapping[str, Any]) -> str | None:
    """Return a text that only equal calls have; None for those with other than simple arguments, or an approval."""
    arguments = given.get("arguments")
    inner = simple_text(arguments) if type(arguments) is dict else None
    if inner is None or "approval_token" in given:
        return None
    outer = simple_text({key: value for key, value in given.items() if key != "arguments"})
    return None if outer is None else outer + inner


def _groups(items: Sequence[Item], *, one_by_one: bool) -> Iterator[list[Item]]:
    """Yield the items that are performed together: reads that follow each other, each other call alone."""
    if one_by_one:
        yield from ([item] for item in items)
        return
    group: list[Item] = []
    for item in items:
        if item.is_read or item.error is not None:
            group.append(item)
            continue
        if group:
            yield group
        yield [item]
        group = []
    if group:
        yield group


def _fetch(part: _Part) -> CallResult:
    part.started = time.perf_counter()
    try:
        return tool_call.fetch_response(part.call, part.arguments)
    finally:
        part.ended = time.perf_counter()


def _fetch_cached(part: _Part) -> CallResult:
    part.started = part.ended = time.perf_counter()
    if not part.item.is_read or part.call.bypass_cache:
        raise NotCached
    return tool_call.fetch_response(part.call, part.arguments, only_cached=True)


def document_size(document: Document) -> int:
    """Return about how many bytes a document takes."""
    return sum(
        limits.rows_size(len(table.rows), len(table.columns)) + _CELL_BYTES * len(table.rows) * len(table.columns)
        for table in document.tables
    )


def _with_next_call(request: MetaRequest, given: Mapping[str, Any], error: CallError) -> CallError:
    """Return ``error`` with the call that would work, where that follows from the schema."""
    if isinstance(error, InvalidArguments) and isinstance(given.get("tool_name"), str):
        error = with_next_call(request.catalog, given, error)
    return with_executor(request.catalog, error)
