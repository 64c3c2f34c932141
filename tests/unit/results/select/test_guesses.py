"""``select`` as a model guesses it: the table of guesses, and how many of them are accepted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.results.select.answers import TODAY, document
from tests.unit.results.select.guesses import GUESSES
from toolfold.budget import WorkBudget
from toolfold.errors import InvalidArguments
from toolfold.results import render, tables
from toolfold.results.select import evaluator, jmespath, parser
from toolfold.results.tables import Document, Table


def selected(name: str, guess: Any) -> Document:
    whole = document(name)
    selection = parser.parse_select(guess)
    if selection is None:
        return whole
    if selection.jmespath:
        from tests.unit.results.select.answers import ANSWERS

        data = tables.parse_json(ANSWERS[name], {}, WorkBudget())
        return tables.from_value(jmespath.search(selection.jmespath, data, WorkBudget()), WorkBudget())
    return evaluator.evaluate(selection, whole, WorkBudget(), TODAY)


def written(table: Table) -> str:
    rows = " / ".join(",".join("" if cell is None else str(cell) for cell in row) for row in table.rows)
    return f"{','.join(table.columns)}: {rows}"


def as_expected(found: Document, expected: str) -> str:
    """Return what was found in the form in which it is expected."""
    if expected.startswith("="):
        return "= " + " ".join(str(row[0]) for table in found.tables for row in table.rows)
    if expected[0] in "{[":
        return render.dumps_compact(found.metadata)
    if len(found.tables) > 1:
        return " & ".join(f"{table.name} > {written(table)}" for table in found.tables)
    return written(found.tables[0]) if found.tables else render.dumps_compact(found.metadata)


# F2, F3, F5
@pytest.mark.parametrize(("name", "guess", "expected"), GUESSES)
def test_guess_returns_what_is_meant(name: str, guess: Any, expected: str) -> None:
    if expected.startswith("!"):
        with pytest.raises(InvalidArguments) as caught:
            selected(name, guess)
        problem, _, form = expected[2:].partition(" … ")
        assert problem in caught.value.message
        assert form in f"{caught.value.message} {caught.value.suggestion}"
        return
    found = selected(name, guess)
    if expected == "everything":
        assert found == document(name)
        return
    if expected[0] in "{[":
        expected = render.dumps_compact(json.loads(expected))
    assert as_expected(found, expected) == expected
    if expected.startswith("="):
        assert found.tables[0].columns in {table.columns for table in document(name).tables}


def test_most_guesses_are_accepted() -> None:
    refused = sum(expected.startswith("!") for _, _, expected in GUESSES)
    assert refused <= 0.15 * len(GUESSES)
