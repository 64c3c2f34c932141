"""Tables of what differs between protocol versions. Source: the MCP specification's revisions up to 2026-07-28."""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from typing import Any

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions that open with ``initialize``, oldest first. It offers the last where the requested one is not served."""

STATELESS = ("2026-07-28",)
"""Versions in which every request carries its own envelope."""

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_SERVER = "io.modelcontextprotocol/serverInfo"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = {False: -32002, True: INVALID_PARAMS}
"""Whether the version is stateless → the error of ``resources/read`` (SEP-2164)."""

HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
URL_ELICITATION_REQUIRED = -32042

TASKS = "io.modelcontextprotocol/tasks"
SKILLS = "io.modelcontextprotocol/skills"
APPS = "io.modelcontextprotocol/ui"
APP_URI, APP_TYPE = "ui://toolfold/answer.html", "text/html;profile=mcp-app"
APP_FILE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "explorer", "static", "answer.html")
"""What ``make ui`` builds. Without a build there is no such file, and no tool names the app."""

TASK_METHODS = ("tasks/get", "tasks/update", "tasks/cancel")

HTTP_STATUS: Mapping[bool, Mapping[int, int]] = {
    False: {UNSUPPORTED_VERSION: 400},
    True: {
        **dict.fromkeys((INVALID_PARAMS, HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION), 400),
        METHOD_NOT_FOUND: 404,
    },
}
"""Whether the version is stateless → JSON-RPC error of a method → HTTP status; of any other error 200. Clients of
handshake versions take any other status for a broken connection."""

NAME_PARAMETER = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    **dict.fromkeys(TASK_METHODS, "taskId"),
}
"""Method → the parameter that its ``Mcp-Name`` header repeats."""

CACHE_HINTS = {"ttlMs": 3_600_000, "cacheScope": "public"}
"""How long a client may cache a result: lists change with a release or a catalog, not with a request."""

CACHEABLE = frozenset(
    {"server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read",
     "skills/list", "skills/get"}
)  # fmt: skip
"""Stateless methods whose results have these hints."""


def capabilities(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a client says that it can do, in its envelope or its ``initialize``."""
    meta = params.get("_meta")
    in_envelope = meta.get(META_CAPABILITIES) if isinstance(meta, dict) else None
    found = params.get("capabilities") if in_envelope is None else in_envelope
    return found if isinstance(found, dict) else {}


def declared(params: Mapping[str, Any], extension: str) -> Any:
    """Return what a client says of an extension; None where it says nothing."""
    extensions = capabilities(params).get("extensions")
    return extensions.get(extension) if isinstance(extensions, dict) else None


def elicits(params: Mapping[str, Any], mode: str) -> bool:
    """Return whether a client shows forms to its user (``form``) or opens links (``url``)."""
    found = capabilities(params).get("elicitation")
    return isinstance(found, dict) and (mode in found or (mode == "form" and not found))  # alone it means forms
