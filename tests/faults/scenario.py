"""A toolfold of its own for each test: time-outs short, its clock in the test's hand, everything it logs at hand."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.clocks import Clock
from tests.support.http import http_call
from toolfold.catalog.model import Catalog
from toolfold.execution.cached_executor import CachedExecutor
from toolfold.execution.credentials import RequestCredentials
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import Result
from toolfold.settings import Settings
from toolfold.sources.http_api import adapter

KEY, OTHER_KEY = "CANARYKEY0123456", "OTHERKEY98765432"
SERIES, QUOTE = "TIME_SERIES_WEEKLY", "GLOBAL_QUOTE"


class Scenario:
    """Meta-tools over the real catalog and the upstream at ``url``; ``told`` is what they log."""

    def __init__(
        self, url: str, told: list[logging.LogRecord], store: Callable[[], Catalog], **environment: str
    ) -> None:
        self.settings = Settings.from_environment(
            {
                "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": url,
                **{f"TOOLFOLD_{name}": value for name, value in environment.items()},
            }
        )
        self.clock, self.told = Clock(), told
        caller = ToolExecutor(self.settings)
        self.executor = CachedExecutor(
            self.settings,
            http_call(),
            adapter.base_url_for,
            self.clock,
            self.clock.monotonic,
            self.clock.sleep,
            caller.aws,
        )
        caller._keepers["http_api"] = self.executor
        self.aws = caller.aws
        self.tools = MetaTools(store, caller)

    def call(self, tool: str = SERIES, key: str = KEY, left_s: float | None = None, **arguments: Any) -> Result:
        """``TOOL_CALL``; ``left_s``: the seconds that are left of the request."""
        self._catch_up()
        deadline = None if left_s is None else self.clock.monotonic() + left_s
        own = {name: arguments.pop(name) for name in ("max_tokens", "select", "fresh") if name in arguments}
        asked = {"tool_name": tool, "arguments": arguments, **own}
        try:
            return self.tools.call("TOOL_CALL", asked, RequestCredentials(bearer=key), deadline)
        finally:
            self._catch_up()

    def _catch_up(self) -> None:
        """What sockets have waited for has passed for the scene as well."""
        self.clock.now += max(0.0, time.monotonic() - self.clock.monotonic())

    def calls(self) -> list[logging.LogRecord]:
        """The lines of calls, one for each."""
        return [line for line in self.told if line.getMessage() == "call"]

    def warnings(self) -> list[str]:
        """What was logged besides: the level and the text, with HASH for one."""
        lines = [f"{line.levelname} {line.getMessage()}" for line in self.told if line.getMessage() != "call"]
        return [re.sub(r"[0-9a-f]{64}", "HASH", line) for line in lines]

    @contextmanager
    def concurrent_call(self) -> Iterator[None]:
        """A healthy call by another key, beside what happens inside and after it; both must be answered."""
        results: list[Result] = []

        def call() -> None:
            results.append(self.call(QUOTE, OTHER_KEY, symbol="MSFT"))

        beside = threading.Thread(target=call)
        beside.start()
        yield
        beside.join()
        results.append(self.call(QUOTE, OTHER_KEY, symbol="AAPL"))
        for result in results:
            assert not result.is_error, result.text
            assert result.structured["result"]


@contextmanager
def listening() -> Iterator[list[logging.LogRecord]]:
    """Everything that toolfold logs meanwhile, whatever logging was told elsewhere."""
    lines: list[logging.LogRecord] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record)

    logger, kept = logging.getLogger("toolfold"), Kept()
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(kept)
    try:
        yield lines
    finally:
        logger.removeHandler(kept)
        logger.setLevel(level)


def whole(result: Result) -> str:
    """All that a model can see."""
    return result.text + json.dumps(result.structured)
