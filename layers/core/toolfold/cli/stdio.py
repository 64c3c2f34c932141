"""``toolfold stdio``: an MCP server on stdin and stdout."""

from __future__ import annotations

import argparse

_EXAMPLES = """examples:
  toolfold install claude-desktop                 let an MCP client start this command; also claude-code, cursor, vscode
  toolfold install cursor --print                 the entry for the configuration of any other client
  toolfold stdio --profile grouped                other tools in tools/list; `toolfold profiles list` names them
  echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | toolfold stdio
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "stdio",
        help="serve MCP on stdin and stdout, for an agent on this machine",
        description="Serve MCP on stdin and stdout, one JSON-RPC message per line, until stdin ends. Messages for "
        "people go to stderr. An MCP client starts this command itself: docs/how-to/connect-a-client.md.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--profile", metavar="NAME", default="", help="the profile whose tools are exposed")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve until stdin ends."""
    from toolfold.transports import stdio

    return stdio.main(options.profile)
