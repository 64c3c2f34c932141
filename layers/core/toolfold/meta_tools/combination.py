"""One answer of several requests: of the values in lists, or of the results of a batch or of steps.

``{"symbol": ["AAPL", "MSFT"], "time_period": [50, 200]}``, lists for parameters that take one value, are four requests
of one tool, answered as one table. Each passes through the same validation, cache, single flight and rate limits as a
call of its own. Parts that fail are named in the notes of the answer, which has the others.

Results are joined by a column, or selected from by steps or SQL that name them.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.catalog.json_schema import allowed_types
from toolfold.errors import CallError, InvalidArguments, InvalidSelect
from toolfold.execution.argument_reader import reader_of
from toolfold.meta_tools.arguments import is_blank
from toolfold.meta_tools.call import Answer, Call, Part, answer_of, document_size, parse_select
from toolfold.meta_tools.definitions import MAX_CALLS
from toolfold.results import output
from toolfold.results.combine import (
    LabelledDocument,
    join,
    side_by_side,
    stack_documents,
)
from toolfold.results.tables import Document, Table
from toolfold.text_safety import counted
from toolfold.wording import joined

if TYPE_CHECKING:
    from datetime import date

    from toolfold.catalog.model import Catalog
    from toolfold.execution.argument_reader import ArgumentReader
    from toolfold.meta_tools.call import Item
    from toolfold.results.select.grammar import Selection

_MAX_LABELS = 8
"""Parts that one note names; their number is the caller's choice."""


def split(catalog: Catalog, item: Item, call: Call) -> None:
    """Divide ``item`` into the requests that its call stands for: one for each combination of the values in lists.

    Raises:
        InvalidArguments: there are too many calls, or the tool does more than read.
    """
    tool, arguments = call.tool, call.sent
    reader = reader_of(catalog, tool)
    found = ((name, _listed(reader, name, value)) for name, value in arguments.items() if isinstance(value, list))
    lists = {name: one for name, one in found if one is not None}
    if not lists:
        return
    if not tool.only_reads:  # several calls that fail in the middle cannot be repeated
        reason = "does more than read" if tool.effect != "read" else "needs approval of each call"
        raise InvalidArguments(
            f"{tool.name} {reason}, and takes one value for each parameter.",
            "Make one call for each value; nothing was sent.",
        )
    count = math.prod(len(items) for _, items in lists.values())
    if count > MAX_CALLS:
        factors = " and ".join(f"{counted(len(items), 'value')} of {target}" for target, items in lists.values())
        raise InvalidArguments(
            f"{tool.name}: {factors} are {count:,} calls; one call can make {MAX_CALLS}.",
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
        item.parts = (Part((), given),)
        return
    targets = tuple(varied.values())
    # What was read in an argument that differs is in the table.
    item.varied, item.parts = targets, tuple(parts.values())
    item.notes += tuple(sorted(set.intersection(*notes)))


def _listed(reader: ArgumentReader, name: str, value: list[Any]) -> tuple[str, list[Any]] | None:
    """Return the parameter that ``name`` means and its values; None where it takes the list, or is unknown or empty."""
    target = name
    if not value:
        return None
    if name not in reader.properties:
        renamed = reader.rename({name: value[0]})
        known = [parameter for parameter in renamed.arguments if parameter in reader.properties]
        if renamed.problems or not known:
            return None
        target = known[0] if len(known) == 1 else name  # a pair stands for two
    if target in reader.properties:
        types = allowed_types(reader.schema, reader.properties[target])
        if types & {"array", "object"} or reader.separator(target):
            return None
    return target, value


def merge_answers(call: Call, item: Item, today: date, budget: WorkBudget) -> Answer:
    """Return the answers of all parts of a call as one, with a note on each that failed, and what is selected of it.

    Raises:
        CallError: no part succeeded, or the selection does not fit the answers.
        AnswerTooLarge: the budget is used up.
    """
    failed = [(part, part.outcome) for part in item.parts if isinstance(part.outcome, CallError)]
    answered = [(part, part.outcome) for part in item.parts if isinstance(part.outcome, Answer)]
    failures: dict[tuple[str, str], list[Part]] = {}
    steps: dict[tuple[str, str], str] = {}  # of the first of a kind
    for part, error in failed:
        kind = error.code, error.message
        failures.setdefault(kind, []).append(part)
        alone = "Call with such a value alone to read what the service says."  # notes are ours
        steps.setdefault(kind, alone if "upstream_says" in error.details else error.suggestion)
    if not answered:
        first = failed[0][1]
        others = [f"{_labels(own)}: {code}. {message}" for (code, message), own in failures.items()][1:]
        # What is wrong with all of them was not sent.
        if not item.varied or (not others and isinstance(first, InvalidArguments)):
            raise first
        label = f"{_labels(next(iter(failures.values())))}:" if others else ""
        raise first.changed(problem=joined(f"All {len(failed)} calls failed.", label, first.problem, *others))
    if not item.varied:
        return answered[0][1]
    remarks: dict[str, list[Part]] = {}
    for part, answer in answered:
        for note in answer.document.notes:
            remarks.setdefault(note, []).append(part)
    lines = [note if len(own) == len(answered) else f"{_labels(own)}: {note}" for note, own in remarks.items()]
    lines += [f"{_labels(own)} failed: {kind[0]}. {kind[1]} {steps[kind]}" for kind, own in failures.items()]
    documents = [LabelledDocument(part.labels, answer.document) for part, answer in answered]
    select = call.options.select
    combined = _combined(item.varied, documents, select if call.is_part else None, today, budget)
    document = replace(combined, notes=tuple(dict.fromkeys((*lines, *combined.notes))))
    return replace(answer_of(document, [answer for _, answer in answered]), select=select)


def _combined(
    varied: Sequence[str],
    parts: Sequence[LabelledDocument],
    selection: Selection | None,
    today: date,
    budget: WorkBudget,
) -> Document:
    """Return one document of all answers, or what is selected of it.

    The rows are under each other, and each answer is a partition of them. A name that only the table side by side has
    (``10year``, ``AAPL_close``) means that table.
    """
    if selection is None:
        return stack_documents(varied, parts, budget)
    try:
        stacked = output.ParsedAnswer(stack_documents(varied, parts, budget))
        return output.select_from(stacked, selection, today, budget, varied)
    except InvalidSelect as error:
        beside = side_by_side(parts, budget) if "unknown" in error.facts else Document()
        if not beside.tables:
            raise
        try:
            return output.select_from(output.ParsedAnswer(beside), selection, today, budget)
        except InvalidSelect as other:
            raise (error if error.facts["unknown"] == other.facts.get("unknown") else other) from None


def _labels(parts: Sequence[Part]) -> str:
    shown = ", ".join(" ".join(map(str, part.labels))[:60] for part in parts[:_MAX_LABELS])
    return shown + (f" and {len(parts) - _MAX_LABELS} more" if len(parts) > _MAX_LABELS else "")


_WORD = r"(?:\"[^\"]+\"|`[^`]+`|\w+)"
_NAME = re.compile(rf"(?!\d+(?:\.\d+)?(?![\w.])){_WORD}(?:\.{_WORD})?")
"""A name, with the table before it where it has one; ``1.5`` is a number."""


class Combination(NamedTuple):
    """What is made of several results.

    Attributes:
        on: the column by which they are joined; None: not joined.
        select: what to select of the joined table, or SQL over all; None: everything.
    """

    on: str | None
    select: Selection | None

    @staticmethod
    def plan(join_: Any, select: Any, items: Sequence[Item]) -> Combination | None:
        """Return what to make of the results; None where ``select`` is one for each call, which is then set.

        Raises:
            InvalidArguments: ``join`` or ``select`` cannot be used.
        """
        selection = parse_select(select)
        on = _named_join(selection, items) if is_blank(join_) else join_
        is_of_all = selection is not None and _ranks_things(selection, items)
        if selection is not None and selection.has_sql:
            # Of tables by the ids of calls, rather than of the rows of each.
            tables = {part for name in _names_in(selection) for part in (name, name.partition(".")[0])}
            is_of_all = is_of_all or not tables.isdisjoint(item.id.lower() for item in items)
        if on is None and not is_of_all:
            calls = [item.call for item in items if item.call is not None]
            if selection is not None and calls and all(call.options.select is not None for call in calls):
                raise InvalidArguments(
                    "Each call has a select of its own, and that of the batch is for calls without one.",
                    "Leave it out, or select of all results in SQL: a table for each id; nothing was sent.",
                )
            for item in items:
                item.select_with(selection)
            return None
        if any(not item.is_read for item in items if item.error is None):
            raise InvalidArguments(
                "Results of calls that change something are not joined or selected from together.",
                "Leave out join and select, or put these calls into a batch of their own; nothing was sent.",
            )
        combination = Combination(on, selection)
        for item in items:
            combination.complete(item)
        return combination

    def complete(self, item: Item) -> None:
        """Let a call that has no ``select`` bring the rows that the one of several results requests of it."""
        if self.select is not None and not self.select.jmespath:
            item.select_with(self.select, is_combined=True)

    def answer(self, answers: Mapping[str, Answer], today: date, budget: WorkBudget) -> Answer:
        """Return the one answer of several.

        Raises:
            InvalidArguments: they have no such column, or the ``select`` does not fit them.
            AnswerTooLarge: the budget is used up.
        """
        named = {name: answer.document for name, answer in answers.items()}
        notes = [note for document in named.values() for note in document.notes]
        tables, whole = _named_tables(named), Document()
        if len({table.columns for table in tables}) == 1 and "data" not in named and len(tables) == len(named):
            parts = [LabelledDocument((table.name,), Document((replace(table, name=""),))) for table in tables]
            under_each_other = stack_documents(("id",), parts, budget).tables[0]
            whole = Document((replace(under_each_other, name="data"),))
        if self.select is not None and self.select.has_sql:
            whole = Document((*tables, *whole.tables))
        elif self.on is not None:
            whole = join(tables, self.on, budget)
        selected = whole
        if self.select is not None:
            data = {"rows": whole.tables[0].objects()} if self.select.jmespath else None
            selected = output.select_from(output.ParsedAnswer(whole, data), self.select, today, budget)
        document = replace(selected, notes=tuple(dict.fromkeys((*notes, *selected.notes))))
        answer = answer_of(document, list(answers.values()))
        return replace(answer, size=max(answer.size, document_size(document)), select=self.select)


def _named_tables(named: Mapping[str, Document]) -> list[Table]:
    """Return the tables of several results, each with the name of its result; an object is a table of one row."""
    tables: list[Table] = []
    for name, document in named.items():
        if not document.tables:
            fields = document.metadata if isinstance(document.metadata, dict) else {"value": document.metadata}
            if fields:
                tables.append(Table(name, tuple(fields), [tuple(fields.values())]))
        for table in document.tables:
            own = name if len(document.tables) == 1 or not table.name else f"{name}.{table.name}"
            tables.append(replace(table, name=own))
    return tables


def _ranks_things(selection: Selection, items: Sequence[Item]) -> bool:
    """Return whether steps sort, count off or read as SQL what is a single thing in each answer: rows of all."""
    calls = [item.call for item in items if not item.varied]
    of_things = [call for call in calls if call is not None and call.tool.answer.get("kind") == "object"]
    is_each_whole = 1 < len(of_things) == len(items) and all(call.options.select is None for call in of_things)
    of_rows = any(step.clause.kind not in ("items", "from") for step in selection.steps)
    return is_each_whole and of_rows and len({call.tool.name for call in of_things}) == 1


def _named_join(selection: Selection | None, items: Sequence[Item]) -> str | None:
    """Return ``date`` where they name columns of a join by it, ``AAPL_close`` or ``MSFT.close``; else None."""
    names = set() if selection is None or selection.has_sql else _names_in(selection)
    ends = {item.id: (f"{item.id.lower()}_", f"{item.id.lower()}.") for item in items}
    named = [id_ for id_, end in ends.items() if any(name.startswith(end) for name in names)]
    return "date" if len(named) > 1 else None


def _names_in(selection: Selection | None) -> set[str]:
    """Return the names in a selection, with the table before them where it has one: ``msft.close``."""
    texts = () if selection is None else (step.clause.text for step in selection.steps)
    return {re.sub('["`]', "", name).lower() for text in texts for name in _NAME.findall(text)}
