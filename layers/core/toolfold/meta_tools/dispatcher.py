"""From a meta-tool's name to its result. Every failure becomes a result here; nothing is raised past this point."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolfold.errors import CallError, InternalError
from toolfold.execution.credentials import NO_CREDENTIALS, RequestCredentials
from toolfold.meta_tools.definitions import definitions, instructions
from toolfold.meta_tools.result import Result, error_result

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.execution.executor import ToolExecutor

logger = logging.getLogger("toolfold")

NAMES = ("TOOL_LIST", "TOOL_GET", "TOOL_CALL")


class MetaTools:
    """The three meta-tools over a catalog that is asked for at every call, so that it can change or be missing."""

    def __init__(self, catalog: Callable[[], Catalog], caller: ToolExecutor) -> None:
        self.catalog, self.caller = catalog, caller

    def definitions(self) -> list[dict[str, Any]]:
        """The three tools of ``tools/list``."""
        return definitions(self._catalog_if_any())

    def instructions(self) -> str:
        """What a client is told when it connects."""
        return instructions(self._catalog_if_any())

    def _catalog_if_any(self) -> Catalog | None:
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
    ) -> Result:
        """Call the meta-tool ``name``, one of :data:`NAMES`.

        ``deadline`` is when the answer must be there, by ``time.monotonic``; None: the settings alone decide.
        """
        try:
            catalog = self.catalog()
            # Each is imported when it is first called: a cold start pays for what it is asked.
            if name == "TOOL_LIST":
                from toolfold.meta_tools.tool_list import tool_list

                return tool_list(catalog, arguments)
            if name == "TOOL_GET":
                from toolfold.meta_tools.tool_get import tool_get

                return tool_get(catalog, arguments)
            from toolfold.meta_tools.tool_call import tool_call

            return tool_call(catalog, self.caller, arguments, credentials, deadline)
        except CallError as error:
            return error_result(error)
        except Exception as error:  # noqa: BLE001 - a defect of ours must not take the server down
            # The type and place alone: an exception's text may hold an address with a key in it.
            logger.error("defect in %s: %s at %s", name, type(error).__name__, _place(error))
            return error_result(
                InternalError("toolfold failed on this call.", "Try again; if it fails again, report it.")
            )


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "?" if trace is None else f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
