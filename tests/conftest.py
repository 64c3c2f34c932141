"""What most tests start from: the real catalog, the mock API, and the meta-tools over both."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from toolfold.catalog.model import Catalog
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings

KEY = "CANARYKEY0123456"
"""An API key that must turn up nowhere but in the request to the upstream."""


settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("long", max_examples=5_000, deadline=None)


def pytest_configure(config: pytest.Config) -> None:
    """What is made up is the same at every run, so that a change is judged by what it changes; ``make explore`` looks
    further."""
    settings.load_profile(config.getoption("--hypothesis-profile") or "same")


_AGAIN_AND_AGAIN = {"benchmarks", "differential", "fuzz", "mock_api"}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """What is done again and again is not traced for coverage, which takes as long as the test; other tests reach those
    lines.

    pytest-cov has a mark of its own for that, which does nothing in the processes of pytest-xdist.
    """
    traced = sys.gettrace(), threading.gettrace()
    folders = item.path.relative_to(item.config.rootpath).parts
    if (
        _AGAIN_AND_AGAIN.intersection(folders)
        or item.get_closest_marker("hypothesis")
        or item.get_closest_marker("bulk")
    ):
        sys.settrace(None)
        threading.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(traced[0])
        threading.settrace(traced[1])


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders that do not exist yet, one for each test that holds answers."""
    folder = tmp_path_factory.mktemp("caches")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _no_ambient_settings(monkeypatch: pytest.MonkeyPatch, caches: Iterator[Path]) -> None:
    """Tests do not depend on what the person who runs them has set, and leave nothing in that person's folders."""
    import os

    monkeypatch.setenv("XDG_CACHE_HOME", str(next(caches)))

    for name in list(os.environ):
        if name.startswith(("TOOLFOLD_", "ALPHA_VANTAGE_")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """AWS on this machine. Whoever makes something in it removes it."""
    from tests.support import aws_services

    with aws_services.serving() as url:
        yield url


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return FileStore(bundled_path())()


@pytest.fixture(scope="session")
def mock_api() -> Iterator[MockApi]:
    with MockApi() as running:
        yield running


@pytest.fixture
def make_tools(mock_api: MockApi, monkeypatch: pytest.MonkeyPatch) -> Callable[..., MetaTools]:
    """Meta-tools over the real catalog and the mock API, with further settings by environment name."""

    def make(**environment: str) -> MetaTools:
        monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
        settings = Settings.from_environment(
            {
                "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
                "TOOLFOLD_TIMEOUT_S": "10",
                # No test waits because an upstream is slow to forgive.
                "TOOLFOLD_RETRY_BACKOFF_S": "0.001",
                "TOOLFOLD_MAX_QUEUE_WAIT_S": "0.5",
                # Below the mock API's huge answer.
                "TOOLFOLD_MAX_RESPONSE_BYTES": "2500000",
                **environment,
            }
        )
        return MetaTools(FileStore(bundled_path()), ToolExecutor(settings))

    return make


@pytest.fixture
def tools(make_tools: Callable[..., MetaTools]) -> MetaTools:
    return make_tools()
