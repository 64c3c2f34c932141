"""The parser of the command line: all commands, examples, and the environment variables."""

from __future__ import annotations

import argparse
import textwrap

from toolfold import __version__
from toolfold.cli import call, catalog, demo, doctor, install, mock_api, serve, stdio
from toolfold.settings import VARIABLES

_EXAMPLES = """examples:
  toolfold demo                                     from a question to its answer, offline, in a few seconds
  toolfold install claude-desktop                   add toolfold to an MCP client
  toolfold doctor                                   check settings, key, catalog, cache and network
  toolfold stdio                                    an MCP server for Claude, Cursor, …
  toolfold serve --port 8080                        the Lambda handler on http://127.0.0.1:8080/mcp
  toolfold catalog search oil price                 find the tool for a request
  toolfold call GLOBAL_QUOTE symbol=IBM             call it (needs ALPHA_VANTAGE_API_KEY)
  toolfold call WTI --select "date,value; last 12"  a part of its answer
  toolfold mock-api --port 8787                     an imitation of the API, for work without a key
"""

_API_KEY = ("ALPHA_VANTAGE_API_KEY", "API key used when a request has none.")
_HELP_WIDTH, _NAME_WIDTH = 118, 32


def make_parser() -> argparse.ArgumentParser:
    """Return the parser. The options that it parses have ``run(options)``, which returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="toolfold",
        description="Hundreds of API tools behind three: TOOL_LIST, TOOL_GET, TOOL_CALL.",
        epilog=f"{_EXAMPLES}\nenvironment variables:\n{_environment()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action="version", version=f"toolfold {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (install, doctor, stdio, serve, call, catalog, mock_api, demo):
        command.add_parser(commands)
    return parser


def _environment() -> str:
    """Return a table of the environment variables."""
    variables = [_API_KEY, *((name, variable.meaning) for name, variable in VARIABLES.items())]
    return "\n".join(
        textwrap.fill(
            f"{name:{_NAME_WIDTH}}{meaning}",
            _HELP_WIDTH,
            initial_indent="  ",
            subsequent_indent=" " * (_NAME_WIDTH + 2),
            break_long_words=False,
        )
        for name, meaning in variables
    )
