"""Log lines for a person: requests of a server, and warnings of a command."""

import logging
from typing import Any

import pytest

from toolfold.cli.output import RequestFormatter, one_warning_of_each_kind


@pytest.mark.parametrize(
    ("message", "fields", "expected"),
    [
        ("request", {"rpc": "tools/list", "status": 200, "ms": 3.2}, "tools/list  200  3 ms"),
        ("request", {"rpc": "tools/call", "tool": "TOOL_CALL", "inner_tool": "WTI", "status": 200, "ms": 135.4,
                     "cache": "hit"}, "tools/call  WTI  200  135 ms  hit"),
        ("request", {"rpc": "tools/call", "tool": "TOOL_CALL", "error": "AUTH_REQUIRED"},
         "tools/call  TOOL_CALL  AUTH_REQUIRED"),
        ("the cache is slow", {}, "warning  the cache is slow"),
    ],
)  # fmt: skip
def test_a_line_has_time_tool_and_outcome(message: str, fields: dict[str, Any], expected: str) -> None:
    record = logging.LogRecord("toolfold", logging.WARNING, "", 0, message, (), None)
    vars(record).update(fields)
    clock, _, rest = RequestFormatter().format(record).partition("  ")
    assert (len(clock), rest) == (8, expected)


def test_a_kind_of_warning_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.Logger("unconfigured")
    with one_warning_of_each_kind():
        for name in ("a", "b", "c"):
            logger.warning("source %s will not be started", name)
        logger.warning("another")
    assert capsys.readouterr().err == "source a will not be started\nanother\n2 more warnings of the same kind.\n"
