"""Completion scripts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from toolfold import cli
from toolfold.cli.completion import SHELLS


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_completes_commands_options_and_tools(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("completion", "catalog", "TIME_SERIES_DAILY"):
        assert word in script


def test_bash_completes_a_tool(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    cli.main(["completion", "bash"])
    program = (
        "complete() { :; }\n" + capsys.readouterr().out + "\n"
        "COMP_WORDS=(toolfold call GLOBAL_Q); COMP_CWORD=2; _shtab_toolfold; echo ${COMPREPLY[@]}\n"
    )
    done = subprocess.run(["bash", "--norc", "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "GLOBAL_QUOTE\n", done.stderr


def test_a_shell_that_shtab_does_not_know_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shtab.SUPPORTED_SHELLS", ["bash", "zsh", "tcsh"])
    assert cli.main(["completion", "fish"]) == 1
    assert "writes no script for fish, only for bash, zsh, tcsh." in capsys.readouterr().err
