"""Ask for what the options of a command do not give, where a person is at the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable

from toolfold.cli import terminal
from toolfold.errors import ToolfoldError

__all__ = ["Questions"]

_MAX_ATTEMPTS = 5


class Questions:
    """Ask questions on stderr, so that stdout has the result alone."""

    def __init__(self) -> None:
        self.is_asking = terminal.is_terminal(sys.stdin) and terminal.is_terminal(sys.stderr)
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

        Raises:
            ToolfoldError: it is wrong, or missing where there is no terminal.
        """
        if given is not None:
            if problem := check(given):
                raise ToolfoldError(f"{option} {problem}.")
            return given
        if not self.is_asking:
            if default is not None:
                return default
            raise ToolfoldError(f"{option} is missing. Give it, or run the command on a terminal.")
        for _ in range(_MAX_ATTEMPTS):
            answer = self._read(f"{question}{f' [{default}]' if default else ''}: ") or (default or "")
            problem = check(answer) if answer else "" if default is not None else "is needed"
            if not problem:
                return answer
            print(f"This {problem}.", file=sys.stderr)
        raise ToolfoldError("Nothing was written.")

    def is_confirmed(self, question: str) -> bool:
        """Return whether the person agrees; True where there was no question before."""
        if not self.has_asked:
            return True
        return self._read(f"{question} [Y/n] ").lower() in ("", "y", "yes")

    def _read(self, prompt: str) -> str:
        self.has_asked = True
        print(prompt, end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise ToolfoldError("Nothing was written.")
        return line.strip()
