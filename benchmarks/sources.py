"""Measure one catalog of five sources: the tokens of ``tools/list``, and the search across sources."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks import harness
from scripts.measured_tables import markdown_table
from tests.support.five_sources import FiveSources, five_sources
from tests.support.meta_tools import tokens
from toolfold.app import App


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
    """Return the table of tokens, and how many requests have the right tool first."""
    logging.getLogger("toolfold").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder, five_sources(Path(folder)) as sources:
        return f"{_tokens(sources)}\n{_search(sources)}"


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
    first = 0
    for question in QUESTIONS:
        listed = sources.app.server.tools.call("TOOL_LIST", {"query": question.text, "limit": 20}).structured["tools"]
        first += bool(listed) and listed[0]["name"] in question.tools
    return f"Requests with the right tool first: {first} of {len(QUESTIONS)}.\n"


if __name__ == "__main__":
    sys.exit(harness.run(__doc__, "make bench-sources", measure, "docs/reference/measurements.md"))
