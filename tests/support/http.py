"""One call to an address, without anything around it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from toolfold.catalog.model import Catalog
from toolfold.models import UpstreamResponse
from toolfold.network.session import HttpClient
from toolfold.settings import Settings
from toolfold.sources.http_api import adapter

KEY = "CANARYKEY0123456"


def http_call() -> Callable[..., UpstreamResponse]:
    """The call of the HTTP adapter, with a client of its own."""
    return partial(adapter.call, http_client=HttpClient())


class Send:
    """Calls a tool at ``url`` with ``KEY``. ``limit`` is how many bytes an answer may have."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.http_client = HttpClient()

    def __call__(
        self, url: str, name: str = "CPI", within_s: float = 5.0, limit: int | None = None, **arguments: Any
    ) -> UpstreamResponse:
        environment = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": url}
        if limit is not None:
            environment["TOOLFOLD_MAX_RESPONSE_BYTES"] = str(limit)
        settings = Settings.from_environment(environment)
        tool = self._catalog.get(name)
        assert tool is not None
        source = self._catalog.source(tool.source)
        return adapter.call(source, tool, arguments, KEY, settings, time.monotonic() + within_s, self.http_client)
