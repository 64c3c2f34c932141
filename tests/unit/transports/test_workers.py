"""Jobs in a bounded number of threads."""

import threading

import pytest

from toolfold.transports.workers import WorkerPool


def test_failed_job_ends_no_thread(caplog: pytest.LogCaptureFixture) -> None:
    pool, done = WorkerPool("test", 1), threading.Event()

    def broken() -> None:
        raise ValueError("SECRET")

    pool.submit(broken)
    pool.submit(done.set)
    assert done.wait(20)
    assert caplog.messages == ["defect in a job: ValueError"]
