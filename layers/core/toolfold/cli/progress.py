"""Show on the terminal that a long command is at work."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

from toolfold.cli import terminal

DELAY_S = 1.0
"""Seconds of silence that do not disturb: https://www.nngroup.com/articles/response-times-3-important-limits/"""


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
