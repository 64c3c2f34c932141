"""Fixtures of the tests of faults."""

import logging
from collections.abc import Callable, Iterator

import pytest

from tests.faults.aws import aws
from tests.faults.scenario import Scenario, capture_logs
from toolfold.catalog.model import Catalog
from toolfold.mock_api.server import MockApi

__all__ = ["aws"]


@pytest.fixture
def log_records() -> Iterator[list[logging.LogRecord]]:
    with capture_logs() as lines:
        yield lines


@pytest.fixture
def scenario(mock_api: MockApi, log_records: list[logging.LogRecord], catalog: Catalog) -> Callable[..., Scenario]:
    """Return a factory of scenarios over the mock API; settings are named without ``TOOLFOLD_``."""
    mock_api.clear_requests()

    def made(url: str = mock_api.url, **environment: str) -> Scenario:
        return Scenario(url, log_records, lambda: catalog, **environment)

    return made


@pytest.fixture
def make_scenario(
    mock_api: MockApi, log_records: list[logging.LogRecord]
) -> Callable[[Callable[[], Catalog]], Scenario]:
    """Return a factory of scenarios over the mock API and a catalog store; each clears the earlier log records."""

    def made(store: Callable[[], Catalog]) -> Scenario:
        log_records.clear()
        return Scenario(mock_api.url, log_records, store)

    return made
