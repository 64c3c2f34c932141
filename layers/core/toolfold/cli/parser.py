"""The parser of the command line: a table of all commands, and the options that all of them take."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from toolfold.cli.argument_parser import ArgumentParser, LazyParsers, later
from toolfold.cli.environment import add_env_file, add_settings_file, prepare
from toolfold.cli.remote import add_options, check_options
from toolfold.version import __version__

_USAGE = "toolfold [OPTION ...] COMMAND ..."
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

exit code: 0 success, 1 a call or a check failed, 2 wrong usage
"""

_HELP_EXAMPLES = """examples:
  toolfold help                     all commands
  toolfold help call                one of them
  toolfold help catalog search      one of a group
  toolfold help settings            the environment variables
"""


class _Command(NamedTuple):
    """The line of a command in ``toolfold --help``, and what adds its parser, ``module:function`` of this package.

    The module is imported for a command that is run, explained or completed, and not for another one.
    """

    about: str
    place: str = ""
    is_group: bool = False


_COMMANDS: Mapping[str, _Command] = {
    "demo": _Command('answer "give me aapl price" step by step, offline'),
    "install": _Command("add toolfold to Claude Desktop, Claude Code, Cursor or VS Code"),
    "doctor": _Command("check settings, catalog, API key, cache and network"),
    "catalog": _Command("search, check, compile and publish the catalog", is_group=True),
    "source": _Command("add, refresh, list, test and remove the sources of a catalog", is_group=True),
    "call": _Command("call one tool and print its answer"),
    "approve": _Command("approve or deny a call that waits for a person"),
    "stdio": _Command("serve MCP on stdin and stdout, for an agent on this machine", "serve:add_stdio_parser"),
    "serve": _Command("serve MCP over HTTP, through the Lambda handler"),
    "ui": _Command("show the catalog and its calls in a browser"),
    "profiles": _Command("show which tools each path exposes, and how", is_group=True),
    "stats": _Command("count what agents do and what it saves, from a log"),
    "settings": _Command("print every setting, its value and where that comes from"),
    "cache": _Command("show or clear cached and long answers on this machine", is_group=True),
    "completion": _Command("print a completion script for bash, zsh, fish, tcsh or PowerShell"),
    "mock-api": _Command(
        "imitate the Alpha Vantage API on this machine, with made-up data", "demo:add_mock_api_parser"
    ),
    "help": _Command("explain a command, or the settings", "parser:add_help"),
}


def parse_and_run(arguments: Sequence[str]) -> int:
    """Run the command that ``arguments`` name; return its exit code."""
    options = make_parser().parse_args(arguments)
    prepare(options)
    check_options(options)
    return int(options.run(options))


def make_parser() -> ArgumentParser:
    """Return the parser.

    The options that it parses have ``run(options)``, which returns the exit code, and ``make_parser``, for a command
    that prints what the parser knows.
    """
    parser = ArgumentParser(prog="toolfold", usage=_USAGE, description=_SUMMARY, epilog=_EXAMPLES)
    parser.add_argument("-V", "--version", action="version", version=f"toolfold {__version__}")
    add_options(parser)
    _add_files(parser)
    parser.set_defaults(run=_print_guide, checks_names=False, takes_endpoint=False, make_parser=make_parser)
    commands: Any = parser.add_subparsers(title="commands", metavar="COMMAND")
    commands.choices = commands._name_parser_map = LazyParsers(
        {name: functools.partial(_make_command, name) for name in _COMMANDS},
        [name for name, command in _COMMANDS.items() if command.is_group],
    )
    commands._choices_actions = [
        commands._ChoicesPseudoAction(name, (), command.about) for name, command in _COMMANDS.items()
    ]
    return parser


def _make_command(name: str) -> ArgumentParser:
    """Return the parser of a command, and of those below it, by the module of the command."""
    commands = argparse.ArgumentParser().add_subparsers(parser_class=ArgumentParser, prog="toolfold")
    later(f"toolfold.cli.{_COMMANDS[name].place or f'{name}:add_parser'}")(commands)
    for parser in _all_parsers(commands.choices[name]):
        _add_files(parser)
        if parser.get_default("takes_endpoint"):
            add_options(parser, argparse.SUPPRESS)
    return commands.choices[name]


def _add_files(parser: argparse.ArgumentParser) -> None:
    add_env_file(parser)
    add_settings_file(parser)


def _all_parsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    below = [found for group in groups for child in group.choices.values() for found in _all_parsers(child)]
    return [parser, *below]


def _print_guide(_options: argparse.Namespace) -> int:
    print(GUIDE, end="")
    return 0


def add_help(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``help``."""
    parser = commands.add_parser("help", description="Print the help of a command.", epilog=_HELP_EXAMPLES)
    parser.add_argument("words", metavar="COMMAND", nargs="*", help="the command; none: all commands")
    parser.set_defaults(run=_print_help, checks_names=False)


def _print_help(options: argparse.Namespace) -> int:
    make_parser().parse_args([*options.words, "--help"])
    raise AssertionError
