"""How much meaning counts beside words is decided by whether halves of the tools' texts find each other."""

import pytest

from toolfold.build import semantic_index

LETTERS = "abcdefgh"


@pytest.mark.parametrize(
    ("left_out", "share"),
    [("common", 1.0), ("own{letter}", 0.3)],
    ids=["other tools have the words of a half", "the other half has the same words"],
)
def test_the_share_is_the_one_by_which_more_tools_find_themselves(
    left_out: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = [f"own{letter} near{letter} own{letter} {left_out.format(letter=letter)}" for letter in LETTERS]
    tools = [{"summary": [text]} for text in (*own, *["common things"] * len(LETTERS))]
    near = {f"near{letter}": semantic_index.encode([(at, 60)]) for at, letter in enumerate(LETTERS)}
    monkeypatch.setattr(semantic_index, "is_available", lambda: True)
    monkeypatch.setattr(semantic_index, "_postings", lambda _: near)
    assert semantic_index.build(dict(enumerate(tools))) == (near, share)
