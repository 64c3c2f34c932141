"""Several calls in one: lists for parameters that take one value are answered as one table.

``{"symbol": ["AAPL", "MSFT"], "time_period": [50, 200]}`` are four calls of the tool. Each passes through the same
validation, cache, single flight and rate limits as a call of its own; all share the time and the memory of one call.
Parts that fail are named in the notes of the answer, which has the others.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.catalog.json_schema import allowed_types
from toolfold.errors import CallError, InvalidArguments, InvalidSelect
from toolfold.execution.argument_reader import next_call, reader_of
from toolfold.messages import FIRST_OF_SEVERAL, ONE_FORMAT
from toolfold.meta_tools.call import answer_of
from toolfold.meta_tools.definitions import MAX_CALLS
from toolfold.results import output
from toolfold.results.combine import (
    LabelledDocument,
    beside_by_date,
    combine,
    label_text,
    side_by_side,
    stack_documents,
)
from toolfold.text_safety import quoted_name

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.execution.argument_reader import ArgumentReader
    from toolfold.meta_tools.call import Answer, Call, CallSession
    from toolfold.results.tables import Document

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


def plan(catalog: Catalog, call: Call) -> tuple[ValueLists | None, Mapping[str, Any]]:
    """Return the calls that arguments with lists stand for, or None, and the arguments of a single call.

    Raises:
        InvalidArguments: a list is empty or has lists in it, there are too many calls, the tool does more than read, or
            the form of the service is requested.
    """
    tool, arguments, reader = call.tool, call.sent, reader_of(catalog, call.tool)
    found = ((name, _items(reader, name, value)) for name, value in arguments.items() if isinstance(value, list))
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


def _items(reader: ArgumentReader, name: str, value: list[Any]) -> tuple[str, list[Any]] | None:
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


def merge(session: CallSession, call: Call, lists: ValueLists, outcomes: Sequence[Answer | CallError]) -> Answer:
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
    lines = [note if len(parts) == len(answered) else f"{_named(parts)}: {note}" for note, parts in remarks.items()]
    failures: dict[tuple[str, str], list[Part]] = {}
    for part, error in failed:
        failures.setdefault((error.code, error.message), []).append(part)
    steps = {(error.code, error.message): error.suggestion for _, error in reversed(failed)}  # of the first of a kind
    lines += [f"{_named(parts)} failed: {kind[0]}. {kind[1]} {steps[kind]}" for kind, parts in failures.items()]
    documents = [LabelledDocument(part.labels, answer.document) for part, answer in answered]
    combined = _combined(session, call, lists, documents)
    document = replace(combined, notes=tuple(dict.fromkeys((*lists.notes, *lines, *combined.notes))))
    return answer_of(document, [answer for _, answer in answered])


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


def _named(parts: Sequence[Part]) -> str:
    shown = ", ".join(label_text(part.labels)[:60] for part in parts[:_MAX_LABELS])
    return shown + (f" and {len(parts) - _MAX_LABELS} more" if len(parts) > _MAX_LABELS else "")
