"""Apply a ``select`` to the table of several calls where it fits none of their answers: ``top 1 by changePercent``.

The answer to each call may be one object, which has no rows to rank, and lacks the columns that only the table has: the
arguments in which the calls differ, and ``10year value`` beside ``2year value``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolfold.errors import CallError, InvalidSelect
from toolfold.meta_tools import completion
from toolfold.meta_tools.answer_reader import read_answer
from toolfold.results import output
from toolfold.results.select.requested import requested_of

if TYPE_CHECKING:
    from toolfold.execution.result import CallResult
    from toolfold.meta_tools.call import Answer, Call
    from toolfold.results.select.selection import Selection
    from toolfold.results.tables import Document

__all__ = ["fits_no_part", "select_of_all", "whole_parts"]

_MAX_NOTES = 4
"""Notes on what answers lack: they are mostly the same."""


def fits_no_part(selection: Selection | None, outcomes: Sequence[Any]) -> bool:
    """Return whether the ``select`` fitted none of the answers there are."""
    errors = [one for one in outcomes if isinstance(one, InvalidSelect)]
    is_answered = any(not isinstance(one, CallError) for one in outcomes)
    return selection is not None and not selection.jmespath and bool(errors) and not is_answered


def whole_parts(call: Call, outcomes: Sequence[Any], responses: Sequence[CallResult | None]) -> list[Any]:
    """Return the whole answers of the responses there are, and the errors of the others."""
    whole = replace(call, options=replace(call.options, select=None))
    return [
        one if response is None else _whole(whole, response)
        for one, response in zip(outcomes, responses, strict=True)
    ]  # fmt: skip


def _whole(call: Call, response: CallResult) -> Answer | CallError:
    try:
        answer, _ = read_answer(call, response)
    except CallError as error:
        return error
    return answer


def select_of_all(
    call: Call, selection: Selection, document: Document, parts: Sequence[tuple[Mapping[str, Any], Document]]
) -> Document:
    """Return what is selected of the table of several calls, with notes on what their answers lack of it.

    Args:
        call: the call.
        selection: what is selected, with the arguments in which the calls differ.
        document: the table.
        parts: the arguments and the whole answer of each call.

    Raises:
        InvalidArguments: it fits the table no better.
    """
    today = call.executor.today()
    selected = output.select_from(output.ParsedAnswer(document), selection, today, call.budget)
    requested, notes = requested_of(selection, document, today), dict.fromkeys(document.notes)
    for arguments, part in parts:
        gap = completion.find_gap(call.tool, arguments, requested, part, today)
        if gap is not None and len(notes) < _MAX_NOTES:
            notes[completion.lacking_note(call.tool, arguments, gap)] = None
    return replace(selected, notes=tuple(dict.fromkeys((*notes, *selected.notes))))
