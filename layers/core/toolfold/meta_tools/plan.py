"""The plan of a request: the calls of tools that it stands for, and how they are made.

TOOL_CALL is a plan of one call, or of as many as the lists among its arguments stand for; TOOL_BATCH, TOOL_PIPE and
TOOL_SCRIPT are plans of several. Each passes through the pipeline as a call of its own: scope, validation, limits,
approval, cache.
"""

from __future__ import annotations

import contextvars
import itertools
import queue
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolfold.errors import CallError, InvalidArguments, NoData, NotCached, PremiumOnly, UpstreamTimeout
from toolfold.execution.argument_reader import reader_of, simple_text
from toolfold.meta_tools import corrections, inspection, next_steps
from toolfold.meta_tools.answer_reader import CallSession
from toolfold.meta_tools.call import (
    Answer,
    Call,
    Item,
    Part,
    document_size,
    metadata,
    output_options,
    parse_select,
    with_notes,
)
from toolfold.meta_tools.combination import merge_answers, split
from toolfold.meta_tools.definitions import MAX_CALLS
from toolfold.meta_tools.reader import read_tool_call
from toolfold.meta_tools.result import Result
from toolfold.meta_tools.tool_names import tool_not_found
from toolfold.results import output

if TYPE_CHECKING:
    from toolfold.execution.call import CallResult
    from toolfold.meta_tools.dispatcher import MetaRequest
    from toolfold.results.output import RenderedResult

USUAL_PARALLEL = 10
"""Calls at the same time by default."""

_READ_BYTES = 4_000
"""What a call that was read takes beside its texts: four objects and the selection."""

_NEAR_END_S = 0.25
"""A read that ends in a time-out this close to the end of the request was ended by it, and is one of the rest."""

_MIN_WAIT_S = 0.05

_LATE = "No answer came in the time of one call.", "Call again for these; the others are cached."


class Plan(CallSession):
    """The calls of one request, to be closed after it. Used by one thread.

    Args:
        can_continue: whether calls for which the time was over are made by a later request.

    Attributes:
        is_full: whether a call was refused because there were :data:`MAX_CALLS`.
    """

    def __init__(self, request: MetaRequest, *, can_continue: bool = True) -> None:
        super().__init__(request)
        self._can_continue, self._started = can_continue, time.perf_counter()
        self._count, self._may_repeat, self.is_full = 0, True, False

    @property
    def is_over(self) -> bool:
        """Whether the time for further calls is over."""
        return time.monotonic() >= self.end

    @property
    def elapsed_ms(self) -> float:
        """Milliseconds since the request came."""
        return round((time.perf_counter() - self._started) * 1000, 1)

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
            if item.given.get("inspect"):
                raise InvalidArguments("inspect is for a TOOL_CALL of its own.", "Leave it out; nothing was sent.")
        except CallError as error:
            item.error = self.with_next_call(item.given, error)
        return item

    def answer(self, item: Item) -> Answer:
        """Perform one call, and return its answer.

        Raises:
            CallError: it failed.
        """
        if not item.varied and item.call is not None:  # most calls, which need no threads
            (part,) = item.parts
            response = self.fetch_response(item.call, part.arguments)
            return with_notes(self.complete(item.call, part.arguments, response), *item.notes)
        self.perform([item])
        if item.answer is None:
            raise item.error or UpstreamTimeout(*_LATE)
        return item.answer

    def read(self, item: Item, *, keeps_raw: bool = False) -> Call:
        """Read the call of an item, which is not performed yet; its ``given`` becomes the documented form.

        Equal calls are read once.

        Raises:
            CallError: it cannot be read.
        """
        arguments, text = item.given.get("arguments"), None
        if "approval_token" not in item.given and type(arguments) is dict and (inner := simple_text(arguments)):
            text = simple_text({**item.given, "arguments": f"{self.request.whole} {inner}"})
        found: Call | None = None if text is None else self.services.memo.get("call", (self.catalog,), text)
        if found is None:
            item.given = read_tool_call(self.catalog, item.given, only_tools=True).arguments
        call = found or self._read(item.given)
        has_list, parameter = list in map(type, call.sent.values()), call.options.raw_by
        if found is None and text is not None and call.approval_token is None and not has_list:
            self.services.memo.put("call", (self.catalog,), text, call, _READ_BYTES + 4 * len(text))
        if parameter and (has_list or not keeps_raw or call.given.get("inspect")):
            known = reader_of(self.catalog, call.tool).rename(call.sent).arguments
            sent = {name: value for name, value in known.items() if name != parameter}
            call = call._replace(sent=sent, options=replace(call.options, raw_by=""))
            item.notes = (f"{parameter} was left out: answers of several calls have one form.",)
        item.given, item.parts = call.given, (Part((), call.sent),)
        if has_list:
            split(self.catalog, item, call)
        item.call = call
        if self._count + len(item.parts) > MAX_CALLS:
            self.is_full = True
            raise InvalidArguments(
                f"These are more than {MAX_CALLS} calls, each value of a list counted.",
                f"Make at most {MAX_CALLS} calls in one, and the others in another; this one was not sent.",
            )
        self._count += len(item.parts)
        self._may_repeat = self._may_repeat and call.tool.only_reads and not call.fresh
        return call

    def perform(
        self, items: Sequence[Item], max_parallel: int = USUAL_PARALLEL, *, stops_on_error: bool = False
    ) -> None:
        """Perform calls, which are changed: those that only read at the same time, each other one alone.

        A call that writes is performed when all before it have ended, and before any that follow it.
        """
        one_by_one, is_stopped = stops_on_error and max_parallel == 1, False
        runs = itertools.groupby(items, lambda item: not one_by_one and (item.is_read or item.error is not None))
        groups = (group for is_read, run in runs for group in ([list(run)] if is_read else [[item] for item in run]))
        for group in groups:
            if is_stopped or (self.is_over and self._can_continue):
                for item in group:
                    item.is_skipped = item.error is None
                continue
            self._perform_group(group, max_parallel, stops_on_error)
            is_stopped = stops_on_error and any(item.error is not None for item in group)
        self.allow_shaping()

    def with_next_call(self, given: Mapping[str, Any], error: CallError) -> CallError:
        """Return ``error`` with the call that would work, where that follows from the schema."""
        if isinstance(given.get("tool_name"), str) and isinstance(given.get("arguments") or {}, dict):
            error = corrections.with_next_call(self.catalog, given, error)
        return next_steps.with_executor(self.catalog, error)

    def _read(self, given: Mapping[str, Any]) -> Call:
        tool = self.catalog.get(given["tool_name"])
        if tool is None:
            raise tool_not_found(self.catalog, given["tool_name"])
        sent, raw_by = dict(given.get("arguments") or {}), ""
        parameter, reader = self.catalog.source(tool.source).format_parameter, reader_of(self.catalog, tool)
        if parameter and sent.get(parameter) is not None:
            raw_by = parameter
            # Left out where the tool has that one format and no such parameter; another one is unknown to the tool.
            if parameter not in reader.properties and str(sent[parameter]).strip().lower() in tool.formats:
                del sent[parameter]
        elif parameter and sent.keys() - reader.properties.keys():
            raw_by = parameter if reader.rename(sent).arguments.get(parameter) is not None else ""
        wanted = output_options(self.request, given.get("max_tokens"), parse_select(given.get("select")), raw_by)
        return Call(given, tool, sent, wanted, bool(given.get("fresh")), given.get("approval_token"))

    def _perform_group(self, group: Sequence[Item], max_parallel: int, stops_on_error: bool) -> None:
        failed = [index for index, item in enumerate(group) if item.error is not None]
        end = failed[0] if failed and stops_on_error else len(group)
        for item in group[end:]:
            item.is_skipped = item.error is None
        made: list[tuple[Item, Call]] = []
        for item in group[:end]:
            if item.call is not None and item.error is None:
                select, is_list = item.call.options.select, bool(item.varied)
                is_part = item.is_combined or (is_list and select is not None and not select.jmespath)
                made.append((item, item.call._replace(is_part=is_part)))
        per_second = self.services.settings.requests_per_second
        threads = 1 if per_second is not None and per_second <= 1 else max_parallel
        self._fetch_all([(call, part) for item, call in made for part in item.parts], threads, stops_on_error)
        for item, call in made:
            self._finish(item, call, stops_on_error)

    def _fetch_all(self, parts: Sequence[tuple[Call, Part]], threads: int, stops_on_error: bool) -> None:
        """Set the outcome of each part, as far as the time allows.

        Those in memory are answered first, in this thread: to start another takes longer. A part that was fetched
        counts as running until it is read, so that few responses take memory at a time.
        """

        def attempt(call: Call, part: Part, *, only_cached: bool = False) -> CallResult | BaseException:
            part.started = time.perf_counter()
            try:
                return self.fetch_response(call, part.arguments, only_cached=only_cached)
            except BaseException as error:  # noqa: BLE001 - raised again in the thread of the call
                return error
            finally:
                part.ended = time.perf_counter()

        def read(call: Call, part: Part, fetched: CallResult | BaseException) -> bool:
            """Set the outcome of a part that was fetched; return whether no other may follow."""
            try:
                if isinstance(fetched, BaseException):
                    raise fetched
                part.outcome = self.complete(call, part.arguments, fetched)
                part.ended = time.perf_counter()
            except CallError as error:
                part.outcome = error
            return stops_on_error and isinstance(part.outcome, CallError)

        waiting: list[tuple[Call, Part]] = []
        for call, part in parts:
            fetched = attempt(call, part, only_cached=len(parts) > 1)
            if isinstance(fetched, NotCached):
                part.started = 0.0
                waiting.append((call, part))
            elif read(call, part, fetched):
                return
        done: queue.SimpleQueue[tuple[Call, Part, CallResult | BaseException]] = queue.SimpleQueue()

        def fetch(call: Call, part: Part) -> None:
            done.put((call, part, attempt(call, part)))

        running = 0
        while waiting or running:
            while waiting and running < threads and not self.is_over:
                # In a copy of this context: cancelling the call of the client cancels its parts.
                arguments = (fetch, *waiting.pop(0))
                threading.Thread(
                    target=contextvars.copy_context().run, args=arguments, name="part", daemon=True
                ).start()
                running += 1
            try:
                arrived = done.get(timeout=max(_MIN_WAIT_S, self.end - time.monotonic()))
            except queue.Empty:
                return  # what still arrives is dropped
            running -= 1
            if read(*arrived):
                waiting = []

    @property
    def _is_ending(self) -> bool:
        return time.monotonic() >= self.end - _NEAR_END_S

    def _finish(self, item: Item, call: Call, stops_on_error: bool) -> None:
        """Set the answer of an item, its error, or that it is one of the rest."""
        parts = item.parts
        if began := [part.started for part in parts if part.started]:
            item.elapsed_s = max(0.0, max(part.ended for part in parts) - min(began))
        if self._can_continue:
            is_late = any(part.outcome is None or isinstance(part.outcome, UpstreamTimeout) for part in parts)
            # Where nothing was answered in all the time, a repetition would end as this one.
            can_repeat = is_late and item.is_read and not stops_on_error and self._is_ending and self._answered
            if can_repeat or not any(part.started or part.outcome for part in parts):
                item.is_skipped = True
                return
        for part in parts:
            part.outcome = part.outcome or UpstreamTimeout(*_LATE)
        try:
            call = call._replace(is_part=call.is_part and not item.is_combined)
            answer = merge_answers(call, item, self.services.today(), self.budget)
            item.answer = with_notes(answer, *item.notes)
        except CallError as error:
            item.error = self.with_next_call(item.given, error)


def tool_call(request: MetaRequest) -> Result:
    """Call a tool.

    Returns:
        ``{"result", "cached"}``, and ``preview`` where the result is shortened; the text is the result itself. The
        result has toolfold's own form, or, where the call gives the ``format_parameter`` of the source, the upstream's;
        see ``results.output``.

    Raises:
        CallError: the call failed; see ``errors``.
    """
    with closing(Plan(request, can_continue=False)) as plan:
        item = Item("", request.arguments)
        try:
            call = plan.read(item, keeps_raw=True)
            filled = inspection.fill_from_example(plan, item) if item.given.get("inspect") else ()
            answer = _raw(plan, call, item) if call.options.raw_by else plan.answer(item)
            if item.given.get("inspect"):
                arguments = call.sent if item.varied else item.parts[0].arguments
                result = inspection.describe_answer(plan, call, answer, arguments, filled)
            else:
                rendered = _rendered(plan, call, answer)
                result = Result(rendered.structured, rendered.text, blocks=answer.blocks)
            if item.varied:
                result = result._replace(answered=plan.progress())
        except (InvalidArguments, NoData, PremiumOnly) as error:
            if error is item.error:  # of several requests, which has its next call
                raise
            raise plan.with_next_call(item.given, error) from error.__cause__
    figures = metadata(call, result.structured, answer.use, plan.elapsed_ms, result.blocks)
    return result._replace(structured={**result.structured, **figures})


def _rendered(plan: Plan, call: Call, answer: Answer) -> RenderedResult:
    """Return the answer as text and data; a cached one as an equal call has rendered it."""
    document, status, options = answer.document, answer.status, call.options
    # A document with notes, or in the upstream's own form, is made by each call.
    if not status.cached or document.notes or options.whole or options.raw_by:
        return answer.render(options, plan.budget)
    memo, owners = plan.services.memo, (document,)
    key = status.line(), status.stale_reason, options.max_tokens
    known: RenderedResult | None = memo.get("rendered", owners, key)
    if known is not None:
        return replace(known, structured={**known.structured, "age_s": status.age_s})
    rendered = answer.render(options, plan.budget)
    if "preview" not in rendered.structured:  # which is as good as the time allows, and may have a link that expires
        memo.put("rendered", owners, key, rendered, document_size(document) + 2 * len(rendered.text))
    return rendered


def _raw(plan: Plan, call: Call, item: Item) -> Answer:
    """Return a response in the upstream's own form."""
    response = plan.fetch_response(call, item.parts[0].arguments)
    plan.begin_shaping(call.tool, response)
    document = output.raw_document(response.body, response.kind, call.options, response.redactor, plan.budget)
    status = output.AnswerStatus(response.cached, response.age_s, response.stale_reason)
    answer = Answer(document, status, sys.getsizeof(response.body), use=response.use)
    return with_notes(answer, *response.notes)
