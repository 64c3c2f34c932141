"""Prepared calls with a clock of their own, and replies of an upstream."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.support.catalogs import tool_of
from tests.support.clocks import Clock
from tests.support.http import KEY
from tests.support.upstream import CSV, Reply, notice
from toolfold.catalog.model import Catalog
from toolfold.errors import CallError
from toolfold.execution.call import CallContext, CallResult
from toolfold.execution.executor import ToolExecutor
from toolfold.execution.pipeline import answer_prepared
from toolfold.execution.upstream import CircuitBreaker
from toolfold.models import SourceCredentials
from toolfold.settings import Settings

OK: Reply = (200, {}, CSV.encode())
BUSY: Reply = (503, {}, b"<html>busy</html>")
DAILY = notice("our standard API rate limit is 25 requests per day")


def settings_for(url: str, **environment: str) -> Settings:
    """Return settings for an upstream at ``url``; the names of others are without ``TOOLFOLD_``."""
    named = {f"TOOLFOLD_{name}": value for name, value in environment.items()}
    return Settings.from_environment({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": url, **named})


def answered(
    executor: ToolExecutor, catalog: Catalog, name: str, key: str, arguments: Mapping[str, Any], **options: Any
) -> CallResult:
    """The answer of a call that is prepared: its arguments are valid, and its key is known."""
    tool = tool_of(catalog, name)
    call = CallContext(catalog, tool, arguments, **options)
    call.source_credentials = SourceCredentials(key)
    call.upstream = executor.services.upstream(call.source)
    return answer_prepared(executor.services, call)


class Calls:
    """Prepared calls with a clock of their own."""

    def __init__(self, catalog: Catalog, clock: Clock, url: str, **environment: str) -> None:
        self.executor = ToolExecutor(settings_for(url, **environment), clock=clock.clocks())
        self.catalog = catalog

    def __call__(self, name: str = "CPI", key: str = KEY, **how: Any) -> CallResult:
        options = {name: how.pop(name) for name in ("bypass_cache", "deadline") if name in how}
        return answered(self.executor, self.catalog, name, key, how, **options)

    @property
    def breaker(self) -> CircuitBreaker:
        return self.executor.services.upstreams["alpha_vantage"].breaker

    def error(self, name: str = "CPI", **how: Any) -> CallError:
        with pytest.raises(CallError) as caught:
            self(name, **how)
        return caught.value


Make = Callable[..., Calls]
"""Factory of calls; its keyword arguments are settings without ``TOOLFOLD_``."""
