"""Help, wrong commands and options, and completion."""

import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.support.commands import CommandLine, Run
from toolfold import cli
from toolfold.cli.application import TOOLFOLD, Command
from toolfold.settings import VARIABLES


@pytest.fixture
def run(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Exit code, stdout and stderr of a command."""
    monkeypatch.setenv("COLUMNS", "100")
    return command_line.run


def commands(path: str = "toolfold", command: click.Command = TOOLFOLD) -> Iterator[tuple[str, click.Command]]:
    """Yield the path of a command and the command, and those below it."""
    yield path, command
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield from commands(f"{path} {name}", child)


def test_without_a_command_a_short_guide_is_printed(run: Run) -> None:  # N10
    code, out, err = run()
    assert (code, err) == (0, "")
    assert "toolfold --help" in out
    assert len(out.splitlines()) <= 15
    commands = [line.split()[1] for line in out.splitlines() if line.startswith("  toolfold ")]
    assert commands == ["demo", "install", "catalog", "call", "doctor"]


def test_help_fits_a_screen_and_has_examples(run: Run) -> None:  # N10
    code, out, _ = run("--help")
    assert code == 0
    assert len(out.splitlines()) <= 50
    for words in ("stdio", "serve", "mock-api", "demo", "toolfold call GLOBAL_QUOTE", "toolfold help settings"):
        assert words in out
    assert "TOOLFOLD_KEY_SALT" not in out
    assert run("help") == (0, out, "")


def test_every_command_names_a_function_that_runs_it() -> None:
    for _, command in commands():
        if isinstance(command, Command):
            assert callable(pkgutil.resolve_name(f"toolfold.cli.{command.entry.run}"))


@pytest.mark.parametrize("width", [60, 140])
def test_every_command_has_help_with_examples_and_only_commands_are_longer_than_the_terminal(
    run: Run, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:  # N10
    monkeypatch.setenv("COLUMNS", str(width))
    for path, _ in commands():
        shown = run(*path.split()[1:], "--help")[1]
        if path != "toolfold catalog lint":  # explains its rules instead
            assert path in shown.partition("examples:")[2]
        for line in shown.splitlines():
            is_one_word = " " not in line.strip() or line.strip().startswith("[")
            is_command = any(word in line for word in ("toolfold", "curl ", "export "))
            assert len(line) <= width or is_command or is_one_word, line


def test_help_of_a_command_by_its_name(run: Run) -> None:
    assert run("help", "catalog", "search") == run("catalog", "search", "--help")
    assert run("catalog")[:2] == run("catalog", "--help")[:2]


def test_help_settings_explains_every_variable(run: Run) -> None:  # N10
    code, out, _ = run("help", "settings")
    assert code == 0
    for name in (*VARIABLES, "ALPHA_VANTAGE_API_KEY"):
        assert f"  {name} " in out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ("cal", "Did you mean `toolfold call`?"),
        ("sevre", "Did you mean `toolfold serve`?"),
        ("docter", "Did you mean `toolfold doctor`?"),
        ("instal cursor", "Did you mean `toolfold install`?"),
        ("search oil", "Did you mean `toolfold catalog search`?"),
        ("clear", "Did you mean `toolfold cache clear`?"),
        ("setup", "Did you mean `toolfold install`?"),
        ("find oil", "Did you mean `toolfold catalog search`?"),
        ("version", "Did you mean `toolfold --version`?"),
        ("GLOBAL_QUOTE symbol=IBM", "To call a tool: toolfold call GLOBAL_QUOTE"),
        ("time__now", "To call a tool: toolfold call time__now"),
        ("xyzzy", "There is no command 'xyzzy'.\n"),
        ("help cal", "Did you mean `toolfold call`?"),
        ("catalog serch oil", "Did you mean `toolfold catalog search`?"),
        ("source add skill x", "Did you mean `toolfold source add skills`?"),
        ("cache clean", "Did you mean `toolfold cache clear`?"),
        ("call CPI --selct x", "'--select'?"),
        ("serve -p 9000", "Try 'toolfold serve --help' for help."),
        ("install claude", "'claude' is not one of 'claude-code', 'claude-desktop', "),
        ("call", "Missing argument 'TOOL_NAME'.\n"),  # and what is not required is not called missing
        ("source test", "Missing argument 'ID'.\n"),
    ],
)
def test_a_wrong_name_suggests_the_right_one(run: Run, arguments: str, hint: str) -> None:  # N10
    code, out, err = run(*arguments.split())
    assert (code, out) == (2, "")
    assert hint in err


def test_what_people_write_for_a_command_suggests_it(run: Run) -> None:  # N10
    known = dict(commands())
    for path, command in known.items():
        for word in command.entry.also:
            code, _, err = run(*path.split()[1:-1], word)
            suggested = re.search("Did you mean `(.*)`", err)
            assert suggested, (path, word)
            assert (code, word in known[suggested[1]].entry.also) == (2, True)


@pytest.mark.parametrize(("width", "is_beside"), [(120, True), (60, False)])
def test_the_meaning_of_an_example_is_beside_it_or_below(
    run: Run, width: int, is_beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run("source", "--help")[1].splitlines()
    (example,) = (number for number, line in enumerate(lines) if "-- uvx mcp-server-time" in line)
    assert ("a server that" in lines[example]) is is_beside
    assert "a server" in " ".join(lines[example : example + 2])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_script_asks_toolfold(shell: str, command_line: CommandLine) -> None:
    out = command_line("completion", shell).out
    assert f"_TOOLFOLD_COMPLETE={shell}_complete" in out.replace("$env:", "").replace(" = '", "=")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("toolfold cata", "catalog"),
        ("toolfold catalog publ", "publish"),
        ("toolfold call GLOBAL_Q", "GLOBAL_QUOTE"),
        ("toolfold call global_q", "GLOBAL_QUOTE"),
        ("toolfold call CPI --sel", "--select"),
        ("toolfold install curs", "cursor"),
    ],
)
def test_words_are_completed(
    typed: str, expected: str, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    monkeypatch.setenv("_TOOLFOLD_COMPLETE", "powershell_complete")
    assert command_line().out.splitlines()[:2] == ["plain", expected]
    monkeypatch.setenv("_TOOLFOLD_COMPLETE", "bash_complete")
    assert command_line().out == f"plain,{expected}\n"


def test_bash_completes_a_tool(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    program_file = tmp_path / "toolfold"
    program_file.write_text(f"#!/bin/sh\nexec {sys.executable} -m toolfold\n")
    program_file.chmod(0o755)
    cli.main(["completion", "bash"])
    program = (
        "complete() { :; }\n" + capsys.readouterr().out + "\n"
        "COMP_WORDS=(toolfold call GLOBAL_Q); COMP_CWORD=2; "
        f"_toolfold_completion {program_file} GLOBAL_Q call; echo ${{COMPREPLY[@]}}\n"
    )
    done = subprocess.run(["bash", "--norc", "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "GLOBAL_QUOTE\n", done.stderr


def test_an_unknown_shell_is_one_sentence(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TOOLFOLD_COMPLETE", "elvish_complete")
    assert command_line(code=1).err == "There is no completion for elvish.\n"
    monkeypatch.setenv("_TOOLFOLD_COMPLETE", "powershell_complete")
    assert command_line(code=1).err.endswith("Install the script again: toolfold completion powershell\n")
