"""An event loop in a thread of its own, for code that waits with ``asyncio`` on behalf of threads that block."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["END_S", "EventLoopThread"]

END_S = 4.0
"""Seconds that a process waits at its end for what runs in a loop: as long as ending a child may take."""

T = TypeVar("T")


class EventLoopThread:
    """Run coroutines in one thread, which the first of them starts. A forked process starts another.

    Args:
        name: of the thread.
        on_stop: makes the coroutine that ends what runs in the loop.
    """

    def __init__(self, name: str, on_stop: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._name, self._on_stop = name, on_stop
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: _LoopThread | None = None
        self._process = 0
        self._is_stopped = False

    def submit(self, make: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Run a coroutine, and return the future of its result. Cancelling the future cancels the coroutine.

        Raises:
            RuntimeError: the loop was stopped.
        """
        with self._lock:
            if self._is_stopped:
                raise RuntimeError("the event loop was stopped")
            if self._loop is None or self._process != os.getpid():
                self._loop, self._process = asyncio.new_event_loop(), os.getpid()
                self._thread = _LoopThread(self._name, self._loop, self.stop)
                self._thread.start()
            loop = self._loop
        return asyncio.run_coroutine_threadsafe(make(), loop)

    def stop(self, wait_s: float = 0.0) -> None:
        """End the loop and what runs in it.

        Args:
            wait_s: seconds to wait for the end; 0: do not wait.
        """
        with self._lock:
            self._is_stopped = True
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None or self._process != os.getpid():
            return
        future = asyncio.run_coroutine_threadsafe(self._stop(loop), loop)
        if wait_s and thread is not threading.current_thread():
            thread.join(wait_s)
            future.cancel()

    async def _stop(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            await self._on_stop()
        finally:
            loop.stop()


class _LoopThread(threading.Thread):
    """The thread of an event loop. A process that ends without Python's exit functions calls :meth:`end`."""

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop, stop: Callable[[float], None]) -> None:
        super().__init__(name=name, daemon=True)
        self._loop, self._stop_loop = loop, stop

    def run(self) -> None:
        """Run the loop until it is stopped."""
        loop = self._loop
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0))
        finally:
            loop.close()

    def end(self) -> None:
        """End what runs in the loop, and wait some seconds for that."""
        self._stop_loop(END_S)
