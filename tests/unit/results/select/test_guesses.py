"""``select`` as a model guesses it: the table of guesses."""

import json
from typing import Any

import pytest

from tests.unit.results.select.answers import ANSWERS, document
from tests.unit.results.select.guesses import GUESSES
from tests.unit.results.select.outcomes import outcome, written
from toolfold.results import render


# F2, F3, F5
@pytest.mark.parametrize(("kind", "name", "guess", "expected"), GUESSES)
def test_guess_is_right_or_its_error_leads_to_what_is_right(kind: str, name: str, guess: Any, expected: str) -> None:
    found = outcome(guess, ANSWERS[name])
    assert (found.error is not None) == (kind in ("error", "lists")), found.said
    if kind == "lists":
        assert expected in found.said
    elif expected == "everything":
        assert found.document == document(name)
    else:
        assert found.document is not None
        if expected.startswith("= ") and expected != "= ":  # whole rows keep all columns
            assert {table.columns for table in found.document.tables} <= {
                table.columns for table in document(name).tables
            }
        right = render.dumps_compact(json.loads(expected)) if expected[0] in "{[" else expected
        assert written(found.document, right) == right, found.said
