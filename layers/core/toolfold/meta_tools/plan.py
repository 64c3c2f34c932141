"""The plan of a request: the calls of tools that it stands for, and how they are made.

TOOL_CALL is a plan of one call, or of as many as the lists among its arguments stand for; TOOL_BATCH, TOOL_PIPE and
TOOL_SCRIPT are plans of several. Each passes through ``ToolExecutor.call`` as a call of its own: scope, validation,
limits, approval, cache. They share one deadline, the memory of one call and the turn for large answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.budget import MAX_BYTES, WorkBudget
from toolfold.cache.response_cache import simple_text
from toolfold.errors import CallError, InvalidArguments, NotCached, UpstreamTimeout
from toolfold.execution.argument_reader import reader_of
from toolfold.meta_tools import corrections, value_lists
from toolfold.meta_tools.answer_reader import complete_answer, fetch_response, with_notes
from toolfold.meta_tools.call import (
    Call,
    LargeAnswerTurn,
    may_have_lists,
    output_options,
    read_options,
    split_format,
    time_budget,
)
from toolfold.meta_tools.definitions import MAX_CALLS
from toolfold.meta_tools.parallel import Unanswered, run_parts
from toolfold.meta_tools.reader import read_call
from toolfold.meta_tools.tool_names import tool_not_found
from toolfold.results import limits

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.execution.call import CallResult
    from toolfold.meta_tools.call import Answer
    from toolfold.meta_tools.result import MetaRequest
    from toolfold.results.output import OutputOptions
    from toolfold.results.tables import Document

USUAL_PARALLEL = 10
"""Calls at the same time by default."""

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
        lists: what the parts stand for; None for a single call.
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
    lists: value_lists.ValueLists | None = None
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
    approval_token: str | None


class Plan:
    """The calls of one request. A context manager, used by one thread.

    Args:
        request: of the meta-tool.
        change_tool: returns a tool as it is called here; None: as the catalog has it.
        can_continue: whether calls for which the time was over are made by a later request.
    """

    def __init__(
        self,
        request: MetaRequest,
        change_tool: Callable[[Tool], Tool] | None = None,
        *,
        can_continue: bool = True,
    ) -> None:
        self.request, self._change_tool, self._can_continue = request, change_tool, can_continue
        self.budget, self.end = time_budget(request.executor.settings.timeout_s, request.deadline)
        self._turn = LargeAnswerTurn(request.turns, self.budget)
        self._retained = self._count = self._answered = 0
        self._may_repeat = True
        self.is_full = False
        """Whether a call was refused because there were :data:`MAX_CALLS`."""

    def __enter__(self) -> Plan:
        return self

    def __exit__(self, *_: object) -> None:
        self._turn.release()

    @property
    def is_over(self) -> bool:
        """Whether the time for further calls is over."""
        return time.monotonic() >= self.end

    @property
    def is_partial(self) -> bool:
        """Whether a request has no answer."""
        return self._answered < self._count

    def progress(self, *, lacks_time: bool) -> int | None:
        """Return :attr:`Result.answered` of the request."""
        is_over = time.monotonic() >= self.end - _NEAR_END_S
        return self._answered if lacks_time and is_over and self._may_repeat and self._count > 1 else None

    def open(self, id_: str, given: Any) -> Item:
        """Return a call that is not performed yet. One that cannot be read has its error."""
        if not isinstance(given, Mapping):
            kind = "a list" if isinstance(given, list) else type(given).__name__
            error = InvalidArguments(
                f"A call must be an object, not {kind}.", 'Send {"tool_name": "NAME", "arguments": {…}}.'
            )
            return Item(id_, {}, error=error)
        item = Item(id_, given)
        try:
            self.read(item)
        except CallError as error:
            item.error = self.with_next_call(item.given, error)
        return item

    def answer(self, item: Item) -> Answer:
        """Perform one call, and return its answer.

        Raises:
            CallError: it failed.
        """
        if item.lists is None and item.call is not None:
            answer = self._complete(item.call, item.parts[0], fetch_response(item.call, item.parts[0]))
            return with_notes(answer, *item.notes)
        self.perform([item])
        if item.answer is None:
            raise item.error or _late()
        return item.answer

    def read(self, item: Item, *, keeps_raw: bool = False) -> Call:
        """Read the call of an item, which is not performed yet.

        Raises:
            CallError: it cannot be read.
        """
        request, opened = self.request, self._opened(item, keeps_raw=keeps_raw)
        credentials = request.credentials
        if opened.approval_token is not None:
            credentials = credentials._replace(approval_token=opened.approval_token)
        call = Call(
            request.catalog,
            request.executor,
            opened.tool,
            credentials,
            opened.options,
            opened.bypass_cache,
            self.budget,
            self.end,
            self._turn,
        )
        sent = opened.sent
        if may_have_lists(sent):
            item.lists, sent = value_lists.plan(call, sent)
            if item.lists is not None:
                call = replace(call, is_part=call.options.select is not None and not call.options.select.jmespath)
        item.call = call if self._change_tool is None else replace(call, tool=self._change_tool(call.tool))
        item.parts = [sent] if item.lists is None else [part.arguments for part in item.lists.parts]
        self._take(len(item.parts))
        self._may_repeat = self._may_repeat and item.is_read and not call.bypass_cache
        return item.call

    def perform(
        self, items: Sequence[Item], max_parallel: int = USUAL_PARALLEL, *, stops_on_error: bool = False
    ) -> None:
        """Perform calls, which are changed: those that only read at the same time, each other one alone.

        A call that writes is performed when all before it have ended, and before any that follow it.
        """
        is_stopped = False
        for group in _groups(items, one_by_one=stops_on_error and max_parallel == 1):
            if is_stopped or (self.is_over and self._can_continue):
                for item in group:
                    item.is_skipped = item.error is None
                continue
            self._perform_group(group, max_parallel, stops_on_error)
            is_stopped = stops_on_error and any(item.error is not None for item in group)

    def with_next_call(self, given: Mapping[str, Any], error: CallError) -> CallError:
        """Return ``error`` with the call that would work, where that follows from the schema."""
        if isinstance(error, InvalidArguments) and isinstance(given.get("tool_name"), str):
            error = corrections.with_next_call(self.request.catalog, given, error)
        return corrections.with_executor(self.request.catalog, error)

    def _opened(self, item: Item, *, keeps_raw: bool) -> _Opened:
        """Return what an item calls; its ``given`` becomes the documented form.

        An equal call of the same catalog is read once.
        """
        request = self.request
        memo, owners, text = request.executor.memo, (request.catalog,), _text_of(item.given)
        found: _Opened | None = None if text is None else memo.get("opened", owners, (text, request.whole))
        if found is not None:
            item.given = found.given
            return found
        item.given = read_call(request.catalog, item.given)
        opened = self._read(item.given)
        if raw_by := opened.options.raw_by:
            return opened if keeps_raw else self._read(self._without_raw_form(item, opened.tool, raw_by))
        if text is not None and opened.approval_token is None and not may_have_lists(opened.sent):
            memo.put("opened", owners, (text, request.whole), opened, _OPENED_BYTES + 4 * len(text))
        return opened

    def _read(self, arguments: Mapping[str, Any]) -> _Opened:
        catalog = self.request.catalog
        tool = catalog.called_tool(arguments["tool_name"])
        if tool is None:
            raise tool_not_found(catalog, arguments["tool_name"])
        options, given = read_options(arguments), dict(arguments.get("arguments") or {})
        sent, raw_by = split_format(catalog, tool, given)
        wanted = output_options(self.request, options.max_tokens, options.select, raw_by)
        return _Opened(arguments, tool, sent, wanted, options.fresh, options.approval_token)

    def _without_raw_form(self, item: Item, tool: Tool, parameter: str) -> Mapping[str, Any]:
        """Return the arguments of TOOL_CALL without the parameter for the form of the service; ``item`` notes it."""
        arguments = dict(item.given.get("arguments") or {})
        if parameter not in arguments:
            arguments = dict(reader_of(self.request.catalog, tool).rename(arguments).arguments)
        del arguments[parameter]
        item.given = {**item.given, "arguments": arguments}
        item.notes = (f"{parameter} was left out: answers of several calls have one form.",)
        return item.given

    def _take(self, count: int) -> None:
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
            self._read_response,
            self.end,
            threads,
            fetch_cached=_fetch_cached,
            stops_on_error=stops_on_error,
        )
        for part, outcome in zip(parts, outcomes, strict=True):
            part.outcome = outcome
        for item in group:
            own = [part for part in parts if part.item is item]
            if own:
                self._finish(item, own, stops_on_error)

    def _read_response(self, part: _Part, response: CallResult) -> Answer:
        answer = self._complete(part.call, part.arguments, response)
        part.ended = time.perf_counter()
        return answer

    def _complete(self, call: Call, arguments: Mapping[str, Any], response: CallResult) -> Answer:
        """Return the answer of one request, in what memory the answers before it have left."""
        budget = WorkBudget(self.budget.deadline, max(0, MAX_BYTES - self._retained))
        answer = complete_answer(replace(call, budget=budget), arguments, response)
        self.budget.deadline = max(self.budget.deadline, budget.deadline)  # a late response has time to be shaped
        self._retained += document_size(answer.document)
        self._answered += 1
        return answer

    def _finish(self, item: Item, parts: Sequence[_Part], stops_on_error: bool) -> None:
        """Set the answer of an item, its error, or that it is one of the rest."""
        outcomes = [part.outcome for part in parts]
        if began := [part.started for part in parts if part.started]:
            item.elapsed_s = max(0.0, max(part.ended for part in parts) - min(began))
        if self._can_continue:
            if all(one is Unanswered.NOT_STARTED for one in outcomes):
                item.is_skipped = True
                return
            is_late = any(isinstance(one, UpstreamTimeout | Unanswered) for one in outcomes)
            if is_late and item.is_read and not stops_on_error and time.monotonic() >= self.end - _NEAR_END_S:
                item.is_skipped = True
                return
        outcomes = [_late() if isinstance(one, Unanswered) else one for one in outcomes]
        try:
            if item.lists is not None and item.call is not None:
                item.answer = value_lists.merge(item.call, item.lists, outcomes)
            elif isinstance(outcomes[0], CallError):
                raise outcomes[0]
            else:
                item.answer = outcomes[0]
            if item.notes and item.answer is not None:
                item.answer = with_notes(item.answer, *item.notes)
        except CallError as error:
            item.error = self.with_next_call(item.given, error)


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
        return fetch_response(part.call, part.arguments)
    finally:
        part.ended = time.perf_counter()


def _fetch_cached(part: _Part) -> CallResult:
    part.started = part.ended = time.perf_counter()
    if not part.item.is_read or part.call.bypass_cache:
        raise NotCached
    return fetch_response(part.call, part.arguments, only_cached=True)


def _late() -> UpstreamTimeout:
    """Return the error of a part for which the time was over."""
    return UpstreamTimeout("No answer came in the time of one call.", "Call again for these; the others are cached.")


def document_size(document: Document) -> int:
    """Return about how many bytes a document takes."""
    return sum(
        limits.rows_size(len(table.rows), len(table.columns)) + _CELL_BYTES * len(table.rows) * len(table.columns)
        for table in document.tables
    )
