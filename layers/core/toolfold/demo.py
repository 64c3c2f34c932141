"""``toolfold demo``: "give me aapl price", answered in two steps by the real handler over the real catalog.

The upstream is the sandbox, so it works without network and key; everything else is what runs on Lambda, spoken to
over HTTP. The choices between the steps, which a model would make, are written down here.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import time
from typing import Any
from urllib.parse import urlsplit

from toolfold.settings import Settings

_SHOWN_LINES = 12
_WIDTH = 110


def run() -> int:
    """Play the demo on stdout. Returns 0, or 1 when a step did not answer as it should."""
    from toolfold.mock_api.server import MockApi
    from toolfold.transports.http_server import LocalServer

    with MockApi() as mock_api:
        # The log of the requests would interrupt the story.
        ours = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "TOOLFOLD_LOG_LEVEL": "WARNING"}
        settings = Settings.from_environment({**os.environ, **ours})
        with LocalServer(settings) as gateway:
            print(
                f"MCP server: {gateway.url} (the Lambda handler)   upstream: {mock_api.url} (the sandbox, made-up data)"
            )
            with contextlib.closing(_Client(gateway.url)) as client:
                return _play(client)


def _play(client: _Client) -> int:
    tools = client.ask("tools/list", {})["tools"]
    print(f"\nA model is connected. It sees {len(tools)} tools: {', '.join(tool['name'] for tool in tools)}")
    print('The user says: "give me aapl price"\n')

    listed = client.step("TOOL_LIST", {"query": "give me aapl price"})
    print("   … the best tool comes with its parameters: nothing more is needed to call it.\n")
    called = client.step("TOOL_CALL", {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "AAPL"}})
    if listed["isError"] or called["isError"]:
        return 1
    quote = called["structuredContent"]["result"]
    print(f"The model answers: AAPL stands at {quote['price']} ({quote['changePercent']:+.2f} % on the day).")

    print("\nA question about a series brings back its answer, not the series:\n")
    series = {"tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": "AAPL"}}
    client.step("TOOL_CALL", {**series, "select": "change(close), max(close); last 30"})
    print("The next one asks nobody: the series is held.\n")
    client.step("TOOL_CALL", {**series, "select": "timestamp, close; last 3"})

    print("TOOL_GET describes a tool in full, for whoever wants to know more:\n")
    client.step("TOOL_GET", {"tool_name": "SMA"})
    print("A mistake is answered so that the model can mend it at once:\n")
    client.step("TOOL_CALL", {"tool_name": "SMA", "arguments": {"symbol": "AAPL", "interval": "day"}})
    print("And what no tool serves is said to be so:\n")
    client.step("TOOL_LIST", {"query": "book me a flight"})
    return 0


class _Client:
    """The smallest MCP client: one POST a request."""

    def __init__(self, url: str) -> None:
        self._path = urlsplit(url).path
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
        self._id = self._steps = 0

    def close(self) -> None:
        self._connection.close()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        body = json.dumps({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        headers = {"content-type": "application/json", "accept": "application/json", "x-api-key": "sandbox"}
        self._connection.request("POST", self._path, body, headers)
        answer: dict[str, Any] = json.loads(self._connection.getresponse().read())
        return dict(answer["result"])

    def step(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._steps += 1
        print(f"{self._steps}. {tool}({json.dumps(arguments)})")
        started = time.perf_counter()
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        took = (time.perf_counter() - started) * 1000
        text = result["content"][0]["text"]
        lines = [line[i : i + _WIDTH] for line in text.splitlines() for i in range(0, max(len(line), 1), _WIDTH)]
        for line in lines[:_SHOWN_LINES]:
            print(f"   │ {line}")
        if len(lines) > _SHOWN_LINES:
            print(f"   │ … {len(lines) - _SHOWN_LINES} more lines")
        print(f"   {len(text):,} characters in {took:.0f} ms\n")
        return result
