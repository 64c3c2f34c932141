"""MCP over HTTP and over single JSON-RPC messages, as pure functions: a request in, a response out, no I/O.

``http`` checks requests, ``jsonrpc`` decodes and encodes messages, ``versions`` has the tables of both protocol eras,
``mcp`` has the methods.
"""
