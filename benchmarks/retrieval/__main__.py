"""Measures how well words find tools: ``make bench-retrieval``.

python -m benchmarks.retrieval                  print the tables
python -m benchmarks.retrieval --write          put the tables into docs/reference/retrieval.md
python -m benchmarks.retrieval --check          fail when docs/reference/retrieval.md holds others
python -m benchmarks.retrieval --misses         print what toolfold's search got wrong, of the tuning half
"""

from __future__ import annotations

import argparse
import sys
from contextlib import closing

from benchmarks import harness
from benchmarks.retrieval.rankers import FullText, Ranker, Toolfold, descriptions, direct_texts, fastmcp_bm25
from benchmarks.retrieval.report import DEPTH, answers, fits, misses, tables
from benchmarks.retrieval.request_set import load
from toolfold.catalog.store import FileStore, bundled_path


def measure(options: argparse.Namespace) -> str:
    """Return the tables, or with ``--misses`` what was wrong."""
    requests = load()
    catalog = FileStore(bundled_path())()
    own = Toolfold(catalog)
    if options.misses:
        return misses(answers(own, requests))
    texts = descriptions(catalog)
    listed = direct_texts(catalog)
    with closing(FullText(texts)) as full_text, closing(FullText(listed)) as listed_text:
        here: dict[str, Ranker] = {
            "toolfold": own,
            "SQLite FTS5, Porter, BM25": full_text,
            "the same over mode `direct`": listed_text,
        }
        queries = [request.text for request in requests]
        there = {
            "FastMCP BM25": fastmcp_bm25(texts, queries, DEPTH),
            "FastMCP BM25 over mode `direct`": fastmcp_bm25(listed, queries, DEPTH),
        }
        rankers = harness.track({**here, **there}.items(), lambda ranker: f"Ranking: {ranker[0]}")
        ranked = tables({title: answers(ranker, requests) for title, ranker in rankers})
        return f"{ranked}\n{fits(catalog, requests)}"


if __name__ == "__main__":
    sys.exit(
        harness.run(__doc__, "make bench-retrieval", measure, "docs/reference/retrieval.md", "--check", "--misses")
    )
