"""MCP Apps, ``io.modelcontextprotocol/ui`` (SEP-1865): an answer as chart and table, in the window of a client.

One resource, which ``make ui`` builds from ``web/src/mcp-app``. Every list of tools names it with the tools whose
answers it shows: without sessions, it is not known whether a client of a handshake version shows apps, and one that
shows none ignores ``_meta``. It is not in ``resources/list``, as the extension allows for what tools name.
"""

from __future__ import annotations

import json
import os.path
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from toolfold.catalog.entries import RESERVED_NAMES
from toolfold.meta_tools.result import dumps_compact
from toolfold.protocol import versions
from toolfold.protocol.jsonrpc import JsonRpcError, JsonText

FILE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "explorer", "static", "answer.html")
"""Without a build there is no such file, and no tool names it."""

_URI, _TYPE = versions.APP_URI, "text/html;profile=mcp-app"

_NOT_SHOWN = frozenset(RESERVED_NAMES) - {"TOOL_CALL"} | {"request_tools", "read_skill", "search", "fetch"}
"""Tools whose answers are no data of one call."""


def read(*, stateless: bool) -> dict[str, Any]:
    """Return the result of ``resources/read`` for the app.

    Raises:
        JsonRpcError: it is not built.
    """
    try:
        with open(FILE, encoding="utf-8") as file:
            text = file.read()
    except OSError:
        code, data = versions.RESOURCE_NOT_FOUND[stateless], {"uri": _URI}
        raise JsonRpcError(code, "The app is not built: `make ui` builds it.", data) from None
    # Without "csp", clients allow no connection to any host.
    shown = {"ui": {"prefersBorder": True, "permissions": {"clipboardWrite": {}}}}
    return {"contents": [{"uri": _URI, "mimeType": _TYPE, "text": text, "_meta": shown}]}


def declare(params: Mapping[str, Any], capabilities: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the capabilities of the server for a client that says in ``params`` whether it shows apps in HTML."""
    declared = versions.declared(params, versions.APPS)
    types = declared.get("mimeTypes") if isinstance(declared, dict) else None
    if not isinstance(types, list) or _TYPE not in types or not os.path.exists(FILE):
        return capabilities
    extensions = {**capabilities.get("extensions", {}), versions.APPS: {}}
    return {"resources": {}, **capabilities, "extensions": extensions}


def name_app(tools: bytes) -> JsonText:
    """Return ``tools``, a list in JSON, in which those whose answers the app shows name it."""
    return _with_app(tools) if os.path.exists(FILE) else JsonText(tools)


@lru_cache(maxsize=32)
def _with_app(tools: bytes) -> JsonText:
    listed = json.loads(tools)
    for tool in listed:
        if tool["name"] not in _NOT_SHOWN:
            tool["_meta"] = {**tool.get("_meta", {}), "ui": {"resourceUri": _URI}}
    return JsonText(dumps_compact(listed).encode())
