"""Scenario of a fault: a toolfold with short time-outs, a clock that the test moves, and its log records."""

import json
import logging
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from tests.support.clocks import Clock
from tests.support.executor import settings_for
from toolfold.catalog.model import Catalog
from toolfold.execution.credentials import RequestCredentials
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import Result

KEY, OTHER_KEY = "CANARYKEY0123456", "OTHERKEY98765432"
SERIES, QUOTE = "TIME_SERIES_WEEKLY", "GLOBAL_QUOTE"


class Scenario:
    """Meta-tools over the real catalog and the upstream at ``url``; ``log_records`` are what they log."""

    def __init__(
        self, url: str, log_records: list[logging.LogRecord], store: Callable[[], Catalog], **environment: str
    ) -> None:
        self.settings = settings_for(url, **environment)
        self.clock, self.log_records = Clock(), log_records
        self.executor = ToolExecutor(self.settings, clock=self.clock.clocks())
        self.aws = self.executor.aws
        self.tools = MetaTools(store, self.executor)

    def call(self, tool: str = SERIES, key: str = KEY, left_s: float | None = None, **arguments: Any) -> Result:
        """Call ``TOOL_CALL``; ``left_s`` are the seconds that are left of the request."""
        self._catch_up()
        deadline = None if left_s is None else self.clock.monotonic() + left_s
        own = {name: arguments.pop(name) for name in ("max_tokens", "select", "fresh") if name in arguments}
        asked = {"tool_name": tool, "arguments": arguments, **own}
        try:
            return self.tools.call("TOOL_CALL", asked, RequestCredentials(bearer=key), deadline)
        finally:
            self._catch_up()

    def _catch_up(self) -> None:
        """Move the clock by the real time that sockets have taken."""
        self.clock.now += max(0.0, time.monotonic() - self.clock.monotonic())

    def calls(self) -> list[logging.LogRecord]:
        """Return the log records of calls, one for each."""
        return [line for line in self.log_records if line.getMessage() == "call"]

    def warnings(self) -> list[str]:
        """Return level and text of the other log records, with HASH for a hash."""
        lines = [f"{line.levelname} {line.getMessage()}" for line in self.log_records if line.getMessage() != "call"]
        return [re.sub(r"[0-9a-f]{64}", "HASH", line) for line in lines]

    @contextmanager
    def concurrent_call(self) -> Iterator[None]:
        """Make a healthy call with another key at the same time and one afterwards; check that both succeed."""
        with ThreadPoolExecutor() as threads:
            beside = threads.submit(self.call, QUOTE, OTHER_KEY, symbol="MSFT")
            yield
        for result in (beside.result(), self.call(QUOTE, OTHER_KEY, symbol="AAPL")):
            assert not result.is_error, result.text
            assert result.structured["result"]


def visible_text(result: Result) -> str:
    """Return everything that a model can see."""
    return result.text + json.dumps(result.structured)
