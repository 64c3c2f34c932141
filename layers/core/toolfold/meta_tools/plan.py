"""The plan of a request: the calls of tools that it stands for, and how they are made.

TOOL_CALL is a plan of one call, or of as many as the lists among its arguments stand for; TOOL_BATCH, TOOL_PIPE and
TOOL_SCRIPT are plans of several. Each passes through ``ToolExecutor.call`` as a call of its own: scope, validation,
limits, approval, cache.
"""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from toolfold.budget import MAX_BYTES, WorkBudget
from toolfold.cache.response_cache import simple_text
from toolfold.errors import CallError, InvalidArguments, NotCached, UpstreamTimeout
from toolfold.execution.argument_reader import reader_of
from toolfold.meta_tools import corrections, next_steps
from toolfold.meta_tools.answer_reader import complete_answer, fetch_response, with_notes
from toolfold.meta_tools.arguments import boolean
from toolfold.meta_tools.call import (
    Call,
    CallSession,
    ValueLists,
    document_size,
    merge_answers,
    output_options,
    read_lists,
    read_options,
)
from toolfold.meta_tools.definitions import MAX_CALLS
from toolfold.meta_tools.reader import read_call
from toolfold.meta_tools.tool_names import tool_not_found

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.execution.call import CallResult
    from toolfold.meta_tools.call import Answer
    from toolfold.meta_tools.dispatcher import MetaRequest

USUAL_PARALLEL = 10
"""Calls at the same time by default."""

_READ_BYTES = 4_000
"""What a call that was read takes beside its texts: four objects and the selection."""

_NEAR_END_S = 0.25
"""A read that ends in a time-out this close to the end of the request was ended by it, and is one of the rest."""

_MIN_WAIT_S = 0.05


@dataclass
class Item:
    """One call of several.

    Attributes:
        given: the arguments of TOOL_CALL, in the documented form where they could be read.
        parts: the arguments of each request; several where an argument is a list, as ``lists`` says.
        is_skipped: whether it was not performed, because of an error before it or of the time.
        elapsed_s: the time from its first request to its answer.
        notes: what was read in a way that the caller may not expect.
        is_combined: whether the ``select`` of its call is that of the table of several items.
    """

    id: str
    given: Mapping[str, Any]
    call: Call | None = None
    parts: Sequence[Mapping[str, Any]] = ()
    lists: ValueLists | None = None
    answer: Answer | None = None
    error: CallError | None = None
    is_skipped: bool = False
    elapsed_s: float = 0.0
    notes: tuple[str, ...] = ()
    is_combined: bool = False

    @property
    def tool_name(self) -> str:
        """The name of its tool, as it was given where there is no such tool."""
        name = self.given.get("tool_name") if self.call is None else self.call.tool.name
        return name if isinstance(name, str) else ""

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing at its source, so that it may be repeated."""
        return self.call is not None and self.call.tool.only_reads


@dataclass
class _Part:
    """One request of an item; ``outcome`` is its answer or its error, and None while it has neither."""

    item: Item
    call: Call
    arguments: Mapping[str, Any]
    started: float = 0.0
    ended: float = 0.0
    outcome: Answer | CallError | None = None


class Plan(CallSession):
    """The calls of one request: a context manager, used by one thread.

    Args:
        change_tool: returns a tool as it is called here; None: as the catalog has it.
        can_continue: whether calls for which the time was over are made by a later request.

    Attributes:
        is_full: whether a call was refused because there were :data:`MAX_CALLS`.
    """

    def __init__(
        self,
        request: MetaRequest,
        change_tool: Callable[[Tool], Tool] | None = None,
        *,
        can_continue: bool = True,
    ) -> None:
        super().__init__(request)
        self._change_tool, self._can_continue = change_tool, can_continue
        self._retained = self._count = self._answered = 0
        self._may_repeat, self.is_full = True, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release_turn()

    @property
    def is_over(self) -> bool:
        """Whether the time for further calls is over."""
        return time.monotonic() >= self.end

    def progress(self, *, lacks_time: bool | None = None) -> int | None:
        """Return :attr:`Result.answered` of the request; by default it lacks time where a call has no answer."""
        lacks_time = self._answered < self._count if lacks_time is None else lacks_time
        return self._answered if lacks_time and self._is_ending and self._may_repeat and self._count > 1 else None

    def open(self, id_: str, given: Any) -> Item:
        """Return a call that is not performed yet. One that cannot be read has its error."""
        item = Item(id_, given if isinstance(given, Mapping) else {})
        try:
            if not isinstance(given, Mapping):
                kind = "a list" if isinstance(given, list) else type(given).__name__
                raise InvalidArguments(
                    f"A call must be an object, not {kind}.", 'Send {"tool_name": "NAME", "arguments": {…}}.'
                )
            self.read(item)
            if boolean(item.given.get("inspect")):
                raise InvalidArguments("inspect is for a TOOL_CALL of its own.", "Leave it out; nothing was sent.")
        except CallError as error:
            item.error = self.with_next_call(item.given, error)
        return item

    def answer(self, item: Item) -> Answer:
        """Perform one call, and return its answer.

        Raises:
            CallError: it failed.
        """
        if item.lists is None and item.call is not None:
            response = fetch_response(self, item.call, item.parts[0])
            return with_notes(self._complete(item.call, item.parts[0], response), *item.notes)
        self.perform([item])
        if item.answer is None:
            raise item.error or _late()
        return item.answer

    def read(self, item: Item, *, keeps_raw: bool = False) -> Call:
        """Read the call of an item, which is not performed yet.

        Raises:
            CallError: it cannot be read.
        """
        call = self._call_of(item, keeps_raw=keeps_raw)
        sent = call.sent
        if list in map(type, sent.values()):
            item.lists, sent = read_lists(self.catalog, call)
            select = call.options.select
            call = call._replace(is_part=item.lists is not None and select is not None and not select.jmespath)
        item.call = call if self._change_tool is None else call._replace(tool=self._change_tool(call.tool))
        item.parts = [sent] if item.lists is None else [part.arguments for part in item.lists.parts]
        if self._count + len(item.parts) > MAX_CALLS:
            self.is_full = True
            raise InvalidArguments(
                f"These are more than {MAX_CALLS} calls, each value of a list counted.",
                f"Make at most {MAX_CALLS} calls in one, and the others in another; this one was not sent.",
            )
        self._count += len(item.parts)
        self._may_repeat = self._may_repeat and item.call.tool.only_reads and not call.fresh
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
            error = corrections.with_next_call(self.catalog, given, error)
        return next_steps.with_executor(self.catalog, error)

    def _call_of(self, item: Item, *, keeps_raw: bool) -> Call:
        """Return what an item calls; its ``given`` becomes the documented form. Equal calls are read once."""
        memo, owners, arguments, text = self.resources.memo, (self.catalog,), item.given.get("arguments"), None
        if "approval_token" not in item.given and type(arguments) is dict and (inner := simple_text(arguments)):
            text = simple_text({**item.given, "arguments": inner})
        found: Call | None = None if text is None else memo.get("call", owners, (text, self.request.whole))
        if found is None:
            item.given = read_call(self.catalog, item.given)
            found = self._read(item.given)
            if found.options.raw_by:
                is_raw = keeps_raw and not boolean(item.given.get("inspect"))
                return found if is_raw else self._read(self._without_raw_form(item, found))
            if text is not None and found.approval_token is None and list not in map(type, found.sent.values()):
                memo.put("call", owners, (text, self.request.whole), found, _READ_BYTES + 4 * len(text))
        item.given = found.given
        return found

    def _read(self, given: Mapping[str, Any]) -> Call:
        tool = self.catalog.called_tool(given["tool_name"])
        if tool is None:
            raise tool_not_found(self.catalog, given["tool_name"])
        options, sent, raw_by = read_options(given), dict(given.get("arguments") or {}), ""
        parameter, reader = self.catalog.source(tool.source).format_parameter, reader_of(self.catalog, tool)
        if parameter and sent.get(parameter) is not None:
            raw_by = parameter
            # Left out where the tool has that one format and no such parameter; another one is unknown to the tool.
            if parameter not in reader.properties and str(sent[parameter]).strip().lower() in tool.formats:
                del sent[parameter]
        elif parameter and sent.keys() - reader.properties.keys():
            raw_by = parameter if reader.rename(sent).arguments.get(parameter) is not None else ""
        wanted = output_options(self.request, options["max_tokens"], options["select"], raw_by)
        return Call(given, tool, sent, wanted, bool(options["fresh"]), options["approval_token"])

    def _without_raw_form(self, item: Item, call: Call) -> Mapping[str, Any]:
        """Return the arguments of TOOL_CALL without the parameter for the form of the service; ``item`` notes it."""
        parameter, arguments = call.options.raw_by, dict(item.given.get("arguments") or {})
        if parameter not in arguments:
            arguments = dict(reader_of(self.catalog, call.tool).rename(arguments).arguments)
        del arguments[parameter]
        item.given = {**item.given, "arguments": arguments}
        item.notes = (f"{parameter} was left out: answers of several calls have one form.",)
        return item.given

    def _perform_group(self, group: Sequence[Item], max_parallel: int, stops_on_error: bool) -> None:
        failed = [index for index, item in enumerate(group) if item.error is not None]
        end = failed[0] if failed and stops_on_error else len(group)
        for item in group[end:]:
            item.is_skipped = item.error is None
        parts = {
            item.id: [_Part(item, item.call, given) for given in item.parts]
            for item in group[:end]
            if item.call is not None and item.error is None
        }
        per_second = self.executor.settings.requests_per_second
        threads = 1 if per_second is not None and per_second <= 1 else max_parallel
        self._fetch_all([part for own in parts.values() for part in own], threads, stops_on_error)
        for own in parts.values():
            self._finish(own[0].item, own, stops_on_error)

    def _fetch_all(self, parts: Sequence[_Part], threads: int, stops_on_error: bool) -> None:
        """Set the outcome of each part, as far as the time allows.

        Those in memory are answered first, in this thread: to start another takes longer. A part that was fetched
        counts as running until it is read, so that few responses take memory at a time.
        """
        waiting: list[_Part] = []
        for part in parts:
            try:
                response = self._fetch(part, only_cached=len(parts) > 1)
                part.outcome = self._complete(part.call, part.arguments, response)
                part.ended = time.perf_counter()
            except NotCached:
                part.started = 0.0
                waiting.append(part)
            except CallError as error:
                part.outcome = error
                if stops_on_error:
                    return
        done: queue.SimpleQueue[tuple[_Part, Any]] = queue.SimpleQueue()

        def fetch(part: _Part) -> None:
            outcome: Any
            try:
                outcome = self._fetch(part)
            except BaseException as error:  # noqa: BLE001 - raised again in the thread of the call
                outcome = error
            done.put((part, outcome))

        running = 0
        while waiting or running:
            while waiting and running < threads and not self.is_over:
                # In a copy of this context: cancelling the call of the client cancels its parts.
                run, part = contextvars.copy_context().run, waiting.pop(0)
                threading.Thread(target=run, args=(fetch, part), name="part", daemon=True).start()
                running += 1
            try:
                part, outcome = done.get(timeout=max(_MIN_WAIT_S, self.end - time.monotonic()))
            except queue.Empty:
                return  # what still arrives is dropped
            running -= 1
            try:
                if isinstance(outcome, BaseException):
                    raise outcome
                part.outcome = self._complete(part.call, part.arguments, outcome)
                part.ended = time.perf_counter()
            except CallError as error:
                part.outcome = error
                if stops_on_error:
                    waiting = []

    def _fetch(self, part: _Part, *, only_cached: bool = False) -> CallResult:
        part.started = time.perf_counter()
        if only_cached and (not part.item.is_read or part.call.fresh):
            raise NotCached
        try:
            return fetch_response(self, part.call, part.arguments, only_cached=only_cached)
        finally:
            part.ended = time.perf_counter()

    def _complete(self, call: Call, arguments: Mapping[str, Any], response: CallResult) -> Answer:
        """Return the answer of one request, in what memory the answers before it have left."""
        whole = self.budget
        self.budget = WorkBudget(whole.deadline, max(0, MAX_BYTES - self._retained))
        try:
            answer = complete_answer(self, call, arguments, response)
        finally:
            whole.deadline = self.budget.deadline  # a late response has time to be shaped
            self.budget = whole
        self._retained += document_size(answer.document)
        self._answered += 1
        return answer

    @property
    def _is_ending(self) -> bool:
        return time.monotonic() >= self.end - _NEAR_END_S

    def _finish(self, item: Item, parts: Sequence[_Part], stops_on_error: bool) -> None:
        """Set the answer of an item, its error, or that it is one of the rest."""
        outcomes = [part.outcome for part in parts]
        if began := [part.started for part in parts if part.started]:
            item.elapsed_s = max(0.0, max(part.ended for part in parts) - min(began))
        if self._can_continue:
            is_late = any(one is None or isinstance(one, UpstreamTimeout) for one in outcomes)
            # Where nothing was answered in all the time, a repetition would end as this one.
            can_repeat = is_late and item.is_read and not stops_on_error and self._is_ending and self._answered
            if can_repeat or not any(part.started or part.outcome for part in parts):
                item.is_skipped = True
                return
        try:
            if item.lists is not None and item.call is not None:
                call = item.call._replace(is_part=item.call.is_part and not item.is_combined)
                item.answer = merge_answers(self, call, item.lists, [one or _late() for one in outcomes])
            elif isinstance(outcomes[0], CallError):
                raise outcomes[0]
            elif outcomes[0] is None:
                raise _late()
            else:
                item.answer = outcomes[0]
            item.answer = with_notes(item.answer, *item.notes)
        except CallError as error:
            item.error = self.with_next_call(item.given, error)


def _groups(items: Sequence[Item], *, one_by_one: bool) -> Iterator[list[Item]]:
    """Yield the items that are performed together: reads that follow each other, each other call alone."""
    group: list[Item] = []
    for item in items:
        if not one_by_one and (item.is_read or item.error is not None):
            group.append(item)
            continue
        if group:
            yield group
        yield [item]
        group = []
    if group:
        yield group


def _late() -> UpstreamTimeout:
    """Return the error of a part for which the time was over."""
    return UpstreamTimeout("No answer came in the time of one call.", "Call again for these; the others are cached.")
