"""Run a ``select`` over an answer, and the form that an error proposes, for the tables of the tests."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.unit.results.select.answers import ANSWERS, TODAY
from toolfold.budget import WorkBudget
from toolfold.errors import InvalidSelect
from toolfold.results import output, render
from toolfold.results.select.engine import evaluate
from toolfold.results.select.grammar import parse_select
from toolfold.results.tables import Document, Table

_WRITTEN = re.compile(r"""Write (?:"([^"]+)"|'([^']+)'|`([^`]+)`)""")


class Outcome(NamedTuple):
    """What a ``select`` returns.

    Attributes:
        document: the answer, or the answer of the form that the error proposes; None: there is no such form.
        error: why the ``select`` is refused; None: it is answered.
    """

    document: Document | None
    error: InvalidSelect | None

    @property
    def said(self) -> str:
        """What is stated beside the data: the error, and the notes of the answer."""
        error = "" if self.error is None else f"{self.error.message} {self.error.suggestion}"
        return " ".join((error, *(self.document.notes if self.document else ())))


def select_from(
    document: Document, select: Any, budget: WorkBudget | None = None, partition: Sequence[str] = ()
) -> Document:
    """Return what ``select`` selects of a parsed answer, without JMESPath."""
    selection = parse_select(select)
    if selection is None:
        return document
    return evaluate(selection, document, budget or WorkBudget(), TODAY, tuple(partition))


def run(select: Any, body: str, answer: Mapping[str, Any] | None = None, partition: Sequence[str] = ()) -> Document:
    """Return the selected part of an answer.

    Args:
        select: as a caller writes it.
        body: the text of the answer, JSON or CSV.
        answer: what the catalog says about it.
        partition: columns of the varied arguments of a list of calls.
    """
    selection = parse_select(select)
    kind = "json" if body[0] in "[{" else "csv"
    parsed = output.parse_answer(body, kind, answer or {}, selection, WorkBudget())
    if partition:
        return select_from(parsed.document, select, partition=partition)
    return output.select_from(parsed, selection, TODAY, WorkBudget())


def selected(name: str, select: Any) -> Document:
    """Return the selected part of one of the answers of the tests."""
    return run(select, ANSWERS[name])


def outcome(select: Any, body: str, answer: Mapping[str, Any] | None = None, partition: Sequence[str] = ()) -> Outcome:
    """Return the answer, or the error with the answer of the form that it proposes."""
    try:
        return Outcome(run(select, body, answer, partition), None)
    except InvalidSelect as error:
        form = form_of(error)
        return Outcome(run(form, body, answer, partition) if form else None, error)


def form_of(error: InvalidSelect) -> str:
    """Return the ``select`` that an error says to write; empty: none."""
    found = _WRITTEN.search(str(error.suggestion))
    return next((form for form in found.groups() if form), "") if found else ""


def written(document: Document | None, expected: str) -> str:
    """Return a document in the form in which ``expected`` is written.

    ``columns: cells / cells`` is a table; with several, each begins with ``NAME > `` and they are separated by `` & ``;
    ``= a b c`` are the first cells of whole rows; ``{…}`` and ``[…]`` are the metadata as JSON.
    """
    if document is None:
        return "nothing"
    if expected.startswith("="):
        return "= " + " ".join(str(row[0]) for table in document.tables for row in table.rows)
    if expected[:1] in ("{", "[") or not document.tables:
        return render.dumps_compact(document.metadata)
    if len(document.tables) > 1:
        return " & ".join(f"{table.name} > {_written_table(table)}" for table in document.tables)
    return _written_table(document.tables[0])


def _written_table(table: Table) -> str:
    rows = " / ".join(",".join("" if cell is None else str(cell) for cell in row) for row in table.rows)
    return f"{','.join(table.columns)}: {rows}"
