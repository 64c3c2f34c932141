"""Ask the person at the terminal, by rich, on stderr: stdout has the result alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolfold.cli import terminal
from toolfold.errors import ToolfoldError

if TYPE_CHECKING:
    from rich.prompt import Prompt


def is_interactive() -> bool:
    """Return whether a person can read a question and answer it."""
    return terminal.is_terminal(sys.stdin) and terminal.is_terminal(sys.stderr)


def confirm(question: str, missing: str, *, default: bool = False) -> bool:
    """Return whether the person agrees; the end of the input is a no."""
    if not terminal.is_terminal(sys.stdin):
        raise ToolfoldError(f"There is no terminal for a confirmation. {missing}")
    from rich.prompt import Confirm

    try:
        return Confirm.ask(question, console=terminal.make_console(sys.stderr), default=default)
    except EOFError:
        return False


class Questions:
    """Ask for what the options of a command do not give."""

    def __init__(self) -> None:
        self.is_asking = is_interactive()
        self.has_asked = False

    def text(
        self,
        given: str | None,
        question: str,
        option: str,
        *,
        default: str | None = None,
        check: Callable[[str], str] = lambda _: "",
    ) -> str:
        """Return ``given``, or the answer of the person.

        Args:
            given: the value of the option; None: it was left out.
            question: what to ask, with an example.
            option: the option that gives it, for the error.
            default: the value of an empty answer, and of a missing option; None: there must be one.
            check: returns what is wrong with a value, or an empty text.
        """
        if given is not None:
            if problem := check(given):
                raise ToolfoldError(f"{option} {problem}.")
            return given
        if not self.is_asking:
            if default is not None:
                return default
            raise ToolfoldError(f"{option} is missing. Give it, or run the command on a terminal.")
        self.has_asked = True
        try:
            console = terminal.make_console(sys.stderr)
            # Without a default an empty answer is checked like any other.
            prompt = _prompt(check)(question, console=console)
            return prompt() if default is None else prompt(default=default)
        except EOFError:
            raise ToolfoldError("Nothing was written.") from None

    def is_confirmed(self, question: str) -> bool:
        """Return whether the person agrees; True where there was no question before."""
        return not self.has_asked or confirm(question, "", default=True)


def _prompt(check: Callable[[str], str]) -> type[Prompt]:
    """Return a prompt of rich that repeats its question until ``check`` finds nothing wrong."""
    from rich.prompt import InvalidResponse, Prompt

    class Checked(Prompt):
        def process_response(self, value: str) -> str:
            answer = value.strip()
            if problem := check(answer) if answer else "is needed":
                raise InvalidResponse(f"This {problem}.")
            return answer

    return Checked
