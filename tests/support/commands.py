"""Commands of toolfold that run in the process of the tests."""

import contextlib
import io
import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from toolfold import cli

Run = Callable[..., tuple[int, str, str]]
"""Exit code, stdout and stderr of a command."""


class Stream(io.TextIOWrapper):
    """A strict stream of an encoding, on a terminal or not."""

    def __init__(self, encoding: str, is_terminal: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, errors="strict", newline="", write_through=True)
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    @property
    def written(self) -> bytes:
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue()

    @property
    def shown(self) -> str:
        return self.written.decode(self.encoding)


class Output(NamedTuple):
    """What a command wrote."""

    out: str
    err: str


class CommandLine:
    """Runs commands, each with the log of a process of its own: nothing has configured it."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *argv: str, code: int = 0) -> Output:
        """Run a command that ends with ``code``, and return what it writes."""
        found, out, err = self.run(*argv)
        assert found == code, out + err
        return Output(out, err)

    def run(self, *argv: str) -> tuple[int, str, str]:
        """Run a command, and return its exit code and what it writes."""
        self._capsys.readouterr()
        with unconfigured_log():
            try:
                code = cli.main(argv)
            except SystemExit as stop:
                code = int(stop.code or 0)
        return code, *self._capsys.readouterr()


@contextlib.contextmanager
def unconfigured_log() -> Iterator[None]:
    logger = logging.getLogger("toolfold")
    state = dict(logger.__dict__)
    logger.handlers, logger.level, logger.propagate = [], logging.NOTSET, True
    for name in ("init", "powertools_handler"):  # by which Powertools knows what it has configured
        logger.__dict__.pop(name, None)
    logger.manager._clear_cache()  # type: ignore[attr-defined]
    try:
        yield
    finally:
        logger.__dict__.clear()
        logger.__dict__.update(state)
        logger.manager._clear_cache()  # type: ignore[attr-defined]
