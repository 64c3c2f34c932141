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

_json = json.JSONEncoder(ensure_ascii=False, default=str).encode

_OWN = {*vars(logging.makeLogRecord({})), "message", "asctime"}
"""What every record has; all else was given by whoever logs."""


class JsonLines(logging.Formatter):
    """``{"level", "message", "timestamp", "service", …}``: the time in UTC (RFC 3339), then what the line is about.

    Of an invocation that X-Ray records ``xray_trace_id`` is in it, by which a line and its trace are found together.
    """

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "level": record.levelname,
            "message": record.getMessage(),
            "timestamp": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{record.msecs:03.0f}Z",
            "service": "toolfold",
        }
        trace = os.environ.get("_X_AMZN_TRACE_ID", "")
        if "Sampled=1" in trace:
            line["xray_trace_id"] = trace.partition("Root=")[2].partition(";")[0]
        line |= {name: value for name, value in vars(record).items() if name not in _OWN}
        return _json(line)


def write_json_lines(level: str) -> None:
    """Let what is logged under ``toolfold`` come out as JSON lines on standard output, from ``level`` on.

    Asked again it takes the place of what it did before; other handlers stay.
    """
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonLines())
    core = logging.getLogger("toolfold")
    core.handlers = [*(other for other in core.handlers if not isinstance(other.formatter, JsonLines)), handler]
    core.setLevel(level)
    core.propagate = False
