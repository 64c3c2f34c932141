"""Parse a response, select of it what a call requests, and note what the answer lacks.

What equal calls made of the same cache entry is used again: see :class:`toolfold.cache.memo.Memo`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.cache.key import simple_text
from toolfold.errors import InvalidArguments
from toolfold.meta_tools import answer_notes, completion
from toolfold.meta_tools.call import Answer
from toolfold.results import output

if TYPE_CHECKING:
    from toolfold.execution.result import CallResult
    from toolfold.meta_tools.call import Call
    from toolfold.meta_tools.completion import Gap
    from toolfold.results.output import ParsedAnswer
    from toolfold.results.tables import Document

__all__ = ["begin_shaping", "read_answer", "with_notes"]

_MIN_SHAPING_S = 0.25
"""Time in which a response that has arrived may be shaped, however late it is: part of the transport's own reserve."""


class _Reading(NamedTuple):
    """What a call requests of a response, for as many calls as request the same of it.

    Attributes:
        selected: the selected part; the error where ``select`` does not fit the response.
        notes: about it.
        gap: what the response lacks of what is requested.
    """

    selected: Document | InvalidArguments
    notes: tuple[str, ...]
    gap: Gap | None


def begin_shaping(call: Call, response: CallResult) -> None:
    """Begin to make the answer of a response, when its turn has come."""
    call.budget.deadline = max(call.budget.deadline, time.monotonic() + _MIN_SHAPING_S)
    call.budget.suggestion = call.executor.smaller_response_hint(call.catalog, call.tool)
    call.turn.acquire(len(response.body))


def read_answer(call: Call, response: CallResult) -> tuple[Answer | InvalidArguments, Gap | None]:
    """Return the selected part of a response, with notes, and what the response lacks of what is selected.

    An expression in JMESPath that finds nothing in a part of the data may find something in all of it: then its error
    is returned with what is lacking.

    Raises:
        CallError: the response cannot be parsed within the budget, or the ``select`` does not fit it.
    """
    begin_shaping(call, response)
    selected, notes, gap = _reading(call, response)
    if isinstance(selected, InvalidArguments):
        return selected, gap
    status = output.AnswerStatus(response.cached, response.age_s, response.stale_reason)
    blocks, block_notes = _blocks(call, response) if response.blocks else ((), ())
    answer = Answer(selected, status, sys.getsizeof(response.body), blocks, response.use)
    return with_notes(answer, *response.notes, *notes, *block_notes), gap


def with_notes(answer: Answer | InvalidArguments, *notes: str) -> Answer:
    """Return an answer with further notes, each once.

    Raises:
        InvalidArguments: the ``select`` did not fit the answer; the notes are part of the suggestion.
    """
    if isinstance(answer, InvalidArguments):
        suggestion = " ".join([*notes, answer.suggestion])
        raise InvalidArguments(answer.message, suggestion, **answer.details)
    if not notes:
        return answer
    added = tuple(dict.fromkeys((*answer.document.notes, *notes)))
    return replace(answer, document=replace(answer.document, notes=added))


def _reading(call: Call, response: CallResult) -> _Reading:
    """Return what a call requests of a response, from memory where an equal call requested it of the same entry."""
    selection, today, arguments = call.options.select, call.executor.today(), simple_text(response.arguments)
    entry, tool = response.entry, call.tool
    is_live = not call.executor.is_imitated(call.catalog.source(tool.source))
    # A statement of SQL may call functions that return something else each time.
    if entry is None or arguments is None or (selection is not None and selection.sql):
        return _read(call, response, today, is_live)
    memo, owners = call.executor.memo, (entry, tool)
    key = arguments, repr(selection), today, is_live
    found: tuple[_Reading, int] | None = memo.get("reading", owners, key)
    if found is not None:
        call.budget.reserve(found[1])
        return found[0]
    left = call.budget.left
    reading = _read(call, response, today, is_live)
    if not isinstance(reading.selected, InvalidArguments):
        size = left - call.budget.left
        memo.put("reading", owners, key, (reading, size), size)
    return reading


def _read(call: Call, response: CallResult, today: date, is_live: bool) -> _Reading:
    tool, selection = call.tool, call.options.select
    parsed = _parsed(call, response)
    source = call.catalog.source(tool.source)
    unusual = answer_notes.note_on_missing_data(tool, source, response.body, parsed.document)
    selected: Document | InvalidArguments
    try:
        selected = output.select_from(parsed, selection, today, call.budget)
    except InvalidArguments as error:
        if unusual:
            with_notes(error, unusual)
        if selection is None or not selection.jmespath:
            raise
        selected = error
    requested, gap = None, None
    if selection is not None:
        from toolfold.results.select.requested import requested_of

        requested = requested_of(selection, parsed.document, today)
        found = (
            0 if isinstance(selected, InvalidArguments) else max((len(one.rows) for one in selected.tables), default=0)
        )
        gap = completion.find_gap(tool, response.arguments, requested, parsed.document, today, found)
    if isinstance(selected, InvalidArguments):
        return _Reading(selected, (), gap)
    notes = answer_notes.notes_on(
        tool, response.arguments, requested, parsed.document, selected, today if is_live else None
    )
    return _Reading(selected, (unusual, *notes) if unusual else notes, gap)


def _parsed(call: Call, response: CallResult) -> ParsedAnswer:
    """Return a response as a document; from memory where a call has parsed the same entry to select a part of it.

    Without ``select`` the document is the answer, which :func:`_reading` stores.
    """
    entry, tool, selection, budget = response.entry, call.tool, call.options.select, call.budget
    is_jmespath = selection is not None and bool(selection.jmespath)
    found: tuple[ParsedAnswer, int] | None = None
    if entry is not None and selection is not None:
        found = call.executor.memo.get("document", (entry, tool), is_jmespath)
    if found is not None:
        budget.reserve(found[1])
        return found[0]
    left = budget.left
    parsed = output.parse_answer(response.body, response.kind, tool.answer, selection, budget, response.redactor)
    if entry is not None and selection is not None:
        size = left - budget.left
        call.executor.memo.put("document", (entry, tool), is_jmespath, (parsed, size), size)
    return parsed


def _blocks(call: Call, response: CallResult) -> tuple[Sequence[Mapping[str, Any]], Sequence[str]]:
    """Return the further content blocks of a response, without the keys of the call, and notes on what they lack.

    Raises:
        AnswerTooLarge: a Lambda function cannot return them.
    """
    import json

    from toolfold.results.content_blocks import MAX_CHARS, fit_blocks, split_notes

    if len(response.blocks) > MAX_CHARS:
        raise call.budget.too_large(
            f"The images and other content of the answer have {len(response.blocks) / 1e6:.1f} MB; "
            f"{MAX_CHARS / 1e6:g} are allowed."
        )
    given: Sequence[Mapping[str, Any]] = response.redactor.redact_value(json.loads(response.blocks))
    blocks, notes = split_notes(given)
    if call.options.whole or not blocks:
        return blocks, notes
    fitted, note = fit_blocks(blocks, call.options.max_tokens)
    return fitted, (*notes, note) if note else notes
