"""What several of these tests start from: calls to an upstream of their own, and an environment to ask AWS from."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.clocks import Clock
from tests.support.executor import Calls, Make
from tests.support.http import Send
from tests.support.issuer import Issuer
from tests.support.oauth_gateway import Gateway
from tests.support.upstream import Upstream
from toolfold.catalog.model import Catalog
from toolfold.mock_api.server import MockApi


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


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as one:
        yield one


@pytest.fixture
def gateway(issuer: Issuer, mock_api: MockApi, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", "operator-key-1")
    mock_api.clear_requests()
    return Gateway(issuer, mock_api)
