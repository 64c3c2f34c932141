"""Apply a ``select`` to an answer: each step to the table that it names, or to the one that it fits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from copy import deepcopy
from dataclasses import replace
from datetime import date
from functools import reduce
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.errors import CallError, InvalidSelect
from toolfold.fuzzy import normalize
from toolfold.models import Requested
from toolfold.results.select import jmespath, statements
from toolfold.results.select.coverage import fields_of, notes_beside
from toolfold.results.select.expressions import names_in, split_items
from toolfold.results.select.grammar import Clause, Selection, Step, kind_of_step, parse_select
from toolfold.results.select.names import (
    EXAMPLES,
    Column,
    find_table,
    invalid,
    known_names,
    listed,
    table_name,
    unknown_column,
    with_paths,
    written_name,
)
from toolfold.results.select.query import Query
from toolfold.results.select.requested import requested_by
from toolfold.results.select.sandbox import Rows, Statements
from toolfold.results.select.suggestions import suggested
from toolfold.results.tables import Document, Table
from toolfold.results.types import Kind
from toolfold.text_safety import quoted_name

_MAX_TRIED = 8
"""Suggested forms that are tried."""

_OF_ROWS = frozenset(("period", "order", "top", "bottom", "slice", "group", "distinct"))
"""Kinds of steps that one object does not take."""

_TRIED_ROWS = 300
"""Rows of each table that a suggested form is tried on."""

_MAX_VALUES = 8
_MAX_VALUE_CHARS = 30
_MAX_COLUMNS = 3
"""What the note on a step that no row meets lists of columns."""


def evaluate(
    selection: Selection, document: Document, budget: WorkBudget, today: date, partition: Sequence[str] = ()
) -> Document:
    """Return the selected part of an answer. Fields beside its tables are left out unless a step names them.

    Args:
        selection: what is selected.
        document: the answer.
        budget: what the call may cost.
        today: the day from which ``today`` and the future count.
        partition: of the answers to a list of calls, the arguments in which they differ: the first columns.

    Raises:
        InvalidSelect: a step does not fit the answer; the next step names a form that does.
        AnswerTooLarge: evaluating it would exceed the budget.
    """
    budget.check_time()
    if isinstance(items := document.metadata, list) and not document.tables:
        columns = ("value",) if items else ()
        document = replace(document, tables=(Table("", columns, [(item,) for item in items]),), metadata={})
    evaluation = _Evaluation(document, budget, today, partition)
    try:
        return evaluation.run_whole(selection)
    except RecursionError:
        raise invalid("it is nested too deeply", "Write it with fewer parentheses and operators.") from None
    except InvalidSelect as error:
        has_columns = not document.tables or any(table.columns for table in document.tables)
        may_lack_rows = not document.tables and not error.facts.keys().isdisjoint(("needs_rows", "unknown"))
        is_empty = may_lack_rows and any(value == [] for _, value in fields_of(document.metadata))
        if not has_columns or is_empty:
            return replace(document, notes=(*document.notes, "There are no rows to select from."))
        guesses = suggested(selection.text, kind_of_step, document, today) or []
        found = evaluation.with_form(error, _forms(error, selection, evaluation.at, guesses))
        raise found.changed(next_step=" ".join((str(found.suggestion), *document.notes))) from None


def requested_of(selection: Selection, document: Document, budget: WorkBudget, today: date) -> Requested:
    """Return what a ``select`` requests of an answer, which it need not fit: it may be applied to several together.

    Raises:
        InvalidSelect: it is not JMESPath.
        AnswerTooLarge: reading it would exceed the budget.
    """
    if selection.jmespath:
        return requested_by(selection.jmespath, document.tables)
    return _Evaluation(document, budget, today, ()).read(selection) if document.tables else Requested()


def _forms(error: InvalidSelect, selection: Selection, at: int, guesses: Sequence[str]) -> list[str]:
    """Return whole selects that may be meant, best first: guesses written as steps, then what the error proposes."""
    texts = [step.text for step in selection.steps]
    before, rest = "; ".join(texts[:at]), texts[at + 1 :]
    proposed: list[list[str]] = []
    for form in error.forms:
        proposed += [[before, form, *rest]] if before and not form.startswith(before) else []
        proposed.append([form, *rest])
    for pattern, other in error.facts.get("replaces", ()):
        changed = re.sub(pattern, other.replace("\\", r"\\"), texts[at], count=1, flags=re.IGNORECASE)
        proposed += [[*texts[:at], changed, *rest]] if changed != texts[at] else []
    forms = list(map("; ".join, proposed))
    return [*forms, *guesses] if error.facts.get("is_choice") else [*guesses[:1], *forms, *guesses[1:]]


class _Evaluation:
    """One evaluation: the queries of the tables that steps have named, in that order."""

    def __init__(self, document: Document, budget: WorkBudget, today: date, partition: Sequence[str]) -> None:
        self._document, self._budget, self._today, self._partition = document, budget, today, partition
        self._is_object, self._tables = not document.tables, list(document.tables)
        if self._is_object:
            fields = document.metadata
            if not isinstance(fields, dict):
                if document.is_text:
                    raise invalid("this answer is a text, which has no rows", "Leave select out.")
                raise invalid("this answer has no rows", "Leave select out, or write jmespath: and an expression.")
            self._tables = [Table("", tuple(fields), [tuple(fields.values())])]
        self._queries: dict[str, Query] = {}
        self._open = ExitStack()
        self._current: Table | None = None
        self._fields: dict[str, Any] = {}
        self._only_reads = False
        self.at = 0

    def read(self, selection: Selection) -> Requested:
        """Return what is requested, without the rows, also behind a step that does not fit."""
        self._only_reads = True
        with self._open:
            for step in selection.steps:
                with suppress(InvalidSelect, RecursionError):
                    self._apply(step)
        return self._requested

    def run(self, selection: Selection) -> Document:
        """Return the selected part."""
        self._tables = [with_paths(table, selection.text, self._budget) for table in self._tables]
        with self._open:
            for self.at, step in enumerate(selection.steps):
                self._budget.check_time()
                self._apply(step)
            return self._result()

    def run_whole(self, selection: Selection) -> Document:
        """Return the selected part; where it needs a field beside the tables, that of the record which the answer is.

        The tables of a record are lists in it.
        """
        document = self._document
        try:
            return self.run(selection)
        except InvalidSelect as error:
            paths = (path[:end] for path, _ in fields_of(document.metadata) for end in range(1, len(path) + 1))
            is_field = normalize(str(error.facts.get("unknown", ""))) in {normalize(".".join(path)) for path in paths}
            if document.tables and not self._partition and is_field:
                with suppress(InvalidSelect):
                    whole = Document(metadata=_value_of(document), notes=document.notes)
                    return _Evaluation(whole, self._budget, self._today, ()).run(selection)
            raise

    def with_form(self, error: InvalidSelect, forms: Sequence[str]) -> InvalidSelect:
        """Return an error with the first suggested form that works on the answer; with two of them for a choice."""
        part = replace(self._document, tables=tuple(map(_beginning, self._document.tables)))
        wanted = 2 if error.facts.get("is_choice") else 1
        working: list[str] = []
        empty: list[str] = []
        tried = [form for form in dict.fromkeys(forms) if form.isprintable()][:_MAX_TRIED]
        for form in tried:
            trial = _Evaluation(part, self._budget, self._today, self._partition)
            with suppress(CallError):
                if (selection := parse_select(form)) is None:
                    continue
                if selection.jmespath:
                    jmespath.search(selection.jmespath, _value_of(part), self._budget)
                    working.append(form)
                    continue
                try:
                    found = trial.run_whole(selection)
                except InvalidSelect as other:  # of several names that there are not, one is corrected
                    if not other.facts.keys().isdisjoint(("unknown", "replaces")) and len(tried) < _MAX_TRIED:
                        tried += [one for one in _forms(other, selection, trial.at, ())[:1] if one not in tried]
                    continue
                rows = [row for table in found.tables for row in table.rows]
                is_value = "replaces" in error.facts and "unknown" not in error.facts  # one that no row has counts 0
                is_empty = found.metadata == {} and not any(map(any, rows) if is_value else rows)
                (empty if is_empty else working).append(form)
            if len(working) == wanted:
                break
        working = working or empty[:wanted]
        if not working:
            columns = f"Columns: {listed(self._known_names)}. " if EXAMPLES in str(error.suggestion) else ""
            return error.changed(next_step=f"{columns}{error.suggestion}")
        # What the error lists, without its guess of a name.
        listing = str(error.suggestion).partition("Columns: ")[1:] if "unknown" in error.facts else ()
        marks = [next((mark for mark in "\"'`" if mark not in form), "") for form in working]
        written = " or ".join(f"{mark}{form}{mark}" for mark, form in zip(marks, working, strict=True))
        return error.changed(next_step=f"Write {written}. {''.join(listing)}".rstrip())

    def _apply(self, step: Step) -> None:
        if step.table:
            table = find_table(step.table, self._tables)
            if table is None:
                raise self._no_table(step)
            self._current = table
        elif self._names_table(step) or self._selects_fields(step):
            return
        if self._is_object and self._takes_rows(step.clause):
            names = ", ".join(map(quoted_name, self._tables[0].columns[:2]))
            problem, next_step = "this answer is one object, which has no rows", f"Name its fields, as in {names}."
            raise invalid(problem, next_step, offset=step.offset, needs_rows=True)
        read = [self._current] if self._current is not None else self._tables
        table = self._current = self._current or self._only_table(step)
        query = self._query(table)
        if step.clause.kind == "sql":
            with suppress(InvalidSelect):  # names that begin with a digit, which are in quotes below
                query.request.statement(step.clause.text, read)
            if self._only_reads:
                return
            readable = {table_name(one): one for one in self._tables}
            if len(read) == 1:  # "data" is the table so far
                so_far = with_paths(query.result(), step.text, self._budget) if query.before else table
                readable |= dict.fromkeys((table_name(table), "data", "rows"), so_far)
            found, notes = statements.run(step, readable, self._budget, self._today)
            following = Query.of(self._rows(replace(found, name=table.name)), self._today)
            has_values = len(found.rows) > 1 or any(cell is not None for row in found.rows for cell in row)
            query.names.notes += [*notes, *(() if has_values else ("The statement found nothing.",))]
            following.follow(query, step)
            self._queries[table_name(table)] = following
            self._is_object = False
        else:
            query.apply(step)

    def _takes_rows(self, clause: Clause) -> bool:
        """Return whether one object does not take a clause; ``last 1`` and ``count`` only where no field has parts."""
        (cells,) = self._tables[0].rows
        if clause.kind in _OF_ROWS or clause.numbers not in ((), (1,)) or (clause.kind == "sql" and [] in cells):
            return True
        has_parts = any(isinstance(cell, list | dict) for cell in cells)
        return has_parts and (bool(clause.numbers) or clause.text.lower() in ("count", "count(*)"))

    def _names_table(self, step: Step) -> bool:
        """Take up a table that a step names alone; return whether it does."""
        clause = step.clause
        if clause.kind not in ("from", "items") or (self._is_object and clause.kind != "from"):
            return False
        name = clause.text.strip('"')
        is_column = self._current is not None and self._query(self._current).names.find(name) is not None
        is_name = _is_name(clause.text) or clause.text.startswith('"')
        table = None if is_column or not is_name else find_table(name, self._tables)
        if clause.kind == "from" and table is None:
            raise self._no_table(replace(step, table=name))
        if table is None or (clause.kind == "items" and len(self._tables) == 1 and not table.name):
            return False
        is_exact = normalize(table_name(table)) == normalize(name)
        if clause.kind == "items" and not is_exact and any(_finds(one, name) for one in self._tables):
            return False
        self._current = table
        self._query(table)
        return True

    def _no_table(self, step: Step) -> InvalidSelect:
        value = step.text.partition(":")[2].strip()
        forms = [f"{step.table} = {value}"] if step.clause.kind in ("items", "period") else []
        tables = f"Tables: {listed(table_name(table) for table in self._tables)}."
        facts = {"needs_rows": True} if self._is_object else {}
        return invalid(f"there is no table {quoted_name(step.table)}", tables, offset=step.offset, forms=forms, **facts)

    def _selects_fields(self, step: Step) -> bool:
        """Add the fields beside the tables that a step names alone; return whether it does."""
        metadata = self._document.metadata
        if self._is_object or step.clause.kind != "items" or not isinstance(metadata, dict) or not metadata:
            return False
        texts = [text.strip('"') for text in split_items(step.clause.text)]
        if not all(map(_is_name, texts)) or step.clause.text == "count":
            return False
        fields = {normalize(key): (key, value) for key, value in metadata.items()}
        named = [fields.get(normalize(text)) for text in texts]
        tables = [self._current] if self._current is not None else self._tables
        if None in named or any(all(_finds(table, text) for text in texts) for table in tables):
            return False
        self._fields.update(filter(None, named))
        return True

    def _only_table(self, step: Step) -> Table:
        """Return the table that a step fits, where none is named; refuse one that fits none or several."""
        if len(self._tables) == 1 or step.clause.kind == "sql" or self._only_reads:
            return self._tables[0]
        fitting, errors = [], []
        for table in self._tables:
            try:
                Query.of(self._rows(_beginning(table)), self._today).apply(step)
                fitting.append(table)
            except InvalidSelect as error:
                errors.append(error)
        if len(fitting) == 1:
            return fitting[0]
        names = [table_name(table) for table in fitting or self._tables]
        if fitting:
            forms = [f"from {written_name(name)}; {step.text}" for name in names]
            raise invalid(f"several tables fit {quoted_name(step.text)}", f"Tables: {listed(names)}.",
                          offset=step.offset, forms=forms, is_choice=True)  # fmt: skip
        for name, found in zip(names, errors, strict=True):
            if "unknown" not in found.facts:  # of the first table that has the names
                forms = [f"from {written_name(name)}; {form}" for form in found.forms]
                raise invalid(found.reason, str(found.suggestion), forms=forms, **found.facts)
        known, unknown = self._known_names, str(errors[0].facts["unknown"])
        if unknown in known:  # the names are of different tables
            raise invalid(f"no table fits {quoted_name(step.text)}", f"Tables: {listed(names)}.", offset=step.offset)
        found = unknown_column(unknown, known, step=step.text)
        raise found.changed(next_step=f"{found.suggestion} Tables: {listed(names)}.")

    def _rows(self, table: Table) -> Rows:
        return Rows(table, self._open.enter_context(Statements(self._budget)))

    def _query(self, table: Table) -> Query:
        name = table_name(table)
        if name not in self._queries:
            self._queries[name] = Query.of(self._rows(table), self._today, self._partition, is_object=self._is_object)
        return self._queries[name]

    @property
    def _known_names(self) -> list[str]:
        return list(dict.fromkeys(name for table in self._tables for name in known_names(table, table.columns)))

    @property
    def _requested(self) -> Requested:
        """What the steps over the last table request, with the fields beside it."""
        query = None if self._current is None else self._queries.get(table_name(self._current))
        found = Requested() if query is None else query.request.found
        return replace(found, columns=found.columns | set(map(str.lower, self._fields)))

    def _result(self) -> Document:
        tables: list[Table] = []
        notes = [*self._document.notes]
        for query in self._queries.values():
            found = query.result()
            is_nothing = not found.rows or (query.is_summary and not any(map(any, found.rows)))
            if is_nothing and query.rows.table.rows and query.ctes:
                notes.append(why_empty(query))
            notes += [*query.names.notes, *(() if is_nothing else query.absent)]
            tables.append(found)
        notes += notes_beside(self._document, [query.rows.table for query in self._queries.values()])
        notes = list(dict.fromkeys(note for note in notes if note))
        if self._is_object and len(tables) == 1 and len(tables[0].rows) == 1:
            return Document(metadata=tables[0].objects()[0], notes=tuple(notes))
        if not tables and not self._fields:
            return replace(self._document, notes=tuple(notes))
        return Document(tuple(tables), self._fields, tuple(notes), requested=self._requested)


def _beginning(table: Table) -> Table:
    return replace(table, rows=table.rows[:_TRIED_ROWS], types={})


def _value_of(document: Document) -> Any:
    """Return the JSON value that a document is of, for the trial of an expression."""
    rows = {table.name: table.objects() for table in document.tables}
    found: Any = rows.pop("", None) or deepcopy(document.metadata)
    if not isinstance(found, dict):
        return found
    for name, objects in rows.items():
        *path, last = name.split(".")
        reduce(lambda inner, key: inner.setdefault(key, {}), path, found)[last] = objects
    return found


def _finds(table: Table, name: str) -> bool:
    wanted = normalize(name)
    return any(normalize(column) == wanted for column in table.columns)


def _is_name(text: str) -> bool:
    words = names_in(text)
    return bool(words) and all(character.isalnum() or character in ' _."`-@' for character in text)


def why_empty(query: Query) -> str:
    """Return a sentence about the first step after which there are no rows."""
    rows, sources = query.rows, ["t", *(f"s{place}" for place in range(len(query.ctes)))]
    counts = [rows.run(query.ctes[:at], f"SELECT count(*) FROM {source}")[0][0] for at, source in enumerate(sources)]
    if 0 not in counts:
        return ""
    at = counts.index(0) - 1
    ctes, source, words = query.ctes[:at], sources[at], names_in(query.ctes[at])
    columns = [*(column for column in query.names.columns if column.index is None), *rows.needed.values()]
    named = [column for column in columns if column.sql in words][:_MAX_COLUMNS]
    described = [_described(query, column, ctes, source) for column in named]
    return f"0 of {counts[at]:,} rows match: {'; '.join(described) or 'no row is left'}."


def _described(query: Query, column: Column, ctes: list[str], source: str) -> str:
    name = quoted_name(column.name)
    if column.kind in (Kind.TEXT, Kind.MIXED, Kind.BOOLEAN, Kind.ANY):
        statement = f"SELECT DISTINCT {column.sql} FROM {source} WHERE {column.sql} IS NOT NULL LIMIT {_MAX_VALUES + 1}"
        values = [str(value)[:_MAX_VALUE_CHARS] for (value,) in query.rows.run(ctes, statement)]
        if not values:
            return f"{name} has no values"
        more = " and others" if len(values) > _MAX_VALUES else ""
        ((nulls,),) = query.rows.run(ctes, f"SELECT count(*) - count({column.sql}) FROM {source}")
        more += f", and is null in {nulls:,}" if nulls else ""
        return f"{name} has {', '.join(map(quoted_name, sorted(values[:_MAX_VALUES])))}{more}"
    ((low, high),) = query.rows.run(ctes, f"SELECT min({column.sql}), max({column.sql}) FROM {source}")
    return f"{name} has no values" if low is None else f"{name} is from {low} to {high}"
