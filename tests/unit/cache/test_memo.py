"""What was computed is found again for the same objects only, within a limit of bytes."""

import tracemalloc

import pytest

from toolfold.budget import WorkBudget
from toolfold.cache.response_cache import Memo
from toolfold.results import output


def test_owners_are_compared_by_identity_and_keys_by_equality() -> None:
    memo, owner = Memo(100_000), [1]
    memo.put("kind", (owner,), ("a", 1), "value", 5)
    assert memo.get("kind", (owner,), ("a", 1)) == "value"
    for other in (("other", (owner,), ("a", 1)), ("kind", ([1],), ("a", 1)), ("kind", (owner,), ("a", 2))):
        assert memo.get(*other) is None


def test_an_owner_that_is_gone_is_not_taken_for_a_new_one() -> None:
    memo = Memo(10_000)
    for number in range(1000):
        owner = [number]
        assert memo.get("kind", (owner,)) is None
        memo.put("kind", (owner,), None, number, 0)
        assert memo.get("kind", (owner,)) == number


def test_values_used_last_stay_within_the_limit() -> None:
    memo, owner = Memo(100_000), object()
    for number in range(500):
        memo.put("kind", (owner,), number, number, 1000)
        assert memo.get("kind", (owner,), 0) == 0
        assert memo.size <= 100_000
    assert memo.get("kind", (owner,), 1) is None
    memo.put("kind", (owner,), "large", "value", 30_000)
    assert memo.get("kind", (owner,), "large") is None


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("csv", "timestamp,open,name\n" + "".join(f"2026-01-{n:04},{n}.25,N{n}\n" for n in range(500))),
        ("json", '{"rows": [' + ",".join(f'{{"a": {n}, "b": "{n}", "c": [{n}]}}' for n in range(500)) + "]}"),
    ],
)  # fmt: skip
def test_documents_take_no_more_than_their_budget_says(kind: str, body: str) -> None:
    output.parse_answer(body, kind, {}, None, WorkBudget())  # imports, and compiles expressions
    budget = WorkBudget()
    left = budget.left
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    parsed = output.parse_answer(body, kind, {}, None, budget)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert parsed.document
    assert after - before < left - budget.left + 600
