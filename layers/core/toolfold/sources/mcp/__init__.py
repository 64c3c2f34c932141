"""Other MCP servers as sources: over HTTP, or as child processes over stdio.

``adapter`` is what the executor calls; ``sessions`` keeps connections in an event loop of its own (``event_loop``);
``child_process`` and ``sse_transport`` are transports of the SDK's client, ``http_transport`` is the HTTP below those
of servers with a URL, with the limits of this process.
The package ``mcp`` (the extra ``toolfold[mcp]``) is imported by the first call. May import ``sources.base``,
``sources.errors``, ``sources.http_api`` and what those may.
"""

__all__ = [
    "adapter",
    "answers",
    "child_process",
    "client",
    "connection",
    "event_loop",
    "exchange",
    "faults",
    "fingerprint",
    "http_transport",
    "keys",
    "listing",
    "refusals",
    "session",
    "sessions",
    "sse_transport",
    "subscription",
]
