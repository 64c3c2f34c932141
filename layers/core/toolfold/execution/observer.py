"""Who watches the requests and calls of a process while they run: the page of ``toolfold ui``.

Without an observer a request costs one more look at an attribute. The log (``call_log``) has what is left of a call
when it has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.execution.call_log import CallLog

__all__ = ["Observer"]


class Observer(Protocol):
    """Is called from many threads, must return at once, and must not raise."""

    def start_request(
        self, name: str, arguments: Mapping[str, Any], profile: str
    ) -> Callable[[Mapping[str, Any]], None]:
        """Note that a call of a meta-tool begins.

        Args:
            name: The meta-tool.
            arguments: As the client sent them.
            profile: The profile of the request; empty: the path without a name.

        Returns:
            What is called with the fields of the log line of the answer: ``error`` and the figures of
            ``meta_tools.usage``.
        """

    def start_call(self, tool: Tool, profile: str) -> Callable[[str], None]:
        """Note that a call of ``tool`` begins, in the thread that performs it.

        Returns:
            What is called with ``OK``, or with the code of the error; with an empty code for a call that was not made,
            because its answer is not in memory.
        """

    def record_call(self, call: CallLog) -> None:
        """Note the log line of a call, in the thread that performs it, before the call ends."""
