"""The parser of the command line: all commands, with examples.

``toolfold completion``: print the script that completes commands, options and names of tools in a shell.
"""

from __future__ import annotations

import argparse
from typing import cast

from toolfold.cli import (
    approve,
    cache,
    call,
    catalog,
    demo,
    doctor,
    install,
    profiles,
    remote,
    serve,
    settings,
    source,
    stats,
    ui,
)
from toolfold.cli.argument_parser import ArgumentParser
from toolfold.cli.environment import add_env_file, add_settings_file
from toolfold.errors import CallError, ToolfoldError
from toolfold.settings import Settings
from toolfold.version import __version__

SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")

_MAX_TOOLS = 2_000
"""Names of a larger catalog are left out: every shell that starts reads the script."""

_COMPLETION_EXAMPLES = """examples:
  toolfold completion bash > ~/.local/share/bash-completion/completions/toolfold
  toolfold completion zsh > ~/.zsh/completions/_toolfold       # a folder of $fpath, before compinit
  toolfold completion fish > ~/.config/fish/completions/toolfold.fish
  toolfold completion tcsh > ~/.toolfold.tcsh                  # and in ~/.tcshrc: source ~/.toolfold.tcsh
  eval "$(toolfold completion bash)"                           # for this bash alone

The names of tools are those of the catalog at this moment.
"""


def _add_completion(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "completion",
        help="print a completion script for bash, zsh, fish, tcsh or PowerShell",
        description="Print a script that completes commands, options and names of tools.",
        epilog=_COMPLETION_EXAMPLES,
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    parser.set_defaults(run=_print_completion, checks_names=False)


def _print_completion(options: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    if options.shell not in shtab.SUPPORTED_SHELLS:
        raise ToolfoldError(
            f"The installed version of shtab writes no script for {options.shell}, only for "
            f"{', '.join(shtab.SUPPORTED_SHELLS)}. A newer one may: pip install --upgrade shtab"
        )
    parser = options.make_parser()
    _name_tools(parser, _tools())
    print(shtab.complete(parser, shell=options.shell))
    return 0


def _tools() -> list[str]:
    """Return the names of all tools; none where the catalog cannot be read, or is large."""
    from toolfold.catalog.store import open_store

    try:
        catalog = open_store(Settings.from_environment())()
    except (CallError, ToolfoldError):
        return []
    return list(catalog) if len(catalog) <= _MAX_TOOLS else []


def _name_tools(parser: argparse.ArgumentParser, tools: list[str]) -> None:
    """Give the arguments that take a tool its names, and those that take a file the type of files."""
    import shtab

    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                _name_tools(child, tools)
        elif action.metavar == "TOOL_NAME" and tools:
            action.choices = tools
        elif action.metavar == "FILE":
            action.complete = shtab.FILE  # type: ignore[attr-defined]


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

_COMMANDS = (
    demo.add_parser,
    install.add_parser,
    doctor.add_parser,
    catalog.add_parser,
    source.add_parser,
    call.add_parser,
    approve.add_parser,
    serve.add_stdio_parser,
    serve.add_parser,
    ui.add_parser,
    profiles.add_parser,
    stats.add_parser,
    settings.add_parser,
    cache.add_parser,
    _add_completion,
    demo.add_mock_api_parser,
)


def make_parser() -> ArgumentParser:
    """Return the parser.

    The options that it parses have ``run(options)``, which returns the exit code, and ``make_parser``, for a command
    that prints what the parser knows.
    """
    parser = ArgumentParser(prog="toolfold", usage=_USAGE, description=_SUMMARY, epilog=_EXAMPLES)
    parser.add_argument("-V", "--version", action="version", version=f"toolfold {__version__}")
    remote.add_options(parser)
    parser.set_defaults(run=_print_guide, checks_names=False, takes_endpoint=False, make_parser=make_parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=ArgumentParser, prog="toolfold")
    for add_command in _COMMANDS:
        add_command(cast("argparse._SubParsersAction[argparse.ArgumentParser]", commands))
    _add_help(commands)
    for leaf in _all_parsers(parser):
        add_env_file(leaf)
        add_settings_file(leaf)
        if leaf.get_default("takes_endpoint"):
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
