"""Large answers are shaped in turn, and no call waits beyond its deadline."""

from __future__ import annotations

import threading
import time

import pytest

from toolfold.budget import WorkBudget
from toolfold.errors import AnswerTooLarge
from toolfold.meta_tools.large_answers import LARGE_CHARS, large_answer_turn


def test_large_answers_are_shaped_one_at_a_time() -> None:
    turns = threading.Semaphore(1)
    running, most = 0, 0

    def shape() -> None:
        nonlocal running, most
        with large_answer_turn(turns, LARGE_CHARS + 1, WorkBudget()):
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
    with large_answer_turn(threading.Semaphore(0), LARGE_CHARS, WorkBudget()):
        pass


def test_waiting_ends_at_the_deadline() -> None:
    with (
        pytest.raises(AnswerTooLarge) as caught,
        large_answer_turn(threading.Semaphore(0), LARGE_CHARS + 1, WorkBudget(time.monotonic() + 0.05)),
    ):
        pass
    assert "others" in caught.value.message


def test_turn_is_given_back_after_a_failure() -> None:
    turns = threading.Semaphore(1)
    for _ in range(2):
        with pytest.raises(KeyError), large_answer_turn(turns, LARGE_CHARS + 1, WorkBudget()):
            raise KeyError
    assert turns.acquire(blocking=False)
