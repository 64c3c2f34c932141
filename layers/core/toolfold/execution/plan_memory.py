"""Store for a while what the plan of an API key does not include, so that trying it costs no request each time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cachetools import TTLCache

from toolfold.errors import PremiumOnly

if TYPE_CHECKING:
    from toolfold.execution.retry import Request

_REMEMBERED_S = 3600.0
"""A plan that is upgraded is noticed an hour later; a call that names the argument itself is always sent."""

_MAX_REFUSALS = 20_000
"""Keys with their refusals, a few megabytes: a client can make up keys."""


class PlanMemory:
    """Refusals of calls that toolfold sent on its own account. Safe to use from many threads.

    Args:
        monotonic: the clock.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._refusals: TTLCache[tuple[str, str, str, str], tuple[str, str]] = TTLCache(
            _MAX_REFUSALS, _REMEMBERED_S, monotonic
        )
        self._lock = threading.Lock()

    @contextmanager
    def trying(self, request: Request, added: Mapping[str, Any]) -> Iterator[None]:
        """Raise what an equal try was refused with, and store with what this one is.

        Args:
            request: the call that is about to be performed.
            added: those of its arguments that toolfold added; empty: the call is the caller's, and always performed.

        Raises:
            PremiumOnly: a call of this tool with this key and these added arguments was refused within the last hour.
        """
        if not added:
            yield
            return
        key = request.source.id, request.key_id, request.tool.name, repr(sorted(added.items()))
        with self._lock:
            refusal = self._refusals.get(key)
        if refusal is not None:
            raise PremiumOnly(*refusal)
        try:
            yield
        except PremiumOnly as error:
            with self._lock:
                self._refusals[key] = (error.message, error.suggestion)
            raise
