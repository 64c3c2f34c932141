"""Every command of the tutorial about an API of one's own is run, and prints what the tutorial shows."""

import contextlib
import logging
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import CommandLine
from tests.support.ports import free_port
from tests.support.waiting import wait_until

PAGE = Path("docs/tutorial/your-own-api.md").absolute()
EXIT_CODES = {"towns__rain days=9": 1, "Atlantis": 1, "../reports": 1}
"""Part of a command that is meant to fail → its exit code."""


class Terminal:
    """Two terminals of a reader: one with the API, one with everything else."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, command_line: CommandLine, port: int) -> None:
        self._monkeypatch, self._command_line, self._port = monkeypatch, command_line, port
        self._api: subprocess.Popen[bytes] | None = None

    def run(self, command: str) -> str:
        """Run one command and return what it prints."""
        command = command.replace("$PWD", str(Path.cwd()))
        name, *arguments = shlex.split(command)
        if name == "export":
            self._monkeypatch.setenv(*arguments[0].split("=", 1))
            return ""
        if name == "python":
            self._start(arguments)
            return ""
        if name == "curl":
            curl = shutil.which("curl") or pytest.skip("there is no curl here")
            return subprocess.run([curl, "-s", *arguments], capture_output=True, text=True, check=True).stdout
        assert name == "toolfold"
        expected = next((value for part, value in EXIT_CODES.items() if part in command), 0)
        return "".join(self._command_line(*arguments, code=expected))

    def _start(self, arguments: list[str]) -> None:
        self._api = subprocess.Popen([sys.executable, *arguments], stderr=subprocess.DEVNULL)
        wait_until(self._is_listening)

    def _is_listening(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._port)):
            return True
        return False

    def close(self) -> None:
        """Stop the API."""
        if self._api is not None:
            self._api.terminate()
            self._api.wait()


port = pytest.fixture(free_port, name="port")


@pytest.fixture
def terminal(
    monkeypatch: pytest.MonkeyPatch, command_line: CommandLine, tmp_path: Path, port: int
) -> Iterator[Terminal]:
    monkeypatch.chdir(tmp_path)
    # As in a process of its own: a server in another test may have configured the log.
    monkeypatch.setattr(logging.getLogger("toolfold"), "handlers", [])
    opened = Terminal(monkeypatch, command_line, port)
    yield opened
    opened.close()


def steps(text: str) -> Iterator[tuple[str, str]]:
    """Yield the blocks of a page: the path of a file or a command, and its content or output."""
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if language in ("python", "yaml"):
            yield block.partition("\n")[0].removeprefix("# "), block
        elif language == "console":
            for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                line, _, output = command.partition("\n")
                yield f"$ {line}", output


@pytest.mark.slow
def test_every_command_prints_what_the_page_shows(terminal: Terminal, port: int) -> None:
    commands = 0
    for what, content in steps(PAGE.read_text().replace("8321", str(port))):
        if not what.startswith("$ "):
            path = Path(what)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
            continue
        commands += 1
        printed = terminal.run(what.removeprefix("$ "))
        # The port is another one, so sizes may be, too.
        if content:
            shown, printed = (
                re.sub(r"[\d,…]+ bytes|(?<==)\S+/catalog/", "", text).strip() for text in (content, printed)
            )
            assert printed == shown
    assert commands > 15
    assert os.environ["TOOLFOLD_SOURCE_TOWNS_KEY"] == "tutorial-key-1"
