"""Calls as a model may write them before it has read anything are answered, or refused with the call that works."""

import pytest

from benchmarks.agent.cases import PROBES, QUESTIONS
from benchmarks.agent.client import over_mock_api
from benchmarks.agent.journey import Journey, Outcome, answer, judge

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    with over_mock_api() as (client, data):
        return judge(PROBES, client, data)


@pytest.fixture(scope="module")
def journeys() -> list[Journey]:
    with over_mock_api() as (client, data):
        return [answer(question, client, data) for question in QUESTIONS]


# F5, F10
@pytest.mark.parametrize(
    ("area", "least"), [("TOOL_LIST", 0.95), ("TOOL_GET", 0.95), ("TOOL_CALL", 0.95), ("select", 0.90)]
)
def test_errors_propose_the_call_that_works(outcomes: list[Outcome], area: str, least: float) -> None:
    verdicts = {str(one.probe): one.verdict for one in outcomes if one.probe.area == area and one.verdict != "works"}
    lost = [probe for probe, verdict in verdicts.items() if verdict == "lost"]
    assert len(lost) <= (1 - least) * len(verdicts), lost


# F1, F3, F6
def test_no_answer_is_wrong_without_a_note(outcomes: list[Outcome], journeys: list[Journey]) -> None:
    assert [str(one.probe) for one in outcomes if one.verdict == "wrong"] == []
    assert [journey.steps for journey in journeys if journey.silently_wrong] == []
