"""Measure one catalog of five sources, and record a question that needs two of them.

Prints a session, the tokens of ``tools/list``, the search across sources and what importing each adapter takes.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import harness
from scripts.measured_tables import markdown_table
from tests.support.five_sources import FiveSources, five_sources
from tests.support.meta_tools import tokens
from toolfold.app import App
from toolfold.cli import progress
from toolfold.sources.registry import BUILT_IN

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


class Question(NamedTuple):
    """A request in a user's words, and the tools of which one must be found."""

    text: str
    tools: tuple[str, ...]


QUESTIONS = (
    Question("what time is it in Tokyo", ("clock__get_current_time",)),
    Question("convert 3 pm New York time to Vienna", ("clock__convert_time",)),
    Question("which customers live in London", ("crm__query",)),
    Question("how many shares does each customer hold", ("crm__query",)),
    Question("columns of the table with the holdings", ("crm__describe_table",)),
    Question("what tables does the customer database have", ("crm__list_tables",)),
    Question("list the animals in the shelter", ("shelter__list_pets",)),
    Question("add a new dog to the shelter", ("shelter__add_pet",)),
    Question("cities of Norway and their people", ("cities__cities", "cities__cities_as_text")),
    Question("latest price of a stock", ("GLOBAL_QUOTE",)),
    Question("dividends a company has paid", ("DIVIDENDS",)),
    Question("price of gold today", ("GOLD_SILVER_SPOT",)),
    Question("exchange rate from euro to dollar", ("CURRENCY_EXCHANGE_RATE",)),
    Question("news about a company", ("NEWS_SENTIMENT",)),
)
"""Written before the search was tried with them."""


def measure(_: argparse.Namespace) -> str:
    """Return the session and the tables."""
    logging.getLogger("toolfold").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder, five_sources(Path(folder)) as sources:
        parts = (
            ("A session", lambda: _session(sources)),
            ("Tokens", lambda: _tokens(sources)),
            ("Requests", lambda: _search(sources)),
            ("Imports", _imports),
        )
        return "\n".join(make() for _, make in progress.track(parts, lambda part: part[0]))


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
    return markdown_table(head, rows)


def _listed(app: App) -> int:
    return tokens(json.dumps(app.server.tools.definitions(), ensure_ascii=False, separators=(",", ":")))


def _search(sources: FiveSources) -> str:
    rows, first = [], 0
    for question in QUESTIONS:
        listed = sources.app.server.tools.call("TOOL_LIST", {"query": question.text, "limit": 20}).structured["tools"]
        names = [tool["name"] for tool in listed]
        ranks = [names.index(name) + 1 for name in question.tools if name in names]
        first += ranks[:1] == [1] or 1 in ranks
        rows.append([question.text, f"`{question.tools[0]}`", str(min(ranks)) if ranks else "not found"])
    table = markdown_table(["request", "tool", "rank"], rows, left=2)
    return f"{table}\nFirst: {first} of {len(QUESTIONS)}.\n"


def _imports() -> str:
    """Return the processor time that importing each adapter takes, beside what a first call has imported already."""
    imported = "toolfold.execution.cached_upstreams, toolfold.network.session"
    rows = [
        [f"`{kind}`", f"{harness.import_ms(path.partition(':')[0], imported, 'process_time'):.0f}"]
        for kind, path in sorted(BUILT_IN.items())
    ]
    return markdown_table(["kind of source", "import, ms"], rows)


if __name__ == "__main__":
    sys.exit(harness.run(__doc__, "make bench-sources", measure, "docs/reference/many-sources.md"))
