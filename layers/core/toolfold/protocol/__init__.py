"""MCP over HTTP and over single JSON-RPC messages, as pure functions: a request in, a response out, no I/O."""
