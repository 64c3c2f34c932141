"""Run a case through the product, and compare the result with that of the reference."""

import csv
import io
import json
import math
import re
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.fuzz.select.frame import Frame, Refused
from tests.fuzz.select.language import Case
from tests.fuzz.select.steps import COMPUTED, apply
from tests.fuzz.select.table import NULLS, Cell, Column
from tests.fuzz.select.table_maker import TODAY
from tests.fuzz.select.times import UNITS
from toolfold.budget import WorkBudget
from toolfold.errors import InvalidSelect
from toolfold.results.select import engine
from toolfold.results.select.grammar import parse_select
from toolfold.results.tables import Document, Table, parse_tables

MAX_S = 20.0
"""Seconds that a case may take in the product."""

DIGITS = 1e-10
"""Relative difference of two computed numbers: the reference rounds each step to 12 digits, and a change has fewer."""


UNFORESEEN = "cannot be calculated"
"""In the reason of a refusal: SQLite failed where the product saw nothing wrong."""


@dataclass(frozen=True)
class Verdict:
    """How the product and the reference compare.

    Args:
        kind: ``agreed``, ``refused`` (the product refuses what the specification allows), ``refused in doubt`` (what
            the specification leaves open), ``refused as specified``,
            ``doubtful`` (they differ where the specification leaves it open), or ``disagreed``.
        reason: of a refusal or a disagreement, without names and numbers, so that equal ones can be counted.
        detail: of a disagreement, for a reader.
    """

    kind: str
    reason: str = ""
    detail: str = ""


@dataclass
class Expected:
    """What the specification says that a case returns.

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


def evaluate(case: Case) -> Expected:
    """Evaluate a case by the specification."""
    frames = {table.name: Frame.of(table) for table in case.tables}
    doubts, notes = set[str](), set[str]()
    for frame in frames.values():
        doubts |= frame.doubts
    cells = (cell for table in case.tables for row in table.rows for cell in row)
    if case.route != "cells" and any(cell.family == "date" and str(cell.shown).isdecimal() for cell in cells):
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


def document_of(case: Case) -> Document:
    """Return the answer of a case: its cells as they are, or parsed from a text as an upstream sends it."""
    if case.route == "cells":
        return Document(
            tuple(
                Table(table.name, table.columns, [tuple(cell.shown for cell in row) for row in table.rows], table.keys)
                for table in case.tables
            )
        )
    (table,) = case.tables
    rows = [[cell.shown for cell in row] for row in table.rows]
    if case.route == "json":
        body = json.dumps([dict(zip(table.columns, row, strict=True)) for row in rows])
    else:
        text = io.StringIO()
        csv.writer(text).writerows([table.columns, *rows])
        body = text.getvalue()
    return parse_tables(body, case.route, {}, WorkBudget())


def run(case: Case, select: str | list[str] | None = None) -> Document:
    """Return what the product answers to the ``select`` of a case, or to another one.

    Raises:
        InvalidSelect: the product refuses the ``select``.
    """
    selection = parse_select(case.select if select is None else select)
    budget = WorkBudget(time.monotonic() + MAX_S)
    document = document_of(case)
    return engine.evaluate(selection, document, budget, TODAY.date(), case.partition) if selection else document


def judge(case: Case) -> Verdict:
    """Compare the product with the reference."""
    expected = evaluate(case)
    try:
        document = run(case)
    except InvalidSelect as refused:
        reason = generic(refused.reason, case)
        if UNFORESEEN in refused.reason:
            return Verdict("disagreed", UNFORESEEN, refused.reason)
        kind = "refused as specified" if expected.refusal else "refused in doubt" if expected.doubts else "refused"
        return Verdict(kind, reason, refused.reason)
    except Exception as error:  # noqa: BLE001 - every other exception of the product is what is searched for
        return Verdict("disagreed", f"raises {type(error).__name__}", f"{type(error).__name__}: {error}")
    difference = f"not refused: {expected.refusal}" if expected.refusal else _difference(document, expected, case)
    if not difference:
        return Verdict("agreed")
    if expected.doubts:
        return Verdict("doubtful", ", ".join(sorted(expected.doubts)), difference)
    reason = difference if expected.refusal else difference.partition(":")[0]
    return Verdict("disagreed", reason, difference)


def generic(reason: str, case: Case) -> str:
    """Return the reason of a refusal without what belongs to the case alone."""
    names = {name for table in case.tables for name in table.columns if len(name) > 2}
    for name in sorted(names, key=len, reverse=True):
        reason = reason.replace(name, "x")
    reason = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "'…'", reason)
    return re.sub(r"\d[\w.,:%-]*", "1", reason)[:110]


def _difference(document: Document, expected: Expected, case: Case) -> str:
    """Return how a result differs from the expected one; empty: it does not."""
    if len(document.tables) != len(expected.tables):
        return f"tables: {[table.name for table in document.tables]} for {[frame.name for frame in expected.tables]}"
    shown = _Shown(case)
    for table, frame in zip(document.tables, expected.tables, strict=True):
        if found := shown.difference(table, frame):
            return found
    return "note: none is there" if expected.notes and not expected.doubts and not document.notes else ""


class _Shown:
    """What the cells of a case show, and the size of its numbers."""

    def __init__(self, case: Case) -> None:
        cells = [cell for table in case.tables for row in table.rows for cell in row]
        self._texts: dict[Any, set[Any]] = {}
        for cell in cells:
            self._texts.setdefault(_key(cell.value), set()).update((_key(cell.shown), str(cell.shown)))
        sizes = [abs(cell.value) for cell in cells if cell.family in ("number", "percent") and cell.value is not None]
        self._scale = max(sizes, default=1)
        self._is_parsed = case.route != "cells"
        self._names: dict[str, str] = {}
        if self._is_parsed:
            (table,), (parsed,) = case.tables, document_of(case).tables
            self._names = dict(zip(table.columns, parsed.columns, strict=True))
            for row, shown in zip(table.rows, parsed.rows, strict=True):
                for cell, text in zip(row, shown, strict=True):
                    self._texts[_key(cell.value)].add(_key(text))

    def difference(self, table: Table, frame: Frame) -> str:
        """Return how a table differs from the expected one."""
        names = [column.name for column in frame.columns]
        if len(names) != len(table.columns) or not all(map(self._is_named, table.columns, frame.columns)):
            return f"columns: {list(table.columns)}, expected {names}"
        if len(table.rows) != frame.count:
            return f"rows: {len(table.rows)}, expected {frame.count}"
        for index, column in enumerate(frame.columns):
            for place, row in enumerate(table.rows):
                if not self._is_same(row[index], column.cells[place], column):
                    expected = wanted(column.cells[place])
                    return f"cell: {column.name} of row {place} is {row[index]!r}, expected {expected!r}"
        return ""

    def _is_named(self, name: str, column: Column) -> bool:
        """Return whether a column has the name of the answer, or of what computes it: blanks and quotes may differ."""
        if any(cell.shown is COMPUTED for cell in column.cells):
            return plain_name(name) in (plain_name(column.name), self._names.get(column.name))
        return name in (column.name, self._names.get(column.name)) or (not column.cells and bool(name))

    def _is_same(self, got: Any, cell: Cell, column: Column) -> bool:
        if cell.shown is not COMPUTED:
            if self._is_parsed and _key(got) in self._texts.get(_key(cell.value), ()):
                return True
            if column.kind == "unit":
                return str(got) == str(cell.shown)
            return _key(got) == _key(cell.shown) or (cell.value is None and got in NULLS)
        value = cell.value
        if value is None or got is None:
            return value is got
        if _key(got) in self._texts.get(_key(value), ()):
            return True
        if isinstance(value, bool):
            return isinstance(got, bool | int) and bool(got) == value
        if isinstance(value, int | float):
            if isinstance(got, str) and got.lstrip("-").isdecimal():  # an integer that JSON cannot hold is text
                return math.isclose(int(got), value, rel_tol=DIGITS)
            if not isinstance(got, int | float) or isinstance(got, bool):
                return False
            return math.isclose(got, value, rel_tol=DIGITS, abs_tol=1e-12 * self._scale)
        if isinstance(value, datetime):
            labels = [write(value) for write in UNITS.values()] if column.kind == "unit" else []
            return str(got) in (value.isoformat(), value.isoformat(" "), value.date().isoformat(), *labels)
        return bool(got == value)


def _key(value: Any) -> Any:
    """Return a value in which ``True`` differs from 1."""
    return (bool, value) if isinstance(value, bool) else value


def plain_name(name: str) -> str:
    """Return a name of a column without blanks and quotes."""
    return re.sub(r'[\s"]', "", name)


def describe(case: Case, verdict: Verdict) -> str:
    """Return a disagreement for a reader: the tables, the ``select``, the difference, and the expected rows."""
    lines: list[str] = []
    for table in case.tables:
        lines.append(f"  table {table.name!r} {list(table.columns)}" + (f" keys {table.keys}" if table.keys else ""))
        lines += [f"    {[cell.shown for cell in row]}" for row in table.rows]
    lines += [f"  arrives as {case.route}"] if case.route != "cells" else []
    lines += [f"  select   {case.select!r}", f"  {verdict.kind}: {verdict.detail}"]
    expected = evaluate(case)
    rows = [
        [[wanted(column.cells[row]) for column in frame.columns] for row in range(frame.count)]
        for frame in expected.tables
    ]
    return "\n".join([*lines, f"  expected {expected.refusal or rows}"])


def wanted(cell: Cell) -> Any:
    """Return what a cell of a result must be: what the answer shows, or a computed value."""
    return cell.value if cell.shown is COMPUTED else cell.shown
