"""One request to an address, and one call of a tool, without anything around them."""

import os
import time
from typing import Any

import pytest

from tests.support.catalogs import tool_of
from toolfold.catalog.model import Catalog
from toolfold.models import SourceCredentials, UpstreamResponse
from toolfold.network.errors import DeadlineBeforeConnection, ReadTimeout
from toolfold.network.session import HttpClient, Response
from toolfold.settings import Settings
from toolfold.sources.base import AdapterContext, create_adapter

KEY = "CANARYKEY0123456"

OUT_OF_TIME = (ReadTimeout, DeadlineBeforeConnection)
"""A request whose time is short ends with one of these: a machine that stalls may not even have connected."""


def fetch(
    url: str, client: HttpClient | None = None, method: str = "GET", within_s: float = 60.0, **how: Any
) -> Response:
    """Return the response to one request, without the adapter of a source."""
    options = {"headers": {}, "connect_timeout_s": 30, "max_bytes": 999, **how}
    used = client or HttpClient()
    try:
        return used.request(method, url, deadline=time.monotonic() + within_s, **options)
    finally:
        if client is None:
            used.close()


def unset_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the variables of this environment that name proxies."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


class Send:
    """Calls a tool at ``url`` with ``KEY``. ``limit`` is how many bytes an answer may have.

    Hosts in ``private_hosts`` may have a private address. A connection may take ``connect_s`` seconds, all of the call
    ``within_s``.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.http_client = HttpClient()

    def __call__(
        self,
        url: str,
        name: str = "CPI",
        within_s: float = 60.0,
        limit: int | None = None,
        connect_s: float | None = None,
        private_hosts: str = "",
        **arguments: Any,
    ) -> UpstreamResponse:
        environment = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": url, "TOOLFOLD_PRIVATE_HOSTS": private_hosts}
        if connect_s is not None:
            environment["TOOLFOLD_CONNECT_TIMEOUT_S"] = str(connect_s)
        if limit is not None:
            environment["TOOLFOLD_MAX_RESPONSE_BYTES"] = str(limit)
        settings = Settings.from_environment(environment)
        tool = tool_of(self._catalog, name)
        adapter = create_adapter(self._catalog.source(tool.source), AdapterContext(settings, lambda: self.http_client))
        return adapter.call(tool, arguments, SourceCredentials(KEY), time.monotonic() + within_s)
