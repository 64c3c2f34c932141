"""Requests as MCP clients send them, in both protocol eras."""

import json
from collections.abc import Mapping
from typing import Any

from toolfold.protocol.http import Request

STATELESS = "2026-07-28"


def message(method: str, params: dict[str, Any] | None = None, id_: Any = 1) -> dict[str, Any]:
    """Return a JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}}


def tool_call(tool: str, arguments: Mapping[str, Any], id_: Any = 1, **more: Any) -> dict[str, Any]:
    """Return a call of a tool through TOOL_CALL; ``more`` are further params."""
    given = {"tool_name": tool, "arguments": arguments}
    return message("tools/call", {"name": "TOOL_CALL", "arguments": given, **more}, id_)


def request(body: Any, method: str = "POST", **headers: str) -> Request:
    """Return an HTTP request; ``_`` in header names becomes ``-``, and an empty value removes a header."""
    named = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    named.update({name.replace("_", "-"): value for name, value in headers.items()})
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Request(method, tuple((name, value) for name, value in named.items() if value != ""), content)


def stateless(method: str, params: dict[str, Any] | None = None, **headers: str) -> Request:
    """Return a valid request of 2026-07-28, with ``headers`` in place of its own."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    whole = {"_meta": meta, **(params or {})}
    sent = {"mcp_protocol_version": STATELESS, "mcp_method": method}
    if "name" in whole:
        sent["mcp_name"] = whole["name"]
    return request(message(method, whole), **{**sent, **headers})
