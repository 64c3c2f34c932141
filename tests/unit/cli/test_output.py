"""What commands print beside the data: lines of a log, warnings, and progress, which only a terminal shows."""

import contextlib
import io
import logging
import sys
import time
from typing import Any

import pytest

from tests.support.waiting import wait_until
from toolfold.cli import output
from toolfold.cli.output import RequestFormatter, one_warning_of_each_kind


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
    wait_until(lambda: text in terminal.getvalue())


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


@pytest.mark.parametrize(
    ("message", "fields", "expected"),
    [
        ("request", {"rpc": "tools/list", "status": 200, "ms": 3.2}, "tools/list  200  3 ms"),
        ("request", {"rpc": "tools/call", "tool": "TOOL_CALL", "inner_tool": "WTI", "status": 200, "ms": 135.4,
                     "cache": "hit"}, "tools/call  WTI  200  135 ms  hit"),
        ("request", {"rpc": "tools/call", "tool": "TOOL_CALL", "error": "AUTH_REQUIRED"},
         "tools/call  TOOL_CALL  AUTH_REQUIRED"),
        ("the cache is slow", {}, "warning  the cache is slow"),
    ],
)  # fmt: skip
def test_a_line_has_time_tool_and_outcome(message: str, fields: dict[str, Any], expected: str) -> None:
    record = logging.LogRecord("toolfold", logging.WARNING, "", 0, message, (), None)
    vars(record).update(fields)
    clock, _, rest = RequestFormatter().format(record).partition("  ")
    assert (len(clock), rest) == (8, expected)


def test_a_kind_of_warning_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.Logger("unconfigured")
    with one_warning_of_each_kind():
        for name in ("a", "b", "c"):
            logger.warning("source %s will not be started", name)
        logger.warning("another")
    assert capsys.readouterr().err == "source a will not be started\nanother\n2 more warnings of the same kind.\n"
