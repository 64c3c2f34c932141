"""Measure the search on public sets of tools and requests: ``make bench-retrieval-public DATA=FOLDER``.

python -m tests.benchmarks.retrieval_public FOLDER            print the tables
python -m tests.benchmarks.retrieval_public FOLDER --write    put the tables into docs/reference/retrieval-public.md

FOLDER has the files of the sets; docs/reference/retrieval-public.md says which.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from scripts import measured_tables
from tests.benchmarks.retrieval.fastmcp_rankers import fastmcp_rankers
from tests.benchmarks.retrieval.metrics import DEPTH, found, hit, ndcg
from tests.benchmarks.retrieval.rankers import FullText, Ranker, Recorded
from tests.benchmarks.retrieval_public.catalogs import compile_tools, name_of
from tests.benchmarks.retrieval_public.public_sets import PublicRequest, PublicSet, PublicTool, load_all
from toolfold.catalog.model import Catalog
from toolfold.catalog.search import search

PAGE = Path("docs/reference/retrieval-public.md")
COMMAND = "make bench-retrieval-public DATA=FOLDER ARGS=--write"
HEAD = ("set", "requests", "search", "n", "hit@1", "R@5", "C@5", "nDCG@10")
COST_HEAD = ("set", "tools", "index, MB", "up to 20 words, ms", "more words, ms")
SHORT = 20
"""Words of an ordinary request; longer ones are timed apart."""


def main() -> int:
    """Run the command."""
    options = _parse_options()
    rows, costs = [], []
    for public_set in load_all(options.folder):
        catalog, index_bytes = compile_tools(public_set.tools)
        reported = _reported(public_set)
        for ranker, title in _rankers(public_set, catalog):
            rows += [_row(public_set.name, part, title, ranker, asked) for part, asked in reported.items()]
        asked = [request for part in reported.values() for request in part]
        took = _milliseconds(_Toolfold(catalog), asked)
        costs.append((public_set.name, f"{len(public_set.tools):,}", f"{index_bytes / 1e6:.1f}", *took))
    rows.sort(key=lambda row: row[:2])
    measured = "\n".join(
        (measured_tables.markdown_table(HEAD, rows, left=3), measured_tables.markdown_table(COST_HEAD, costs))
    )
    return measured_tables.update_page(PAGE if options.write else None, COMMAND, measured)


def _reported(public_set: PublicSet) -> dict[str, tuple[PublicRequest, ...]]:
    return {part: asked for part, asked in public_set.requests.items() if not part.endswith("tuning")}


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    return parser.parse_args()


def _rankers(public_set: PublicSet, catalog: Catalog) -> list[tuple[Ranker, str]]:
    """Return the searches with their titles. Each has the same texts."""
    texts = {name_of(at): _text(tool) for at, tool in enumerate(public_set.tools)}
    asked = [request.text for part in _reported(public_set).values() for request in part]
    others = fastmcp_rankers(texts, list(dict.fromkeys(asked)), DEPTH)
    full_text = FullText(texts)
    with closing(full_text):
        recorded = {text: full_text.rank(text, DEPTH) for text in asked}
    return [
        (_Toolfold(catalog), "toolfold"),
        (Recorded(recorded), "SQLite FTS5, Porter, BM25"),
        (others["FastMCP BM25"], "FastMCP BM25"),
    ]


class _Toolfold:
    """The search of this project, with names of the public sets."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def rank(self, query: str, limit: int) -> list[str]:
        return [name_of(hit.position) for hit in search(self._catalog, query).hits[:limit]]


def _text(tool: PublicTool) -> str:
    parameters = (f"{name}: {description}" for name, description in tool.parameters)
    return ". ".join(part for part in (tool.name, tool.source, tool.category, tool.description, *parameters) if part)


def _row(name: str, part: str, title: str, ranker: Ranker, asked: Sequence[PublicRequest]) -> tuple[str, ...]:
    answers = [(ranker.rank(request.text, DEPTH), {name_of(at) for at in request.needed}) for request in asked]
    means = (
        statistics.fmean(measure(ranked, needed) for ranked, needed in answers)
        for measure in (
            lambda ranked, needed: hit(ranked, needed, 1),
            lambda ranked, needed: found(ranked, needed, 5),
            lambda ranked, needed: float(found(ranked, needed, 5) == 1),
            ndcg,
        )
    )
    return (name, part, title, str(len(asked)), *(f"{100 * mean:.1f}" for mean in means))


def _milliseconds(ranker: Ranker, asked: Sequence[PublicRequest]) -> tuple[str, str]:
    """Return the median time of this process for a request, of ordinary and of long ones."""
    took: dict[bool, list[float]] = {True: [], False: []}
    for request in asked:
        start = time.thread_time()
        ranker.rank(request.text, DEPTH)
        took[len(request.text.split()) <= SHORT].append((time.thread_time() - start) * 1000)
    ordinary, long = (f"{statistics.median(found):.2f}" if found else "" for found in (took[True], took[False]))
    return ordinary, long


if __name__ == "__main__":
    sys.exit(main())
