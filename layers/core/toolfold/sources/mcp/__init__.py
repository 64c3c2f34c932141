"""Other MCP servers as sources: over HTTP, or as child processes over stdio.

``adapter`` is what the executor calls, in an event loop of its own; ``session`` keeps connections; ``child_process``
and ``http_transport`` are transports of the SDK's client and the HTTP below them, with the limits of this process.
The package ``mcp`` (the extra ``toolfold[mcp]``) is imported by the first call.
"""
