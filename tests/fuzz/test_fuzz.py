"""A short run of the fuzzer in every test run, and all inputs of its corpus."""

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
from toolfold.sources.http_api.adapter import HttpApiAdapter

CORPUS = inputs.corpus()


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALPHA_VANTAGE_API_KEY", "")  # set by the target, restored here
        patch.setattr(HttpApiAdapter, "call", None)  # the same
        target = Target()
        yield target
        target.close()


@pytest.fixture(autouse=True)
def _key(_no_ambient_settings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", "KEY")


@pytest.mark.parametrize("path", sorted(inputs.CORPUS.iterdir()), ids=lambda path: path.name)
def test_every_input_of_the_corpus_gets_a_response(target: Target, path: Path) -> None:
    target.check(path.read_bytes())


@examples(60, many=100_000)
@given(st.sampled_from(CORPUS), st.integers(0, 2**32))
def test_mutated_inputs_get_a_response(target: Target, seed: bytes, number: int) -> None:
    random = Random(number)
    for _ in range(5):
        target.check(mutate(seed, CORPUS, random))


@examples(50, many=100_000)
@given(st.sampled_from([b"", b"POST\ncontent-type: application/json\n\n", b"EVENT\n\n"]), st.binary(max_size=300))
def test_random_bytes_get_a_response(target: Target, head: bytes, body: bytes) -> None:
    target.check(head + body)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_responding_does_not_leak_memory(target: Target) -> None:
    assert target.memory_growth(CORPUS, rounds=5) < GROWTH_LIMIT


def test_an_exception_is_a_finding(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(target._server), "handle_http", lambda _self, _request: 1 / 0)
    with pytest.raises(Finding, match="ZeroDivisionError in"):
        target.check(b"POST\n\n{}")
