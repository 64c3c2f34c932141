"""The protocol: MCP over HTTP as pure functions, a request in and a response out. No I/O, no framework.

``http`` holds requests, responses and the rules of HTTP; ``jsonrpc`` the envelope; ``versions`` the tables of both
protocol eras; ``mcp`` the methods. May import ``meta_tools``. The types that flow through are
:class:`toolfold.protocol.http.Request` and :class:`toolfold.protocol.http.Response`.
"""
