"""Progress of long commands: a spinner on a terminal, nothing elsewhere, and never anything on stdout."""

import contextlib
import io
import sys
import time

import pytest

from toolfold.cli import output


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def open_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return what stderr is from now on. Not a fixture: pytest sets stderr again before a test."""
    made = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setattr(output, "DELAY_S", 0.0)
    return made


def wait_for(terminal: Terminal, text: str) -> None:
    end = time.monotonic() + 20
    while text not in terminal.getvalue() and time.monotonic() < end:
        time.sleep(0.01)
    assert text in terminal.getvalue()


def test_nothing_is_shown_where_stderr_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with output.waiting("one") as describe:
        describe("more of one")
        print("a result")
    assert capsys.readouterr() == ("a result\n", "")


def test_a_terminal_shows_the_last_text_and_is_clean_after(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    with output.waiting("first") as describe:
        describe("second [red] \x1b[31m name" + " longer" * 50)
        wait_for(terminal, "second")
    shown = terminal.getvalue()
    assert "second [red] " in shown
    assert "\x1b[31m name" not in shown
    assert shown.count("\x1b[1A") == 1  # one line, which is erased at the end
    assert shown.endswith(("\x1b[2K", "\x1b[?25h", "\r\x1b[1A\x1b[2K"))  # the line erased, the cursor visible


def test_a_short_command_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(output, "DELAY_S", 60.0)
    with output.waiting("quick"):
        pass
    assert terminal.getvalue() == ""


def test_an_error_takes_the_spinner_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    with contextlib.suppress(ValueError), output.waiting("one"):
        wait_for(terminal, "one")
        raise ValueError
    before = terminal.getvalue()
    time.sleep(0.15)
    assert terminal.getvalue() == before
