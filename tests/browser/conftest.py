"""Chromium, one for the tests of a process, and ``toolfold ui`` over the mock API."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.pages import CheckedPage, Explorer, running_chromium, running_explorer
from tests.conftest import KEY
from tests.support.approvals import compile_docks, reply
from tests.support.upstream import Upstream
from toolfold.mock_api.server import MockApi

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OpenPage = Callable[..., CheckedPage]
"""Returns a page of an explorer in a context of its own; keyword arguments are options of the context."""

if importlib.util.find_spec("playwright") is None:  # `make test`: they run in .venv-browser
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with running_chromium() as running:
        yield running


@pytest.fixture(scope="session")
def upstream(mock_api: MockApi) -> Mapping[str, str]:
    """Return the variables with which toolfold calls the mock API."""
    return {
        "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
        "ALPHA_VANTAGE_API_KEY": KEY,
        "TOOLFOLD_RETRY_BACKOFF_S": "0.001",
    }


@pytest.fixture(scope="session")
def explorer(upstream: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """Serve the catalog of the package; check that the log has no key."""
    with running_explorer(tmp_path_factory.mktemp("explorer"), **upstream) as running:
        yield running
    assert KEY not in running.log.read_text()


@pytest.fixture
def open_page(browser: Browser, explorer: Explorer) -> Iterator[OpenPage]:
    """Return a factory of pages; at the end of the test, each is checked."""
    opened: list[tuple[Any, CheckedPage]] = []

    def make(of: Explorer = explorer, **options: Any) -> CheckedPage:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        opened.append((context, CheckedPage(context, of)))
        return opened[-1][1]

    yield make
    for context, _ in opened:
        context.close()
    for _, checked in opened:
        checked.check()


@pytest.fixture
def checked(open_page: OpenPage) -> CheckedPage:
    """Return a page of the explorer over the mock API."""
    return open_page()


@pytest.fixture(scope="module")
def docks() -> Iterator[Upstream]:
    with Upstream(reply) as running:
        yield running


@pytest.fixture(scope="module")
def human(docks: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """Serve a source with destructive tools, whose calls a person approves."""
    folder = tmp_path_factory.mktemp("human")
    variables = {
        "TOOLFOLD_CATALOG": str(compile_docks(folder)),
        "TOOLFOLD_ALLOWED_HOSTS": "docks.test",
        "TOOLFOLD_SOURCE_DOCKS_URL": docks.url,
        "TOOLFOLD_APPROVE": "human",
    }
    with running_explorer(folder, **variables) as running:
        yield running
