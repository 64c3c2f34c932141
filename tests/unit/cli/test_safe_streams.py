"""What a command prints has no control sequence, on a terminal and in a pipe."""

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import KEY
from tests.support.commands import CommandLine
from tests.support.upstream import Upstream
from toolfold import cli
from toolfold.build import writer
from toolfold.catalog.store import bundled_path
from toolfold.cli.entry_point import OutputError, SafeStream, safe_streams

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
    ours, theirs = open_terminal()
    with ThreadPoolExecutor() as threads:
        read = threads.submit(read_terminal, ours)
        with open(theirs, "w", encoding="utf-8") as terminal, redirect_stdout(terminal), redirect_stderr(terminal):
            cli.main(arguments)
        return read.result()


def open_terminal() -> tuple[int, int]:
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


COMMANDS: dict[str, tuple[list[str], dict[str, str]]] = {
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
@pytest.mark.parametrize("name", COMMANDS)
def test_terminal_receives_no_control_sequence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments, variables = COMMANDS[name]
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    shown = on_a_terminal(arguments)
    assert shown
    assert not CONTROLS.search(shown), repr(shown)


@pytest.mark.usefixtures("variables")
def test_names_and_texts_of_a_catalog_have_no_control_sequence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = json.loads(bundled_path().read_bytes())["tools"]["WTI"]
    entry |= {field: f"{entry[field]} {ATTACK}" for field in ("description", "returns")}
    empty = {"sources": {}, "categories": [], "listing": "WTI: crude oil", "index": {}, "spellings": {}, "synonyms": {}}
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
    ours, theirs = open_terminal()
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
