"""What must never be silently wrong: the right result, or an error whose form gives it."""

import pytest

from tests.unit.results.select.never_silent import CASES, Case
from tests.unit.results.select.outcomes import Outcome, outcome, written


@pytest.mark.parametrize("case", CASES, ids=[f"{case.kind}: {case.select}" for case in CASES])
def test_result_is_right_or_refused(case: Case) -> None:
    found = outcome(case.select, case.body, case.answer, case.partition)
    assert all(word.lower() in found.said.lower() for word in case.says), found.said
    if _is_excused(case, found):
        return
    if case.right:
        assert written(found.document, case.right) == case.right, found.said
    else:
        assert found.error is not None, written(found.document, "")


def _is_excused(case: Case, found: Outcome) -> bool:
    """Return whether an error or a note says that the result is another, and why."""
    return any(word.lower() in found.said.lower() for word in case.otherwise)
