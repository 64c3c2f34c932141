"""The classes of click that all commands are made of: help in any width, suggestions, and options of every command.

A command is an :class:`Entry` of ``commands.toml``, and names the function that runs it. The module of that function is
imported when the command runs, so that help, completion and the other commands do not wait for it.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.resources
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import click

from toolfold.cli import terminal
from toolfold.cli.output import one_warning_of_each_kind
from toolfold.errors import CallError, SettingsError, ToolfoldError
from toolfold.fuzzy import closest_matches
from toolfold.local_defaults import use_settings_file
from toolfold.settings import Settings
from toolfold.settings.model import unknown_names
from toolfold.version import __version__

_ENTRY = re.compile(r" +(?P<name>\S.*?)(?: {2,}(?P<text>\S.*))?")


class Options(SimpleNamespace):
    """The arguments and options of one command, by name.

    ``from_file`` has the variables that the file of settings has set, and ``mistake`` a sentence about a file that
    cannot be used, where the command reports it itself.
    """

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


class ToolName(click.ParamType[str]):
    """The name of a tool; the tools of the catalog complete it."""

    name = "tool"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Return the tools whose names begin with ``incomplete``; none where the catalog cannot be read."""
        from click.shell_completion import CompletionItem

        from toolfold.catalog.store import open_store

        try:
            catalog = open_store(Settings.from_environment())()
        except (CallError, ToolfoldError):
            return []
        return [CompletionItem(name) for name in catalog if name.lower().startswith(incomplete.lower())]


TYPES: Mapping[str, click.ParamType[Any]] = {
    "file": click.Path(readable=False),  # the command reports what is wrong with one
    "path": click.Path(readable=False, path_type=Path),
    "integer": click.INT,
    "port": click.IntRange(0, 65535),
    "milliseconds": click.IntRange(0, 10**9),
    "tool": ToolName(),
}
"""Name in ``commands.toml`` → type of a value."""


def parameter(form: str, help: str, more: Mapping[str, Any] = MappingProxyType({})) -> click.Parameter:
    """Return an option or an argument of ``commands.toml``, which explains the forms.

    Args:
        form: its names, then what stands for its value.
        help: what it does.
        more: ``type``, ``choices``, ``default`` and ``multiple``.
    """
    *names, value = form.split()
    given = {name: given for name, given in more.items() if name not in ("type", "choices")}
    if kind := more.get("type", "file" if value == "FILE" else ""):
        given["type"] = TYPES[kind]
    if choices := more.get("choices"):
        given["type"] = click.Choice(choices)
    if not form.startswith("-"):
        required = not value.startswith("[") and "default" not in more
        nargs = -1 if value.endswith("...") else 1
        return click.Argument(names, metavar=value, help=help, nargs=nargs, required=required, **given)
    if not value.startswith("-"):
        return click.Option(names, metavar=value, help=help, **given)
    return click.Option([*names, value], is_flag=not more, help=help, **given)


@dataclass(frozen=True)
class Entry:
    """What ``commands.toml`` has about a command or a group.

    Attributes:
        run: ``module:function`` in this package; gets :class:`Options` and returns the exit code.
        short: the line in the list of commands.
        also: what people write for it.
        about: the description in its help; empty: the line as a sentence.
        examples: what its help ends with; empty: those of its group.
        guide: what a group without a command prints; empty: its help.
        options: its options and arguments; a text stands for those of that name in the table ``shared``.
        checks_names: whether the command fails where the name of a setting is wrong.
        exclusive: groups of options of which one may be given.
        rest: name of the argument that has the words after ``--``, the command line of another program.
        more: ``module:function`` that returns what follows the examples.
        hint: what may be meant by an option that the command does not have, and that resembles none.
    """

    short: str
    run: str = ""
    also: Sequence[str] = ()
    about: str = ""
    examples: str = ""
    guide: str = ""
    options: Sequence[str | Sequence[Any]] = ()
    checks_names: bool = True
    exclusive: Sequence[Sequence[str]] = ()
    rest: str = ""
    more: str = ""
    hint: str = ""


class _Help(click.Command):
    """The help of commands and groups."""

    def __init__(self, name: str, entry: Entry, params: list[click.Parameter], **more: Any) -> None:
        names, short = {"help_option_names": ["-h", "--help"]}, entry.short
        text = entry.about or f"{short[:1].upper()}{short[1:]}."
        super().__init__(name, params=params, help=text, short_help=short, context_settings=names, **more)
        self.entry = entry

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> click.Context:
        """Return the context of one start; its help has the width of the terminal, as of this moment."""
        width = terminal.width()
        return super().make_context(info_name, args, *rest, terminal_width=width, max_content_width=width, **extra)

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return ``--help``, which prints to the stdout of this command, where control characters are escapes."""
        shown = super().get_help_option(ctx)
        if shown is not None:
            shown.callback = printing(click.Context.get_help)
        return shown

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples: entries as a list with two columns, everything else as paragraphs."""
        text = self.entry.examples
        if self.entry.more:
            text += f"\n\n{call_at(self.entry.more)}"
        for block in text.strip("\n").split("\n\n"):
            formatter.write_paragraph()
            lines = block.split("\n")
            prose = [line for line in lines if not line.startswith(" ")]
            if prose:
                formatter.write_text(" ".join(prose))
            entries = filter(None, map(_ENTRY.fullmatch, lines[len(prose) :]))
            rows = [(entry["name"], entry["text"] or "") for entry in entries]
            with formatter.indentation():
                formatter.write_dl(rows, col_max=formatter.width // 2) if rows else None


def printing(text: Callable[[click.Context], str]) -> Callable[[click.Context, click.Parameter, bool], None]:
    """Return the callback of a flag that prints a text and ends the command."""

    def show(ctx: click.Context, _: click.Parameter, is_given: bool) -> None:
        if is_given and not ctx.resilient_parsing:
            print(text(ctx))
            ctx.exit()

    return show


class Command(_Help):
    """A command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse ``args``; the words after ``--`` are those of ``rest``, where the command has one."""
        end = args.index("--") if self.entry.rest and "--" in args else len(args)
        words = args[end + 1 :]
        try:
            left = super().parse_args(ctx, args[:end])
        except click.NoSuchOption as error:
            if error.possibilities or not self.entry.hint:
                raise
            raise click.UsageError(f"{error.message} {self.entry.hint}", ctx) from None
        if words:
            ctx.params[self.entry.rest] = tuple(words)
        return left

    def invoke(self, ctx: click.Context) -> int:
        """Set the variables of the settings file that the environment lacks, check all names, and run the command.

        Only a file that the command line names, or else the user's own settings, is read. A ``settings.toml`` or
        ``.env`` in the working directory is not: a folder that was downloaded could send the calls of a user, and the
        key, to another host.
        """
        options = Options(**ctx.params, from_file={}, mistake="")
        try:
            options.from_file = use_settings_file(options.settings_file or "")
        except SettingsError as error:
            if self.entry.checks_names:
                raise
            options.mistake = str(error)
        if self.entry.checks_names and (unknown := unknown_names(os.environ)):
            raise SettingsError("\n".join(unknown.values()))
        for group in self.entry.exclusive:
            given = [f"--{name.replace('_', '-')}" for name in group if ctx.params[name] not in (None, False, ())]
            if len(given) > 1:
                raise click.UsageError(f"{' and '.join(given)} exclude each other. Give one of them.", ctx)
        if "endpoint" in ctx.params and not (options.endpoint or "").strip():
            for name in ("endpoint", "token_env", "key_env", "sign"):  # an empty address names no endpoint
                if ctx.params[name] is not None:
                    raise click.UsageError(f"--{name.replace('_', '-')} is for an endpoint: give --endpoint URL.", ctx)
        with one_warning_of_each_kind():
            return int(call_at(self.entry.run, options) or 0)


def secret_of(name: str | None) -> str:
    """Return the value of an environment variable; empty for None."""
    if name is None:
        return ""
    value = os.environ.get(name, "").strip()
    if not value:
        raise ToolfoldError(f"The environment variable {name} is not set. Set it to the secret, and run this again.")
    return value


class Group(_Help, click.Group):
    """Commands with a name in common; without one of them it prints its help, or its guide."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in their order."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command below this group, or print the help."""
        if ctx._protected_args or ctx.args:
            return super().invoke(ctx)
        if self.entry.run:
            return call_at(self.entry.run, Options(**ctx.params))
        print(f"toolfold {__version__}\n{self.entry.guide}" if self.entry.guide else ctx.get_help())
        return 0

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command that ``args`` name; a wrong one is an error with the closest."""
        word, here = args[0], ctx.command_path
        if ctx.resilient_parsing or self.get_command(ctx, word) is not None:
            return super().resolve_command(ctx, args)
        paths = {"version": "toolfold --version"}
        for path, entry in reversed([*_nested(here, self)]):
            paths |= dict.fromkeys([path.rpartition(" ")[2], *entry.also], path)
        hint = ""
        if found := [word.lower()] if word.lower() in paths else closest_matches(word, paths):
            hint = f" Did you mean `{paths[found[0]]}`?"
        elif (word.isupper() or "__" in word) and "call" in self.commands:
            hint = f" To call a tool: {here} call {word}"
        raise click.UsageError(f"There is no command {word!r}.{hint}", ctx)


def _nested(path: str, group: click.Group) -> Iterator[tuple[str, Entry]]:
    """Yield the commands below ``path``, the nearest first, then those of their groups."""
    for name, command in group.commands.items():
        if isinstance(command, _Help):
            yield f"{path} {name}", command.entry
    for name, command in group.commands.items():
        if isinstance(command, Group):
            yield from _nested(f"{path} {name}", command)


def call_at(place: str, *arguments: Any) -> Any:
    """Import the function at ``module:function`` of this package, and call it."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f"toolfold.cli.{module}"), name)(*arguments)


def fail(message: str) -> click.UsageError:
    """Return the error of wrong usage, to be raised by a command that runs."""
    return click.UsageError(message, click.get_current_context(silent=True))


@contextlib.contextmanager
def os_errors(problem: str, step: str = "", *also: type[Exception]) -> Iterator[None]:
    """Raise what the system refuses while the body runs as ``problem``, its reason and ``step``."""
    caught: tuple[type[Exception], ...] = (OSError, *also)
    try:
        yield
    except caught as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ToolfoldError(f"{problem}: {reason}. {step}".rstrip()) from None


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
        name = path.rpartition(" ")[2] or "toolfold"
        if not nested:
            return Command(name, entry, [*parameters([*entry.options, "files"])])
        more = {"invoke_without_command": True, "subcommand_metavar": "COMMAND ..."}
        return Group(name, entry, [] if path else [_VERSION], commands=nested, **more)

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


def run_arguments(arguments: Sequence[str]) -> int:
    """Run the command that ``arguments`` name; return its exit code."""
    try:
        with TOOLFOLD.make_context("toolfold", list(arguments)) as ctx:
            return int(TOOLFOLD.invoke(ctx) or 0)
    except click.exceptions.Exit as done:
        return done.exit_code


def complete(instruction: str) -> int:
    """Print the script of a shell (``bash_source``), or what can follow, as a script requests (``bash_complete``)."""
    from click.shell_completion import get_completion_class  # which takes 2 ms to import

    shell, _, wanted = instruction.partition("_")
    completion = get_completion_class(shell)
    if completion is None:
        raise ToolfoldError(f"There is no completion for {shell}.")
    made = completion(TOOLFOLD, {}, "toolfold", "_TOOLFOLD_COMPLETE")
    try:
        print(made.source() if wanted == "source" else made.complete())
    except KeyError as error:  # a variable that the script of this version sets
        raise ToolfoldError(f"{error} is not set. Install the script again: toolfold completion {shell}") from None
    return 0


def print_completion(options: Options) -> int:
    """Print the completion script of a shell."""
    return complete(f"{options.shell}_source")


def print_help(options: Options) -> int:
    """Print the help of the command in ``options.words``."""
    return run_arguments([*options.words, "--help"])
