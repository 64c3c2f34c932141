"""A call of a meta-tool in the documented form, and what performs it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.execution.executor import ToolExecutor
    from toolfold.scripts.interpreter import Interpreter

__all__ = ["MetaRequest"]


class MetaRequest(NamedTuple):
    """What the function of a meta-tool gets.

    Attributes:
        catalog: the current catalog.
        executor: performs calls.
        arguments: of the meta-tool.
        credentials: the API keys of the request.
        turns: how many large answers are shaped at the same time.
        deadline: ``time.monotonic()`` at which the answer must be complete; None: the time-outs of the settings.
        whole: whether the answer is for a person or a file, and complete.
        interpreter: returns what runs scripts.
        switched_off: tools that combine several calls, and that cannot be called here.
    """

    catalog: Catalog
    executor: ToolExecutor
    arguments: Mapping[str, Any]
    credentials: RequestCredentials
    turns: threading.Semaphore
    deadline: float | None
    whole: bool
    interpreter: Callable[[], Interpreter]
    switched_off: frozenset[str] = frozenset()
