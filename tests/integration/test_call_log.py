"""The log line of each call."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from tests.support.executor import BUSY, OK, Calls, Make
from tests.support.http import KEY
from tests.support.upstream import CSV, Upstream


class TestLog:
    def lines(self, caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
        names = ("inner_tool", "code", "cache", "upstream_requests", "retries", "response_chars", "circuit_breaker")
        return [{name: vars(line)[name] for name in names} for line in caplog.records if line.message == "call"]

    def test_each_call_writes_one_line(self, make: Make, upstream: Upstream, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, "toolfold")
        calls = make(BREAKER_FAILURES="1")
        upstream.replies = [BUSY, OK, (500, {}, b"")]
        calls()
        calls()
        calls.error("WTI")
        calls.error("WTI")
        assert self.lines(caplog) == [
            {"inner_tool": "CPI", "code": "OK", "cache": "miss", "upstream_requests": 2, "retries": 1,
             "response_chars": len(CSV), "circuit_breaker": "closed"},
            {"inner_tool": "CPI", "code": "OK", "cache": "memory", "upstream_requests": 0, "retries": 0,
             "response_chars": len(CSV), "circuit_breaker": "closed"},
            {"inner_tool": "WTI", "code": "UPSTREAM_ERROR", "cache": "miss", "upstream_requests": 1, "retries": 0,
             "response_chars": 0, "circuit_breaker": "open"},
            {"inner_tool": "WTI", "code": "UPSTREAM_ERROR", "cache": "miss", "upstream_requests": 0, "retries": 0,
             "response_chars": 0, "circuit_breaker": "open"},
        ]  # fmt: skip

    def test_it_contains_names_and_figures_only(
        self, calls: Calls, upstream: Upstream, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG, "toolfold")
        calls("TIME_SERIES_WEEKLY", symbol="SECRETSYMBOL")
        text = json.dumps([vars(line) for line in caplog.records if line.name == "toolfold"], default=str)
        assert "SECRETSYMBOL" not in text
        assert KEY not in text
