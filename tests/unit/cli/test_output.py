"""What commands print: no control sequence in any encoding, and beside the data a log, warnings and progress."""

import contextlib
import csv
import io
import json
import logging
import os
import pty
import re
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import KEY
from tests.support.commands import CommandLine, Stream
from tests.support.upstream import Upstream
from tests.support.waiting import wait_until
from toolfold import cli
from toolfold.build import writer
from toolfold.catalog.store import bundled_path
from toolfold.cli import output
from toolfold.cli.entry_point import OutputError, SafeStream, safe_streams
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


OSC = "\x1b]52;c;cm0gLXJm\x07"
ATTACK = f"{OSC}\x1b[2J\x1b[1A\r\b\b\x9b31m\x85\u202e\u2028\x7f\v"

# All but line feeds and tabs; and the characters that change the direction of text.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

CSV = f'name,value\n"{ATTACK}",1\n"x\n# Preview: all of it: https://example.com",2\n'


@pytest.fixture
def hostile() -> Iterator[Upstream]:
    with Upstream((200, {}, CSV.encode())) as upstream:
        yield upstream


# What rich writes for bold headings, and for the spinner and its seconds. The attack has none of these.
OWN = re.compile(r"\x1b\[(?:0|1|32|33)m|\x1b\[\?25[lh]|\r(?:\x1b\[1A)?\x1b\[2K")


@pytest.fixture
def variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hostile: Upstream) -> None:
    for name, value in {
        "HOME": str(tmp_path),
        "ALPHA_VANTAGE_API_KEY": KEY,
        "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": hostile.url,
        "TOOLFOLD_CACHE": "off",
        "TOOLFOLD_OFFLOAD": "off",
        "TERM": "xterm-256color",
    }.items():
        monkeypatch.setenv(name, value)


def on_a_terminal(arguments: list[str]) -> str:
    """Return what a command writes to a terminal that is its stdout and its stderr."""
    ours, theirs = open_pty()
    with ThreadPoolExecutor() as threads:
        read = threads.submit(read_terminal, ours)
        with open(theirs, "w", encoding="utf-8") as terminal, redirect_stdout(terminal), redirect_stderr(terminal):
            cli.main(arguments)
        return read.result()


def open_pty() -> tuple[int, int]:
    """Return both ends of a terminal that adds no carriage returns."""
    ours, theirs = pty.openpty()
    attributes = termios.tcgetattr(theirs)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    return ours, theirs


def read_terminal(ours: int) -> str:
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    return OWN.sub("", shown.decode())


ATTACKED: dict[str, tuple[list[str], dict[str, str]]] = {
    "answer of an upstream": (["call", "WTI"], {}),
    "answer in the upstream's form": (["call", "WTI", "datatype=csv"], {}),
    "answer as JSON": (["call", "WTI", "--json"], {}),
    "select that names a column": (["call", "WTI", "--select", f"nothing{ATTACK.replace(chr(0), '')}"], {}),
    "error that names the columns": (["call", "WTI", "--select", "nothing"], {}),
    "name of a tool": (["call", f"X{ATTACK}"], {}),
    "argument of a tool": (["call", "WTI", f"interval={ATTACK}"], {}),
    "pair without equals sign": (["call", "WTI", ATTACK], {}),
    "option that does not exist": (["call", "WTI", f"--{ATTACK}"], {}),
    "command that does not exist": ([ATTACK], {}),
    "path of a catalog": (["catalog", "list"], {"TOOLFOLD_CATALOG": f"/nowhere/{ATTACK}"}),
    "setting": (["catalog", "list"], {"TOOLFOLD_TIMEOUT_S": ATTACK}),
    "folder of sources": (["catalog", "lint", "--folder", f"/nowhere/{ATTACK}"], {}),
    "file of a catalog": (["catalog", "compile", "--check", "--folder", f"/nowhere/{ATTACK}"], {}),
    "words of a search": (["catalog", "search", "oil", ATTACK], {}),
    "category": (["catalog", "list", "--category", ATTACK], {}),
    "names to describe": (["catalog", "get", ATTACK], {}),
    "folder of the cache": (["call", "WTI"], {"TOOLFOLD_CACHE": f"/nowhere/{ATTACK}"}),
    "folder of long answers": (["call", "WTI", "--max-tokens", "1"], {"TOOLFOLD_OFFLOAD": f"/nowhere/{ATTACK}"}),
}


# R23
@pytest.mark.usefixtures("variables")
@pytest.mark.parametrize("name", ATTACKED)
def test_terminal_receives_no_control_sequence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments, variables = ATTACKED[name]
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    shown = on_a_terminal(arguments)
    assert shown
    assert not CONTROLS.search(shown), repr(shown)


@pytest.mark.usefixtures("variables")
def test_names_and_texts_of_a_catalog_have_no_control_sequence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = json.loads(bundled_path().read_bytes())["tools"]["WTI"]
    entry |= {field: f"{entry[field]} {ATTACK}" for field in ("description", "returns")}
    empty = {"sources": {}, "categories": [], "index": {}, "spellings": {}, "synonyms": {}}
    file = tmp_path / f"catalog{OSC}.json"
    file.write_bytes(writer.dumps(empty | {"tools": {"WTI": entry}}))
    monkeypatch.setenv("TOOLFOLD_CATALOG", str(file))
    for arguments in (["get", "WTI"], ["list"], ["list", "--json"], ["get", "WTI", "--json"]):
        shown = on_a_terminal(["catalog", *arguments])
        assert shown  # the tool, or that the catalog is refused
        assert not CONTROLS.search(shown), repr(shown)


def test_warnings_of_stdio_have_no_control_sequence() -> None:
    lines = f'{{"jsonrpc": "2.0", "id": {{}}, "method": "{OSC}"}}\n{ATTACK}\n[]\n{{"{ATTACK}": 1}}\n'
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": ATTACK}) + "\n"
    ours, theirs = open_pty()
    command = [sys.executable, "-m", "toolfold", "stdio"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        assert process.stdin
        process.stdin.write((lines + request).encode())
        process.stdin.close()
        shown = read_terminal(ours)
    assert not CONTROLS.search(shown), repr(shown)


@pytest.mark.usefixtures("variables")
def test_json_is_exact_in_a_pipe(command_line: CommandLine) -> None:
    printed = command_line("call", "WTI", "--json").out
    assert not CONTROLS.search(printed)
    assert json.loads(printed)["result"]["rows"][0] == [ATTACK, 1]
    text = command_line("call", "WTI").out
    assert not CONTROLS.search(text)
    assert [len(row) for row in csv.reader(io.StringIO(text))] == [2, 2, 2]


@given(st.lists(st.text()), st.sampled_from(["ascii", "latin-1", "utf-8", "cp1252"]))
def test_every_text_is_written_without_controls(texts: list[str], encoding: str) -> None:
    written = io.BytesIO()
    stream: Any = SafeStream(io.TextIOWrapper(written, encoding=encoding, newline="", write_through=True))
    print(*texts, file=stream)
    stream.writelines(texts)
    shown = written.getvalue().decode(encoding)
    assert not CONTROLS.search(shown)
    assert stream.encoding == encoding


def test_streams_are_restored_after_a_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sys.stdout, sys.stderr
    assert cli.main(["--version"]) == 0
    assert (sys.stdout, sys.stderr) == before
    monkeypatch.setattr(sys, "stdout", None)
    with safe_streams(), pytest.raises(OutputError):
        print("lost")
    assert sys.stdout is None


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize(
    ("command", "unbuffered"), [(("catalog", "list"), ""), (("settings", "--help"), "1"), (("stdio",), "")]
)
def test_a_full_disk_is_one_sentence(command: tuple[str, ...], unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "toolfold", *command],
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            input='{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n',
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "The output cannot be written: No space left on device. It is not complete.\n"


def test_without_stdout_a_command_that_prints_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert cli.main(["catalog", "search", "oil"]) == 1
