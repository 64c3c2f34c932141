"""Parse the arguments of a command; suggest the closest name for a wrong one, and keep the lines of examples.

Fit the lines of examples and tables in a help to a narrow terminal.

Types of options, and what the commands that listen on a port share.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeVar, cast

from toolfold.cli.output import print_wrapped
from toolfold.errors import ToolfoldError
from toolfold.fuzzy import closest_matches, did_you_mean

T = TypeVar("T")


def port_number(text: str) -> int:
    """Parse a port, 0 for any free one."""
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")
    return int(text)


def whole_number(text: str) -> int:
    """Parse a whole number from 0."""
    if not text.isdigit() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def listen(make_server: Callable[[], T], port: int, hint: str = "") -> T:
    """Return the server that ``make_server`` makes.

    Raises:
        ToolfoldError: the port is taken or not allowed.
    """
    try:
        return make_server()
    except OSError as error:
        step = hint or "Choose another with --port."
        raise ToolfoldError(f"Port {port} cannot be used: {error.strerror}. {step}") from None


def later(place: str) -> Callable[..., Any]:
    """Return a function that imports the one at ``place``, ``module:function``, and calls it.

    What a command needs is imported by that command alone, when it runs: the packages of its extra may be missing.
    """
    return functools.partial(_call_at, place)


def _call_at(place: str, *arguments: Any) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)(*arguments)


_FULL_LINE = 95
"""A line of prose this long continues in the next one: the texts are written in lines of at most 120 characters."""

_MIN_COLUMN = 24
"""Narrower columns are not readable: the text of such a one is put below its name."""

_CONTINUED = re.compile(r" {8,}(?=\S)")
_ENTRY = re.compile(r"(?P<name> +\S.*?) {2,}(?P<text>\S.*)")


def fit(text: str, width: int) -> str:
    """Return ``text`` in lines of at most ``width``; a command is never broken, so that it can be copied.

    Args:
        text: paragraphs, and indented lines: each a command or a name, often with two spaces and its meaning.
        width: the columns of the terminal.
    """
    lines = text.splitlines()
    if all(len(line) <= width for line in lines):
        return text
    return "\n".join(fitted for line in _logical_lines(lines) for fitted in _fit_line(line, width))


def _logical_lines(lines: list[str]) -> Iterator[str]:
    """Yield each paragraph as one line, and each entry with the lines that continue it."""
    current, is_open = "", False
    for line in lines:
        is_prose = line[:1].strip() != ""
        continues_entry = current.startswith(" ") and _CONTINUED.match(line)
        if continues_entry or (is_prose and is_open):
            current += f" {line.strip()}"
        else:
            yield from [current] * (current != "")
            yield from [line] * (line == "")
            current = line
        is_open = is_prose and len(line) >= _FULL_LINE
    yield from [current] * (current != "")


def _fit_line(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    if not line.startswith(" "):
        return _wrap(line, width)
    entry = _ENTRY.fullmatch(line)
    if entry is None:
        return [line]
    column = entry.start("text")
    if width - column >= _MIN_COLUMN:
        return _wrap(entry["text"], width, f"{entry['name']:{column}}", " " * column)
    return [entry["name"], *_wrap(entry["text"], width, " " * 6, " " * 6)]


def _wrap(text: str, width: int, first: str = "", others: str = "") -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )


_OTHER_WORDS = {
    **dict.fromkeys(("run", "start", "server", "http", "web", "up"), "serve"),
    **dict.fromkeys(("mcp", "connect"), "stdio"),
    **dict.fromkeys(("setup", "init", "configure", "add"), "install"),
    **dict.fromkeys(("check", "test", "diagnose", "status", "health", "ping"), "doctor"),
    **dict.fromkeys(("config", "env", "environment", "variables", "options"), "settings"),
    **dict.fromkeys(("mock", "fake", "simulate"), "mock-api"),
    **dict.fromkeys(("ls", "tools"), "catalog list"),
    **dict.fromkeys(("find", "query"), "catalog search"),
    **dict.fromkeys(("describe", "show", "info"), "catalog get"),
    **dict.fromkeys(("deploy", "upload", "push"), "catalog publish"),
    "build": "catalog compile",
    "version": "--version",
}
"""What people write for a command → the command."""


class _Formatter(argparse.HelpFormatter):
    """Wrap a text of one paragraph; keep the lines of any other where they fit."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" not in text:
            return super()._fill_text(text, width, indent)
        return fit(text, width + 2)  # argparse leaves two columns free


class ArgumentParser(argparse.ArgumentParser):
    """A parser whose errors suggest what was meant. The options that it parses have ``parser``, the command's own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "formatter_class": _Formatter})
        self.set_defaults(parser=self, checks_names=True)

    hint_for_unknown: Callable[[Sequence[str]], str] = staticmethod(lambda _: "")
    """Returns a hint for arguments that the command does not have and that are like no option; set by a command."""

    rest_name = ""
    """Name of the argument that has the words after ``--``, where they are the command line of another program."""

    def parse_args(  # type: ignore[override]  # the namespace is never the caller's
        self, args: Sequence[str] | None = None, namespace: None = None
    ) -> argparse.Namespace:
        """Parse ``args``, or end the process with the usage, what is wrong, and what may have been meant."""
        words = list(sys.argv[1:] if args is None else args)
        rest_name = self._leaf(words).rest_name if "--" in words else ""
        # argparse would match them with the first group of positional arguments alone.
        end = words.index("--") if rest_name else len(words)
        options, unknown = self.parse_known_args(words[:end])
        if rest_name:
            setattr(options, rest_name, words[end + 1 :])
        if unknown:
            options.parser.reject(unknown)
        return options

    def _leaf(self, words: Sequence[str]) -> ArgumentParser:
        """Return the parser of the command that ``words`` name."""
        parser = self
        for word in words:
            groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
            parser = groups[0].choices.get(word, parser) if groups else parser
        return parser

    def reject(self, unknown: Sequence[str]) -> NoReturn:
        """End the process because of arguments that this command does not have."""
        known = [name for action in self._actions for name in action.option_strings if name.startswith("--")]
        hints = [hint for word in unknown if word.startswith("-") if (hint := _closest_option(word, known))]
        help_hint = f" `{self.prog} --help` lists the options."
        hint = f" Did you mean {', '.join(hints)}?" if hints else self.hint_for_unknown(unknown) or help_hint
        self.error(f"unrecognized arguments: {' '.join(unknown)}.{hint}")

    def error(self, message: str) -> NoReturn:
        """Print the usage and ``message``, in lines that end between words, and end the process."""
        self.print_usage(sys.stderr)
        print_wrapped(f"{self.prog}: error: {message}", "  ")
        self.exit(2)

    def show_help(self) -> int:
        """Print the help, as a group of commands does without one of them; return the exit code."""
        self.print_help()
        return 0

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        names = [str(choice) for choice in action.choices]
        if isinstance(action, argparse._SubParsersAction):
            raise argparse.ArgumentError(None, f"there is no command {value!r}. {self._suggest(str(value), action)}")
        hint = did_you_mean(str(value), names)
        raise argparse.ArgumentError(action, f"{value!r} is not one of {', '.join(names)}. {hint}".rstrip())

    def _suggest(self, word: str, commands: argparse.Action) -> str:
        nested = list(_leaves(self.prog, cast("argparse._SubParsersAction[ArgumentParser]", commands)))
        ends = [command for command in nested if command.endswith(f" {word.lower()}")]
        other = f"toolfold {_OTHER_WORDS.get(word.lower(), '')}"
        if other in {*nested, "toolfold --version"}:
            ends = [other]
        if not ends:
            names = {command.rpartition(" ")[2]: command for command in reversed(nested)}
            ends = [names[name] for name in closest_matches(word, names)]
        if ends:
            return f"Did you mean `{ends[0]}`?"
        if word.isupper() and "call" in (commands.choices or ()):
            return f"To call a tool: {self.prog} call {word}"
        return f"`{self.prog} --help` lists the commands."


class LazyParsers(dict[str, Any]):
    """Name of a command → its parser, which is made when it is first read.

    Args:
        makers: name of a command → what makes its parser.
        groups: the commands that have others below them.
    """

    def __init__(self, makers: Mapping[str, Callable[[], ArgumentParser]], groups: Sequence[str]) -> None:
        super().__init__(makers)
        self.groups = groups

    def __getitem__(self, name: str) -> ArgumentParser:
        if not isinstance(found := super().__getitem__(name), ArgumentParser):
            self[name] = found = found()
        return cast("ArgumentParser", found)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the parser of a command, or ``default`` where there is no such command."""
        return self[name] if name in self else default  # noqa: SIM401 - this is that method

    def values(self) -> list[ArgumentParser]:  # type: ignore[override]  # a list, as all have to be made
        """Return all parsers."""
        return [self[name] for name in self]

    def items(self) -> list[tuple[str, ArgumentParser]]:  # type: ignore[override]
        """Return all names and parsers."""
        return [(name, self[name]) for name in self]


def _leaves(prog: str, commands: argparse._SubParsersAction[ArgumentParser]) -> Iterator[str]:
    """Yield the commands below ``prog``, the nearest first, then those of their groups."""
    yield from (f"{prog} {name}" for name in commands.choices)
    for name in getattr(commands.choices, "groups", commands.choices):
        for action in commands.choices[name]._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from _leaves(f"{prog} {name}", action)


def _closest_option(word: str, known: Sequence[str]) -> str:
    name = word.partition("=")[0]
    if len(name) == 2:
        return next((option for option in known if option[2:3] == name[1:]), "")
    closest = closest_matches(name, known)
    return closest[0] if closest else ""
