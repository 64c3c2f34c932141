"""Commands run in processes of their own, where nothing has configured the log."""

from collections.abc import Callable, Iterator

import pytest

from tests.conftest import KEY
from tests.support.commands import CommandLine, Run, unconfigured_log
from toolfold.mock_api.server import MockApi


@pytest.fixture(autouse=True)
def _process_of_its_own() -> Iterator[None]:
    with unconfigured_log():
        yield


@pytest.fixture
def run(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch, mock_api: MockApi) -> Run:
    """Exit code, stdout and stderr of a command."""
    monkeypatch.setenv("TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL", mock_api.url)
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
    return command_line.run


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that makes stdout and stderr a terminal of that width."""

    def make(width: int) -> None:
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)

    return make
