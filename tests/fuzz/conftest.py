"""The world in which whole calls are judged."""

from collections.abc import Iterator

import pytest

from tests.fuzz.whole_call.oracles import Judge
from tests.fuzz.whole_call.world import OPERATOR_KEY, World


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALPHA_VANTAGE_API_KEY", "")  # set by the world, restored here
        with World() as world:
            yield Judge(world)


@pytest.fixture
def operator_key(_no_ambient_settings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", OPERATOR_KEY)
