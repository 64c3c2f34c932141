"""Large answers are shaped in turn, and no call waits beyond its deadline."""

from __future__ import annotations

import threading
import time

import pytest

from toolfold.budget import WorkBudget
from toolfold.errors import AnswerTooLarge
from toolfold.meta_tools.call import LARGE_CHARS, LargeAnswerTurn


def test_large_answers_are_shaped_one_at_a_time() -> None:
    turns = threading.Semaphore(1)
    running, most = 0, 0

    def shape() -> None:
        nonlocal running, most
        with LargeAnswerTurn(turns, WorkBudget()) as turn:
            turn.acquire(LARGE_CHARS + 1)
            running += 1
            most = max(most, running)
            time.sleep(0.01)
            running -= 1

    threads = [threading.Thread(target=shape) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_small_answer_does_not_wait() -> None:
    with LargeAnswerTurn(threading.Semaphore(0), WorkBudget()) as turn:
        turn.acquire(LARGE_CHARS)


def test_small_answers_of_one_call_wait_once_they_are_large_together() -> None:
    turns = threading.Semaphore(1)
    with LargeAnswerTurn(turns, WorkBudget()) as turn:
        turn.acquire(LARGE_CHARS)
        assert turns.acquire(blocking=False)
        turns.release()
        turn.acquire(1)
        turn.acquire(LARGE_CHARS)  # a call waits for one turn only
        assert not turns.acquire(blocking=False)
    assert turns.acquire(blocking=False)


def test_waiting_ends_at_the_deadline() -> None:
    turn = LargeAnswerTurn(threading.Semaphore(0), WorkBudget(time.monotonic() + 0.05))
    with pytest.raises(AnswerTooLarge) as caught:
        turn.acquire(LARGE_CHARS + 1)
    assert "others" in caught.value.message


def test_turn_is_given_back_after_a_failure() -> None:
    turns = threading.Semaphore(1)

    def fail() -> None:
        with LargeAnswerTurn(turns, WorkBudget()) as turn:
            turn.acquire(LARGE_CHARS + 1)
            raise KeyError

    for _ in range(2):
        with pytest.raises(KeyError):
            fail()
    assert turns.acquire(blocking=False)
