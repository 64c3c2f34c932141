"""What the log of the HTTP transports looks like."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from toolfold.telemetry import JsonLines, configure_logging

logger = logging.getLogger("toolfold")


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    """What has been logged, a dictionary a line."""
    before = list(logger.handlers), logger.level, logger.propagate
    configure_logging("INFO")
    yield lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    logger.handlers, logger.level, logger.propagate = before


def test_a_line_says_when_how_grave_what_and_all_that_was_given(lines: Any) -> None:
    logger.warning("call of %s", "RSI", extra={"code": "NO_DATA", "ms": 1.5})
    (line,) = lines()
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "level": "WARNING", "message": "call of RSI", "service": "toolfold", "code": "NO_DATA", "ms": 1.5,
    }  # fmt: skip


def test_what_is_below_the_level_is_not_written(lines: Any) -> None:
    logger.debug("details")
    assert lines() == []


def test_asked_twice_it_writes_once(lines: Any) -> None:
    configure_logging("ERROR")
    logger.warning("not grave enough any more")
    logger.error("grave")
    assert [line["message"] for line in lines()] == ["grave"]


def test_tracebacks_are_left_out_since_their_text_may_hold_a_key(lines: Any) -> None:
    try:
        raise ValueError("https://example.com/?apikey=secret")
    except ValueError:
        logger.exception("it failed")
    (line,) = lines()
    assert "secret" not in json.dumps(line)


def test_a_value_that_is_no_json_is_written_as_text(lines: Any) -> None:
    logger.info("odd", extra={"value": {1, 2}.__class__})
    assert lines()[0]["value"] == "<class 'set'>"


@pytest.mark.parametrize(("sampled", "known"), [("1", "1-5759e988-bd862e3fe1be46a994272793"), ("0", None)])
def test_a_recorded_invocation_can_be_found_by_its_trace(
    lines: Any, monkeypatch: pytest.MonkeyPatch, sampled: str, known: str | None
) -> None:
    trace = f"Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled={sampled}"
    monkeypatch.setenv("_X_AMZN_TRACE_ID", trace)
    logger.info("request")
    assert lines()[0].get("xray_trace_id") == known


def test_a_line_that_cannot_be_written_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        JsonLines().write("INFO", "request", {})
        JsonLines().write("INFO", "a half of a pair: \ud800", {})
        monkeypatch.undo()
        with suppress(OSError):
            full.close()
