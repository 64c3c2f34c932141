"""Fetch a response, select of it what a call requests, and note what the answer lacks.

What equal calls made of the same cache entry is used again: see :class:`toolfold.cache.response_cache.Memo`.

An answer that may be mistaken for another gets a note: of another symbol, of another day, out of date, with a split.
"""

from __future__ import annotations

import functools
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from toolfold.budget import MAX_BYTES, WorkBudget
from toolfold.catalog.json_schema import properties
from toolfold.dates import parse_date
from toolfold.errors import CallError, InvalidArguments
from toolfold.execution.argument_reader import simple_text
from toolfold.execution.call import CallContext
from toolfold.execution.pipeline import run_call
from toolfold.fuzzy import normalize
from toolfold.meta_tools import completion
from toolfold.meta_tools.call import Answer, document_size, with_notes
from toolfold.meta_tools.completion import GapKind
from toolfold.meta_tools.next_steps import with_next_step
from toolfold.models import Requested
from toolfold.results import output
from toolfold.results.preview import MAX_BLOCK_CHARS, fit_blocks, split_notes
from toolfold.results.select.coverage import coverage_of, first_date_field, has_dates, is_late
from toolfold.results.tables import DATE_NAMES, Document
from toolfold.text_safety import quoted_name
from toolfold.wording import joined

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool
    from toolfold.execution.call import CallResult
    from toolfold.meta_tools.call import Call
    from toolfold.meta_tools.completion import Gap
    from toolfold.meta_tools.dispatcher import MetaRequest

T = TypeVar("T")

_MAX_LISTED = 10
"""Values that one note lists."""

_MAX_MESSAGE_CHARS = 2000
"""Characters of an answer that may be a message. Data in an unknown form are longer, and show what they are."""

_PRICES = frozenset({"open", "high", "low", "close"})

_SPLIT = 1.45
"""Factor from which prices of two days are compared with usual splits: 3 for 2, and whole numbers."""

LARGE_CHARS = 2_000_000
"""Characters of a large answer. A smaller one takes some tens of megabytes and a second at most."""

MAX_RESERVE_S = 1.0
_RESERVED_SHARE = 8
"""Time for what follows the responses: at most that many seconds, and that fraction of what the request has. Without
it a small answer that arrives in the last moment, or an expired one that replaces it, could not be rendered."""

_MIN_SHAPING_S = 0.25
"""Time in which a response that has arrived may be shaped, however late it is: part of the transport's own reserve."""


class _Reading(NamedTuple):
    """What a call requests of a response, for as many calls as request the same of it.

    Attributes:
        selected: the selected part.
        notes: about it.
        gap: what the response lacks of what is requested.
    """

    selected: Document
    notes: tuple[str, ...]
    gap: Gap | None


class CallSession:
    """What the calls of one request share: a deadline, the memory of one call, and the turn for large answers.

    Each of those may take hundreds of megabytes.

    Attributes:
        budget: what shaping the answers may cost.
        end: ``time.monotonic()`` at which responses must have arrived.
    """

    def __init__(self, request: MetaRequest) -> None:
        self.request, self.catalog, self.executor = request, request.catalog, request.tools.executor
        self.services = self.executor.services
        now, timeout_s = time.monotonic(), self.services.settings.timeout_s
        deadline = now + timeout_s + MAX_RESERVE_S if request.deadline is None else request.deadline
        self.budget = WorkBudget(deadline)
        self.end = deadline - min(MAX_RESERVE_S, (deadline - now) / _RESERVED_SHARE)
        if request.deadline is None:
            self.end = now + timeout_s
        self._chars, self._has_turn = 0, False
        self._retained = self._answered = 0

    def begin_shaping(self, tool: Tool, response: CallResult) -> None:
        """Begin to make the answer of a response, when its turn has come.

        Raises:
            AnswerTooLarge: no turn was free before the deadline.
        """
        self.allow_shaping()
        upstream = self.services.upstream(self.catalog.source(tool.source))
        self.budget.suggestion = upstream.adapter.smaller_response_hint
        self._chars += len(response.body)
        if self._chars > LARGE_CHARS and not self._has_turn:
            if not self.services.large_answer_turns.acquire(timeout=self.budget.remaining_s):
                raise self.budget.too_large(
                    "The answer is large, and others were being processed until the end of this call."
                )
            self._has_turn = True

    def allow_shaping(self) -> None:
        """Leave time for what follows responses, which may have come late on a busy machine."""
        self.budget.deadline = max(self.budget.deadline, time.monotonic() + _MIN_SHAPING_S)

    def release_turn(self) -> None:
        """Give the turn for large answers back: nothing of the answers so far is shaped any more."""
        self._chars = 0
        if self._has_turn:
            self._has_turn = False
            self.services.large_answer_turns.release()

    close = release_turn

    def complete(self, call: Call, arguments: Mapping[str, Any], response: CallResult) -> Answer:
        """Select what a call requests of its response, and fetch what the response lacks of that.

        It takes what memory the answers before it have left.

        Raises:
            CallError: the response cannot be parsed within the budget, or the ``select`` does not fit it.
        """
        whole, notes, use = self.budget, list[str](), response.use
        self.budget = WorkBudget(whole.deadline, max(0, MAX_BYTES - self._retained))
        try:
            answer, gap = self._answer(call, response)
            requests_period = gap is not None and gap.kind not in (GapKind.SUMMARY, GapKind.MATCHES)
            if gap is not None and not (gap.complete and requests_period and call.tool.only_reads):
                notes.append(completion.lacking_note(call.tool, response.arguments, gap))
            elif gap is not None:
                self.release_turn()  # the first answer is small: it lacks something
                try:
                    fuller = self.fetch_response(call, arguments, gap.complete)
                    answer, rest = self._answer(call, fuller)
                except CallError as error:
                    notes.append(completion.lacking_note(call.tool, response.arguments, gap, error))
                else:
                    use += fuller.use
                    notes.append(completion.used_note(gap))
                    if rest is not None:
                        notes.append(completion.lacking_note(call.tool, fuller.arguments, rest))
            complete = with_notes(answer, *notes)
        finally:
            whole.deadline = self.budget.deadline  # a late response has time to be shaped
            self.budget = whole
        self._retained += document_size(complete.document)
        self._answered += 1
        return complete if use is response.use else replace(complete, use=use)

    def fetch_response(
        self,
        call: Call,
        arguments: Mapping[str, Any],
        added: Mapping[str, Any] | None = None,
        *,
        only_cached: bool = False,
    ) -> CallResult:
        """Perform a call, or answer it from the cache. Several parts of a call may be fetched at the same time.

        Raises:
            CallError: the call failed.
            NotCached: it may be answered from memory alone, and cannot.
        """
        credentials = self.request.credentials
        if call.approval_token is not None:
            credentials = credentials._replace(approval_token=call.approval_token)
        context = CallContext(
            self.catalog,
            call.tool,
            arguments,
            credentials,
            bypass_cache=call.fresh,
            only_cached=only_cached,
            deadline=self.end,
            added=added or {},
        )
        try:
            return run_call(self.executor, context)
        except CallError as error:
            raise with_next_step(error, self.catalog, call.tool, arguments) from None

    def _answer(self, call: Call, response: CallResult) -> tuple[Answer, Gap | None]:
        """Return the selected part of a response, with notes, and what the response lacks of what is selected.

        Raises:
            CallError: the response cannot be parsed within the budget, or the ``select`` does not fit it.
        """
        self.begin_shaping(call.tool, response)
        selection, today = call.options.select, self.services.today()
        is_live = call.tool.source not in self.services.imitated
        arguments = simple_text(response.arguments)
        read = functools.partial(self._reading, call, response, today, is_live)
        # A statement of SQL may call functions that return something else each time.
        if arguments is None or (selection is not None and (selection.has_sql or selection.jmespath)):
            selected, notes, gap = read()
        else:
            key = arguments, repr(selection), today, is_live, call.is_part
            selected, notes, gap = self._memoized(call, response, "reading", key, read)
        status = output.AnswerStatus(response.cached, response.age_s, response.stale_reason)
        blocks, block_notes = self._blocks(call, response) if response.blocks else ((), ())
        select = None if call.is_part else call.options.select
        answer = Answer(selected, status, sys.getsizeof(response.body), blocks, response.use, select)
        return with_notes(answer, *response.notes, *notes, *block_notes), gap

    def _memoized(self, call: Call, response: CallResult, kind: str, key: Any, make: Callable[[], T]) -> T:
        """Return what ``make`` returned for the same cache entry before, or returns now; its memory counts again."""
        if response.entry is None:
            return make()
        memo, owners, budget = self.services.memo, (response.entry, call.tool), self.budget
        found: tuple[T, int] | None = memo.get(kind, owners, key)
        if found is not None:
            budget.reserve(found[1])
            return found[0]
        left = budget.left
        made = make()
        size = left - budget.left
        memo.put(kind, owners, key, (made, size), size)
        return made

    def _reading(self, call: Call, response: CallResult, today: date, is_live: bool) -> _Reading:
        tool, selection, budget = call.tool, call.options.select, self.budget
        body, kind, redactor = response.body, response.kind, response.redactor
        parse = functools.partial(output.parse_answer, body, kind, tool.answer, selection, budget, redactor)
        if selection is None:  # the document is the answer, which is stored as such
            parsed = parse()
        else:
            parsed = self._memoized(call, response, "document", bool(selection.jmespath), parse)
        unusual = note_on_missing_data(tool, self.catalog.source(tool.source), body, parsed.document)
        requested, gap = None, None
        if selection is not None:
            from toolfold.results.select.engine import requested_of
        try:
            selected = output.select_from(parsed, None if call.is_part else selection, today, budget)
        except InvalidArguments as error:
            if selection is not None and selection.jmespath:  # which may find something in all of the data
                requested = requested_of(selection, parsed.document, budget, today)
                gap = completion.find_gap(tool, response.arguments, requested, parsed.document, today, 0)
            lacking = "" if gap is None else completion.lacking_note(tool, response.arguments, gap)
            notes = list(filter(None, (unusual, lacking)))
            raise error.changed(next_step=joined(*notes, error.next_step)) if notes else error from None
        if selection is not None:
            requested = selected.requested or requested_of(selection, parsed.document, budget, today)
            found = max((len(table.rows) for table in selected.tables), default=0)
            gap = completion.find_gap(tool, response.arguments, requested, parsed.document, today, found)
        own = notes_on(tool, response.arguments, requested, parsed.document, selected, today if is_live else None)
        return _Reading(selected, (unusual, *own) if unusual else own, gap)

    def _blocks(self, call: Call, response: CallResult) -> tuple[Sequence[Mapping[str, Any]], Sequence[str]]:
        """Return the further content of a response, without the keys of the call, and notes on what it lacks."""
        if len(response.blocks) > MAX_BLOCK_CHARS:
            raise self.budget.too_large(
                f"The images and other content of the answer have {len(response.blocks) / 1e6:.1f} MB; "
                f"{MAX_BLOCK_CHARS / 1e6:g} are allowed."
            )
        given: Sequence[Mapping[str, Any]] = response.redactor.redact_value(json.loads(response.blocks))
        blocks, notes = split_notes(given)
        if call.options.whole or not blocks:
            return blocks, notes
        fitted, note = fit_blocks(blocks, call.options.max_tokens)
        return fitted, (*notes, note) if note else notes


def notes_on(
    tool: Tool,
    arguments: Mapping[str, Any],
    requested: Requested | None,
    whole: Document,
    selected: Document,
    today: date | None,
) -> tuple[str, ...]:
    """Return notes on an answer; none on an ordinary one."""
    notes = [*_other_values(tool, arguments, whole)]
    texts = [text for value in arguments.values() for text in (value if isinstance(value, list) else [value])]
    parts = [part for text in texts if isinstance(text, str) for part in text.split(",")]
    names_a_date = any(map(parse_date, [part for part in parts if not part.isalpha()]))
    if requested is None and names_a_date:
        for name, most in tool.hints.get("complete", {}).items():
            default = properties(tool.parameters).get(name, {}).get("default")
            if type(default) is int and name not in arguments and any(len(t.rows) == default for t in whole.tables):
                notes.append(f"There may be more: {default} rows are the default; {name} {most} is the most.")
    if today is not None and not names_a_date:
        series = [table for table in whole.tables if table.columns and normalize(table.columns[0]) in DATE_NAMES]
        covered = coverage_of(Document(tuple(series)))
        if covered is not None and is_late(covered, today):
            notes.append(f"The newest row is of {covered.last}{covered.zone}; nothing newer was returned.")
    if requested is not None:
        field = first_date_field(whole.metadata)
        if field is not None and coverage_of(whole) is None and not has_dates(selected):
            notes.append(f"{quoted_name(field[0])} is {quoted_name(field[1])}.")
        if "adjusted_by" in tool.hints:
            notes += _jumps(tool, requested, whole)
    return tuple(notes)


def note_on_missing_data(tool: Tool, source: Source, body: str, document: Document) -> str:
    """Return the note on a short answer in JSON without rows and without the member that has the tool's data.

    A service that reports failures with status 200 may do so in words that no fault of its source has.
    """
    if not source.unknown_notice or document.tables or body[:1] != "{" or len(body) > _MAX_MESSAGE_CHARS:
        return ""
    members = [path.partition(".")[0].partition("{")[0] for path in tool.answer["rows"]]
    has_known_form = all(members) if members else tool.answer["csv"] is not None
    if not has_known_form or any(f'"{member}' in body for member in members):
        return ""
    return f"This is not the usual form of {tool.name}: it may be a message of {source.title} instead of data."


def _other_values(tool: Tool, arguments: Mapping[str, Any], document: Document) -> Iterator[str]:
    """Yield what was requested and is not what the answer is for."""
    for parameter, field in tool.hints.get("repeated_as", {}).items():
        requested, found = arguments.get(parameter), _values_of(document, field)
        if requested is None or not found:
            continue
        separator = tool.call.get("lists", {}).get(parameter, {}).get("separator")
        wanted = [part.strip() for part in str(requested).split(separator)] if separator else [str(requested)]
        known = set(map(str.lower, found))
        missing = [quoted_name(text) for text in wanted if text.lower() not in known]
        if missing and not separator:
            yield f"Asked for {parameter} {missing[0]}; the answer is for {quoted_name(found[0])}."
        elif missing:
            more = f" and {len(missing) - _MAX_LISTED} more" if len(missing) > _MAX_LISTED else ""
            yield f"Nothing for {parameter} {', '.join(missing[:_MAX_LISTED])}{more}."


def _values_of(document: Document, field: str) -> list[str]:
    """Return the texts of a field of an answer, or of its first column of that name."""
    for name, value in document.metadata.items() if isinstance(document.metadata, dict) else ():
        if name.lower() == field:
            return [value] if isinstance(value, str) else []
    for table in document.tables:
        for index, name in enumerate(table.columns):
            if name.lower() == field:
                return list(dict.fromkeys(row[index] for row in table.rows if isinstance(row[index], str)))
    return []


def _jumps(tool: Tool, requested: Requested, document: Document) -> Iterator[str]:
    """Yield that prices jump as after a split, between two rows of the period that is selected."""
    table = document.tables[0] if document.tables else None
    # Only the last price beside the first shows a change.
    is_one_row = requested.functions <= {"first", "last", "count"} and not requested.functions >= {"first", "last"}
    if table is None or "close" not in table.columns or (requested.functions and is_one_row):
        return
    if requested.columns and requested.columns.isdisjoint(_PRICES):
        return
    place, high = table.columns.index("close"), f"{requested.high}~"  # after every time of that day
    rows = [(row[0], row[place]) for row in table.rows if isinstance(row[0], str) and row[0] >= requested.low]
    rows = sorted((day, price) for day, price in rows if type(price) in (int, float) and (high == "~" or day <= high))
    if requested.row_count:
        rows = rows[: requested.row_count] if requested.is_oldest_first else rows[-requested.row_count :]
    for (_, before), (day, after) in itertools.pairwise(row for row in rows if row[1] > 0):
        ratio = max(before, after) / min(before, after)
        factor, spread = (1.5, 0.03) if ratio < 1.75 else (round(ratio), 0.06)
        if ratio > _SPLIT and abs(ratio / factor - 1) < spread:
            verb, adjusted = "falls" if after < before else "rises", tool.hints["adjusted_by"]
            yield f"close {verb} from {before} to {after} by {day}, as by a split; {adjusted} corrects that."
            return
