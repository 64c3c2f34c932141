"""``toolfold completion``, and what its scripts ask for while a person types: commands, options and names of tools."""

from __future__ import annotations

import os
import shlex

from click.shell_completion import CompletionItem, ShellComplete, add_completion_class, get_completion_class

from toolfold.cli.application import TOOLFOLD, Options
from toolfold.errors import ToolfoldError


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


def run(options: Options) -> int:
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
