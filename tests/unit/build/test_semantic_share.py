"""How much meaning counts beside words is decided by whether the tools have parameters."""

from __future__ import annotations

import pytest

from toolfold.build import semantic_index

NEAR = {"storm": semantic_index.encode([(0, 60)])}


@pytest.mark.parametrize(("with_parameters", "share"), [(0, 1.5), (1, 1.5), (2, 0.3), (4, 0.3)])
def test_the_share_is_that_of_tools_with_parameters_where_most_have_them(
    with_parameters: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = {"parameter_names": ["place"]}
    tools = [{"summary": ["Weather"], **(parameters if at < with_parameters else {})} for at in range(4)]
    monkeypatch.setattr(semantic_index, "is_available", lambda: True)
    monkeypatch.setattr(semantic_index, "_postings", lambda *_: NEAR)
    assert semantic_index.build(dict(enumerate(tools))) == (NEAR, share)


def test_a_single_tool_has_no_words_near_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic_index, "is_available", lambda: True)
    assert semantic_index.build({0: {"summary": ["Weather"]}}) == ({}, 0.0)
