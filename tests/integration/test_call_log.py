"""The log line of each call."""

from contextlib import suppress
from typing import Any

from tests.support.clocks import Clock
from tests.support.executor import BUSY, OK
from tests.support.http import KEY
from tests.support.upstream import CSV, Upstream
from toolfold.catalog.model import Catalog
from toolfold.errors import CallError
from toolfold.execution.call import CallContext, CallLog
from toolfold.execution.credentials import RequestCredentials
from toolfold.execution.executor import ToolExecutor
from toolfold.execution.pipeline import run_call
from toolfold.settings import Settings


class Calls:
    """Calls through an executor, and their log."""

    def __init__(self, catalog: Catalog, url: str, **how: Any) -> None:
        settings = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": url, "TOOLFOLD_BREAKER_FAILURES": "1"}
        self.logs: list[CallLog] = []
        on_call = self.logs.append
        self.executor = ToolExecutor(
            Settings.from_environment(settings), on_call=on_call, clock=Clock().clocks(), **how
        )
        self.catalog = catalog

    def __call__(self, name: str, **arguments: Any) -> None:
        tool = self.catalog.get(name)
        assert tool is not None
        with suppress(CallError):
            run_call(self.executor, CallContext(self.catalog, tool, arguments, RequestCredentials(KEY)))

    @property
    def lines(self) -> list[dict[str, Any]]:
        times = {"upstream_ms", "wait_ms", "error_message"}
        return [{name: value for name, value in log.fields().items() if name not in times} for log in self.logs]


def test_each_call_has_one_line_of_what_happened(catalog: Catalog, upstream: Upstream) -> None:
    calls = Calls(catalog, upstream.url)
    upstream.replies = [BUSY, OK, (500, {}, b"")]
    for name in ("CPI", "CPI", "WTI", "WTI"):
        calls(name)
    assert calls.lines == [
        {"inner_tool": "CPI", "code": "OK", "cache": "miss", "upstream_requests": 2, "retries": 1,
         "response_chars": len(CSV)},
        {"inner_tool": "CPI", "code": "OK", "cache": "memory", "response_chars": len(CSV)},
        {"inner_tool": "WTI", "code": "UPSTREAM_ERROR", "cache": "miss", "upstream_requests": 1,
         "circuit_breaker": "open"},
        {"inner_tool": "WTI", "code": "UPSTREAM_ERROR", "cache": "miss", "circuit_breaker": "open"},
    ]  # fmt: skip


def test_a_refused_call_is_logged_only_for_the_audit(catalog: Catalog, upstream: Upstream) -> None:
    for logs_audit in (False, True):
        calls = Calls(catalog, upstream.url, logs_audit=logs_audit)
        calls("TIME_SERIES_WEEKLY", nothing=1)
        assert calls.lines == ([{"inner_tool": "TIME_SERIES_WEEKLY", "code": "INVALID_ARGUMENTS"}] * logs_audit)
        assert [log.audit["effect"] for log in calls.logs] == ["read"] * logs_audit
