"""Fixtures of the tests of faults."""

import logging
from collections.abc import Callable, Iterator
from logging.handlers import BufferingHandler

import pytest

from tests.faults.scenario import Scenario, aws
from toolfold.catalog.model import Catalog
from toolfold.mock_api.server import MockApi

__all__ = ["aws"]


@pytest.fixture
def log_records(caplog: pytest.LogCaptureFixture) -> Iterator[list[logging.LogRecord]]:
    """Return a list of everything that toolfold logs from now on, which a test may clear."""
    logger, kept = logging.getLogger("toolfold"), BufferingHandler(100_000)
    caplog.set_level(logging.INFO, "toolfold")
    logger.addHandler(kept)
    yield kept.buffer
    logger.removeHandler(kept)


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
