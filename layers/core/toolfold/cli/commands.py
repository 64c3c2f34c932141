"""The commands of ``toolfold``, made of ``commands.toml``; and what completes them while a person types."""

from __future__ import annotations

import importlib.resources
import os
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem, ShellComplete, add_completion_class, get_completion_class

from toolfold.cli.application import Command, Entry, Group, Options, parameter, printing
from toolfold.errors import ToolfoldError
from toolfold.version import __version__


def _read_commands() -> Group:
    content = importlib.resources.files("toolfold.cli").joinpath("commands.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(content)
    shared = tables.pop("shared")

    def parameters(rows: Sequence[str | Sequence[Any]]) -> Iterator[click.Parameter]:
        for row in rows:
            if isinstance(row, str):
                yield from parameters(shared[row])
            else:
                yield parameter(*row)

    def command(path: str, examples: str = "") -> Command | Group:
        """Return the command at ``path``; ``examples`` are those of its group."""
        entry = Entry(**{"examples": examples, **tables[path]})
        nested = [
            command(other, entry.examples) for other in tables if other and other.rpartition(" ")[0] == path != other
        ]
        params = [*([] if path else [_VERSION]), *parameters([*entry.options, "files"])]
        name = path.rpartition(" ")[2] or "toolfold"
        return Group(name, entry, params, nested) if nested else Command(name, entry, params)

    root = command("")
    assert isinstance(root, Group)  # noqa: S101 - it has all others
    return root


_VERSION = click.Option(
    ["-V", "--version"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=printing(lambda _: f"toolfold {__version__}"),
    help="print the version",
)

TOOLFOLD = _read_commands()
"""The command line."""


def pairs_hint(words: Sequence[str]) -> str:
    """Return the arguments of a tool that are meant by ``words``, which were given as options."""
    pairs = []
    for word, value in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("--"):
            pairs.append(word[2:] if "=" in word else f"{word[2:]}={value}")
    return f"The arguments of a tool are key=value: {' '.join(pairs)}." if pairs else ""


def run_arguments(arguments: Sequence[str]) -> int:
    """Run the command that ``arguments`` name; return its exit code."""
    try:
        with TOOLFOLD.make_context("toolfold", list(arguments)) as ctx:
            return int(TOOLFOLD.invoke(ctx) or 0)
    except click.exceptions.Exit as done:
        return done.exit_code


def print_help(options: Options) -> int:
    """Print the help of the command in ``options.words``."""
    return run_arguments([*options.words, "--help"])


class PowerShellComplete(ShellComplete):
    """PowerShell 5.1 and later, which click does not know; its script passes the command line in ``COMP_WORDS``."""

    name = "powershell"
    source_template = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($word, $line, $cursor)
    $env:COMP_WORDS = $line.ToString().PadRight($cursor)
    $env:%(complete_var)s = "powershell_complete"
    try {
        %(prog_name)s | ForEach-Object {
            [System.Management.Automation.CompletionResult]::new($_, $_, "ParameterValue", $_)
        }
    } finally { Remove-Item Env:COMP_WORDS, Env:%(complete_var)s }
}
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the beginning of the one at the cursor."""
        line = os.environ.get("COMP_WORDS", "")
        try:
            words = shlex.split(line)
        except ValueError:  # an open quotation mark
            words = line.split()
        is_new = line.endswith(" ") or not words
        return (words[1:], "") if is_new else (words[1:-1], words[-1])

    def format_completion(self, item: CompletionItem) -> str:
        """Return the word alone."""
        return str(item.value)


add_completion_class(PowerShellComplete)


def print_completion(options: Options) -> int:
    """Print the script of a shell."""
    print(_shell_class(options.shell).source())
    return 0


def complete(instruction: str) -> int:
    """Print what can follow, as a script requests by ``instruction``; return the exit code."""
    print(_shell_class(instruction.removesuffix("_complete")).complete())
    return 0


def _shell_class(shell: str) -> ShellComplete:
    found = get_completion_class(shell)
    if found is None:
        raise ToolfoldError(f"There is no completion for {shell}.")
    return found(TOOLFOLD, {}, "toolfold", "_TOOLFOLD_COMPLETE")
