"""One call from start to end: look up, check, find the key, send, read the reply.

A :class:`Caller` is made once per process and holds no state between calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolfold.calling import keys, validate
from toolfold.errors import InvalidArguments

if TYPE_CHECKING:
    from toolfold.backends.http_api import Reply
    from toolfold.catalog.model import Catalog, Source, Tool
    from toolfold.results.shape import Answer
    from toolfold.settings import Settings

Backend = Callable[["Source", "Tool", Mapping[str, Any], str, "Settings"], "Reply"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Performs calls with the settings it was made with."""

    settings: Settings

    def call(
        self, catalog: Catalog, tool: Tool, arguments: Mapping[str, Any], presented: keys.Presented = keys.NOTHING
    ) -> Answer:
        """Perform one call.

        Args:
            arguments: as the model sent them; checked here, before anything is sent.
            presented: the keys that came with the request.

        Raises:
            CallError: every way in which a call can fail; see ``errors``.
        """
        checked, problems = validate.check(tool.parameters, tool.call, arguments)
        if problems:
            raise _invalid(tool, problems)
        source = catalog.source(tool.source)
        key = keys.find(source, presented)
        reply = _backend(source.backend)(source, tool, checked, key, self.settings)
        from toolfold.calling import faults

        return faults.read(source, tool, checked, reply, key)


def _invalid(tool: Tool, problems: list[validate.Problem]) -> InvalidArguments:
    first = problems[0]
    more = f" ({len(problems) - 1} more in problems)" if len(problems) > 1 else ""
    return InvalidArguments(
        f"{tool.name}: {first['parameter']} {first['problem']}; expected {first['expected']}{more}.",
        "Correct the arguments by the schema and call again; nothing was sent.",
        problems=problems,
        schema=tool.parameters,
    )


def _backend(kind: str) -> Backend:
    # Imported on the first call, so that listing and describing tools never pays for it.
    from toolfold.backends import http_api

    return {"http_api": http_api.call}[kind]
