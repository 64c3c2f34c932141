"""``toolfold source``: add, refresh, list, test and remove the sources of a catalog."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

from toolfold.cli import source_add
from toolfold.cli.argument_parser import later

_Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

_EXAMPLES = """examples:
  toolfold source add skills handbook ./skills        folders with a SKILL.md
  toolfold source add openapi pets https://petstore3.swagger.io/api/v3/openapi.json
  toolfold source add mcp time -- uvx mcp-server-time   a server that runs here; --url for one on the network
  toolfold source list                                what there is, and what is wrong with it
  toolfold source refresh                             read the tools of all sources again
  toolfold source test time                           one call that only reads
  toolfold source remove time                         asks first, and keeps a copy

A source is a folder: catalog/ID/source.yaml and what is read from the service, which you review and commit. What the
keys mean: docs/reference/source-yaml.md. After a change: toolfold catalog compile
"""

_REFRESH_EXAMPLES = """examples:
  toolfold source refresh                  every source that can be read again
  toolfold source refresh github time      two of them
  toolfold source refresh --check          write nothing; exit code 1 if something has changed, for CI

Each line says what changed: + a new tool, - a tool that is gone, ~ a tool that is different. Nothing of a source is
written where reading it fails. What it reaches is what the settings allow: TOOLFOLD_ALLOWED_HOSTS,
TOOLFOLD_SOURCE_<ID>_URL, TOOLFOLD_ALLOWED_COMMANDS.
exit code: 0 success, 1 a source failed, or --check found a change, 2 wrong usage
"""

_LIST_EXAMPLES = """examples:
  toolfold source list
  toolfold source list --json | jq '.[] | select(.problems > 0)'
"""

_TEST_EXAMPLES = """examples:
  toolfold source test weather                       the first tool that only reads, with its example arguments
  toolfold source test weather RAIN_FORECAST         this one
  toolfold source test weather rain_forecast town=Bergen

A tool that writes is not called. The answer is shown in short, and how long each part took.
exit code: 0 it answered, 1 it failed, 2 wrong usage
"""

_REMOVE_EXAMPLES = """examples:
  toolfold source remove weather           shows what goes, asks, and keeps a copy beside the catalog
  toolfold source remove weather --yes     without a question
"""


def add_parser(commands: _Subparsers) -> None:
    """Add the command and its subcommands."""
    parser = commands.add_parser("source", epilog=_EXAMPLES)
    parser.set_defaults(run=lambda options: options.parser.show_help())
    subcommands = parser.add_subparsers(title="commands", metavar="COMMAND")
    source_add.add_parser(subcommands)
    _add_refresh(subcommands)
    _add_list(subcommands)
    _add_test(subcommands)
    _add_remove(subcommands)


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where the sources are."""
    parser.add_argument("--folder", type=Path, default=Path("catalog"), help="folder of the sources (default catalog)")


def _add_refresh(subcommands: _Subparsers) -> None:
    parser = subcommands.add_parser(
        "refresh",
        help="read the tools of sources again, and show what changed",
        description="Read the tools of sources again, from their services, and write them beside source.yaml.",
        epilog=_REFRESH_EXAMPLES,
    )
    parser.add_argument("ids", metavar="ID", nargs="*", help="the sources (default: all that can be read again)")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if something has changed")
    add_folder(parser)
    parser.set_defaults(run=later("toolfold.cli.source_refresh:run"))


def _add_list(subcommands: _Subparsers) -> None:
    parser = subcommands.add_parser(
        "list",
        help="list the sources, their tools, and what is wrong with them",
        description="List the sources of a catalog. In a pipe each is a line with tabs between its columns.",
        epilog=_LIST_EXAMPLES,
    )
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    add_folder(parser)
    parser.set_defaults(run=later("toolfold.cli.source_refresh:list_folders"))


def _add_test(subcommands: _Subparsers) -> None:
    parser = subcommands.add_parser(
        "test",
        help="make one call that only reads, and say what failed",
        description="Compile the sources, and make one call of a tool of this source that only reads.",
        epilog=_TEST_EXAMPLES,
    )
    parser.add_argument("id", metavar="ID", help="the source")
    parser.add_argument("tool", metavar="TOOL", nargs="?", help="one of its tools (default: one that needs least)")
    parser.add_argument(
        "arguments", metavar="key=value", nargs="*", default=[], help="its arguments (default: those of its example)"
    )
    parser.add_argument("--json", action="store_true", help="print what was done, and the answer or the error")
    add_folder(parser)
    parser.set_defaults(run=later("toolfold.cli.source_test:run"))


def _add_remove(subcommands: _Subparsers) -> None:
    parser = subcommands.add_parser(
        "remove",
        help="remove a source, and keep a copy of its folder",
        description="Remove the folder of a source. It is moved to FOLDER/.removed, from where it can be moved back.",
        epilog=_REMOVE_EXAMPLES,
    )
    parser.add_argument("id", metavar="ID", help="the source")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_folder(parser)
    parser.set_defaults(run=later("toolfold.cli.source_refresh:remove"))
