"""The client for asyncio: each method of :class:`toolfold.client.client.Client` as a coroutine, in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from toolfold.client.answers import Answer
from toolfold.client.client import Client

__all__ = ["AsyncClient"]


class AsyncClient:
    """The tools of one toolfold server, for asyncio. An async context manager closes it.

    Arguments, results and errors are those of :class:`toolfold.client.client.Client`. A coroutine that is cancelled
    stops waiting; the request itself ends at its time-out.
    """

    def __init__(self, url: str = "stdio", **options: Any) -> None:
        self._client = Client(url, **options)

    async def list(self, query: str | Sequence[str] | None = None, **filters: Any) -> Answer:
        """Find tools: see :meth:`Client.list`."""
        return await asyncio.to_thread(self._client.list, query, **filters)

    async def get(self, *names: str, detail: str | None = None) -> Answer:
        """Describe tools: see :meth:`Client.get`."""
        return await asyncio.to_thread(self._client.get, *names, detail=detail)

    async def call(self, tool_name: str, arguments: Mapping[str, Any] | None = None, **named: Any) -> Answer:
        """Call a tool: see :meth:`Client.call`."""
        return await asyncio.to_thread(self._client.call, tool_name, arguments, **named)

    async def batch(self, calls: Sequence[Mapping[str, Any]], **options: Any) -> Answer:
        """Make several calls in one: see :meth:`Client.batch`."""
        return await asyncio.to_thread(self._client.batch, calls, **options)

    async def pipe(self, steps: Sequence[Mapping[str, Any]], **options: Any) -> Answer:
        """Make calls that use earlier results: see :meth:`Client.pipe`."""
        return await asyncio.to_thread(self._client.pipe, steps, **options)

    async def script(self, script: str, inputs: Mapping[str, Any] | None = None) -> Answer:
        """Run a script: see :meth:`Client.script`."""
        return await asyncio.to_thread(self._client.script, script, inputs)

    async def call_meta_tool(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Call a meta-tool or a tool by its own name: see :meth:`Client.call_meta_tool`."""
        return await asyncio.to_thread(self._client.call_meta_tool, name, arguments)

    async def definitions(self) -> Sequence[dict[str, Any]]:
        """Return the definitions of ``tools/list``: see :meth:`Client.definitions`."""
        return await asyncio.to_thread(self._client.definitions)

    async def close(self) -> None:
        """Close connections and end the child process."""
        await asyncio.to_thread(self._client.close)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
