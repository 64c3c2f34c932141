"""Measure several calls in one beside the same calls one after the other: ``make bench-combined``.

python -m benchmarks.combined            print the tables; half a minute
python -m benchmarks.combined --write    put them into docs/reference/measurements.md

Requests go to the Lambda handler, as events of API Gateway, in this process; the source is the mock API over HTTP on
this machine. Each figure is the median of its repetitions.
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import sys
from typing import Any

from benchmarks import harness
from benchmarks.timing import each_ms
from scripts.measured_tables import markdown_table
from tests.support.lambda_handler import http_event
from tests.support.mcp_requests import message
from tests.support.meta_tools import tokens
from toolfold.app import build_app
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings
from toolfold.telemetry import configure
from toolfold.transports.lambda_handler import LambdaHandler

SYMBOLS = ["AAPL", "MSFT", "IBM", "KO", "PEP", "JNJ", "WMT", "DIS", "NVDA", "TSLA"]
LATENCY_S = 0.2
"""Of a data service on the internet."""

REPEATED = 40
SCRIPT = (
    "quotes = gather(*[call('GLOBAL_QUOTE', symbol=s) for s in inputs['symbols']])\n"
    "best = max(quotes, key=lambda q: q['changePercent'])\n"
    "{'symbol': best['symbol'], 'changePercent': best['changePercent']}"
)


class Client:
    """Sends requests to a handler of its own, with an empty cache."""

    def __init__(self, url: str) -> None:
        settings = Settings.from_environment(
            {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": url, "TOOLFOLD_CACHE": "memory", "TOOLFOLD_LOG_LEVEL": "WARNING"}
        )
        self.handler = LambdaHandler(build_app(settings), configure(settings))

    def call(self, arguments: dict[str, Any]) -> dict[str, Any]:
        sent = message("tools/call", {"name": "TOOL_CALL", "arguments": arguments})
        event = http_event(sent, {"x-api-key": "mock"})
        result: dict[str, Any] = json.loads(self.handler(event)["body"])["result"]
        if result["isError"]:
            raise SystemExit(result["content"][0]["text"])
        return result

    def timed(self, arguments: dict[str, Any], repeated: int = REPEATED) -> float:
        """Return the median time of a call, in milliseconds."""
        return statistics.median(each_ms(self.call, [arguments] * repeated))


def quote(symbol: str, **more: Any) -> dict[str, Any]:
    return {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": symbol}, **more}


def combined(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_name": tool, "arguments": arguments}


def batch(symbols: list[str], **more: Any) -> dict[str, Any]:
    return combined("TOOL_BATCH", calls=[quote(symbol, **more) for symbol in symbols])


def script(text: str = SCRIPT) -> dict[str, Any]:
    return combined("TOOL_SCRIPT", script=text, inputs={"symbols": SYMBOLS})


def times(slow_url: str) -> str:
    slow = Client(slow_url)
    slow.call(batch(SYMBOLS))  # imports and connections are not what is measured
    single = slow.timed(quote("AAPL", fresh=True), 5)
    parallel = slow.timed(batch(SYMBOLS, fresh=True), 5)
    return (
        f"A batch of ten calls, each with a request of {LATENCY_S * 1000:.0f} ms, takes {parallel:.0f} ms; "
        f"one such call {single:.0f} ms.\n"
    )


def scripts(url: str) -> str:
    client = Client(url)
    called = [(quote(symbol), client.call(quote(symbol))["content"][0]["text"]) for symbol in SYMBOLS]
    read = sum(tokens(arguments) + tokens(text) for arguments, text in called)
    answer = client.call(script())["content"][0]["text"]
    in_batch = batch(SYMBOLS)
    read_batch = tokens(in_batch) + tokens(client.call(in_batch)["content"][0]["text"])
    rows = [
        ("ten `TOOL_CALL`s", f"{read:,}", "10"),
        ("one `TOOL_BATCH`", f"{read_batch:,}", "1"),
        ("one `TOOL_SCRIPT`", f"{tokens(script()) + tokens(answer):,}", "1"),
    ]
    head = ("which of ten symbols rose most", "tokens of calls and answers", "turns of the model")
    return "### A task of ten calls\n\n" + markdown_table(head, rows)


def measure(_: argparse.Namespace) -> str:
    """Return the tables."""
    logging.getLogger("toolfold").setLevel(logging.WARNING)
    with MockApi() as quick, MockApi(latency_s=LATENCY_S) as slow:
        measured = (("Batches", lambda: times(slow.url)), ("Scripts", lambda: scripts(quick.url)))
        parts = [run() for _, run in harness.track(measured, lambda part: part[0])]
    return "\n".join([*parts, harness.measured_on()])


if __name__ == "__main__":
    sys.exit(harness.run(__doc__, "make bench-combined", measure, "docs/reference/measurements.md"))
