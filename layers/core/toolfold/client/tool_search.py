"""Let a model find tools with the tool search of its own API, and call them.

Two conventions, both of 2026: with Anthropic's, the request has every definition marked ``defer_loading``, and a search
answers with references to some of them; with OpenAI's, a search that the client performs answers with definitions. In
both the model sees the definitions that a search found, and no others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolfold.client.client import Client
from toolfold.errors import CallError

SEARCH_NAME = "search_tools"
DEFAULT_TOOLS = 5
"""Tools that a search loads. Each has some hundred tokens."""

_PAGE, _AT_ONCE = 200, 20
_QUERY = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "What is needed, in a few English words"}},
    "required": ["query"],
}


class _ToolSearch:
    """What both conventions share.

    Args:
        client: The client of the server with the tools.
        most: Tools that a search loads.
        about: What the tools are about, for the description of the search.
    """

    def __init__(self, client: Client, *, most: int = DEFAULT_TOOLS, about: str = "") -> None:
        self.client, self._most = client, most
        self._description = f"Find tools by what they return{f': {about}' if about else ''}. Loads the best matches."

    def search(self, query: str) -> list[str]:
        """Return the names of the tools that match, best first."""
        return [str(tool["name"]) for tool in self.client.list(query, limit=self._most, detail="minimal").tools]

    def _described(self, names: Iterable[str]) -> list[dict[str, Any]]:
        wanted = list(names)
        found: list[dict[str, Any]] = []
        for start in range(0, len(wanted), _AT_ONCE):
            found += self.client.get(*wanted[start : start + _AT_ONCE]).tools
        return found

    def _result(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        try:
            return self.client.call(name, arguments).text, False
        except CallError as error:
            return json.dumps({"error": error.as_dict()}, ensure_ascii=False), True

    def _names(self, query: Any) -> tuple[list[str], str]:
        """Return the tools that match, and the text of the error where nothing can be searched."""
        try:
            return self.search(query if isinstance(query, str) else str(query or "")), ""
        except CallError as error:
            return [], json.dumps({"error": error.as_dict()}, ensure_ascii=False)


class AnthropicToolSearch(_ToolSearch):
    """Tool search of Anthropic's Messages API with ``defer_loading`` and ``tool_reference``.

    Example:
        >>> search = AnthropicToolSearch(client)  # doctest: +SKIP
        ... tools = search.tools()
        ... message = anthropic.messages.create(model=…, tools=tools, messages=messages, max_tokens=1024)
        ... messages.append({"role": "user", "content": search.answer(message.content)})
    """

    def tools(self, **filters: Any) -> list[dict[str, Any]]:
        """Return the ``tools`` of a request: the search, and every other definition deferred.

        Args:
            filters: Which tools, as in :meth:`Client.list`: ``source``, ``category``, ``tag``, ``access``.
        """
        names, offset = list[str](), 0
        while True:
            page = self.client.list(limit=_PAGE, offset=offset, token_budget=100_000, detail="minimal", **filters)
            names += [str(tool["name"]) for tool in page.tools]
            more = page.structured.get("more")
            if not more:
                break
            offset = more["offset"]
        search = {"name": SEARCH_NAME, "description": self._description, "input_schema": _QUERY}
        return [search, *(_definition(tool, "input_schema") for tool in self._described(names))]

    def answer(self, content: Sequence[Any]) -> list[dict[str, Any]]:
        """Return a ``tool_result`` for each ``tool_use`` block in the content of a message.

        A search is answered with ``tool_reference`` blocks, which load the definitions.
        """
        return [self._answer_one(block) for block in map(_as_mapping, content) if block.get("type") == "tool_use"]

    def _answer_one(self, block: Mapping[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": block["id"]}
        given = block.get("input") or {}
        if block["name"] != SEARCH_NAME:
            text, is_error = self._result(str(block["name"]), given)
            return {**result, "content": text, "is_error": is_error}
        names, problem = self._names(given.get("query"))
        if problem or not names:
            text = problem or "No tool matches. Search with other English words."
            return {**result, "content": text, "is_error": bool(problem)}
        return {**result, "content": [{"type": "tool_reference", "tool_name": name} for name in names]}


class OpenAIToolSearch(_ToolSearch):
    """Tool search of OpenAI's Responses API that the client performs: ``tool_search`` with ``execution: client``.

    Example:
        >>> search = OpenAIToolSearch(client)  # doctest: +SKIP
        ... response = openai.responses.create(model=…, tools=search.tools(), input=items)
        ... items += [*response.output, *search.answer(response.output)]
    """

    def tools(self) -> list[dict[str, Any]]:
        """Return the ``tools`` of a request: the search alone. A search loads the others."""
        return [
            {
                "type": "tool_search",
                "execution": "client",
                "description": self._description,
                "parameters": {**_QUERY, "additionalProperties": False},
            }
        ]

    def answer(self, output: Sequence[Any]) -> list[dict[str, Any]]:
        """Return an output item for each search and each function call in the output of a response."""
        answers = []
        for item in map(_as_mapping, output):
            if item.get("type") == "tool_search_call" and item.get("execution", "client") == "client":
                answers.append(self._search_output(item))
            elif item.get("type") == "function_call":
                text, _ = self._result(str(item["name"]), _parsed(item.get("arguments")))
                answers.append({"type": "function_call_output", "call_id": item["call_id"], "output": text})
        return answers

    def _search_output(self, item: Mapping[str, Any]) -> dict[str, Any]:
        names, _ = self._names(_parsed(item.get("arguments")).get("query"))
        return {
            "type": "tool_search_output",
            "call_id": item.get("call_id"),
            "execution": "client",
            "status": "completed",
            "tools": [
                _definition(tool, "parameters", type="function", strict=False) for tool in self._described(names)
            ],
        }


def _definition(tool: Mapping[str, Any], schema: str, **more: Any) -> dict[str, Any]:
    """Return a deferred definition of a tool, whose parameters have the name ``schema``."""
    return {
        **more,
        "name": str(tool["name"]).replace(".", "_"),  # as both APIs allow it; toolfold takes it for a full stop
        "description": str(tool.get("description", "")),
        schema: tool.get("parameters") or {"type": "object", "properties": {}},
        "defer_loading": True,
    }


def _as_mapping(item: Any) -> Mapping[str, Any]:
    """Return an item of a response as a mapping: those of the SDKs are models of pydantic."""
    if isinstance(item, Mapping):
        return item
    dump = getattr(item, "model_dump", None)
    return dump() if callable(dump) else {}


def _parsed(arguments: Any) -> Mapping[str, Any]:
    """Return arguments that may be JSON text; what cannot be read is empty, and the call then says what it lacks."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return {}
    return arguments if isinstance(arguments, Mapping) else {}
