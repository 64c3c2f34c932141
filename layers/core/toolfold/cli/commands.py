"""The commands of ``toolfold``, made of ``commands.toml``."""

from __future__ import annotations

import importlib.resources
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

import click

from toolfold.cli.application import Command, Entry, Group, Options, parameter, printing
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
