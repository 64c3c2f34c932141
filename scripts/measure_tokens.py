"""Counts the tokens of everything a model reads, and keeps the tables of docs/measurements.md true.

    python -m scripts.measure_tokens                 print the tables
    python -m scripts.measure_tokens --write FILE    put them between the markers of FILE
    python -m scripts.measure_tokens --check FILE    fail when FILE holds others

The tokenizer is o200k (``bpe-openai``, which carries its vocabulary); the data is the sandbox's, so that the figures
are the same on every machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bpe_openai

from scripts import measured_page
from toolfold.calling.caller import Caller
from toolfold.calling.keys import Presented
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import open_store
from toolfold.meta_tools.dispatch import MetaTools
from toolfold.meta_tools.result import compact
from toolfold.sandbox.server import Sandbox
from toolfold.settings import Settings

COMMAND = "make measure"
KEY = Presented(x_api_key="sandbox")
QUOTE = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "AAPL"}}
CHART = {"symbol": "IBM", "interval": "monthly", "time_period": 20, "series_type": "close"}
COMPARED: dict[str, dict[str, Any]] = {
    "TIME_SERIES_DAILY": {"symbol": "IBM"},
    "FX_DAILY": {"from_symbol": "EUR", "to_symbol": "USD"},
    "SMA": CHART,
    "BBANDS": CHART,
    "WTI": {},
    "DIVIDENDS": {"symbol": "IBM"},
    "SYMBOL_SEARCH": {"keywords": "micro"},
}
"""Tools whose answers are weighed as CSV and as JSON, one of each common shape, and their arguments."""

encode: Callable[[str], Sequence[int]] = bpe_openai.get_encoding("o200k_base").encode


def tokens(value: Any) -> int:
    return len(encode(value if isinstance(value, str) else compact(value)))


def direct(catalog: Catalog) -> list[dict[str, Any]]:
    """The same catalog without folding: each tool a tool of ``tools/list``."""
    exposed = []
    for name in catalog:
        tool = catalog.get(name)
        assert tool is not None
        description = f"{tool.summary}. {tool.description}"
        exposed.append({"name": name, "description": description, "inputSchema": tool.parameters})
    return exposed


def listing_forms(catalog: Catalog) -> dict[str, str]:
    """The names, lines and categories of all tools, written in several ways; the listing adds a first line and marks
    premium tools."""
    tools = [{"name": name, "description": text, "category": where} for name, text, where in catalog.summaries()]
    grouped: dict[str, dict[str, str]] = {}
    for tool in tools:
        grouped.setdefault(tool["category"], {})[tool["name"]] = tool["description"]
    yaml_lines = [
        line for where, of in grouped.items() for line in [f"{where}:", *(f"  {n}: {d}" for n, d in of.items())]
    ]
    return {
        "heading a category, line a tool (chosen)": "\n".join(
            line for where, of in grouped.items() for line in [f"# {where}", *(f"{n}: {d}" for n, d in of.items())]
        ),
        "YAML, a mapping a category": "\n".join(yaml_lines),
        "Markdown bullets with bold names": "\n".join(f"- **{tool['name']}**: {tool['description']}" for tool in tools),
        "CSV of name, description, category": "\n".join(
            f'{t["name"]},"{t["description"]}",{t["category"]}' for t in tools
        ),
        "JSON, an object a category": compact(grouped),
        "JSON, an object a tool": compact(tools),
        "JSON, an object a tool, indented": json.dumps(tools, indent=2),
    }


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---", *("---:" for _ in head[1:])), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def measure() -> str:
    with Sandbox() as sandbox:
        settings = Settings.from_environment({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": sandbox.url})
        tools = MetaTools(open_store(settings), Caller(settings))
        return "\n".join(part(tools) for part in (_journey, _listing, _formats))


def _read(tools: MetaTools, name: str, arguments: dict[str, Any]) -> int:
    result = tools.call(name, arguments, KEY)
    if result.is_error:
        raise SystemExit(result.text)
    return tokens(result.text)


def _journey(tools: MetaTools) -> str:
    catalog = tools.catalog()
    folded, exposed = tokens(tools.definitions()), tokens(direct(catalog))
    listed = _read(tools, "TOOL_LIST", {})
    described = _read(tools, "TOOL_GET", {"tool_name": "GLOBAL_QUOTE"})
    called = _read(tools, "TOOL_CALL", QUOTE)
    as_json = _read(tools, "TOOL_CALL", {**QUOTE, "arguments": {"symbol": "AAPL", "datatype": "json"}})
    asked = sum(tokens(arguments) for arguments in ({}, {"tool_name": "GLOBAL_QUOTE"}, QUOTE))
    ours = folded + listed + described + called + asked
    theirs = exposed + called + tokens({"symbol": "AAPL"})
    rows = [
        (f"`tools/list`: what every conversation carries ({len(catalog)} tools)", folded, exposed),
        ("`TOOL_LIST()`", listed, 0),
        ('`TOOL_GET("GLOBAL_QUOTE")`', described, 0),
        ('`TOOL_CALL("GLOBAL_QUOTE", {"symbol": "AAPL"})` (CSV)', called, called),
        ("the same with `datatype: json`", as_json, as_json),
        ("**“give me aapl price”**: definitions, arguments and answers of the steps", ours, theirs),
        ("a conversation that calls no tool", folded, exposed),
    ]
    cells = [(what, f"{a:,}", f"{b:,}" if b else "–", f"{b / a:.1f}" if b else "") for what, a, b in rows]
    return "### What a model reads, in tokens\n\n" + table(("", "toolfold", "direct exposure", "ratio"), cells)


def _listing(tools: MetaTools) -> str:
    forms = {form: tokens(text) for form, text in listing_forms(tools.catalog()).items()}
    chosen = next(iter(forms.values()))
    cells = [(form, f"{count:,}", f"{count / chosen:.2f}") for form, count in forms.items()]
    return "### `TOOL_LIST()` in several forms, in tokens\n\n" + table(("form", "tokens", "ratio"), cells)


def _formats(tools: MetaTools) -> str:
    cells = []
    for name, arguments in COMPARED.items():
        csv, as_json = (
            _read(tools, "TOOL_CALL", {"tool_name": name, "arguments": {**arguments, "datatype": datatype}})
            for datatype in ("csv", "json")
        )
        cells.append((name, f"{csv:,}", f"{as_json:,}", f"{as_json / csv:.1f}"))
    head = ("tool", "CSV (default)", "JSON, compact", "ratio")
    return "### The same rows as CSV and as JSON, in tokens\n\n" + table(head, cells)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="FILE")
    parser.add_argument("--check", type=Path, metavar="FILE")
    options = parser.parse_args()
    measured = measure()
    path = options.write or options.check
    if path is None:
        print(measured)
        return 0
    return measured_page.keep(path, COMMAND, measured, write=options.write is not None)


if __name__ == "__main__":
    sys.exit(main())
