"""The meta-tools in the types of the protocol's Python SDK, for each way in which it is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types
from meta_tools import call, definitions

TOOLS = [types.Tool.model_validate(definition) for definition in definitions.values()]


def answer(name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
    """Return the result of the meta-tool called ``name``."""
    result = call(name, arguments)
    content = [types.TextContent(type="text", text=result.text)]
    return types.CallToolResult(content=content, structured_content=dict(result.structured), is_error=result.is_error)
