"""Fixtures of most tests: the real catalog, the mock API, and the meta-tools over both."""

import functools
import gc
import itertools
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.commands import CommandLine
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings

KEY = "CANARYKEY0123456"
"""An API key that may appear in the request to the upstream and nowhere else."""


# Slow draws are those of a busy machine.
_SLOW = [HealthCheck.too_slow]
settings.register_profile("same", derandomize=True, deadline=None, max_examples=50, suppress_health_check=_SLOW)
settings.register_profile("long", max_examples=5_000, deadline=None, suppress_health_check=_SLOW)


def pytest_configure(config: pytest.Config) -> None:
    """Load the profile of Hypothesis, and collect garbage seldom.

    The examples are the same in every run, so that a failure comes from a change. ``make explore`` tries others.
    """
    settings.load_profile(config.getoption("--hypothesis-profile") or "same")
    # A shell starts what runs in the background with SIGINT ignored, which programs that tests start would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()  # until all tests are collected: nothing of them is garbage
    gc.set_threshold(20_000, 20, 20)  # with those of Python, collecting garbage takes a tenth of the time of all tests


def pytest_collection_finish() -> None:
    """Leave what collection made out of later collections of garbage, each of which would pass over all tests."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return how many processes run the tests: one more than there are processors, as some tests wait."""
    return (os.cpu_count() or 1) + 1


_NOT_TRACED = {"benchmarks", "differential", "fuzz", "mock_api"}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Trace no coverage in tests with many repetitions: it doubles their time, and other tests reach the same lines.

    The mark of pytest-cov for this has no effect in the processes of pytest-xdist.
    """
    traced = sys.gettrace(), threading.gettrace()
    folders = item.path.relative_to(item.config.rootpath).parts
    if _NOT_TRACED.intersection(folders) or item.get_closest_marker("hypothesis") or item.get_closest_marker("bulk"):
        sys.settrace(None)
        threading.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(traced[0])
        threading.settrace(traced[1])


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return folders that do not exist yet, one for the cache of each test."""
    folder = tmp_path_factory.mktemp("caches")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _no_ambient_settings(caches: Iterator[Path]) -> Iterator[None]:
    """Isolate tests from the settings and folders of the user who runs them, and from what commands of others set."""
    import os
    from unittest import mock

    with mock.patch.dict(os.environ, XDG_CACHE_HOME=str(next(caches)), XDG_CONFIG_HOME=str(next(caches))):
        for name in list(os.environ):
            if name.startswith(("TOOLFOLD_", "ALPHA_VANTAGE_")):
                del os.environ[name]
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_name_server() -> Iterator[None]:
    """Find only this machine by its name: what a name server says of others, and how late, differs between machines."""
    real, here = socket.getaddrinfo, ("", "localhost", socket.gethostname().lower())

    def found(host: Any, *given: Any, **named: Any) -> Any:
        name = (host.decode() if isinstance(host, bytes) else host or "").lower()
        if name not in here and ":" not in name:
            try:
                socket.inet_aton(name)  # an address, in any of its spellings
            except OSError:
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from None
        return real(host, *given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", found)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_built_app() -> Iterator[None]:
    """Leave out the app that `make ui` may have built: lists of tools would name it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("toolfold.protocol.versions.APP_FILE", "")
        yield


@pytest.fixture(scope="session", autouse=True)
def _find_models_once() -> Iterator[None]:
    """Find and parse each model of botocore once, not for each session of boto3: most of the time of a client."""
    from botocore import session

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "create_loader", functools.cache(session.create_loader))
        yield


@pytest.fixture(scope="session", autouse=True)
def _measured_fit() -> Iterator[None]:
    """Read the fit of queries to Alpha Vantage from its catalog: measuring it is two thirds of the time of compiling.

    ``make catalog-check`` measures it.
    """
    from toolfold.build import search_index

    head = json.loads(bundled_path().read_bytes().partition(b"\n")[0] + b"}")
    source, thresholds = head["sources"]["alpha_vantage"], search_index.thresholds

    @functools.wraps(thresholds)
    def measured(tools: Any, vocabulary: Any) -> dict[str, float]:
        return dict(source["fit"]) if len(tools) == head["count"] else thresholds(tools, vocabulary)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_index, "thresholds", measured)
        yield


@pytest.fixture
def command_line(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """Serve AWS on this machine. A test that creates something in it removes it."""
    from tests.support import aws_services

    with aws_services.serving() as url:
        yield url


@pytest.fixture(scope="session")
def catalog_store() -> FileStore:
    """Return the real catalog as processes keep it: opening and parsing it again takes most of the time of a call."""
    return FileStore(bundled_path())


@pytest.fixture(scope="session")
def catalog(catalog_store: FileStore) -> Catalog:
    return catalog_store()


@pytest.fixture(scope="session")
def docks_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.support.approvals import compile_docks

    return compile_docks(tmp_path_factory.mktemp("docks"))


@pytest.fixture(scope="session")
def mock_api() -> Iterator[MockApi]:
    with MockApi() as running:
        yield running


@pytest.fixture
def make_tools(
    catalog_store: FileStore, mock_api: MockApi, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., MetaTools]:
    """Return a factory of meta-tools over the real catalog and the mock API; its arguments are settings."""

    def make(**environment: str) -> MetaTools:
        monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
        settings = Settings.from_environment(
            {
                "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
                "TOOLFOLD_TIMEOUT_S": "60",
                # No test waits for the pauses of retries.
                "TOOLFOLD_RETRY_BACKOFF_S": "0.001",
                "TOOLFOLD_MAX_QUEUE_WAIT_S": "0.5",
                # Below the mock API's huge response.
                "TOOLFOLD_MAX_RESPONSE_BYTES": "2500000",
                **environment,
            }
        )
        return MetaTools(catalog_store, ToolExecutor(settings))

    return make


@pytest.fixture
def tools(make_tools: Callable[..., MetaTools]) -> MetaTools:
    return make_tools()
