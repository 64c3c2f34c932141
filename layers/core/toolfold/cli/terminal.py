"""What stdout and stderr can show: a terminal or not, its width, colour, and characters."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

MIN_WIDTH, MAX_WIDTH = 40, 200
"""Below, no table is readable; above, the eye loses the line."""

_DEFAULT_WIDTH = 80


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a person reads ``stream`` at once. A closed stream is not a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def can_draw(stream: TextIO | None) -> bool:
    """Return whether ``stream`` is a terminal that can place text: not ``TERM=dumb``."""
    return is_terminal(stream) and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def width() -> int:
    """Return the columns of the terminal (``COLUMNS``, else what it reports), within readable limits."""
    columns = os.environ.get("COLUMNS", "")
    size = int(columns) if columns.isdecimal() and len(columns) < 9 else 0
    return max(MIN_WIDTH, min(size or _reported_width(), MAX_WIDTH))


def _reported_width() -> int:
    """Return the columns of the terminal that stdout, stderr or stdin is: one of them may be a pipe."""
    for descriptor in (1, 2, 0):
        try:
            return os.get_terminal_size(descriptor).columns or _DEFAULT_WIDTH
        except OSError:  # not a terminal, or closed
            continue
    return _DEFAULT_WIDTH


def is_unicode(stream: Any) -> bool:
    """Return whether ``stream`` has all characters."""
    return str(getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


def make_console(stream: TextIO, line_width: int) -> Console:
    """Return a console of rich that writes to ``stream``, with colour where it is wanted.

    ``NO_COLOR`` and ``FORCE_COLOR`` count if they are not empty: https://no-color.org, https://force-color.org. What is
    printed must hold no control characters: the escape sequences are rich's own.
    """
    from rich.console import Console

    forced = os.environ.get("FORCE_COLOR", "") not in ("", "0")
    has_colour = not os.environ.get("NO_COLOR") and (forced or can_draw(stream))
    unescaped: TextIO = getattr(stream, "unescaped", stream)
    return Console(
        file=unescaped,
        width=line_width,
        force_terminal=has_colour or can_draw(stream),
        color_system="standard" if has_colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
