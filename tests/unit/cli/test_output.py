"""What commands print beside the data, and on terminals and in pipes whose encoding is not UTF-8."""

import contextlib
import io
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import KEY
from tests.support.commands import Stream
from tests.support.upstream import Upstream
from tests.support.waiting import wait_until
from toolfold import cli
from toolfold.cli import output
from toolfold.cli.entry_point import SafeStream
from toolfold.cli.output import RequestFormatter, one_warning_of_each_kind
from toolfold.mock_api.server import MockApi


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


ENCODINGS = ["cp1252", "ascii", "utf-8"]

COMMANDS: list[tuple[str, ...]] = [
    (),
    ("--help",),
    ("--version",),
    ("help", "settings"),
    ("settings",),
    ("call", "--help"),
    ("call", "GLOBAL_QUOTE", "symbol=IBM"),
    ("call", "TIME_SERIES_DAILY", "symbol=IBM", "--max-tokens", "500"),
    ("call", "TIME_SERIES_DAILY", "symbol=IBM", "--select", "last 3", "--format", "table", "-v"),
    ("call", "NEWS_SENTIMENT", "tickers=AAPL", "limit=2"),
    ("call", "GLOBAL_QUOTE", "symbol=→é…"),
    ("call", "→é…", "x=\udcff"),
    ("call", "\udcff\udcfe\x1b[2Jé", "k\udcff=\udcff", "--json"),
    ("catalog", "search", "dividnds"),
    ("catalog", "list"),
    ("catalog", "get", "SMA", "→"),
    ("catalog", "stats"),
    ("catalog", "lint", "--folder", "→"),
    ("catalog", "lint", "--help"),
    ("cache", "info"),
    ("doctor", "--offline"),
    ("completion", "bash"),
    ("demo",),
    ("→é…",),
]


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, mock_api: MockApi) -> Run:
    monkeypatch.setenv("TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL", mock_api.url)
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")

    def ran(encoding: str, is_terminal: bool, *argv: str) -> tuple[int, str, str]:
        out, err = Stream(encoding, is_terminal), Stream(encoding, is_terminal)
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        try:
            code = cli.main(argv)
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, out.shown, err.shown

    return ran


@pytest.mark.parametrize(("encoding", "is_terminal"), [("ascii", True), ("cp1252", False)])
@pytest.mark.parametrize("command", COMMANDS, ids=ascii)
def test_every_command_prints_in_any_encoding(
    run: Run, command: tuple[str, ...], encoding: str, is_terminal: bool
) -> None:  # N8
    code, out, err = run(encoding, is_terminal, *command)
    assert "UnicodeEncodeError" not in out + err
    assert "Traceback" not in err
    assert out or err
    assert code in (0, 1, 2)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_traceback_prints_in_any_encoding(run: Run, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:  # N8
    def fail(_options: object) -> int:
        raise LookupError("→ café 茶 \udcff\x1b[2J")

    monkeypatch.setattr("toolfold.cli.call.run", fail)
    code, _, err = run(encoding, True, "call", "X")
    assert code == 1
    assert "LookupError: " in err
    assert ("é" in err) is (encoding != "ascii")
    assert "\\udcff\\u001b[2J" in err


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_an_encoding_lacks_looks_alike_or_is_escaped(run: Run, encoding: str) -> None:  # N8
    line = run(encoding, False, "call", "GLOBAL_QUOT→", "symbol=IBM")[2].splitlines()[0]
    assert ("GLOBAL_QUOT→" if encoding == "utf-8" else "GLOBAL_QUOT->") in line


@pytest.mark.parametrize("encoding", ["cp437", "ascii"])
def test_stderr_has_look_alikes_too(encoding: str) -> None:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding, "backslashreplace", write_through=True)
    SafeStream(stream).write("“request” … →\n")
    assert written.getvalue() == b"'request' ... ->\n"


@pytest.fixture
def names() -> Iterator[Upstream]:
    with Upstream((200, {}, "name,value\ncafé 茶 →,1\n".encode())) as upstream:
        yield upstream


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_data_keep_their_value_in_json_and_in_files(
    run: Run, names: Upstream, monkeypatch: pytest.MonkeyPatch, encoding: str, tmp_path: Path
) -> None:  # N8
    monkeypatch.setenv("TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL", names.url)
    row = json.loads(run(encoding, False, "call", "WTI", "--json")[1])["result"]["rows"][0]
    assert row == ["café 茶 →", 1]
    assert json.loads(run(encoding, False, "call", "WTI", "--format", "json")[1])[0]["name"] == "café 茶 →"
    assert run(encoding, False, "call", "WTI", "-o", str(tmp_path / "x.csv"))[0] == 0
    assert (tmp_path / "x.csv").read_text("utf-8") == "name,value\ncafé 茶 →,1\n"


def test_table_of_an_ascii_terminal_has_an_ascii_box(run: Run) -> None:  # N8
    out = run("ascii", True, "call", "TIME_SERIES_DAILY", "symbol=IBM", "--select", "last 2")[1]
    assert "=" * 10 in out
    assert "\\u" not in out
