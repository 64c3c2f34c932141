"""Call the meta-tools from Python."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolfold.client.channels import HttpChannel, StdioChannel
from toolfold.errors import CALL_ERRORS, CallError


@dataclass(frozen=True)
class Answer:
    """The answer of a meta-tool.

    Attributes:
        text: What a model reads.
        structured: The same for a program; its keys are documented with each meta-tool.
        blocks: Further content blocks of MCP: images, audio, resources, further text.
    """

    text: str
    structured: Mapping[str, Any] = field(repr=False)
    blocks: Sequence[Mapping[str, Any]] = field(default=(), repr=False)

    @property
    def result(self) -> Any:
        """The data of a call: a value, or ``{"columns", "rows", "row_count"}`` of a table; None for other answers."""
        return self.structured.get("result")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of a table as objects, of which a single thing is one; with a warning where the answer is a preview.

        Raises:
            ValueError: The answer has several tables: see ``tables``.
        """
        if named := self._named:
            raise ValueError(f"the answer has several tables; choose one of tables: {', '.join(named)}")
        if not isinstance(result := self.result, Mapping):
            return []
        return self._objects(result) if {"columns", "rows"} <= result.keys() else [dict(result)]

    @property
    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of each table of an answer that has several, by its name; with a warning as for ``rows``."""
        return dict(zip(self._named, map(self._objects, self._named.values()), strict=True))  # no frame between

    @property
    def _named(self) -> Mapping[str, Any]:
        named = self.result.get("tables") if isinstance(self.result, Mapping) else None
        return named if isinstance(named, Mapping) else {}

    def _objects(self, table: Mapping[str, Any]) -> list[dict[str, Any]]:
        if self.is_preview:
            warnings.warn("the answer is a preview: a select for less, or a higher max_tokens, has all", stacklevel=3)
        return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools that ``list`` and ``get`` found."""
        return list(self.structured.get("tools", ()))

    @property
    def results(self) -> list[dict[str, Any]]:
        """The parts of a batch or a pipe, each with ``ok`` and ``result`` or ``error``."""
        return list(self.structured.get("results", self.structured.get("steps", ())))

    @property
    def notes(self) -> list[str]:
        """What the answer lacks of what was requested, and what was assumed."""
        return list(self.structured.get("notes", ()))

    @property
    def is_preview(self) -> bool:
        """Whether the answer is shortened to the limit of tokens."""
        return "preview" in self.structured


def to_error(error: Mapping[str, Any]) -> CallError:
    """Return the exception for the ``error`` object of an answer, of the class that has its code."""
    details = {str(key): value for key, value in error.items() if key not in ("code", "message", "suggestion")}
    code, message, suggestion = (str(error.get(key, "")) for key in ("code", "message", "suggestion"))
    found = CALL_ERRORS.get(code, CallError)(message, suggestion, **details)
    if code not in CALL_ERRORS:  # of a newer server
        vars(found)["code"] = code
    return found


class Client:
    """The tools of one toolfold server. Safe to use from many threads; a context manager closes it.

    Methods raise ``CallError`` where a call fails or cannot be made, with the class and code of :mod:`toolfold.errors`,
    and ``ClientError`` where the server cannot be reached.

    Args:
        url: The address of an endpoint; ``stdio`` starts a server of this machine in a child process.
        token: Access token, sent as ``Authorization: Bearer``.
        sign: Region to sign requests for: of a deployment with ``Access=iam`` behind a domain of its own.
        api_key: API key for the source that takes callers' keys, sent as ``X-API-Key``.
        source_keys: Id of a source → API key for it alone.
        profile: Name of an exposure profile: ``url`` then has the path ``/mcp``.
        timeout_s: Seconds to wait for a response.
        command: The program for ``stdio`` and its arguments (default: this package's server).
        environment: Further variables for it.

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
    ) -> None:
        self._channel: StdioChannel | HttpChannel
        if url == "stdio":
            program = command or [sys.executable, "-m", "toolfold", "stdio"]
            options = ["--profile", profile] if profile else []
            self._channel = StdioChannel([*program, *options], environment or {}, timeout_s)
            return
        sent = {f"X-API-Key-{id_.replace('_', '-')}": key for id_, key in (source_keys or {}).items()}
        sent |= {"Authorization": f"Bearer {token}"} if token else {}
        sent |= {"X-API-Key": api_key} if api_key else {}
        address = f"{url.rstrip('/')}/{profile}" if profile else url
        self._channel = HttpChannel(address, sent, timeout_s, sign)

    def list(self, /, query: str | Sequence[str] | None = None, **filters: Any) -> Answer:
        """Find tools, by what is needed or a list with a request for each step: ``TOOL_LIST``. None: all tools.

        Filters are ``category``, ``tag``, ``source``, ``access``, ``limit``, ``offset``, ``token_budget``, ``detail``.
        """
        return self.call_meta_tool("TOOL_LIST", {"query": query, **filters})

    def get(self, *names: str, detail: str | None = None) -> Answer:
        """Describe tools: ``TOOL_GET``, up to twenty at once."""
        return self.call_meta_tool("TOOL_GET", {"tool_name": names[0] if len(names) == 1 else names, "detail": detail})

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
        """
        options = {"select": select, "max_tokens": max_tokens, "fresh": fresh, "approval_token": approval_token}
        given = {"tool_name": tool_name, "arguments": {**(arguments or {}), **named}, **options}
        return self.call_meta_tool("TOOL_CALL_WRITE", given)

    def batch(self, /, calls: Sequence[Mapping[str, Any]], **options: Any) -> Answer:
        """Make several calls in one: ``TOOL_BATCH``. A failed call is part of the answer.

        A call is ``{"tool_name", "arguments", "select", "id"}``, an option ``stop_on_error`` or ``max_parallel``.
        """
        return self.call("TOOL_BATCH", {"calls": [*calls], **options})

    def pipe(self, /, steps: Sequence[Mapping[str, Any]], **options: Any) -> Answer:
        """Make calls that use the results of earlier ones: ``TOOL_PIPE``.

        A step is ``{"tool_name", "arguments", "as"}``; its argument ``{"$ref": "NAME.PATH"}`` is a result of another.
        """
        return self.call("TOOL_PIPE", {"steps": [*steps], **options})

    def script(self, script: str, inputs: Mapping[str, Any] | None = None) -> Answer:
        """Run a script over the tools: ``TOOL_SCRIPT``."""
        return self.call("TOOL_SCRIPT", {"script": script, "inputs": inputs or {}})

    def call_meta_tool(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Call a meta-tool, or a tool by its own name, with its arguments as they are; None leaves one out."""
        given = {key: value for key, value in arguments.items() if value is not None}
        result = self._channel.request("tools/call", {"name": name, "arguments": given})
        content, found = result.get("content"), result.get("structuredContent")
        structured: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
        if result.get("isError") and isinstance(structured.get("error"), Mapping):
            raise to_error(structured["error"])
        blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, Sequence) else []
        first = next((block for block in blocks if block.get("type") == "text"), {})
        return Answer(str(first.get("text", "")), structured, [block for block in blocks if block is not first])

    def definitions(self) -> Sequence[dict[str, Any]]:
        """Return the definitions of ``tools/list``, of all pages."""
        page = self._channel.request("tools/list", {})
        found = [*page.get("tools", ())]
        while cursor := page.get("nextCursor"):
            page = self._channel.request("tools/list", {"cursor": cursor})
            found += page.get("tools", ())
        return found

    def close(self) -> None:
        """Close connections and end the child process."""
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
