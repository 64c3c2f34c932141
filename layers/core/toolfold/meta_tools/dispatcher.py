"""Dispatch a meta-tool by name. Every failure becomes a result here; no exception leaves this module."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolfold.errors import CallError, InternalError, InvalidArguments
from toolfold.execution.credentials import NO_CREDENTIALS, RequestCredentials
from toolfold.meta_tools.definitions import definitions, instructions
from toolfold.meta_tools.result import Result, error_result

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.execution.executor import ToolExecutor

logger = logging.getLogger("toolfold")

NAMES = ("TOOL_LIST", "TOOL_GET", "TOOL_CALL")


class MetaTools:
    """The three meta-tools.

    Args:
        catalog: returns the current catalog. It is called for every request, so that the catalog can change or be
            missing for a while.
        executor: performs the calls.
    """

    def __init__(self, catalog: Callable[[], Catalog], executor: ToolExecutor) -> None:
        self.catalog, self.executor = catalog, executor
        # One at a time: two together would take twice the memory, and as long as in turn, with one thread running.
        self._large_answer_turns = threading.Semaphore(1)

    def definitions(self) -> list[dict[str, Any]]:
        """Return the three tools for ``tools/list``."""
        return definitions(self._catalog_or_none())

    def instructions(self) -> str:
        """Return the instructions for a client that connects."""
        return instructions(self._catalog_or_none())

    def _catalog_or_none(self) -> Catalog | None:
        try:
            return self.catalog()
        except CallError:
            return None

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        credentials: RequestCredentials = NO_CREDENTIALS,
        deadline: float | None = None,
        *,
        whole: bool = False,
    ) -> Result:
        """Call a meta-tool.

        Args:
            name: one of :data:`NAMES`.
            arguments: as the client sent them.
            credentials: the API keys of the request.
            deadline: ``time.monotonic()`` at which the answer must be complete; None: the time-outs of the settings.
            whole: whether TOOL_CALL returns the whole answer, however long it is: for a person and for files.
        """
        try:
            _check_unicode(name, arguments)
            catalog = self.catalog()
            # Imported by the first call: a cold start waits only for what its request needs.
            if name == "TOOL_LIST":
                from toolfold.meta_tools.tool_list import tool_list

                return tool_list(catalog, arguments)
            if name == "TOOL_GET":
                from toolfold.meta_tools.tool_get import tool_get

                return tool_get(catalog, arguments)
            from toolfold.meta_tools.tool_call import tool_call

            turns = self._large_answer_turns
            return tool_call(catalog, self.executor, arguments, credentials, turns, deadline, whole=whole)
        except CallError as error:
            return error_result(error)
        except Exception as error:  # noqa: BLE001 - an internal error must not end the server
            # Only the type and the place: an exception's text may contain a URL with an API key.
            logger.error("defect in %s: %s at %s", name, type(error).__name__, _origin(error))
            return error_result(
                InternalError("toolfold failed on this call.", "Try again; if it fails again, report it.")
            )


def _check_unicode(name: str, arguments: Mapping[str, Any]) -> None:
    """Raise an error for half of a surrogate pair, anywhere in the arguments: it can be neither sent nor repeated.

    Raises:
        InvalidArguments: the arguments have one.
    """
    try:
        json.dumps(arguments, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidArguments(
            f"{name}: the arguments have a surrogate without its pair, which is not valid Unicode.",
            "Send the character as one escape sequence of two, or leave it out; nothing was sent.",
        ) from None
    except (ValueError, RecursionError):
        pass  # reported where the value is used


def _origin(error: BaseException) -> str:
    """Return function and line in which the exception was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "?" if trace is None else f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
