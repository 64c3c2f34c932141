"""Sources that are listed as failed: those that failed of themselves, until they answer or some minutes pass."""

from types import SimpleNamespace
from typing import Any

import pytest

from toolfold.errors import CallError, InvalidArguments, NoData, SourceChanged, UpstreamError, UpstreamTimeout
from toolfold.execution.services import KEPT_S, SourceHealth
from toolfold.sources.base import ConnectionFailed, ConnectionNotPossible, ConnectTimeout, NotConnected


def tool(name: str = "a__x", source: str = "a") -> Any:
    return SimpleNamespace(name=name, source=source)


@pytest.mark.parametrize(
    ("failure", "state"),
    [
        (NotConnected, "unreachable"),
        (ConnectionNotPossible, "unreachable"),
        (ConnectTimeout, "unreachable"),
        (ConnectionFailed, "failing"),
        (UpstreamTimeout, "slow"),
        (SourceChanged, "changed"),
        (UpstreamError, None),
        (InvalidArguments, None),
        (NoData, None),
    ],
)
def test_a_failure_counts_that_no_caller_can_cause(failure: type[CallError], state: str | None) -> None:
    health = SourceHealth(lambda: 0.0)
    health.record_failure(tool(), failure("It failed.", ""))
    assert {source: one.state for source, one in health.troubles().items()} == ({"a": state} if state else {})


def test_a_failure_is_forgotten() -> None:
    now = 0.0
    health = SourceHealth(lambda: now)
    health.record_failure(tool(), NotConnected("It is down.", ""))
    now = KEPT_S + 1
    assert not health.troubles()
