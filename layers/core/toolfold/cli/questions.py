"""Ask for what the options of a command do not give, where a person is at the terminal.

Options that several kinds of ``toolfold source add`` have.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolfold.cli import terminal
from toolfold.errors import ToolfoldError


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add what every kind has."""
    parser.add_argument("--title", metavar="TEXT", help="name for people (default: the id in words)")
    parser.add_argument("--description", metavar="TEXT", help="what a model reads about the source")
    parser.add_argument("--folder", type=Path, default=Path("catalog"), help="folder of the sources (default catalog)")


def add_auth(parser: argparse.ArgumentParser) -> None:
    """Add how a key is sent. The key itself is in a variable, never in the catalog."""
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--bearer", action="store_true", help="the key is sent as Authorization: Bearer")
    place.add_argument("--basic", action="store_true", help="the key is user:password, sent as Authorization: Basic")
    place.add_argument("--header", metavar="NAME", help="the key is sent in this header")
    place.add_argument("--query-key", metavar="NAME", help="the key is sent in this parameter of the URL")
    parser.add_argument(
        "--key-variable",
        metavar="NAME",
        help="variable with the key (default TOOLFOLD_SOURCE_<ID>_KEY); with a command, the one that the program reads",
    )
    parser.add_argument("--caller-key", action="store_true", help="callers may send a key of their own")


def auth_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return ``auth`` of source.yaml; empty for a source without a key."""
    given = {name: getattr(options, name, None) for name in ("bearer", "basic", "header", "query_key", "caller_key")}
    auth: dict[str, Any] = {name: value for name, value in given.items() if value}
    if variable := getattr(options, "key_variable", None):
        auth["environment"] = variable
    return auth


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
