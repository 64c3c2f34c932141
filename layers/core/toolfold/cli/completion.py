"""``toolfold completion``: print the script that completes commands, options and names of tools in a shell."""

from __future__ import annotations

import argparse

import shtab

from toolfold.catalog.store import open_store
from toolfold.errors import CallError, ToolfoldError
from toolfold.settings import Settings

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


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "completion",
        description="Print a script that completes commands, options and names of tools.",
        epilog=_COMPLETION_EXAMPLES,
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    parser.set_defaults(run=_print_completion, checks_names=False)


def _print_completion(options: argparse.Namespace) -> int:
    """Print the script."""
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
    try:
        catalog = open_store(Settings.from_environment())()
    except (CallError, ToolfoldError):
        return []
    return list(catalog) if len(catalog) <= _MAX_TOOLS else []


def _name_tools(parser: argparse.ArgumentParser, tools: list[str]) -> None:
    """Give the arguments that take a tool its names, and those that take a file the type of files."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                _name_tools(child, tools)
        elif action.metavar == "TOOL_NAME" and tools:
            action.choices = tools
        elif action.metavar == "FILE":
            action.complete = shtab.FILE  # type: ignore[attr-defined]
