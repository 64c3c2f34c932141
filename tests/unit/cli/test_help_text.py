"""Help fits the terminal; a command is never broken."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from toolfold.cli.argument_parser import fit
from toolfold.cli.parser import make_parser

TEXT = """examples:
  toolfold a --b        what it does, in some words that do not fit
  toolfold a --long-option value --other   why
  toolfold a 'a command without a meaning'

names:
  NAME                  what it means,
                        in two lines

A paragraph of prose that was written in lines of at most one hundred and twenty characters, so that it has
two lines.
exit code: 0 success"""


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from parsers(child)


def test_a_wide_terminal_has_the_text_as_it_is() -> None:
    assert fit(TEXT, 110) == TEXT


def test_lines_are_broken_between_words_below_their_column() -> None:
    assert (
        fit(TEXT, 50)
        == """examples:
  toolfold a --b        what it does, in some
                        words that do not fit
  toolfold a --long-option value --other   why
  toolfold a 'a command without a meaning'

names:
  NAME                  what it means, in two
                        lines

A paragraph of prose that was written in lines of
at most one hundred and twenty characters, so that
it has two lines.
exit code: 0 success"""
    )


def test_a_narrow_column_goes_below_its_command() -> None:
    lines = fit(TEXT, 40).splitlines()
    assert lines[1:5] == [
        "  toolfold a --b",
        "      what it does, in some words that",
        "      do not fit",
        "  toolfold a --long-option value --other",
    ]


@pytest.mark.parametrize("width", [60, 80, 140])
def test_only_commands_are_longer_than_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for parser in parsers(make_parser()):
        for line in parser.format_help().splitlines():
            is_one_word = " " not in line.strip() or line.strip().startswith("[")
            is_command = any(word in line for word in ("toolfold", "curl ", "export "))
            assert len(line) <= width or is_command or is_one_word, line


def test_an_example_is_separated_from_its_meaning() -> None:
    examples = next(p for p in parsers(make_parser()) if p.prog == "toolfold source").format_help()
    assert "-- uvx mcp-server-time   a server" in examples
