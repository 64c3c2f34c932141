"""Measure one catalog of five sources, and record a question that needs two of them.

Prints a session, the tokens of ``tools/list``, the search across sources and what importing each adapter takes.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import bpe_openai

from benchmarks.sources.questions import QUESTIONS
from scripts import measured_tables
from tests.support.five_sources import FiveSources, five_sources
from toolfold.app import App
from toolfold.cli import progress
from toolfold.sources.registry import BUILT_IN

PAGE = Path("docs/reference/many-sources.md")
COMMAND = "make bench-sources ARGS=--write"
FOUND = 5
RUNS = 5
_ENCODING = bpe_openai.get_encoding("o200k_base")

SQL = "select name, symbol, shares from customers join holdings on customers.id = customer_id"
SESSION: tuple[tuple[str, dict[str, Any]], ...] = (
    ("TOOL_LIST", {"query": ["shares that each customer holds", "latest price of a stock"], "detail": "minimal"}),
    ("TOOL_CALL", {"tool_name": "crm__query", "arguments": {"sql": SQL}}),
    (
        "TOOL_CALL",
        {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": ["AAPL", "MSFT", "IBM"]}, "select": "price"},
    ),
)
"""What a model calls for "What are the shares of each customer worth?"."""


def main() -> int:
    options = measured_tables.parse_options(__doc__, "--write")
    logging.getLogger("toolfold").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder, five_sources(Path(folder)) as sources:
        parts = (
            ("A session", lambda: _session(sources)),
            ("Tokens", lambda: _tokens(sources)),
            ("Requests", lambda: _search(sources)),
            ("Imports", _imports),
        )
        measured = "\n".join(measure() for _, measure in progress.track(parts, lambda part: part[0]))
    return measured_tables.update_page(PAGE if options.write else None, COMMAND, measured)


def _session(sources: FiveSources) -> str:
    parts = []
    for name, arguments in SESSION:
        answer = sources.app.server.tools.call(name, arguments)
        parts.append(f"> {name} {json.dumps(arguments)}\n{answer.text}\n")
    return "```text\n" + "\n".join(parts) + "```\n"


def _tokens(sources: FiveSources) -> str:
    rows = [
        [
            title,
            str(len(app.catalog_store().sources)),
            f"{len(app.catalog_store()):,}",
            f"{_listed(app):,}",
            f"{all_:,}",
        ]
        for title, app in (("Alpha Vantage", sources.alone), ("all five", sources.app))
        for all_ in [app.catalog_store().definition_tokens]
    ]
    head = ["catalog", "sources", "tools", "tokens of `tools/list`", "tokens with a definition for each tool"]
    return measured_tables.markdown_table(head, rows)


def _listed(app: App) -> int:
    definitions = app.server.tools.definitions()
    return len(_ENCODING.encode(json.dumps(definitions, ensure_ascii=False, separators=(",", ":"))))


def _search(sources: FiveSources) -> str:
    rows, first = [], 0
    for question in QUESTIONS:
        listed = sources.app.server.tools.call("TOOL_LIST", {"query": question.text, "limit": 20}).structured["tools"]
        names = [tool["name"] for tool in listed]
        ranks = [names.index(name) + 1 for name in question.tools if name in names]
        first += ranks[:1] == [1] or 1 in ranks
        rows.append([question.text, f"`{question.tools[0]}`", str(min(ranks)) if ranks else "not found"])
    table = measured_tables.markdown_table(["request", "tool", "rank"], rows, left=2)
    return f"{table}\nFirst: {first} of {len(QUESTIONS)}.\n"


def _imports() -> str:
    """Return the processor time that importing each adapter takes, beside what a first call has imported already."""
    rows = [[f"`{kind}`", f"{_import_ms(path.partition(':')[0]):.0f}"] for kind, path in sorted(BUILT_IN.items())]
    return measured_tables.markdown_table(["kind of source", "import, ms"], rows)


def _import_ms(module: str) -> float:
    program = (
        "import time, toolfold.execution.cached_executor, toolfold.network.session;"
        f"started = time.process_time(); import {module}; print(time.process_time() - started)"
    )
    command = [sys.executable, "-c", program]
    found = [float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(RUNS)]
    return 1000 * min(found)


if __name__ == "__main__":
    sys.exit(main())
