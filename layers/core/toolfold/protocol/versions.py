"""What differs between protocol versions, as tables. Source: the MCP specification's revisions up to 2026-07-28."""

from __future__ import annotations

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions that open with ``initialize``, oldest first."""

STATELESS = ("2026-07-28",)
"""Versions in which every request carries its own envelope."""

FALLBACK_VERSION = HANDSHAKE[-1]
"""What ``initialize`` answers to a version that is not served."""


META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_SERVER = "io.modelcontextprotocol/serverInfo"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

STATELESS_STATUS = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    METHOD_NOT_FOUND: 404,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    UNSUPPORTED_VERSION: 400,
}
HANDSHAKE_STATUS = {UNSUPPORTED_VERSION: 400}
"""JSON-RPC error of a request that could be read → HTTP status, where it is not 200. Clients of the handshake versions
take any other status for a broken connection."""

NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods whose ``Mcp-Name`` header mirrors a parameter."""

ROUTING_HEADERS = ("mcp-protocol-version", "mcp-method", "mcp-name")
