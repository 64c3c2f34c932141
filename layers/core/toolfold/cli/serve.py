"""``toolfold serve``: an MCP server over HTTP.

``toolfold stdio``: an MCP server on stdin and stdout.
"""

from __future__ import annotations

import argparse
import errno
import socket
import sys
from typing import TYPE_CHECKING

from toolfold.cache.factory import check_cache_file
from toolfold.catalog.start_check import check_catalog
from toolfold.cli.argument_parser import listen, port_number
from toolfold.errors import SettingsError, ToolfoldError
from toolfold.execution.audit import check_audit_setting
from toolfold.network.ssrf import is_loopback_name
from toolfold.settings import Settings
from toolfold.settings.model import open_keys
from toolfold.transports import stdio

if TYPE_CHECKING:
    from toolfold.explorer.local_page import LocalPage
    from toolfold.transports.local_http.server import LocalServer  # needs the extra serve

_STDIO_EXAMPLES = """examples:
  toolfold install claude-desktop                 let an MCP client start this command; also claude-code, cursor, vscode
  toolfold install cursor --print                 the entry for the configuration of any other client
  toolfold stdio --profile grouped                other tools in tools/list; `toolfold profiles list` names them
  echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | toolfold stdio
"""


def add_stdio_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "stdio",
        description="Serve MCP on stdin and stdout, one JSON-RPC message per line, until stdin ends. Messages for "
        "people go to stderr. An MCP client starts this command itself: docs/how-to/connect-a-client.md.",
        epilog=_STDIO_EXAMPLES,
    )
    parser.add_argument("--profile", metavar="NAME", default="", help="the profile whose tools are exposed")
    parser.set_defaults(run=run_stdio)


def run_stdio(options: argparse.Namespace) -> int:
    """Serve until stdin ends."""
    return stdio.main(options.profile)


_EXAMPLES = """examples:
  toolfold serve                                  MCP at http://127.0.0.1:8080/mcp
  toolfold serve --port 0                         any free port; the URL is printed
  toolfold serve --host 192.0.2.7                 for other machines; see TOOLFOLD_ANYONE_MAY_USE_THE_KEY
  curl -s http://127.0.0.1:8080/health            version and catalog of the server
  curl -s http://127.0.0.1:8080/mcp -H 'content-type: application/json' \\
      -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

A client that takes a URL is given http://127.0.0.1:8080/mcp; docs/how-to/connect-a-client.md.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "serve",
        description="Serve MCP at http://127.0.0.1:PORT/mcp until interrupted. Requests become API Gateway events, "
        "which the Lambda handler answers. Only this machine can connect, unless --host says otherwise.",
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on, and name to answer to (default 127.0.0.1)"
    )
    parser.add_argument("--port", type=port_number, default=8080, help="port to listen on (default 8080; 0: any free)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve until interrupted; return 0 after the requests in flight are answered."""
    settings = check_settings(options.host)
    server = start_server(settings, options.host, options.port)
    print(f"toolfold serves MCP at {server.url} (stop with Ctrl-C)", file=sys.stderr, flush=True)
    server.serve_forever()
    return 0


def check_settings(host: str) -> Settings:
    """Return the settings of a server that listens on ``host``.

    Raises:
        ToolfoldError: they cannot work, or would let every caller use a key.
    """
    settings = Settings.from_environment()
    for name in [] if is_loopback_name(host) else open_keys(settings):
        raise SettingsError(
            f"Anyone who reaches this server would use the key in {name}. Remove it, so that callers send their "
            "own, set TOOLFOLD_OAUTH_ISSUER, or confirm it with TOOLFOLD_ANYONE_MAY_USE_THE_KEY=true."
        )
    check_cache_file(settings)
    check_audit_setting(settings)
    check_catalog(settings)
    return settings


def start_server(
    settings: Settings, host: str, port: int, page: LocalPage | None = None, hint: str = ""
) -> LocalServer:
    """Return a server that listens; ``hint`` says what helps where the port is taken.

    Raises:
        ToolfoldError: the address or the port cannot be used.
    """
    from toolfold.transports.local_http.server import LocalServer

    def start() -> LocalServer:
        try:
            return LocalServer(settings, host, port, page)
        except OSError as error:
            if isinstance(error, socket.gaierror) or error.errno in (errno.EADDRNOTAVAIL, errno.EINVAL):
                raise ToolfoldError(f"{host} is not an address of this machine. Choose another with --host.") from None
            raise

    return listen(start, port, hint)
