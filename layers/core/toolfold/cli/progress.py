"""Show on the terminal that a long command is at work. Everything goes to stderr, never to stdout."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

from toolfold.cli import terminal
from toolfold.text_safety import escape_unsafe

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")

DELAY_S = 1.0
"""Seconds of silence that do not disturb: https://www.nngroup.com/articles/response-times-3-important-limits/"""

_MAX_TEXT = 200


@contextlib.contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show a spinner with ``text`` on stderr while the body runs, if that takes long and stderr is a terminal."""
    if not terminal.can_draw(sys.stderr):
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_spin, args=(text, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _spin(text: str, done: threading.Event) -> None:
    if done.wait(DELAY_S):
        return
    from rich.text import Text

    console = terminal.make_console(sys.stderr, terminal.width())
    spinner = "dots" if terminal.is_unicode(sys.stderr) else "line"
    with console.status(Text(text), spinner=spinner):
        done.wait()


class Steps(Protocol):
    """Shows the steps of a long command, one after the other."""

    def start(self, text: str) -> None:
        """Begin the next step; the one before has ended."""

    def describe(self, text: str) -> None:
        """Change the text of the current step."""

    def paused(self) -> contextlib.AbstractContextManager[None]:
        """Take the display away while the body prints something."""


@contextlib.contextmanager
def steps(total: int | None = None, *, has_lines: bool = False, is_animated: bool = True) -> Iterator[Steps]:
    """Show the steps of the body on stderr: on a terminal as a bar, once they have taken :data:`DELAY_S`.

    Args:
        total: How many steps there are; None: not known.
        has_lines: Whether each step is printed as a line where stderr is not a terminal; else nothing is.
        is_animated: Whether a thread redraws the bar between two steps. A measurement must not share its processor.
    """
    if not terminal.can_draw(sys.stderr):
        yield _Lines(total, has_lines)
        return
    bar = _Bar(total, is_animated)
    try:
        yield bar
    finally:
        bar.stop()


def track(items: Iterable[T], describe: Callable[[T], str]) -> Iterator[T]:
    """Yield ``items``, each as a step of a measurement, with the text that ``describe`` returns for it."""
    every = list(items)
    with steps(len(every), has_lines=True, is_animated=False) as shown:
        for item in every:
            shown.start(describe(item))
            yield item


class _Lines:
    """Steps without a terminal."""

    def __init__(self, total: int | None, has_lines: bool) -> None:
        self._total, self._has_lines, self._started = total, has_lines, 0

    def start(self, text: str) -> None:
        self._started += 1
        if self._has_lines:
            of = f"{self._started}/{self._total} " if self._total else ""
            print(f"{of}{_one_line(text)}", file=sys.stderr, flush=True)

    def describe(self, text: str) -> None:
        """Show nothing: one line for a step is enough."""

    def paused(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


class _Bar:
    """Steps on a terminal. Drawn once the command has taken :data:`DELAY_S`, so that short ones do not flicker."""

    def __init__(self, total: int | None, is_animated: bool) -> None:
        from rich.progress import TaskID

        self._total, self._is_animated = total, is_animated
        self._began, self._started = time.monotonic(), 0
        self._text = ""
        self._progress: Progress | None = None
        self._task = TaskID(0)
        self._lock = threading.Lock()
        self._timer = threading.Timer(DELAY_S, self._draw) if is_animated else None
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()

    def start(self, text: str) -> None:
        with self._lock:
            self._started += 1
        self.describe(text)

    def describe(self, text: str) -> None:
        self._text = _one_line(text)
        if time.monotonic() - self._began >= DELAY_S:
            self._draw()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        with self._lock:
            if self._progress is not None:
                self._progress.stop()
                self._progress = None
            yield
            # The next step draws it again.

    def stop(self) -> None:
        """Take the display away for good."""
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._total = None
            if self._progress is not None:
                self._progress.stop()
                self._progress = None

    def _draw(self) -> None:
        with self._lock:
            if not self._text:
                return
            if self._progress is None:
                self._progress = self._make()
                self._task = self._progress.add_task(self._text, total=self._total)
                self._progress.start()
            completed = max(0, self._started - 1) if self._total else None
            self._progress.update(self._task, description=self._text, completed=completed)
            if not self._is_animated:
                self._progress.refresh()

    def _make(self) -> Progress:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        counted = (BarColumn(bar_width=20), MofNCompleteColumn()) if self._total else ()
        spinner = "dots" if terminal.is_unicode(sys.stderr) else "line"
        return Progress(
            SpinnerColumn(spinner),
            *counted,
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=terminal.make_console(sys.stderr, terminal.width()),
            transient=True,
            auto_refresh=self._is_animated,
            redirect_stdout=False,
            redirect_stderr=False,
        )


def _one_line(text: str) -> str:
    """Return ``text`` without control characters: names in it may come from a service."""
    return escape_unsafe(text[:_MAX_TEXT])
