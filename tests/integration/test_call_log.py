"""The log line of each call."""

from contextlib import suppress
from typing import Any

from tests.support.catalogs import tool_of
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


def logged(catalog: Catalog, url: str, *names: str, arguments: Any = (), **how: Any) -> list[CallLog]:
    """Call tools one after the other, and return the logs of the calls."""
    settings = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": url, "TOOLFOLD_BREAKER_FAILURES": "1"}
    logs: list[CallLog] = []
    executor = ToolExecutor(Settings.from_environment(settings), on_call=logs.append, clock=Clock().clocks(), **how)
    for name in names:
        tool = tool_of(catalog, name)
        with suppress(CallError):
            run_call(executor, CallContext(catalog, tool, dict(arguments), RequestCredentials(KEY)))
    return logs


def lines(logs: list[CallLog]) -> list[dict[str, Any]]:
    times = {"upstream_ms", "wait_ms", "error_message"}
    return [{name: value for name, value in log.fields().items() if name not in times} for log in logs]


def test_each_call_has_one_line_of_what_happened(catalog: Catalog, upstream: Upstream) -> None:
    upstream.replies = [BUSY, OK, (500, {}, b"")]
    assert lines(logged(catalog, upstream.url, "CPI", "CPI", "WTI", "WTI")) == [
        {"inner_tool": "CPI", "code": "OK", "cache": "miss", "upstream_requests": 2, "retries": 1,
         "response_chars": len(CSV)},
        {"inner_tool": "CPI", "code": "OK", "cache": "memory", "response_chars": len(CSV)},
        {"inner_tool": "WTI", "code": "UPSTREAM_ERROR", "cache": "miss", "upstream_requests": 1,
         "circuit_breaker": "open"},
        {"inner_tool": "WTI", "code": "UPSTREAM_ERROR", "cache": "miss", "circuit_breaker": "open"},
    ]  # fmt: skip


def test_a_refused_call_is_logged_only_for_the_audit(catalog: Catalog, upstream: Upstream) -> None:
    for logs_audit in (False, True):
        logs = logged(catalog, upstream.url, "TIME_SERIES_WEEKLY", arguments={"nothing": 1}, logs_audit=logs_audit)
        assert lines(logs) == [{"inner_tool": "TIME_SERIES_WEEKLY", "code": "INVALID_ARGUMENTS"}] * logs_audit
        assert [log.audit["effect"] for log in logs] == ["read"] * logs_audit
