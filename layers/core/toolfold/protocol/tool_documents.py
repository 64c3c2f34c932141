"""``GET /tools/NAME``: what TOOL_GET says of a tool, for programs and people without an MCP client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import unquote

from toolfold.errors import CatalogUnavailable
from toolfold.meta_tools.tool_get import full
from toolfold.protocol.http import TOOLS_PATH, Request, Response, error_response
from toolfold.protocol.public_documents import cached_response

if TYPE_CHECKING:
    from toolfold.meta_tools.dispatcher import MetaTools


def describe_tool(request: Request, tools: MetaTools) -> Response:
    """Return the description of the tool that the path names, in words; its data where the path ends in ``.json``.

    The entity tag is the hash of the tool. Who may call TOOL_GET may read it.

    Raises:
        InsufficientScope: the access token of the caller does not allow it.
    """
    name = unquote(request.path.rpartition(TOOLS_PATH)[2])
    result = tools.call("TOOL_GET", {"tool_name": [name.removesuffix(".json")]}, request.credentials())
    entry = {"found": False, **result.structured} if result.is_error else result.structured["tools"][0]
    if not entry["found"]:
        error = entry["error"]
        status = 503 if error["code"] == CatalogUnavailable.code else 404
        return error_response(status, f"{error['message']} {error['suggestion']}")
    tool = None if name.endswith(".json") else tools.catalog().get(entry["name"])
    text, media_type = (json.dumps(entry), "application/json") if tool is None else (full(tool)[1], "text/plain")
    if tool is not None and not entry["callable"]:
        text += "\nIt cannot be called here."
    kept = ("cache-control", "private, no-cache")
    return cached_response(request, f"{media_type}; charset=utf-8", text.encode(), entry["hash"], kept)
