"""Show on the terminal that a long command is at work, by rich. Everything goes to stderr, never to stdout."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from toolfold.cli import terminal
from toolfold.text_safety import escape_unsafe

if TYPE_CHECKING:
    from rich.progress import Progress

DELAY_S = 1.0
"""Seconds of silence that do not disturb: https://www.nngroup.com/articles/response-times-3-important-limits/"""

_MAX_TEXT = 200


@contextlib.contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show a spinner with ``text`` on stderr while the body runs, if that takes long and stderr is a terminal."""
    with Steps() as steps:
        steps.start(text)
        yield


class Steps:
    """Show the steps of the body on stderr: on a terminal as a bar, once they have taken :data:`DELAY_S`.

    Args:
        total: How many steps there are; None: not known.
    """

    def __init__(self, total: int | None = None) -> None:
        self._total = total
        self._began, self._started, self._text = time.monotonic(), 0, ""
        self._progress: Progress | None = None
        self._lock = threading.RLock()
        self._can_draw = terminal.can_draw(sys.stderr)
        self._timer = threading.Timer(DELAY_S, self._draw)
        self._timer.daemon = True

    def __enter__(self) -> Steps:
        if self._can_draw:
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            self._can_draw = False
            self._hide()

    def start(self, text: str) -> None:
        """Begin the next step; the one before has ended."""
        self._started += 1
        self.describe(text)

    def describe(self, text: str) -> None:
        """Change the text of the current step, in which names may come from a service."""
        self._text = escape_unsafe(text[:_MAX_TEXT])
        if time.monotonic() - self._began >= DELAY_S:
            self._draw()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Take the display away while the body prints something; the next step draws it again."""
        with self._lock:
            self._hide()
            yield

    def _hide(self) -> None:
        if self._progress is not None:
            self._progress.stop()

    def _draw(self) -> None:
        with self._lock:
            if not self._text or not self._can_draw:
                return
            self._progress = self._progress or self._make()
            completed = max(0, self._started - 1) if self._total else None
            self._progress.update(self._progress.task_ids[0], description=self._text, completed=completed)
            self._progress.start()

    def _make(self) -> Progress:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        made = Progress(
            SpinnerColumn("dots" if terminal.is_unicode(sys.stderr) else "line"),
            *((BarColumn(bar_width=20), MofNCompleteColumn()) if self._total else ()),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=terminal.make_console(sys.stderr),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        made.add_task(self._text, total=self._total)
        return made
