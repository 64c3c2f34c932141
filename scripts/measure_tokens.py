"""Counts the tokens of everything a model reads, and keeps the tables of docs/reference/measurements.md true.

    python -m scripts.measure_tokens                 print the tables
    python -m scripts.measure_tokens --write FILE    put them between the markers of FILE
    python -m scripts.measure_tokens --check FILE    fail when FILE holds others

The tokenizer is o200k (``bpe-openai``, which carries its vocabulary); the data is the mock API's, so that the figures
are the same on every machine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import bpe_openai

from benchmarks import harness
from benchmarks.retrieval import request_set
from scripts import measured_tables
from scripts.measured_tables import markdown_table
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import open_store
from toolfold.execution.credentials import RequestCredentials
from toolfold.execution.executor import ToolExecutor
from toolfold.exposure.profiles import ExposedTools, select
from toolfold.meta_tools import tool_get
from toolfold.meta_tools.definitions import detail_level_of
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import dumps_compact
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings

COMMAND = "make measure"
KEY = RequestCredentials(x_api_key="mock-key")
QUESTION = {"query": "give me aapl price"}
QUOTE = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "AAPL"}}
CHART = {"symbol": "IBM", "interval": "monthly", "time_period": 20, "series_type": "close"}
COMPARED: dict[str, dict[str, Any]] = {
    "TIME_SERIES_DAILY": {"symbol": "IBM"},
    "BBANDS": CHART,
    "WTI": {},
    "SYMBOL_SEARCH": {"keywords": "micro"},
}
"""Tools whose answers are weighed as CSV and as JSON, one of each common shape, and their arguments."""

encode: Callable[[str], Sequence[int]] = bpe_openai.get_encoding("o200k_base").encode


def tokens(value: Any) -> int:
    """Return the number of o200k tokens of a text, or of a value as JSON."""
    return len(encode(value if isinstance(value, str) else dumps_compact(value)))


def direct(catalog: Catalog) -> list[dict[str, Any]]:
    """Return the same catalog with each tool as a tool of ``tools/list``."""
    exposed = []
    for name in catalog:
        tool = catalog.get(name)
        assert tool is not None
        description = f"{tool.summary}. {tool.description}"
        exposed.append({"name": name, "description": description, "inputSchema": tool.parameters})
    return exposed


def measure() -> str:
    """Return all tables."""
    with MockApi() as mock_api:
        whole = {"TOOLFOLD_MAX_TOKENS": "1000000", "TOOLFOLD_MAX_TOKENS_CEILING": "1000000"}  # no previews
        settings = Settings.from_environment({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, **whole})
        tools = MetaTools(open_store(settings), ToolExecutor(settings))
        parts = (_journey, _modes, _search, _formats)
        shown = harness.track(parts, lambda part: f"Counting tokens:{part.__name__.replace('_', ' ')}")
        return "\n".join(part(tools) for part in shown)


def _read(tools: MetaTools, name: str, arguments: dict[str, Any]) -> int:
    result = tools.call(name, arguments, KEY)
    if result.is_error:
        raise SystemExit(result.text)
    return tokens(result.text)


def _journey(tools: MetaTools) -> str:
    catalog = tools.catalog()
    folded, exposed = tokens(json.loads(tools.list_page().tools)), tokens(direct(catalog))
    found = _read(tools, "TOOL_LIST", QUESTION)
    described = _read(tools, "TOOL_GET", {"tool_name": "GLOBAL_QUOTE"})
    called = _read(tools, "TOOL_CALL", QUOTE)
    discovery = folded + tokens(QUESTION) + found
    ours = discovery + tokens(QUOTE) + called
    theirs = exposed + called + tokens({"symbol": "AAPL"})
    rows = [
        (f"`tools/list`: part of every conversation ({len(catalog)} tools)", folded, exposed),
        (f'`TOOL_LIST("{QUESTION["query"]}")`', found, 0),
        ("**discovery**: definitions, arguments and answer until the call can be made", discovery, exposed),
        ('`TOOL_GET("GLOBAL_QUOTE")`', described, 0),
        ('`TOOL_CALL("GLOBAL_QUOTE", {"symbol": "AAPL"})`', called, called),
        ("**“give me aapl price”**: definitions, arguments and answers of the steps", ours, theirs),
    ]
    cells = [(what, f"{a:,}", f"{b:,}" if b else "–", f"{b / a:.1f}" if b else "") for what, a, b in rows]
    return "### What a model reads, in tokens\n\n" + markdown_table(("", "toolfold", "direct exposure", "ratio"), cells)


_FIND = {"query": "give me aapl price"}
_STEPS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "progressive": [("TOOL_LIST", _FIND), ("TOOL_CALL", QUOTE)],
    "lazy": [("TOOL_LIST", _FIND), ("TOOL_CALL", QUOTE)],
    "grouped": [("core_stock_apis", {"action": "GLOBAL_QUOTE", "symbol": "AAPL"})],
    "direct": [("GLOBAL_QUOTE", {"symbol": "AAPL"})],
    "kinds": [
        ("request_tools", _FIND),
        (
            "connector",
            {
                "subcommand": "execute",
                "connector": "alpha_vantage",
                "action": "GLOBAL_QUOTE",
                "parameters": {"symbol": "AAPL"},
            },
        ),
    ],
    "auto": [("GLOBAL_QUOTE", {"symbol": "AAPL"})],
    "research": [("search", _FIND), ("fetch", {"id": "GLOBAL_QUOTE(symbol='AAPL')"})],
}
"""Mode → the calls that answer “give me aapl price” in it, by a client that shows all definitions to the model."""


def _modes(tools: MetaTools) -> str:
    """Return what each mode costs: its definitions, and the same question answered in it."""
    cells = []
    for mode, steps in _STEPS.items():
        exposed = select(tools, mode)
        definitions = exposed.every_definition()
        shown = tokens(definitions)
        asked = sum(tokens(arguments) for _, arguments in steps)
        answered = sum(_read_as(exposed, name, arguments) for name, arguments in steps)
        cells.append(
            (
                f"`{mode}`",
                f"{len(definitions)}",
                f"{shown:,}",
                f"{len(steps)}",
                f"{shown + asked + answered:,}",
            )
        )
    head = ("mode", "definitions", "tokens", "calls for “give me aapl price”", "tokens of all of it")
    return "### What each mode costs, in tokens\n\n" + markdown_table(head, cells)


def _read_as(exposed: ExposedTools, name: str, arguments: dict[str, Any]) -> int:
    """Return the tokens of the answer to a call as a client makes it."""
    call = exposed.resolve(name, arguments)
    assert call is not None
    return _read(exposed, call.name, dict(call.arguments))


def _search(tools: MetaTools) -> str:
    """Return how often one search is enough, over the half of the requests that the search may be tuned on."""
    requests = [one for one in request_set.load() if one.half == request_set.TUNING and one.tools]
    head = ("requests", "right tool shown", "right tool at level 1", "tools at level 1", "tokens, mean", "90 % below")
    cells = [(f"{len(requests)}", *_enough(tools, requests))]
    return "### `TOOL_LIST(query)`: how often one search is enough\n\n" + markdown_table(head, cells)


def _enough(tools: MetaTools, requests: Sequence[request_set.Request]) -> tuple[str, ...]:
    answers = [tools.call("TOOL_LIST", {"query": one.text}) for one in requests]
    costs = sorted(tokens(answer.text) for answer in answers)
    shown = in_full = full = 0
    for one, answer in zip(requests, answers, strict=True):
        right = [
            tool_get.LEVELS[detail_level_of(tool)] for tool in answer.structured["tools"] if tool["name"] in one.tools
        ]
        shown += bool(right)
        in_full += tool_get.FULL in right
        full += sum(detail_level_of(tool) == "full" for tool in answer.structured["tools"])
    count = len(requests)
    shares = (f"{shown / count:.3f}", f"{in_full / count:.3f}", f"{full / count:.2f}")
    return (*shares, f"{sum(costs) / count:.0f}", str(costs[count * 9 // 10]))


def _formats(tools: MetaTools) -> str:
    cells = []
    for name, arguments in COMPARED.items():
        typed, csv, as_json = (
            _read(tools, "TOOL_CALL", {"tool_name": name, "arguments": {**arguments, **form}})
            for form in ({}, {"datatype": "csv"}, {"datatype": "json"})
        )
        cells.append((name, f"{typed:,}", f"{csv:,}", f"{as_json:,}", f"{as_json / typed:.1f}"))
    head = ("tool", "toolfold's form (default)", "upstream's CSV", "upstream's JSON, compact", "ratio")
    return "### The same rows in each form, in tokens\n\n" + markdown_table(head, cells)


def main() -> int:
    """Print, write or check the tables; return the exit code."""
    options = measured_tables.parse_options(__doc__, "--write FILE", "--check FILE")
    return measured_tables.update_page(
        options.write or options.check, COMMAND, measure(), write=options.write is not None
    )


if __name__ == "__main__":
    sys.exit(main())
