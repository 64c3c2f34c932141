"""Call the meta-tools from Python.

The client for asyncio: each method of :class:`toolfold.client.client.Client` as a coroutine, in a thread.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from toolfold.client.answers import Answer, to_error
from toolfold.client.channels import OWN_COMMAND, HttpChannel, StdioChannel

_EXECUTOR = "TOOL_CALL_WRITE"
"""The meta-tool that calls tools. ``TOOL_CALL`` is for the allow-lists of clients with a model: it only reads."""


class Client:
    """The tools of one toolfold server. Safe to use from many threads; a context manager closes it.

    Args:
        url: The address of an endpoint, such as ``https://example.com/mcp``; ``stdio`` starts a server of this machine
            in a child process.
        token: Access token, sent as ``Authorization: Bearer``.
        sign: Region of a deployment with ``Access=iam`` behind a domain of its own: requests are signed (SigV4) with
            the credentials that the AWS tools find. An address of API Gateway needs no region; see its 403.
        api_key: API key for the source that takes callers' keys, sent as ``X-API-Key``.
        source_keys: Id of a source → API key for it alone.
        profile: Name of an exposure profile: ``url`` then has the path ``/mcp``.
        timeout_s: Seconds to wait for a response.
        command: The program for ``stdio`` and its arguments (default: this package's server).
        environment: Further variables for it.
        headers: Further headers over HTTP.

    Raises:
        ClientError: The address cannot be used, or the program cannot be started.

    Example:
        >>> with Client("https://example.com/mcp", api_key=key) as client:  # doctest: +SKIP
        ...     client.call("GLOBAL_QUOTE", symbol="AAPL").result["price"]
    """

    def __init__(
        self,
        url: str = "stdio",
        *,
        token: str = "",
        sign: str = "",
        api_key: str = "",
        source_keys: Mapping[str, str] | None = None,
        profile: str = "",
        timeout_s: float = 60.0,
        command: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._channel: StdioChannel | HttpChannel
        if url == "stdio":
            own = [*(command or OWN_COMMAND), *(["--profile", profile] if profile else [])]
            self._channel = StdioChannel(own, environment, timeout_s)
            return
        sent = dict(headers or {})
        if token:
            sent["Authorization"] = f"Bearer {token}"
        if api_key:
            sent["X-API-Key"] = api_key
        sent |= {f"X-API-Key-{id_.replace('_', '-')}": key for id_, key in (source_keys or {}).items()}
        address = f"{url.rstrip('/')}/{profile}" if profile else url
        self._channel = HttpChannel(address, sent, timeout_s, sign)

    def list(self, /, query: str | Sequence[str] | None = None, **filters: Any) -> Answer:
        """Find tools: ``TOOL_LIST``.

        Args:
            query: What is needed, or a list with a request for each step; None: all tools.
            filters: ``category``, ``tag``, ``source``, ``access``, ``limit``, ``offset``, ``token_budget``, ``detail``.

        Raises:
            CallError: An argument cannot be used.
            ClientError: The server cannot be reached.
        """
        request = query if query is None or isinstance(query, str) else [*query]
        return self.call_meta_tool("TOOL_LIST", {"query": request, **filters})

    def get(self, *names: str, detail: str | None = None) -> Answer:
        """Describe tools: ``TOOL_GET``, up to twenty at once.

        Raises:
            CallError: There is no such tool.
            ClientError: The server cannot be reached.
        """
        return self.call_meta_tool(
            "TOOL_GET", {"tool_name": names[0] if len(names) == 1 else [*names], "detail": detail}
        )

    def call(
        self,
        /,
        tool_name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        select: str | None = None,
        max_tokens: int | None = None,
        fresh: bool | None = None,
        approval_token: str | None = None,
        **named: Any,
    ) -> Answer:
        """Call a tool, which may change data: ``TOOL_CALL_WRITE``, which every catalog has.

        Args:
            tool_name: Its name.
            arguments: Its arguments, where a name of one is not a word of Python or is an argument of this method.
            select: A part of the answer.
            max_tokens: Limit of the answer; beyond it there is a preview.
            fresh: Whether to ask the source even if the answer is cached.
            approval_token: From :class:`toolfold.errors.ApprovalRequired`, once the call is approved.
            named: Its arguments by name.

        Raises:
            CallError: The call failed, with the class and code of :mod:`toolfold.errors`.
            ClientError: The server cannot be reached.
        """
        options = {"select": select, "max_tokens": max_tokens, "fresh": fresh, "approval_token": approval_token}
        given = {"tool_name": tool_name, "arguments": {**(arguments or {}), **named}, **options}
        return self.call_meta_tool(_EXECUTOR, given)

    def batch(self, /, calls: Sequence[Mapping[str, Any]], **options: Any) -> Answer:
        """Make several calls in one: ``TOOL_BATCH``.

        Args:
            calls: ``{"tool_name", "arguments", "select", "id"}`` each.
            options: ``stop_on_error``, ``max_parallel``, ``max_tokens``.

        Raises:
            CallError: The batch cannot be read. A failed call is part of the answer.
            ClientError: The server cannot be reached.
        """
        return self._combine("TOOL_BATCH", {"calls": [dict(call) for call in calls], **options})

    def pipe(self, /, steps: Sequence[Mapping[str, Any]], **options: Any) -> Answer:
        """Make calls that use the results of earlier ones: ``TOOL_PIPE``.

        Args:
            steps: ``{"tool_name", "arguments", "as"}`` each; an argument ``{"$ref": "step.path"}`` is a result.
            options: ``return`` and others, as in its reference.

        Raises:
            CallError: The steps cannot be read, or one of them failed.
            ClientError: The server cannot be reached.
        """
        return self._combine("TOOL_PIPE", {"steps": [dict(step) for step in steps], **options})

    def script(self, script: str, inputs: Mapping[str, Any] | None = None) -> Answer:
        """Run a script over the tools: ``TOOL_SCRIPT``.

        Raises:
            CallError: The script is wrong, or reached a limit.
            ClientError: The server cannot be reached.
        """
        return self._combine("TOOL_SCRIPT", {"script": script, "inputs": inputs})

    def call_meta_tool(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Call a meta-tool, or a tool by its own name, with its arguments as they are; None leaves one out.

        Raises:
            CallError: It failed.
            ClientError: The server cannot be reached.
        """
        given = {key: value for key, value in arguments.items() if value is not None}
        result = self._channel.request("tools/call", {"name": name, "arguments": given})
        structured = result.get("structuredContent")
        structured = structured if isinstance(structured, Mapping) else {}
        if result.get("isError") and isinstance(structured.get("error"), Mapping):
            raise to_error(structured["error"])
        content = result.get("content")
        blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, Sequence) else []
        first = next((block for block in blocks if block.get("type") == "text"), {})
        return Answer(str(first.get("text", "")), structured, [block for block in blocks if block is not first])

    def definitions(self) -> Sequence[dict[str, Any]]:
        """Return the definitions of ``tools/list``, of all pages.

        Raises:
            ClientError: The server cannot be reached.
        """
        found: Sequence[dict[str, Any]] = ()
        cursor: dict[str, Any] = {}
        while True:
            page = self._channel.request("tools/list", cursor)
            found = [*found, *page.get("tools", ())]
            if not page.get("nextCursor"):
                return found
            cursor = {"cursor": page["nextCursor"]}

    def close(self) -> None:
        """Close connections and end the child process."""
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _combine(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Call one of the meta-tools that ``/mcp`` does not list, through the executor, which every profile has."""
        given = {key: value for key, value in arguments.items() if value is not None}
        return self.call_meta_tool(_EXECUTOR, {"tool_name": name, "arguments": given})


P = ParamSpec("P")
R = TypeVar("R")


def _in_thread(
    method: Callable[Concatenate[Client, P], R],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, R]]:
    """Return a method of a client as one that is awaited."""

    @functools.wraps(method)
    async def run(client: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, client._client, *args, **kwargs)

    return run


class AsyncClient:
    """The tools of one toolfold server, for asyncio. An async context manager closes it.

    Arguments, results and errors are those of :class:`toolfold.client.client.Client`. A coroutine that is cancelled
    stops waiting; the request itself ends at its time-out.
    """

    def __init__(self, url: str = "stdio", **options: Any) -> None:
        self._client = Client(url, **options)

    list = _in_thread(Client.list)
    get = _in_thread(Client.get)
    call = _in_thread(Client.call)
    batch = _in_thread(Client.batch)
    pipe = _in_thread(Client.pipe)
    script = _in_thread(Client.script)
    call_meta_tool = _in_thread(Client.call_meta_tool)
    definitions = _in_thread(Client.definitions)
    close = _in_thread(Client.close)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
