"""Parse the arguments of a command; suggest the closest name for a wrong one, and keep the lines of examples."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, cast

from toolfold.fuzzy import closest_matches

__all__ = ["ArgumentParser"]

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

_LEAST = 0.6


class _Formatter(argparse.HelpFormatter):
    """Wrap a text of one paragraph; keep the lines of any other where they fit."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" not in text:
            return super()._fill_text(text, width, indent)
        from toolfold.cli.help_text import fit

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
        from toolfold.cli.output import print_wrapped

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
        closest = closest_matches(str(value), names, least=_LEAST)
        hint = f" Did you mean {closest[0]}?" if closest else ""
        raise argparse.ArgumentError(action, f"{value!r} is not one of {', '.join(names)}.{hint}")

    def _suggest(self, word: str, commands: argparse.Action) -> str:
        nested = dict(_leaves(self.prog, cast("argparse._SubParsersAction[ArgumentParser]", commands)))
        ends = [command for command in nested if command.endswith(f" {word.lower()}")]
        other = f"toolfold {_OTHER_WORDS.get(word.lower(), '')}"
        if other in {*nested, "toolfold --version"}:
            ends = [other]
        if not ends:
            names = {command.rpartition(" ")[2]: command for command in reversed(nested)}
            ends = [names[name] for name in closest_matches(word, names, least=_LEAST)]
        if ends:
            return f"Did you mean `{ends[0]}`?"
        if word.isupper() and "call" in (commands.choices or ()):
            return f"To call a tool: {self.prog} call {word}"
        return f"`{self.prog} --help` lists the commands."


def _leaves(prog: str, commands: argparse._SubParsersAction[ArgumentParser]) -> Iterable[tuple[str, ArgumentParser]]:
    """Yield the commands below ``prog``, the nearest first, then those of their groups."""
    for name, parser in commands.choices.items():
        yield f"{prog} {name}", parser
    for name, parser in commands.choices.items():
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from _leaves(f"{prog} {name}", action)


def _closest_option(word: str, known: Sequence[str]) -> str:
    name = word.partition("=")[0]
    if len(name) == 2:
        return next((option for option in known if option[2:3] == name[1:]), "")
    closest = closest_matches(name, known, least=_LEAST)
    return closest[0] if closest else ""
