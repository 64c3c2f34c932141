"""Large answers are shaped in turn, and no call waits beyond its deadline."""

import contextlib
import threading
import time
from collections.abc import Callable

import pytest

from tests.support.threads import run_concurrently
from toolfold.errors import AnswerTooLarge
from toolfold.execution.call import CallResult
from toolfold.execution.credentials import NO_CREDENTIALS
from toolfold.meta_tools.answer_reader import LARGE_CHARS
from toolfold.meta_tools.dispatcher import MetaRequest, MetaTools
from toolfold.meta_tools.plan import Plan

Open = Callable[..., Plan]


@pytest.fixture
def turns(tools: MetaTools) -> threading.Semaphore:
    return tools.executor.services.large_answer_turns


@pytest.fixture
def session(tools: MetaTools) -> Open:
    def open_session(deadline: float | None = None) -> Plan:
        return Plan(MetaRequest(tools, tools.catalog(), {}, NO_CREDENTIALS, deadline))

    return open_session


def begin(plan: Plan, chars: int) -> None:
    """Begin to shape an answer of so many characters."""
    tool = plan.catalog.get("GLOBAL_QUOTE")
    assert tool is not None
    plan.begin_shaping(tool, CallResult("x" * chars, "text", False, 0, {}))


def test_large_answers_are_shaped_one_at_a_time(session: Open) -> None:
    running, most = 0, 0

    def shape() -> None:
        nonlocal running, most
        with session() as calls:
            begin(calls, LARGE_CHARS + 1)
            running += 1
            most = max(most, running)
            time.sleep(0.01)
            running -= 1

    run_concurrently([shape] * 8)
    assert most == 1


def test_small_answers_of_one_call_wait_once_they_are_large_together(session: Open, turns: threading.Semaphore) -> None:
    with session() as calls:
        begin(calls, LARGE_CHARS)
        assert turns.acquire(blocking=False)  # a small one needs no turn
        turns.release()
        begin(calls, 1)
        begin(calls, LARGE_CHARS)  # a call waits for one turn only
        assert not turns.acquire(blocking=False)
    assert turns.acquire(blocking=False)


def test_waiting_ends_at_the_deadline(session: Open, turns: threading.Semaphore) -> None:
    turns.acquire()
    with pytest.raises(AnswerTooLarge, match="others"):
        begin(session(time.monotonic() + 0.05), LARGE_CHARS + 1)
    turns.release()


def test_turn_is_given_back_after_a_failure(session: Open, turns: threading.Semaphore) -> None:
    for _ in range(2):
        with contextlib.suppress(KeyError), session() as calls:
            begin(calls, LARGE_CHARS + 1)
            raise KeyError
    assert turns.acquire(blocking=False)
