"""Count what a warm call passes through: files, functions, calls of functions, and switches from one file to another.

    python -m scripts.trace_calls                # a table
    python -m scripts.trace_calls --files        # and the files of each call, in the order in which they are entered

Each call goes through handlers/gateway/app.py as API Gateway would send it, with the mock API as the upstream. Only our
own files count. Functions are followed by ``sys.setprofile`` in every thread. Comprehensions of lists, sets and objects
are no functions since Python 3.12, which the deployment runs; they do not count with Python 3.11 either.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

CORE = Path(__file__).parents[1] / "layers/core/toolfold"

QUOTE = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}
SERIES = {"tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": "IBM"}, "select": "last 5; max(close)"}

_COMPREHENSIONS = frozenset({"<dictcomp>", "<listcomp>", "<setcomp>"})

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "TOOL_LIST(query)": ("TOOL_LIST", {"query": "latest price of a stock"}),
    "TOOL_CALL, cached": ("TOOL_CALL", QUOTE),
    "TOOL_CALL, fetched": ("TOOL_CALL", {**QUOTE, "fresh": True}),
    "TOOL_CALL, select": ("TOOL_CALL", SERIES),
}
"""Name → meta-tool and arguments."""


class Trace:
    """What was passed through while the trace was on."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.functions: set[Any] = set()
        self.calls = self.switches = 0
        self._current = threading.local()

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Count one event of ``sys.setprofile``."""
        if event not in ("call", "return") or frame.f_code.co_name in _COMPREHENSIONS:
            return
        # A return goes back to the caller, which may be a file that is not ours.
        back = frame if event == "call" else frame.f_back
        name = back.f_code.co_filename if back is not None else ""
        if not name.startswith(str(CORE)):
            return
        if event == "call":
            self.calls += 1
            self.files.setdefault(name)
            self.functions.add(frame.f_code)
        self.switches += getattr(self._current, "file", name) != name
        self._current.file = name


def trace(run: Callable[[], object]) -> Trace:
    """Return the trace of ``run``."""
    found = Trace()
    threading.setprofile(found)
    sys.setprofile(found)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def main(argv: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", action="store_true", help="print the files of each call")
    options = parser.parse_args(argv)

    from tests.support.http_api import Request, event_for
    from tests.support.lambda_handler import CONTEXT, load_gateway
    from tests.support.mcp_requests import message
    from toolfold.mock_api.server import MockApi

    def call(name: str, arguments: dict[str, Any]) -> str:
        headers = [("content-type", "application/json"), ("accept", "application/json"), ("x-api-key", "KEY00001")]
        body = json.dumps(message("tools/call", {"name": name, "arguments": arguments})).encode()
        with contextlib.redirect_stdout(io.StringIO()):
            answer = gateway.handler(event_for(Request("POST", "/mcp", headers, body)), CONTEXT)
        return str(answer["body"])

    print(f"{'':22}{'files':>7}{'functions':>11}{'calls':>8}{'switches':>10}")
    with MockApi() as mock_api:
        os.environ["TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL"] = mock_api.url
        gateway = load_gateway()
        for title, (name, arguments) in CALLS.items():
            for _ in range(2):  # the first imports, the second is warm
                answer = call(name, arguments)
                assert '"error"' not in answer, answer
            found = trace(functools.partial(call, name, arguments))
            print(f"{title:22}{len(found.files):7}{len(found.functions):11}{found.calls:8}{found.switches:10}")
            if options.files:
                print(*(f"  {Path(path).relative_to(CORE)}" for path in found.files), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
