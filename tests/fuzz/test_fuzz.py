"""A short run of the fuzzer at every test run, and everything it ever found interesting."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz import inputs
from tests.fuzz.mutations import mutate
from tests.fuzz.target import GROWTH_LIMIT, Finding, Target
from tests.support.examples import examples
from toolfold.sources.http_api import adapter

CORPUS = inputs.corpus()


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALPHA_VANTAGE_API_KEY", "")  # set by the target: put back here
        patch.setattr(adapter, "call", None)  # likewise
        target = Target()
        yield target
        target.close()


@pytest.fixture(autouse=True)
def _key(_no_ambient_settings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", "KEY")


@pytest.mark.parametrize("path", sorted(inputs.CORPUS.iterdir()), ids=lambda path: path.name)
def test_every_input_of_the_corpus_is_answered(target: Target, path: Path) -> None:
    target.judge(path.read_bytes())


@examples(400, many=100_000)
@given(st.sampled_from(CORPUS), st.integers(0, 2**32))
def test_what_is_made_of_the_corpus_is_answered(target: Target, seed: bytes, number: int) -> None:
    random = Random(number)
    for _ in range(5):
        target.judge(mutate(seed, CORPUS, random))


@examples(200, many=100_000)
@given(st.sampled_from([b"", b"POST\ncontent-type: application/json\n\n", b"EVENT\n\n"]), st.binary(max_size=300))
def test_bytes_of_any_kind_are_answered(target: Target, head: bytes, body: bytes) -> None:
    target.judge(head + body)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_answering_does_not_fill_the_memory(target: Target) -> None:
    assert target.growth(CORPUS, rounds=5) < GROWTH_LIMIT


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_leak_is_found(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    # More than a process that has run many tests may have lying about unused.
    kept: list[bytes] = []
    monkeypatch.setattr(target, "judge", lambda data: kept.append(data + b"x" * 150_000))
    assert target.growth(CORPUS, rounds=10) > GROWTH_LIMIT


def test_a_finding_is_found(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(target._server), "handle_http", lambda _self, _request: 1 / 0)
    with pytest.raises(Finding, match="ZeroDivisionError in"):
        target.judge(b"POST\n\n{}")
