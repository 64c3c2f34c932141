"""Help fits the terminal; a command is never broken."""

from __future__ import annotations

import pytest

from tests.unit.cli.conftest import Run, runner
from tests.unit.cli.test_help import commands


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Exit code, stdout and stderr of a command."""
    return runner(capsys)


@pytest.mark.parametrize("width", [60, 80, 140])
def test_only_commands_are_longer_than_the_terminal(run: Run, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for path, _ in commands():
        for line in run(*path.split()[1:], "--help")[1].splitlines():
            is_one_word = " " not in line.strip() or line.strip().startswith("[")
            is_command = any(word in line for word in ("toolfold", "curl ", "export "))
            assert len(line) <= width or is_command or is_one_word, line


@pytest.mark.parametrize(("width", "is_beside"), [(120, True), (60, False)])
def test_the_meaning_of_an_example_is_beside_it_or_below(
    run: Run, width: int, is_beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run("source", "--help")[1].splitlines()
    (example,) = (number for number, line in enumerate(lines) if "-- uvx mcp-server-time" in line)
    assert ("a server that" in lines[example]) is is_beside
    assert "a server" in " ".join(lines[example : example + 2])
