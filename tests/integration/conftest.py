"""What several of these tests start from: calls to an upstream of their own, and an environment to ask AWS from."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.approvals import World, reply
from tests.support.authorization_server import Gateway, Issuer
from tests.support.built_function import LOCAL_BUILD, BuiltFunction, load_built_function
from tests.support.clocks import Clock
from tests.support.executor import Calls, Make
from tests.support.http import Send
from tests.support.mcp_sources import Sources
from tests.support.upstream import Upstream
from toolfold.aws.clients import AwsClients
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
def alpha_vantage() -> Iterator[Upstream]:
    """The upstream of one of several sources."""
    with Upstream() as running:
        yield running


@pytest.fixture
def tides() -> Iterator[Upstream]:
    """The upstream of the source of ``tests/fixtures/sources/tides``."""
    with Upstream((200, {}, b'{"times": [{"time": "04:10", "metres": 1.2}]}')) as running:
        yield running


@pytest.fixture
def make(catalog: Catalog, clock: Clock, upstream: Upstream) -> Make:
    return lambda **environment: Calls(catalog, clock, upstream.url, **environment)


@pytest.fixture
def calls(make: Make) -> Calls:
    return make()


@pytest.fixture
def make_world(docks_catalog: Path) -> Iterator[Callable[..., World]]:
    """Return a factory of servers with tools that need approval; its arguments are settings."""
    worlds: list[World] = []

    def make(**environment: str) -> World:
        worlds.append(World(docks_catalog, docks, **environment))
        return worlds[-1]

    with Upstream(reply) as docks:
        yield make
        for world in worlds:
            world.close()


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    return Sources(tmp_path)


@pytest.fixture
def no_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials and a region, and an endpoint where no server listens."""
    from tests.support.aws_services import use_aws_endpoint

    for name in list(os.environ):
        if name.startswith("AWS_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    use_aws_endpoint("http://127.0.0.1:1", monkeypatch)


@pytest.fixture
def on_moto(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send the requests to AWS of this process to moto."""
    from tests.support.aws_services import use_aws_endpoint

    use_aws_endpoint(endpoint, monkeypatch)


@pytest.fixture
def clients() -> Iterator[AwsClients]:
    made = AwsClients()
    yield made
    made.reset()


@pytest.fixture(scope="module")
def s3(endpoint: str) -> Any:
    """A client of moto that needs no variables."""
    from tests.support.aws_services import client

    return client("s3", endpoint)


@pytest.fixture(scope="module")
def built() -> BuiltFunction:
    return load_built_function(LOCAL_BUILD)


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as one:
        yield one


@pytest.fixture
def gateway(issuer: Issuer, mock_api: MockApi, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", "operator-key-1")
    mock_api.clear_requests()
    return Gateway(issuer, mock_api)
