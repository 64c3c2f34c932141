"""Several calls in one: lists for parameters that take one value are answered as one table.

``{"symbol": ["AAPL", "MSFT"], "time_period": [50, 200]}`` are four calls of the tool. Each passes through the same
validation, cache, single flight and rate limits as a call of its own; all share the time and the memory of one call.
Parts that fail are named in the notes of the answer, which has the others.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

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
    from toolfold.catalog.entries import Tool
    from toolfold.execution.argument_reader import ArgumentReader
    from toolfold.meta_tools.call import Answer, Call
    from toolfold.results.tables import Document

_MAX_LABELS = 8
"""Parts that one note names; their number is the caller's choice."""


@dataclass(frozen=True)
class Part:
    """One of several calls.

    Attributes:
        labels: the values of the arguments in which the calls differ.
        arguments: all arguments.
    """

    labels: tuple[Any, ...]
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class ValueLists:
    """Several calls of one tool.

    Attributes:
        varied: the names of the arguments in which they differ.
        parts: at least two.
        notes: what was read in the other arguments in a way that the caller may not expect.
    """

    varied: tuple[str, ...]
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()


def plan(call: Call, arguments: Mapping[str, Any]) -> tuple[ValueLists | None, Mapping[str, Any]]:
    """Return the calls that ``arguments`` with lists stand for, or None, and the arguments of a single call.

    Raises:
        InvalidArguments: a list is empty or has lists in it, there are too many calls, or the tool does more than read,
            or the form of the service is requested.
    """
    tool, validator = call.tool, reader_of(call.catalog, call.tool)
    lists: dict[str, tuple[str, list[Any]]] = {}
    for name, value in arguments.items():
        if found := _items(validator, name, value):
            lists[name] = found
    if not lists:
        return None, arguments
    _refuse_writes(tool)
    count = 1
    for _, items in lists.values():
        count *= len(items)
    if count > MAX_CALLS:
        counted = " and ".join(f"{len(items)} values of {target}" for target, items in lists.values())
        raise InvalidArguments(
            f"{validator.tool_name}: {counted} are {count} calls; one call can make {MAX_CALLS}.",
            f"Send at most {MAX_CALLS} values, the others in further calls; nothing was sent.",
        )
    varied = [name for name, (_, items) in lists.items() if len(items) > 1]
    parts: dict[str, Part] = {}
    notes: list[set[str]] = []
    for values in itertools.product(*(items for _, items in lists.values())):
        given = {**arguments, **dict(zip(lists, values, strict=True))}
        resolved = validator.resolve(given)
        sent = given if resolved.problems else resolved.arguments
        labels = tuple(
            value if resolved.problems else resolved.arguments.get(lists[name][0], value)
            for name, value in zip(lists, values, strict=True)
            if name in varied
        )
        parts.setdefault(json.dumps(sent, sort_keys=True, default=str), Part(labels, sent))
        notes.append(set(resolved.notes))
        single = given
    if len(parts) == 1:
        return None, single
    targets = tuple(lists[name][0] for name in varied)
    if call.options.raw_by:
        raise _raw_refused(targets, validator, arguments, call.options.raw_by)
    # What was read in an argument that differs is in the table.
    return ValueLists(targets, tuple(parts.values()), tuple(sorted(set.intersection(*notes)))), arguments


def _items(validator: ArgumentReader, name: str, value: Any) -> tuple[str, list[Any]] | None:
    """Return the parameter that ``name`` means and the values in ``value``; None for a single value."""
    if not isinstance(value, list):
        return None
    target = _target(validator, name, value[0] if value else "")
    if target is None:
        return None
    if target in validator.properties:
        types = allowed_types(validator.schema, validator.properties[target])
        if types & {"array", "object"} or validator.separator(target):
            return None
    if not value:
        raise InvalidArguments(
            f"{validator.tool_name}: {name[:60]} is an empty list.",
            f'Send a value or a list of values, as in "{target}": ["A", "B"]; nothing was sent.',
        )
    for index, item in enumerate(value, 1):
        if isinstance(item, list | dict) or item is None:
            kind = "a list" if isinstance(item, list) else "an object" if isinstance(item, dict) else "null"
            raise InvalidArguments(
                f"{validator.tool_name}: item {index} of {name[:60]} is {kind}.",
                f"Send a flat list of up to {MAX_CALLS} values for {target}; nothing was sent.",
            )
    unique: dict[str, Any] = {}
    for item in value:
        unique.setdefault(str(item).strip().casefold(), item)
    return target, list(unique.values())


def _target(validator: ArgumentReader, name: str, item: Any) -> str | None:
    """Return the parameter that ``name`` means for a single value, ``name`` for a pair, None for an unknown one."""
    if name in validator.properties:
        return name
    renamed = validator.rename({name: item})
    known = [parameter for parameter in renamed.arguments if parameter in validator.properties]
    if renamed.problems or not known:
        return None
    return known[0] if len(known) == 1 else name


def _refuse_writes(tool: Tool) -> None:
    """Refuse lists for a tool whose calls are made one by one: writes that fail in the middle cannot be repeated."""
    step = "Make one call for each value; nothing was sent."
    if tool.effect != "read":
        raise InvalidArguments(f"{tool.name} does more than read, and takes one value for each parameter.", step)
    if tool.needs_approval:
        raise InvalidArguments(
            f"Each call of {tool.name} needs approval, so that it takes one value for each parameter.", step
        )


def _raw_refused(
    varied: Sequence[str], validator: ArgumentReader, arguments: Mapping[str, Any], parameter: str
) -> InvalidArguments:
    """Return the error for the form of the service, which several answers do not have together."""
    known = validator.rename(arguments).arguments
    step = next_call(validator.tool_name, {name: value for name, value in known.items() if name != parameter})
    return InvalidArguments(
        f"{validator.tool_name}: lists for {' and '.join(varied)} are answered as one table, which has no form "
        f"of the service's own.",
        ONE_FORMAT.filled(step=step or f"Leave out {parameter}"),
    )


def merge(call: Call, lists: ValueLists, outcomes: Sequence[Any]) -> Answer:
    """Return the answers of the parts of a call as one, with a note on each that failed, and what is selected of it.

    Raises:
        CallError: no part succeeded, or the selection does not fit the answers.
        AnswerTooLarge: the budget is used up.
    """
    failed = [(part, one) for part, one in zip(lists.parts, outcomes, strict=True) if isinstance(one, CallError)]
    answered = [(part, one) for part, one in zip(lists.parts, outcomes, strict=True) if not isinstance(one, CallError)]
    if not answered:
        first = failed[0][1]
        if all(error.code == first.code and error.problem == first.problem for _, error in failed):
            raise first
        raise first.changed(problem=FIRST_OF_SEVERAL.filled(problem=first.problem, count=len(failed)))
    notes: dict[str, list[Part]] = {}
    for part, answer in answered:
        for note in answer.document.notes:
            notes.setdefault(note, []).append(part)
    lines = [note if len(parts) == len(answered) else f"{_named(parts)}: {note}" for note, parts in notes.items()]
    failures: dict[tuple[str, str], list[tuple[Part, CallError]]] = {}
    for part, error in failed:
        failures.setdefault((error.code, error.message), []).append((part, error))
    for (code, message), found in failures.items():  # the next step may name the value of its part: the first is shown
        lines.append(f"{_named([part for part, _ in found])} failed: {code}. {message} {found[0][1].suggestion}")
    documents = [LabelledDocument(part.labels, answer.document) for part, answer in answered]
    combined = _combined(call, lists, documents)
    document = replace(combined, notes=tuple(dict.fromkeys((*lists.notes, *lines, *combined.notes))))
    return answer_of(document, [answer for _, answer in answered])


def _combined(call: Call, lists: ValueLists, parts: Sequence[LabelledDocument]) -> Document:
    """Return one document of all answers, or what is selected of it.

    The rows are under each other, and each answer is a partition of them. A name that only the table side by side has
    (``10year``, ``AAPL_close``) means that table.
    """
    budget, today, varied = call.budget, call.executor.today(), lists.varied
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
