"""Commands run in processes of their own, where nothing has configured the log."""

import contextlib
import logging
from collections.abc import Callable, Iterator

import pytest

from tests.conftest import KEY
from toolfold import cli
from toolfold.mock_api.server import MockApi

Run = Callable[..., tuple[int, str, str]]


@contextlib.contextmanager
def _unconfigured_log() -> Iterator[None]:
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


@pytest.fixture(autouse=True)
def _process_of_its_own() -> Iterator[None]:
    with _unconfigured_log():
        yield


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, mock_api: MockApi) -> Run:
    """Exit code, stdout and stderr of a command."""
    monkeypatch.setenv("TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL", mock_api.url)
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
    return runner(capsys)


def runner(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs a command in this process."""

    def ran(*argv: str) -> tuple[int, str, str]:
        with _unconfigured_log():
            try:
                code = cli.main(argv)
            except SystemExit as stop:
                code = int(stop.code or 0)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return ran


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that makes stdout and stderr a terminal of that width."""

    def make(width: int) -> None:
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)

    return make
