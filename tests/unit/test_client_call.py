"""Cancellation and progress between a transport and what it runs."""

import contextvars
import math
import threading

import pytest

from toolfold import client_call
from toolfold.client_call import ClientCall


def test_a_cancelled_call_tells_what_waits_for_it_once() -> None:
    context, told = ClientCall(), []
    with context.on_cancel(lambda: told.append("inner")):
        context.cancel()
        context.cancel()
    with context.on_cancel(lambda: told.append("late")):
        pass
    assert told == ["inner", "late"]
    assert context.is_cancelled


def test_threads_that_copy_their_context_work_for_the_same_call() -> None:
    found: list[bool] = []
    with client_call.running(ClientCall()) as _:
        client_call.current().cancel()
        copied = contextvars.copy_context()
        thread = threading.Thread(target=copied.run, args=(lambda: found.append(client_call.current().is_cancelled),))
        thread.start()
        thread.join()
    assert found == [True]
    assert not client_call.current().is_cancelled


def test_progress_that_increases_is_passed_on_and_not_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[object] = []
    now = [0.0]
    monkeypatch.setattr(client_call.time, "monotonic", lambda: now[0])
    context = ClientCall(lambda *given: sent.append(given))
    for at, progress, total in [(1, 1, 10), (1.01, 2, 10), (2, 1, 10), (3, math.nan, 10), (4, 3, math.inf)]:
        now[0] = at
        context.report_progress(progress, total, "half " * 100)
    assert [given[:2] for given in sent] == [(1, 10), (3, None)]  # type: ignore[index]
    assert all(len(given[2]) == 300 for given in sent)  # type: ignore[index]
