"""The log of the HTTP transports: a JSON object a line, which CloudWatch can query.

It is given names and codes only: no bodies, no arguments, no headers, no query strings, since any of them may hold an
API key. Nor are tracebacks written, whose last line is an exception's text.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Mapping
from typing import Any

_json = json.JSONEncoder(ensure_ascii=False, default=str).encode

_OWN = {*vars(logging.makeLogRecord({})), "message", "asctime"}
"""What every record has; all else was given by whoever logs."""


class JsonLines(logging.Handler):
    """``{"level", "message", "timestamp", "service", …}``: the time in UTC (RFC 3339), then what the line is about.

    Of an invocation that X-Ray records ``xray_trace_id`` is in it, by which a line and its trace are found together.
    What cannot be written is dropped: no answer waits for its line.
    """

    def emit(self, record: logging.LogRecord) -> None:
        try:
            about = {name: value for name, value in vars(record).items() if name not in _OWN}
            self.write(record.levelname, record.getMessage(), about)
        except Exception:  # noqa: BLE001 - as of every handler: a wrong line is told of on stderr
            self.handleError(record)

    def write(self, level: str, message: str, about: Mapping[str, Any]) -> None:
        """Write one line, past :mod:`logging`: every request waits for the way there."""
        now = time.time()
        line = {
            "level": level,
            "message": message,
            "timestamp": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03}Z",
            "service": "toolfold",
        }
        trace = os.environ.get("_X_AMZN_TRACE_ID", "")
        if "Sampled=1" in trace:
            line["xray_trace_id"] = trace.partition("Root=")[2].partition(";")[0]
        try:
            sys.stdout.write(_json({**line, **about}) + "\n")
            sys.stdout.flush()
        except (OSError, ValueError):
            return


def configure_logging(level: str) -> JsonLines:
    """Let what is logged under ``toolfold`` come out as JSON lines on standard output, from ``level`` on.

    ListRequest again it takes the place of what it did before; other handlers stay.
    """
    lines = JsonLines()
    core = logging.getLogger("toolfold")
    core.handlers = [*(other for other in core.handlers if not isinstance(other, JsonLines)), lines]
    core.setLevel(level)
    core.propagate = False
    return lines
