"""What the tests of faults share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest

from tests.faults.aws import aws, clients
from tests.faults.scenario import Scenario, listening
from toolfold.catalog.model import Catalog
from toolfold.mock_api.server import MockApi

__all__ = ["aws", "clients"]


@pytest.fixture
def told() -> Iterator[list[logging.LogRecord]]:
    with listening() as lines:
        yield lines


@pytest.fixture
def scenario(mock_api: MockApi, told: list[logging.LogRecord], catalog: Catalog) -> Callable[..., Scenario]:
    """A scene over the mock API, with settings by their name without ``TOOLFOLD_``."""
    mock_api.clear_requests()

    def made(url: str = mock_api.url, **environment: str) -> Scenario:
        return Scenario(url, told, lambda: catalog, **environment)

    return made


@pytest.fixture
def make_scenario(mock_api: MockApi, told: list[logging.LogRecord]) -> Callable[[Callable[[], Catalog]], Scenario]:
    """A scene over the mock API and a catalog's store; the lines of the one before are forgotten."""

    def made(store: Callable[[], Catalog]) -> Scenario:
        told.clear()
        return Scenario(mock_api.url, told, store)

    return made
