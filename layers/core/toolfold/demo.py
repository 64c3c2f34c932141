"""Answer "give me aapl price" in two calls, with the real handler, the real catalog and the mock API.

Everything but the upstream is what runs on Lambda, called with events of API Gateway, so the demo needs neither a
network nor a key. The choices between the steps, which a model would make, are written down here.
"""

from __future__ import annotations

import importlib.util
import json
import os
import textwrap
import time
from typing import Any

from toolfold.app import build_app
from toolfold.explorer import LOCAL_PORT
from toolfold.settings import Settings
from toolfold.telemetry import configure
from toolfold.transports.lambda_handler import LambdaHandler

_MAX_LINES = 12
_MARGIN = "   │ "
"""Before each line of an answer."""

_SYMBOLS = ["AAPL", "MSFT", "NVDA", "IBM", "KO", "PEP", "JNJ", "WMT", "DIS", "TSLA"]


def run(width: int = 100) -> int:
    """Print the demo to stdout in lines of ``width`` columns; return 0, or 1 when a step failed."""
    from toolfold.mock_api.server import MockApi

    with MockApi() as mock_api:
        # A log line for each request would get in the way.
        demo_settings = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "TOOLFOLD_LOG_LEVEL": "WARNING"}
        settings = Settings.from_environment({**os.environ, **demo_settings})
        screen = _Screen(LambdaHandler(build_app(settings), configure(settings)), width)
        screen.print(f"MCP server: the Lambda handler. Upstream: {mock_api.url} (the mock API, made-up data).")
        return _run_steps(screen)


def _run_steps(screen: _Screen) -> int:
    tools = screen.request("tools/list", {})["tools"]
    names = ", ".join(tool["name"] for tool in tools)
    screen.print(f"\nA model is connected. It sees {len(tools)} tools: {names}.")
    screen.print('The user says: "give me aapl price"\n')

    listed = screen.step("TOOL_LIST", {"query": "give me aapl price"})
    screen.print("   The best tool comes with its parameters, so it can be called at once.\n", "   ")
    called = screen.step("TOOL_CALL", {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "AAPL"}})
    if listed["isError"] or called["isError"]:
        return 1
    quote = called["structuredContent"]["result"]
    screen.print(f"The model answers: AAPL stands at {quote['price']} ({quote['changePercent']:+.2f} % on the day).")

    screen.print("\nA question about a time series returns the answer, not the series:\n")
    series = {"tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": "AAPL"}}
    screen.step("TOOL_CALL", {**series, "select": "last 30; last(close) / first(close) - 1, max(close)"})
    screen.print("The next call sends no request: the series is cached.\n")
    screen.step("TOOL_CALL", {**series, "select": "timestamp, close; last 3"})

    screen.print("Two stocks are compared in one call:\n")
    both = {"tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": ["AAPL", "MSFT"]}}
    compared = screen.step("TOOL_CALL", {**both, "select": "last 30; last(close) / first(close) - 1, max(close)"})

    screen.print("TOOL_GET describes a tool in full:\n")
    screen.step("TOOL_GET", {"tool_name": "SMA"})
    screen.print("An error says what to change, so that the model can correct it at once:\n")
    screen.step("TOOL_CALL", {"tool_name": "SMA", "arguments": {"symbol": "AAPL", "interval": "day"}})
    screen.print("A request that no tool can answer has no matches:\n")
    screen.step("TOOL_LIST", {"query": "book me a flight"})
    screen.print("Ten symbols are compared in one batch:\n")
    calls = [{"id": symbol, "tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": symbol}} for symbol in _SYMBOLS]
    batch = screen.step("TOOL_CALL", {"tool_name": "TOOL_BATCH", "arguments": {"calls": calls}})
    missing = "" if importlib.util.find_spec("uvicorn") else ", with the extra serve"
    page = f"toolfold ui opens http://127.0.0.1:{LOCAL_PORT}/{missing}"
    screen.print(f"\nThe same catalog as a page in a browser: {page}.")
    return int(compared["isError"] or batch["isError"])


class _Screen:
    """A minimal MCP client, whose requests are events of API Gateway; it prints lines of at most ``width`` columns."""

    def __init__(self, handler: LambdaHandler, width: int) -> None:
        self._handler, self.width = handler, width
        self._id = self._steps = 0

    def print(self, text: str, indent: str = "") -> None:
        """Print paragraphs; ``indent`` begins the lines after the first of each."""
        for part in text.split("\n"):
            print(textwrap.fill(part, self.width, subsequent_indent=indent))

    def print_answer(self, text: str) -> None:
        """Print the beginning of an answer; lines of JSON may end after its commas."""
        parts = text.replace(',"', ', "').splitlines()
        lines = [line for part in parts for line in textwrap.wrap(part, self.width - len(_MARGIN))]
        print(*(f"{_MARGIN}{line}" for line in lines[:_MAX_LINES]), sep="\n")
        if len(lines) > _MAX_LINES:
            print(f"{_MARGIN}… {len(lines) - _MAX_LINES} more lines")

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its result."""
        self._id += 1
        event = {
            "version": "2.0",
            "headers": {"content-type": "application/json", "accept": "application/json", "x-api-key": "mock"},
            "requestContext": {"http": {"method": "POST"}},
            "body": json.dumps({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}),
        }
        response: dict[str, Any] = json.loads(self._handler(event)["body"])
        return dict(response["result"])

    def step(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a meta-tool and print the call, the beginning of its answer, and the time it took."""
        self._steps += 1
        number = f"{self._steps}. "
        self.print(f"{number}{tool}({json.dumps(arguments)})", " " * len(number))
        started = time.perf_counter()
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        duration_ms = (time.perf_counter() - started) * 1000
        text = result["content"][0]["text"]
        self.print_answer(text)
        print(f"   {len(text):,} characters in {duration_ms:.0f} ms\n")
        return result
