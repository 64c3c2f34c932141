"""The meta-tools on FastMCP over stdio: https://gofastmcp.com/deployment/running-server."""

from __future__ import annotations

from fastmcp_tools import make_server

if __name__ == "__main__":
    make_server(in_thread=True).run(transport="stdio", show_banner=False)
