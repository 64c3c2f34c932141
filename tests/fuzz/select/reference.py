"""What the specification says a case returns."""

from dataclasses import dataclass, field

from tests.fuzz.select.frame import Frame, Refused
from tests.fuzz.select.pipeline import Case
from tests.fuzz.select.steps import apply
from tests.fuzz.select.table import Table


@dataclass
class Expected:
    """What a case must return.

    Args:
        tables: the tables of the result, in the order of the answer.
        refusal: why it must be refused; empty: it returns the tables.
        doubts: why another result is right as well.
        notes: why the result must carry a note.
    """

    tables: list[Frame]
    refusal: str = ""
    doubts: set[str] = field(default_factory=set)
    notes: set[str] = field(default_factory=set)


def _may_be_number(table: Table) -> bool:
    """Return whether the parser of an answer may read a date as a number."""
    return any(cell.family == "date" and str(cell.shown).isdecimal() for row in table.rows for cell in row)


def evaluate(case: Case) -> Expected:
    """Evaluate a case by the specification."""
    frames = {table.name: Frame.of(table) for table in case.tables}
    doubts, notes = set[str](), set[str]()
    for frame in frames.values():
        doubts |= frame.doubts
    if case.route != "cells" and any(map(_may_be_number, case.tables)):
        doubts.add("a date of eight digits that is parsed")
    for frame in frames.values():
        frame.doubts, frame.notes = doubts, notes
    only = case.first or case.tables[0].name
    named = {only} if case.first or len(case.tables) == 1 else set()
    for step in case.steps:
        name = step.table or only
        named.add(name)
        try:
            frames[name] = apply(step.action, frames[name])
        except Refused as refused:
            return Expected([], str(refused), doubts, notes)
    return Expected([frame for name, frame in frames.items() if name in named], doubts=doubts, notes=notes)
