"""What takes part in each call from outside: middleware of users of the package, and who looks on."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from toolfold.errors import CallError, SettingsError

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.execution.call import CallContext, CallLog, CallResult


class Middleware:
    """What a user of the package does with each call of a tool. A method that is not overridden changes nothing.

    Methods are called in the thread that performs the call, and at the same time for several calls.
    ``TOOLFOLD_MIDDLEWARE`` names the classes; each is made once, without arguments.
    """

    def before(self, call: CallContext) -> None:
        """Check a call before its first step, or replace ``call.arguments``, which are validated afterwards.

        Raises:
            CallError: the call is refused.
        """

    def after(self, call: CallContext, result: CallResult) -> CallResult:
        """Return the result, or another one: ``dataclasses.replace(result, body=…)``. What is cached stays as it is."""
        return result

    def error(self, call: CallContext, error: CallError) -> CallError:
        """Return the error of the call, or another one."""
        return error


def load_middleware(names: Sequence[str]) -> list[Middleware]:
    """Make the middleware that ``TOOLFOLD_MIDDLEWARE`` names.

    Args:
        names: ``module:Class`` of each.

    Raises:
        SettingsError: a name is not that of a class derived from :class:`Middleware`, or it cannot be made.
    """
    made = []
    for name in names:
        module, _, attribute = name.partition(":")
        try:
            one = getattr(importlib.import_module(module), attribute)()
        except Exception as error:
            problem = f"TOOLFOLD_MIDDLEWARE names {name}, which cannot be made: {type(error).__name__}: {error}"
            raise SettingsError(problem) from error
        if not isinstance(one, Middleware):
            raise SettingsError(f"TOOLFOLD_MIDDLEWARE names {name}, which is not derived from toolfold.Middleware.")
        made.append(one)
    return made


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
            ``meta_tools.dispatcher.usage_of``.
        """

    def start_call(self, tool: Tool, profile: str) -> Callable[[str], None]:
        """Note that a call of ``tool`` begins, in the thread that performs it.

        Returns:
            What is called with ``OK``, or with the code of the error; with an empty code for a call that was not made,
            because its answer is not in memory.
        """

    def record_call(self, call: CallLog) -> None:
        """Note the log line of a call, in the thread that performs it, before the call ends."""
