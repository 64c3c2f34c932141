"""The parser of the command line: all commands, with examples."""

from __future__ import annotations

import argparse

from toolfold import __version__
from toolfold.cli import (
    approve,
    cache,
    call,
    catalog,
    completion,
    demo,
    doctor,
    install,
    mock_api,
    profiles,
    remote,
    serve,
    settings,
    source,
    stats,
    stdio,
    ui,
)
from toolfold.cli.argument_parser import ArgumentParser
from toolfold.cli.environment import add_env_file

__all__ = ["GUIDE", "make_parser"]

_SUMMARY = "Hundreds of API tools behind three MCP tools: TOOL_LIST, TOOL_GET and TOOL_CALL."

GUIDE = f"""toolfold {__version__}
{_SUMMARY}

start with one of these:
  toolfold demo                             a question and its answer, offline, in a few seconds
  toolfold install claude-desktop           connect an MCP client; also claude-code, cursor, vscode
  toolfold catalog search oil price         find the tool for a request
  toolfold call WTI interval=daily          call it (needs ALPHA_VANTAGE_API_KEY)
  toolfold doctor                           check settings, key, catalog, cache and network

help: toolfold --help (all commands) · toolfold COMMAND --help · toolfold help settings
"""
"""What ``toolfold`` prints without a command."""

_EXAMPLES = """examples:
  toolfold demo                                     a question and its answer, offline
  toolfold install claude-desktop                   add toolfold to an MCP client
  toolfold catalog search oil price                 find the tool for a request
  toolfold call GLOBAL_QUOTE symbol=IBM             call it (needs ALPHA_VANTAGE_API_KEY)
  toolfold call WTI --select "date,value; last 12"  a part of its answer
  toolfold ui                                       try the tools in a browser

more help:
  toolfold COMMAND --help     options and examples of a command
  toolfold help settings      the environment variables that configure toolfold
  toolfold settings           their values here, and where these come from

exit code: 0 success, 1 a call or a check failed, 2 wrong usage
"""

_HELP_EXAMPLES = """examples:
  toolfold help                     all commands
  toolfold help call                one of them
  toolfold help catalog search      one of a group
  toolfold help settings            the environment variables
"""

_COMMANDS = (
    demo,
    install,
    doctor,
    catalog,
    source,
    call,
    approve,
    stdio,
    serve,
    ui,
    profiles,
    stats,
    settings,
    cache,
    completion,
    mock_api,
)


def make_parser() -> ArgumentParser:
    """Return the parser.

    The options that it parses have ``run(options)``, which returns the exit code, and ``make_parser``, for a command
    that prints what the parser knows.
    """
    parser = ArgumentParser(prog="toolfold", description=_SUMMARY, epilog=_EXAMPLES)
    parser.add_argument("-V", "--version", action="version", version=f"toolfold {__version__}")
    remote.add_options(parser)
    parser.set_defaults(run=_print_guide, checks_names=False, takes_url=False, make_parser=make_parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=ArgumentParser)
    for command in _COMMANDS:
        command.add_parser(commands)
    _add_help(commands)
    for leaf in _all_parsers(parser):
        add_env_file(leaf)
        if leaf.get_default("takes_url"):
            remote.add_options(leaf, argparse.SUPPRESS)
    return parser


def _all_parsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    below = [found for group in groups for child in group.choices.values() for found in _all_parsers(child)]
    return [parser, *below]


def _print_guide(_options: argparse.Namespace) -> int:
    print(GUIDE, end="")
    return 0


def _add_help(commands: argparse._SubParsersAction[ArgumentParser]) -> None:
    parser = commands.add_parser(
        "help", help="explain a command, or the settings", description="Print the help of a command.",
        epilog=_HELP_EXAMPLES,
    )  # fmt: skip
    parser.add_argument("words", metavar="COMMAND", nargs="*", help="the command; none: all commands")
    parser.set_defaults(run=_print_help, checks_names=False)


def _print_help(options: argparse.Namespace) -> int:
    make_parser().parse_args([*options.words, "--help"])
    raise AssertionError
