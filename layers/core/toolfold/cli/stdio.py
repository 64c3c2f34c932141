"""``toolfold stdio``: an MCP server on stdin and stdout."""

from __future__ import annotations

import argparse

from toolfold.cli.entry_point import serve_stdio


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("stdio", help="serve MCP on stdin and stdout, for an agent on this machine")
    parser.set_defaults(run=lambda _options: serve_stdio())
