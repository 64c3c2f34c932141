"""What several of these tests start from: calls to an upstream of their own, and an environment to ask AWS from."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.clocks import Clock
from tests.support.executor import Calls, Make
from tests.support.http import Send
from tests.support.upstream import Upstream
from toolfold.catalog.model import Catalog


@pytest.fixture
def send(catalog: Catalog) -> Send:
    return Send(catalog)


@pytest.fixture
def clock() -> Clock:
    return Clock("2026-01-13 12:00")


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as running:
        yield running


@pytest.fixture
def make(catalog: Catalog, clock: Clock, upstream: Upstream) -> Make:
    return lambda **environment: Calls(catalog, clock, upstream.url, **environment)


@pytest.fixture
def calls(make: Make) -> Calls:
    return make()


@pytest.fixture
def no_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials and a region, and an endpoint where no server listens."""
    from tests.support.aws_services import use_aws_endpoint

    for name in list(os.environ):
        if name.startswith("AWS_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    use_aws_endpoint("http://127.0.0.1:1", monkeypatch)
