"""Measure the search on public sets of tools and requests: ``make bench-retrieval-public DATA=FOLDER``.

python -m benchmarks.retrieval_public FOLDER            print the tables
python -m benchmarks.retrieval_public FOLDER --write    put the tables into docs/reference/retrieval.md

FOLDER has the files of the sets; docs/reference/retrieval.md says which.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence

from benchmarks import harness
from benchmarks.retrieval.metrics import DEPTH, found, hit, ndcg, with_error
from benchmarks.retrieval_public.catalogs import compile_tools, name_of
from benchmarks.retrieval_public.public_sets import PublicRequest, load_all
from scripts.measured_tables import markdown_table
from toolfold.build import semantic_index
from toolfold.catalog.model import Catalog
from toolfold.catalog.search import search

HEAD = ("set", "requests", "search", "n", "hit@1", "R@5", "nDCG@10")


def measure(options: argparse.Namespace) -> str:
    """Return the tables."""
    rows = []
    for public_set in harness.track(load_all(options.folder), lambda one: f"Searching {one.name}"):
        for semantic in (False, True) if semantic_index.is_available() else (False,):
            title = "toolfold, semantic postings" if semantic else "toolfold"
            catalog = compile_tools(public_set.tools, semantic=semantic)
            rows += [_row(public_set.name, part, title, catalog, own) for part, own in public_set.requests.items()]
    rows.sort(key=lambda row: row[:2])
    return markdown_table(HEAD, rows, left=3)


def _row(name: str, part: str, title: str, catalog: Catalog, asked: Sequence[PublicRequest]) -> tuple[str, ...]:
    ranked = ([name_of(hit.position) for hit in search(catalog, one.text).hits[:DEPTH]] for one in asked)
    answers = [(names, {name_of(at) for at in one.needed}) for names, one in zip(ranked, asked, strict=True)]
    hits, recalls, gains = (
        [measure(ranked, needed) for ranked, needed in answers]
        for measure in (
            lambda ranked, needed: hit(ranked, needed, 1),
            lambda ranked, needed: found(ranked, needed, 5),
            ndcg,
        )
    )
    first, gain = (f"{100 * statistics.fmean(values):.1f}" for values in (hits, gains))
    return (name, part, title, str(len(asked)), first, with_error(recalls), gain)


if __name__ == "__main__":
    command, page = "make bench-retrieval-public DATA=FOLDER", "docs/reference/retrieval.md"
    sys.exit(harness.run(__doc__, command, measure, page, flags=["folder"]))
