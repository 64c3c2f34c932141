"""The meta-tools on FastMCP, stateless, with JSON answers, in Lambda by way of Mangum.

FastMCP's way for stateless hosts: https://gofastmcp.com/deployment/http. Its app makes a session manager for each
lifespan, and Mangum runs one for each invocation, so that one app serves them all.
"""

from __future__ import annotations

from fastmcp_tools import make_server
from mangum import Mangum

# Not in a thread: Lambda sends one request at a time, and nothing else waits.
server = make_server(in_thread=False, cache_ttl=3600, cache_scope="public")

handler = Mangum(server.http_app(path="/mcp", stateless_http=True, json_response=True))
