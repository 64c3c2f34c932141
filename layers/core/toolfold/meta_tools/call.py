"""One call of a tool, its answer, and what the calls of one request share.

``{"symbol": ["AAPL", "MSFT"], "time_period": [50, 200]}``, lists for parameters that take one value, are four calls of
the tool, answered as one table. Each passes through the same validation, cache, single flight and rate limits as a call
of its own. Parts that fail are named in the notes of the answer, which has the others.

Metadata of an answer is for programs: in the structured content, never in the text that a model reads.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.catalog.json_schema import allowed_types
from toolfold.errors import CallError, InvalidArguments, InvalidSelect
from toolfold.execution.argument_reader import next_call, reader_of
from toolfold.execution.call import NO_USE, UpstreamUse
from toolfold.messages import FIRST_OF_SEVERAL, ONE_FORMAT
from toolfold.meta_tools.arguments import OPTIONS, is_blank, read_value
from toolfold.meta_tools.definitions import MAX_CALLS
from toolfold.results import output, parsing
from toolfold.results.combine import (
    LabelledDocument,
    beside_by_date,
    combine,
    label_text,
    side_by_side,
    stack_documents,
)
from toolfold.results.output import MIN_TOKENS, AnswerStatus, OutputOptions
from toolfold.text_safety import quoted_name

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog
    from toolfold.execution.argument_reader import ArgumentReader
    from toolfold.execution.call import CallResult
    from toolfold.meta_tools.dispatcher import MetaRequest
    from toolfold.results.select.grammar import Selection
    from toolfold.results.tables import Document


LARGE_CHARS = 2_000_000
"""Characters of a large answer. A smaller one takes some tens of megabytes and a second at most."""

MAX_RESERVE_S = 1.0
_RESERVED_SHARE = 8
"""Time for what follows the responses: at most that many seconds, and that fraction of what the request has. Without
it a small answer that arrives in the last moment, or an expired one that replaces it, could not be rendered."""

_MIN_SHAPING_S = 0.25
"""Time in which a response that has arrived may be shaped, however late it is: part of the transport's own reserve."""


class Call(NamedTuple):
    """A TOOL_CALL that was read, but for the arguments of its tool. Equal calls of one catalog share it.

    Attributes:
        given: the arguments of TOOL_CALL, in the documented form.
        tool: the tool to call.
        sent: the arguments of the tool; a list among them may stand for several calls.
        options: how the answer is wanted.
        fresh: whether to ignore what is cached.
        approval_token: of an approval that was given.
        is_part: whether the answer is one of several, of which all together the ``select`` takes a part.
    """

    given: Mapping[str, Any]
    tool: Tool
    sent: Mapping[str, Any]
    options: OutputOptions
    fresh: bool = False
    approval_token: str | None = None
    is_part: bool = False


class CallSession:
    """What the calls of one request share: a deadline, the memory of one call, and the turn for large answers.

    Few large answers are shaped at a time: each may take hundreds of megabytes. Used by one thread.

    Attributes:
        budget: what shaping the answers may cost.
        end: ``time.monotonic()`` at which responses must have arrived.
    """

    def __init__(self, request: MetaRequest) -> None:
        self.request, self.catalog, self.executor = request, request.catalog, request.tools.executor
        self.resources = self.executor.pipeline.resources
        now, timeout_s = time.monotonic(), self.executor.settings.timeout_s
        deadline = now + timeout_s + MAX_RESERVE_S if request.deadline is None else request.deadline
        self.budget = WorkBudget(deadline)
        self.end = deadline - min(MAX_RESERVE_S, (deadline - now) / _RESERVED_SHARE)
        if request.deadline is None:
            self.end = now + timeout_s
        self._chars, self._has_turn = 0, False

    def begin_shaping(self, tool: Tool, response: CallResult) -> None:
        """Begin to make the answer of a response, when its turn has come.

        Raises:
            AnswerTooLarge: no turn was free before the deadline.
        """
        self.budget.deadline = max(self.budget.deadline, time.monotonic() + _MIN_SHAPING_S)
        upstream = self.resources.upstream(self.catalog.source(tool.source))
        self.budget.suggestion = upstream.adapter.smaller_response_hint
        self._chars += len(response.body)
        if self._chars > LARGE_CHARS and not self._has_turn:
            remaining_s = self.budget.remaining_s
            if not self.resources.large_answer_turns.acquire(timeout=None if remaining_s == math.inf else remaining_s):
                raise self.budget.too_large(
                    "The answer is large, and others were being processed until the end of this call."
                )
            self._has_turn = True

    def release_turn(self) -> None:
        """Give the turn back: nothing of the answers so far is shaped any more."""
        self._chars = 0
        if self._has_turn:
            self._has_turn = False
            self.resources.large_answer_turns.release()


def read_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a TOOL_CALL in the documented form, ``select`` as a selection; None: not given.

    Raises:
        InvalidArguments: an option does not take its value.
    """
    options = {name: read_value("TOOL_CALL", arguments, name) for name in OPTIONS if name != "select"}
    return {**options, "select": parse_select(arguments.get("select"))}


def parse_select(value: Any) -> Selection | None:
    """Return what ``select`` selects; None: everything."""
    if is_blank(value):
        return None
    from toolfold.results.select import grammar  # compiles its expressions when it is imported

    return grammar.parse_select(value)


def output_options(
    request: MetaRequest, max_tokens: int | None, select: Selection | None = None, raw_by: str = ""
) -> OutputOptions:
    """Return how an answer is wanted: ``max_tokens`` as given, ``raw_by`` the parameter for the form of the service."""
    executor = request.tools.executor
    settings = executor.settings
    requested = max_tokens or settings.max_tokens
    most = max(MIN_TOKENS, min(requested, settings.max_tokens_ceiling))
    return OutputOptions(
        raw_by=raw_by,
        select=select,
        max_tokens=most,
        requested_tokens=requested if max_tokens and requested != most else 0,
        save_answer=executor.resources.answer_store.save if settings.offload not in ("", "off") else None,
        whole=request.whole,
    )


@dataclass(frozen=True)
class Answer:
    """The answer to a call, selected but not rendered.

    Attributes:
        size: that of the text it was made of, in bytes.
        select: what has been selected, where further steps can follow it.
    """

    document: Document
    status: AnswerStatus
    size: int
    blocks: Sequence[Mapping[str, Any]] = ()
    use: UpstreamUse = NO_USE
    select: Selection | None = None


_CELL_BYTES = 60
"""What a cell of a document takes about: a number or a short text, and its place."""


def document_size(document: Document) -> int:
    """Return about how many bytes a document takes."""
    return sum(
        parsing.rows_size(len(table.rows), len(table.columns)) + _CELL_BYTES * len(table.rows) * len(table.columns)
        for table in document.tables
    )


def answer_of(document: Document, answers: Sequence[Answer]) -> Answer:
    """Return ``document``, which was made of ``answers``, as an answer: as old as the oldest of them."""
    status = AnswerStatus(
        cached=bool(answers) and all(answer.status.cached for answer in answers),
        age_s=max((answer.status.age_s for answer in answers), default=0),
        stale_reason=next((answer.status.stale_reason for answer in answers if answer.status.stale_reason), ""),
    )
    blocks = [block for answer in answers for block in answer.blocks]
    size = sum(answer.size for answer in answers)
    return Answer(document, status, size, blocks, sum((answer.use for answer in answers), NO_USE))


_MAX_ALTERNATIVES = 3
"""Similar tools that are named: those that the catalog lists first."""


def metadata(call: Call, answer: Any, use: UpstreamUse, elapsed_s: float) -> dict[str, Any]:
    """Return the metadata of an answer: times, requests, ``source``, ``reasoning``, ``warnings`` and ``alternatives``.

    ``warnings`` are the notes of the answer and that it is a preview or has expired, ``alternatives`` similar tools,
    ``reasoning`` where the answer comes from.
    """
    tool = call.tool
    others = list(dict.fromkeys([*tool.use_instead.values(), *tool.see_also]))[:_MAX_ALTERNATIVES]
    warnings = list(answer.get("notes", ()))
    if "late" in answer:
        warnings.append(f"The answer has expired; the source could not be reached: {answer['late']}.")
    if "preview" in answer:
        warnings.append(f"Shortened; left out: {answer['preview']['left_out']}.")
    origin = "the cache" if answer.get("cached") else "an equal call that was running"
    if use.requests:
        origin = f"{use.requests} request{'' if use.requests == 1 else 's'} to the source"
    form = " in the form of the source" if call.options.raw_by else ""
    part = ", of which a part was selected" if call.options.select is not None else ""
    return {
        "elapsed_ms": round(elapsed_s * 1000, 1),
        "upstream_ms": round(use.seconds * 1000, 1),
        "upstream_requests": use.requests,
        "source": tool.source,
        **({"warnings": warnings} if warnings else {}),
        **({"alternatives": others} if others else {}),
        "reasoning": f"From {origin}{form}{part}.",
    }


_MAX_LABELS = 8
"""Parts that one note names; their number is the caller's choice."""


class Part(NamedTuple):
    """One of several calls: the values of the arguments in which they differ, and all arguments."""

    labels: tuple[Any, ...]
    arguments: Mapping[str, Any]


class ValueLists(NamedTuple):
    """Several calls of one tool.

    Attributes:
        varied: the names of the arguments in which they differ.
        parts: at least two.
        notes: what was read in the other arguments in a way that the caller may not expect.
    """

    varied: tuple[str, ...]
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()


def read_lists(catalog: Catalog, call: Call) -> tuple[ValueLists | None, Mapping[str, Any]]:
    """Return the calls that arguments with lists stand for, or None, and the arguments of a single call.

    Raises:
        InvalidArguments: a list is empty or has lists in it, there are too many calls, the tool does more than read, or
            the form of the service is requested.
    """
    tool, arguments, reader = call.tool, call.sent, reader_of(catalog, call.tool)
    found = ((name, _listed(reader, name, value)) for name, value in arguments.items() if isinstance(value, list))
    lists = {name: one for name, one in found if one is not None}
    if not lists:
        return None, arguments
    if not tool.only_reads:  # several calls that fail in the middle cannot be repeated
        reason = "does more than read" if tool.effect != "read" else "needs approval of each call"
        raise InvalidArguments(
            f"{tool.name} {reason}, and takes one value for each parameter.",
            "Make one call for each value; nothing was sent.",
        )
    count = math.prod(len(items) for _, items in lists.values())
    if count > MAX_CALLS:
        counted = " and ".join(f"{len(items)} values of {target}" for target, items in lists.values())
        raise InvalidArguments(
            f"{tool.name}: {counted} are {count} calls; one call can make {MAX_CALLS}.",
            f"Send at most {MAX_CALLS} values, the others in further calls; nothing was sent.",
        )
    varied = {name: target for name, (target, items) in lists.items() if len(items) > 1}
    parts: dict[str, Part] = {}
    notes: list[set[str]] = []
    for values in itertools.product(*(items for _, items in lists.values())):
        one = dict(zip(lists, values, strict=True))
        given = {**arguments, **one}
        resolved = reader.resolve(given)
        sent = given if resolved.problems else resolved.arguments
        labels = [sent.get(name if resolved.problems else target, one[name]) for name, target in varied.items()]
        parts.setdefault(json.dumps(sent, sort_keys=True, default=str), Part(tuple(labels), sent))
        notes.append(set(resolved.notes))
    if len(parts) == 1:
        return None, given
    targets = tuple(varied.values())
    if parameter := call.options.raw_by:
        known = reader.rename(arguments).arguments
        step = next_call(tool.name, {name: value for name, value in known.items() if name != parameter})
        raise InvalidArguments(
            f"{tool.name}: lists for {' and '.join(targets)} are answered as one table, which has no form of the "
            f"service's own.",
            ONE_FORMAT.filled(step=step or f"Leave out {parameter}"),
        )
    # What was read in an argument that differs is in the table.
    return ValueLists(targets, tuple(parts.values()), tuple(sorted(set.intersection(*notes)))), arguments


def _listed(reader: ArgumentReader, name: str, value: list[Any]) -> tuple[str, list[Any]] | None:
    """Return the parameter that ``name`` means and its values; None where it takes the list, or is unknown."""
    target = name
    if name not in reader.properties:
        renamed = reader.rename({name: value[0] if value else ""})
        known = [parameter for parameter in renamed.arguments if parameter in reader.properties]
        if renamed.problems or not known:
            return None
        target = known[0] if len(known) == 1 else name  # a pair stands for two
    if target in reader.properties:
        types = allowed_types(reader.schema, reader.properties[target])
        if types & {"array", "object"} or reader.separator(target):
            return None
    kinds: dict[type, str] = {list: "a list", dict: "an object", type(None): "null"}
    nested = ((index, kinds[type(item)]) for index, item in enumerate(value, 1) if type(item) in kinds)
    wrong = "" if value else f"{name[:60]} is an empty list"
    if (first := next(nested, None)) is not None:
        wrong = f"item {first[0]} of {name[:60]} is {first[1]}"
    if wrong:
        raise InvalidArguments(
            f"{reader.tool_name}: {wrong}.",
            f'Send a value or a flat list, as in "{target}": ["A", "B"]; nothing was sent.',
        )
    unique: dict[str, Any] = {}
    for item in value:
        unique.setdefault(str(item).strip().casefold(), item)
    return target, list(unique.values())


_NAMELESS = ("period", "last", "first")
"""Kinds of steps that name no column."""


def merge_answers(
    session: CallSession, call: Call, lists: ValueLists, outcomes: Sequence[Answer | CallError]
) -> Answer:
    """Return the answers of the parts of a call as one, with a note on each that failed, and what is selected of it.

    Raises:
        CallError: no part succeeded, or the selection does not fit the answers.
        AnswerTooLarge: the budget is used up.
    """
    outcome_of = list(zip(lists.parts, outcomes, strict=True))
    failed = [(part, one) for part, one in outcome_of if isinstance(one, CallError)]
    answered = [(part, one) for part, one in outcome_of if not isinstance(one, CallError)]
    if not answered:
        first = failed[0][1]
        if all(error.code == first.code and error.problem == first.problem for _, error in failed):
            raise first
        raise first.changed(problem=FIRST_OF_SEVERAL.filled(problem=first.problem, count=len(failed)))
    remarks: dict[str, list[Part]] = {}
    for part, answer in answered:
        for note in answer.document.notes:
            remarks.setdefault(note, []).append(part)
    lines = [note if len(parts) == len(answered) else f"{_labels(parts)}: {note}" for note, parts in remarks.items()]
    failures: dict[tuple[str, str], list[Part]] = {}
    for part, error in failed:
        failures.setdefault((error.code, error.message), []).append(part)
    steps = {(error.code, error.message): error.suggestion for _, error in reversed(failed)}  # of the first of a kind
    lines += [f"{_labels(parts)} failed: {kind[0]}. {kind[1]} {steps[kind]}" for kind, parts in failures.items()]
    documents = [LabelledDocument(part.labels, answer.document) for part, answer in answered]
    combined = _combined(session, call, lists, documents)
    document = replace(combined, notes=tuple(dict.fromkeys((*lists.notes, *lines, *combined.notes))))
    answer = answer_of(document, [answer for _, answer in answered])
    # Columns side by side have names that the steps before them do not know.
    select = call.options.select
    has_names = select is not None and any(step.clause.kind not in _NAMELESS for step in select.steps)
    is_stacked = any(set(lists.varied).issubset(table.columns) for table in document.tables)
    return replace(answer, select=select if is_stacked or not has_names else None)


def _combined(session: CallSession, call: Call, lists: ValueLists, parts: Sequence[LabelledDocument]) -> Document:
    """Return one document of all answers, or what is selected of it.

    The rows are under each other, and each answer is a partition of them. A name that only the table side by side has
    (``10year``, ``AAPL_close``) means that table.
    """
    budget, today, varied = session.budget, session.executor.today(), lists.varied
    selection = call.options.select if call.is_part else None
    if selection is None:
        return combine(varied, parts, budget)
    partition = [name for one in varied for name in (one, f"{one} (argument)")]
    stacked = output.ParsedAnswer(stack_documents(varied, parts, budget))
    try:
        return beside_by_date(varied, output.select_from(stacked, selection, today, budget, partition), budget)
    except InvalidSelect as error:
        beside = side_by_side(parts, budget) if "unknown" in error.facts else None
        if beside is None or not beside.tables:
            raise
        try:
            return output.select_from(output.ParsedAnswer(beside), selection, today, budget)
        except InvalidSelect as other:
            known = [name for table in beside.tables for name in table.columns[1:]][:_MAX_LABELS]
            if error.facts["unknown"] != other.facts.get("unknown"):
                raise other from None
            raise error.changed(
                next_step=f"{error.suggestion} By date: {', '.join(map(quoted_name, known))}."
            ) from None


def _labels(parts: Sequence[Part]) -> str:
    shown = ", ".join(label_text(part.labels)[:60] for part in parts[:_MAX_LABELS])
    return shown + (f" and {len(parts) - _MAX_LABELS} more" if len(parts) > _MAX_LABELS else "")
