"""MCP Apps, ``io.modelcontextprotocol/ui`` (SEP-1865): an answer as chart and table, in the window of a client.

One resource, which ``make ui`` builds from ``web/src/mcp-app``. It is listed, and named by the tools whose answers it
shows, for clients that declare the extension. What a model reads is the same for all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from toolfold.catalog.entries import RESERVED_NAMES
from toolfold.meta_tools.result import dumps_compact
from toolfold.protocol import versions
from toolfold.protocol.jsonrpc import JsonRpcError, JsonText, Message

FILE = Path(__file__).parents[1] / "explorer/static/answer.html"
"""Without a build there is no such file, and clients see what others do."""

_UI: Mapping[str, Any] = {"ui": {"prefersBorder": True, "permissions": {"clipboardWrite": {}}}}
"""Without ``csp``, clients allow no connection to any host."""

_RESOURCE: Mapping[str, Any] = {
    "uri": versions.APP_URI,
    "name": "answer",
    "title": "Answer as chart and table",
    "mimeType": versions.APP_TYPE,
    "_meta": _UI,
}

_NOT_SHOWN = frozenset(RESERVED_NAMES) - {"TOOL_CALL"} | {"request_tools", "read_skill", "search", "fetch"}
"""Tools whose answers are no data of one call."""


def read(*, stateless: bool) -> dict[str, Any]:
    """Return the result of ``resources/read`` for the app.

    Raises:
        JsonRpcError: it is not built.
    """
    if not FILE.is_file():
        code, data = versions.RESOURCE_NOT_FOUND[stateless], {"uri": versions.APP_URI}
        raise JsonRpcError(code, "The app is not built: `make ui` builds it.", data)
    text = FILE.read_text(encoding="utf-8")
    contents = {"uri": versions.APP_URI, "mimeType": versions.APP_TYPE, "text": text, "_meta": _UI}
    return {"contents": [contents]}


def add_to(message: Message, result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the result of a method with what a client that shows apps gets in addition."""
    add = _ADDING.get(message.method)
    return result if add is None or not FILE.is_file() else add(message, result)


def _capability(message: Message, result: Mapping[str, Any]) -> dict[str, Any]:
    capabilities = result["capabilities"]
    extensions = {**capabilities.get("extensions", {}), versions.APPS: {}}
    return {**result, "capabilities": {"resources": {}, **capabilities, "extensions": extensions}}


def _tools(message: Message, result: Mapping[str, Any]) -> dict[str, Any]:
    tools = json.loads(result["tools"])
    for tool in tools:
        if tool["name"] not in _NOT_SHOWN:
            tool["_meta"] = {**tool.get("_meta", {}), "ui": {"resourceUri": versions.APP_URI}}
    return {**result, "tools": JsonText(dumps_compact(tools).encode()), **_private(result)}


def _resources(message: Message, result: Mapping[str, Any]) -> dict[str, Any]:
    own = [] if message.params.get("cursor") else [_RESOURCE]
    return {**result, "resources": [*own, *result["resources"]], **_private(result)}


def _private(result: Mapping[str, Any]) -> dict[str, str]:
    """Return the hint that keeps the result out of caches which other clients share."""
    return {"cacheScope": "private"} if "cacheScope" in result else {}


_ADDING: Mapping[str, Callable[[Message, Mapping[str, Any]], dict[str, Any]]] = {
    "initialize": _capability,
    "server/discover": _capability,
    "tools/list": _tools,
    "resources/list": _resources,
}
