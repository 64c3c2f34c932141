"""Jobs in a bounded number of threads."""

import threading
from queue import SimpleQueue

import pytest

from toolfold.transports.workers import WorkerPool


def test_jobs_beyond_the_queue_are_refused() -> None:
    pool, gate, started = WorkerPool("test", 2, 3), threading.Event(), SimpleQueue[int]()

    def job() -> None:
        started.put(1)
        assert gate.wait(20)

    assert [pool.submit(job) for _ in range(7)] == [True] * 5 + [False] * 2
    gate.set()
    for _ in range(5):
        started.get(timeout=20)


def test_sequential_jobs_use_one_thread() -> None:
    pool, names = WorkerPool("test", 5), SimpleQueue[str]()
    for _ in range(10):
        while pool._unfinished:
            pass
        assert pool.submit(lambda: names.put(threading.current_thread().name))
        assert names.get(timeout=20) == "test 1"


def test_failed_job_ends_no_thread(caplog: pytest.LogCaptureFixture) -> None:
    pool, done = WorkerPool("test", 1), threading.Event()

    def broken() -> None:
        raise ValueError("SECRET")

    assert pool.submit(broken)
    assert pool.submit(done.set)
    assert done.wait(20)
    assert caplog.messages == ["defect in a job: ValueError"]
