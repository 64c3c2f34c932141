"""Measure one catalog of five sources: the tokens of ``tools/list``, and the search across sources."""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import harness
from scripts.measured_tables import markdown_table
from tests.support.five_sources import FiveSources, five_sources
from tests.support.meta_tools import tokens

QUESTIONS: Mapping[str, Sequence[str]] = {
    "what time is it in Tokyo": ["clock__get_current_time"],
    "convert 3 pm New York time to Vienna": ["clock__convert_time"],
    "which customers live in London": ["crm__query"],
    "how many shares does each customer hold": ["crm__query"],
    "columns of the table with the holdings": ["crm__describe_table"],
    "what tables does the customer database have": ["crm__list_tables"],
    "list the animals in the shelter": ["shelter__list_pets"],
    "add a new dog to the shelter": ["shelter__add_pet"],
    "cities of Norway and their people": ["cities__cities", "cities__cities_as_text"],
    "latest price of a stock": ["GLOBAL_QUOTE"],
    "dividends a company has paid": ["DIVIDENDS"],
    "price of gold today": ["GOLD_SILVER_SPOT"],
    "exchange rate from euro to dollar": ["CURRENCY_EXCHANGE_RATE"],
    "news about a company": ["NEWS_SENTIMENT"],
}
"""Requests in a user's words → the tools of which one must be found; written before the search was tried with them."""


def measure(_: argparse.Namespace) -> str:
    """Return the table of tokens, and how many requests have the right tool first."""
    logging.getLogger("toolfold").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder, five_sources(Path(folder)) as sources:
        return f"{_tokens(sources)}\n{_search(sources)}"


def _tokens(sources: FiveSources) -> str:
    rows = []
    for title, app in (("Alpha Vantage", sources.alone), ("all five", sources.app)):
        store = app.catalog_store()
        listed = app.server.tools.list_page().tools.decode()
        figures = len(store.sources), len(store), tokens(listed), store.definition_tokens
        rows.append([title, *(f"{figure:,}" for figure in figures)])
    head = ["catalog", "sources", "tools", "tokens of `tools/list`", "tokens with a definition for each tool"]
    return markdown_table(head, rows)


def _search(sources: FiveSources) -> str:
    first = 0
    for text, tools in QUESTIONS.items():
        listed = sources.app.server.tools.call("TOOL_LIST", {"query": text, "limit": 20}).structured["tools"]
        first += bool(listed) and listed[0]["name"] in tools
    return f"Requests with the right tool first: {first} of {len(QUESTIONS)}.\n"


if __name__ == "__main__":
    sys.exit(harness.run(__doc__, "make bench-sources", measure, "docs/reference/measurements.md"))
