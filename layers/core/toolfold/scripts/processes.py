"""The processes in which scripts run: a few that are used again, and replaced when they end.

The interpreter is a program, ``monty``, which the package finds on ``PATH``; on Lambda it is in ``/opt/bin``. A process
needs neither files nor shared memory, so it runs on Lambda, which freezes it with the rest of the environment.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from toolfold.errors import ScriptsUnavailable

if TYPE_CHECKING:
    import pydantic_monty

__all__ = ["open_session", "start_processes"]

logger = logging.getLogger("toolfold")

_GRACE_S = 0.05
"""After its limit, a process that has not stopped is ended."""

_CHECKOUT_TIMEOUT_S = 5.0
_MAX_PROCESSES = max(2, os.cpu_count() or 2)
_MAX_LOGGED = 300
_WITHOUT = "Use TOOL_BATCH or TOOL_PIPE, which work without it."


def start_processes() -> pydantic_monty.Monty:
    """Start the first process.

    Raises:
        ScriptsUnavailable: the package is missing, or no process starts.
    """
    try:
        import pydantic_monty as monty
    except ImportError:
        from toolfold.extras import how_to_add

        raise ScriptsUnavailable(
            "Scripts cannot be run here: a package is missing.",
            f"Tell the operator to {how_to_add('scripts')}. {_WITHOUT}",
        ) from None
    pool = monty.Monty(
        min_processes=1,
        max_processes=_MAX_PROCESSES,
        checkout_timeout=_CHECKOUT_TIMEOUT_S,
        feed_duration_limit_grace=_GRACE_S,
        turn_duration_limit_grace=_GRACE_S,
    )
    try:
        return pool.__enter__()
    except Exception as error:  # noqa: BLE001 - of the operating system: no memory, no right to start a process
        logger.error("the process of scripts does not start: %s", ascii(str(error)[:_MAX_LOGGED]))
        raise ScriptsUnavailable(
            "Scripts cannot be run here: their process does not start.",
            f"Tell the operator, who has the reason in the log. {_WITHOUT}",
        ) from None


@contextlib.contextmanager
def open_session(monty: Any, pool: pydantic_monty.Monty, **how: Any) -> Iterator[Any]:
    """Open a session in a process that answers.

    A process may have ended since the last script, for example while Lambda kept the environment without a request:
    another takes its place.

    Raises:
        MontyCrashedError: none answers.
    """
    for attempts_left in range(_MAX_PROCESSES, -1, -1):
        checkout = pool.checkout(script_name="script.py", **how)
        try:
            session = checkout.__enter__()
        except monty.MontyCrashedError:
            if not attempts_left:
                raise
            continue
        try:
            yield session
        finally:
            checkout.__exit__(*sys.exc_info())
        return
