"""Run jobs in a bounded number of threads. The pool of the standard library waits for a stuck job at its end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

logger = logging.getLogger("toolfold")


class WorkerPool:
    """Daemon threads that run jobs in the order of their submission. A thread is started when all others are busy.

    Args:
        name: The beginning of the threads' names.
        max_workers: Jobs that run at the same time.
    """

    def __init__(self, name: str, max_workers: int) -> None:
        self._name, self._max_workers = name, max_workers
        self._jobs: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        self._lock = threading.Lock()
        self._unfinished, self._workers = 0, 0

    def submit(self, job: Callable[[], T]) -> Future[T]:
        """Queue ``job`` and return its future. A defect in it is logged."""
        future = Future[T]()
        with self._lock:
            self._unfinished += 1
            starts_worker = self._unfinished > self._workers and self._workers < self._max_workers
            self._workers += starts_worker
            name = f"{self._name} {self._workers}"
        self._jobs.put((job, future))
        if starts_worker:
            threading.Thread(target=self._work, name=name, daemon=True).start()
        return future

    def _work(self) -> None:
        while True:
            job, future = self._jobs.get()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(job())
                except Exception as error:  # noqa: BLE001 - a defect must not end the thread
                    logger.error("defect in a job: %s", type(error).__name__)
                    future.set_exception(error)
            del job, future
            with self._lock:
                self._unfinished -= 1
