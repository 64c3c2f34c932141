"""``toolfold demo``: answer "give me aapl price" with the real meta-tools, the real catalog and the mock API.

Neither a network nor a key is needed. The choices between the steps, which a model would make, are written down here.
"""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Mapping
from typing import Any

from toolfold.app import build_app
from toolfold.cli import terminal
from toolfold.cli.application import Options
from toolfold.execution.credentials import RequestCredentials
from toolfold.settings import Settings

_MAX_LINES = 12
_MARGIN = "   │ "
"""Before each line of an answer."""

_RETURN = "last 30; last(close) / first(close) - 1, max(close)"


def _series(symbol: str | list[str], select: str) -> dict[str, Any]:
    return {"tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": symbol}, "select": select}


_STEPS: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    ('The user says: "give me aapl price"', "TOOL_LIST", {"query": "give me aapl price"}),
    (
        "The best tool comes with its parameters, so it can be called at once:",
        "TOOL_CALL",
        {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "AAPL"}},
    ),
    ("A question about a time series returns the answer, not the series:", "TOOL_CALL", _series("AAPL", _RETURN)),
    ("Two stocks are compared in one call:", "TOOL_CALL", _series(["AAPL", "MSFT"], _RETURN)),
    ("TOOL_GET describes a tool in full:", "TOOL_GET", {"tool_name": "SMA"}),
    (
        "An error says what to change, so that the model can correct it at once:",
        "TOOL_CALL",
        {"tool_name": "SMA", "arguments": {"symbol": "AAPL", "interval": "day"}},
    ),
    ("A request that no tool can answer has no matches:", "TOOL_LIST", {"query": "book me a flight"}),
)
"""What the user or the model wants → the call of a meta-tool."""


def run(_options: Options) -> int:
    """Print the demo to stdout; return 0, or 1 when a step failed."""
    from toolfold.mock_api.server import MockApi

    width = terminal.width()

    def show(text: str, indent: str = "") -> None:
        print(textwrap.fill(text, width, subsequent_indent=indent))

    with MockApi() as mock_api:
        own = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url}
        tools = build_app(Settings.from_environment({**os.environ, **own})).server.tools
        show(f"Upstream: {mock_api.url} (the mock API, made-up data).")
        show(f"A model is connected. It sees {', '.join(tools.own_names())}.")
        failed = 0
        for number, (purpose, tool, arguments) in enumerate(_STEPS, 1):
            print()
            show(purpose)
            show(f"{number}. {tool}({json.dumps(arguments)})", "   ")
            result = tools.call(tool, arguments, RequestCredentials(x_api_key="mock"))
            lines = [
                line
                for part in result.text.replace(',"', ', "').splitlines()  # lines of JSON may end after its commas
                for line in textwrap.wrap(part, width - len(_MARGIN))
            ]
            print(*(f"{_MARGIN}{line}" for line in lines[:_MAX_LINES]), sep="\n")
            if len(lines) > _MAX_LINES:
                print(f"{_MARGIN}… {len(lines) - _MAX_LINES} more lines")
            if number == 2 and not result.is_error:
                quote = result.structured["result"]
                change = f"{quote['changePercent']:+.2f} % on the day"
                show(f"The model answers: AAPL stands at {quote['price']} ({change}).")
            failed += result.is_error != purpose.startswith("An error")
    print()
    show("The same catalog as a page in a browser: toolfold ui, with the extra serve.")
    return int(failed > 0)
