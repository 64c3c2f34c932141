"""Print what the meta-tools return, errors and notices."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from toolfold.cli import terminal
from toolfold.errors import CallError

if TYPE_CHECKING:
    from toolfold.meta_tools.result import Result


class Finding(NamedTuple):
    """The outcome of one check of ``toolfold doctor``.

    ``subject`` is a word, ``text`` a sentence, and ``next_step`` another one or empty.
    """

    status: Literal["ok", "note", "problem"]
    subject: str
    text: str
    next_step: str = ""


def print_json(value: Any, indent: int | None = None) -> None:
    """Print a value as JSON; characters that stdout lacks as escapes, which keeps the value."""
    print(json.dumps(value, ensure_ascii=not terminal.is_unicode(sys.stdout), indent=indent))


def print_result(result: Result, as_json: bool, tool_name: str = "") -> int:
    """Print a result to stdout, or an error to stderr; return the exit code: 0, or 1 for an error.

    Args:
        result: of a meta-tool.
        as_json: whether to print it as JSON, also if it is an error.
        tool_name: the tool that was named, for the next step after an error.
    """
    if as_json:
        print_json(result.structured)
    elif result.is_error:
        print_error(result.errors[0], tool_name)
    elif result.text.strip():
        print(result.text)
    else:  # several answers, which are whole
        print_json(result.structured, indent=2)
    return 1 if result.is_error else 0


def counted(number: int, noun: str) -> str:
    """Return a number of things: ``1 tool``, ``1,200 tools``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def print_error(error: CallError, tool_name: str = "", verb: str = "call") -> None:
    """Print an error to stderr, in the words for a person."""
    from toolfold.cli.error_text import for_person

    message, next_step = for_person(error, tool_name, verb=verb)
    print_wrapped(f"{error.code}: {message}")
    problems = error.details.get("problems", ())
    for problem in problems if len(problems) > 1 else ():  # a single one is the message
        print_wrapped(f"  {problem['parameter']} {problem['problem']}: {problem['expected']}", "    ")
    if next_step:
        print_wrapped(next_step)


def print_notice(text: str) -> None:
    """Print a notice about an answer to stderr, so that stdout has the data alone."""
    print_wrapped(f"# {text}", "# ")


def print_wrapped(text: str, indent: str = "") -> None:
    """Print text to stderr, on a terminal in lines that end between words; ``indent`` begins those after the first."""
    if terminal.is_terminal(sys.stderr):
        columns = terminal.width()
        text = "\n".join(part for line in text.split("\n") for part in terminal.wrap(line, columns, indent))
    print(text, file=sys.stderr)
