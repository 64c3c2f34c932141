"""Completion scripts, and what they ask for."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import CommandLine
from toolfold import cli


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_script_asks_toolfold(shell: str, command_line: CommandLine) -> None:
    out = command_line("completion", shell).out
    assert f"_TOOLFOLD_COMPLETE={shell}_complete" in out.replace("$env:", "").replace(' = "', "=")


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
    monkeypatch.setenv("_TOOLFOLD_COMPLETE", "powershell_complete")
    assert command_line().out == f"{expected}\n"
    monkeypatch.setenv("_TOOLFOLD_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
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
