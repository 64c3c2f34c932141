"""Calls through one cached executor with a clock of its own, and replies of an upstream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.clocks import Clock
from tests.support.http import KEY
from tests.support.upstream import CSV, Reply, notice
from toolfold.catalog.model import Catalog
from toolfold.errors import CallError
from toolfold.execution.cached_executor import CachedExecutor
from toolfold.execution.result import CallResult
from toolfold.execution.upstream import CircuitBreaker
from toolfold.models import SourceCredentials
from toolfold.settings import Settings

OK: Reply = (200, {}, CSV.encode())
BUSY: Reply = (503, {}, b"<html>busy</html>")
DAILY = notice("our standard API rate limit is 25 requests per day")


class Calls:
    """Calls through one cached executor with a clock of its own."""

    def __init__(self, catalog: Catalog, clock: Clock, url: str, **environment: str) -> None:
        settings = Settings.from_environment(
            {
                "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": url,
                **{f"TOOLFOLD_{name}": value for name, value in environment.items()},
            }
        )
        self.executor = CachedExecutor(settings, clock=clock.clocks())
        self.catalog = catalog

    def __call__(self, name: str = "CPI", key: str = KEY, **how: Any) -> CallResult:
        bypass_cache, deadline = how.pop("bypass_cache", False), how.pop("deadline", None)
        tool = self.catalog.get(name)
        assert tool is not None
        source, credentials = self.catalog.source(tool.source), SourceCredentials(key)
        return self.executor.call(source, tool, how, credentials, bypass_cache=bypass_cache, deadline=deadline)

    @property
    def breaker(self) -> CircuitBreaker:
        return self.executor._upstreams["alpha_vantage"].breaker

    def error(self, name: str = "CPI", **how: Any) -> CallError:
        with pytest.raises(CallError) as caught:
            self(name, **how)
        return caught.value


Make = Callable[..., Calls]
"""Factory of calls; its keyword arguments are settings without ``TOOLFOLD_``."""
