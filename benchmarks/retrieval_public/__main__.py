"""Measure the search on public sets of tools and requests: ``make bench-retrieval-public DATA=FOLDER``.

python -m benchmarks.retrieval_public FOLDER            print the tables
python -m benchmarks.retrieval_public FOLDER --own      print them without the other searches, which take minutes
python -m benchmarks.retrieval_public FOLDER --write    put the tables into docs/reference/retrieval.md

FOLDER has the files of the sets; docs/reference/retrieval.md says which.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from unittest import mock

from benchmarks import harness
from benchmarks.retrieval.metrics import DEPTH, found, hit, ndcg, with_error
from benchmarks.retrieval.rankers import FullText, Ranker, Recorded, fastmcp_bm25
from benchmarks.retrieval_public.catalogs import compile_tools, name_of
from benchmarks.retrieval_public.public_sets import PublicRequest, PublicSet, PublicTool, load_all
from benchmarks.timing import timed
from scripts.measured_tables import markdown_table
from toolfold.build import semantic_index
from toolfold.catalog.model import Catalog
from toolfold.catalog.search import search
from toolfold.cli import progress

STORED = Path("build/retrieval-public")
HEAD = ("set", "requests", "search", "n", "hit@1", "R@5", "nDCG@10")
COST_HEAD = ("set", "search", "tools", "index, MB", "up to 20 words, ms", "50 to 70 words, ms")
SHARES = (0.0, 0.15, 0.3, 0.6, 1.0, 1.3)
"""Shares of the scores by meaning that are compared; the compiler chooses one of two."""

ORDINARY, LONG = range(1, 21), range(50, 71)
"""Words of the requests that are timed."""

TIMES = 3
"""Runs of each request, of which the fastest counts: the others were disturbed by other processes."""


def measure(options: argparse.Namespace) -> str:
    """Return the tables."""
    rows, costs, shares = [], [], []
    for public_set in progress.track(load_all(options.folder), lambda one: f"Searching {one.name}"):
        reported = _reported(public_set)
        asked = [request for part in reported.values() for request in part]
        rankers: list[tuple[Ranker, str]] = []
        for semantic in (False, True) if semantic_index.is_available() else (False,):
            catalog, index_bytes = compile_tools(public_set.tools, semantic=semantic)
            name = "toolfold, semantic postings" if semantic else "toolfold"
            rankers.append((_Toolfold(catalog), name))
            size = (f"{len(public_set.tools):,}", f"{index_bytes / 1e6:.1f}")
            costs.append((public_set.name, name, *size, *_milliseconds(rankers[-1][0], asked)))
            if semantic:
                shares.append((public_set.name, *_recalls(catalog, public_set), f"{catalog.semantic_share:.1f}"))
        for ranker, title in rankers if options.own else [*rankers, *_other_rankers(public_set)]:
            rows += [_row(public_set.name, part, title, ranker, own) for part, own in reported.items()]
    rows.sort(key=lambda row: row[:2])
    return "\n".join(
        (
            markdown_table(HEAD, rows, left=3),
            markdown_table(COST_HEAD, costs, left=2),
            markdown_table(("R@5 of tuning requests, by share", *map(str, SHARES), "chosen"), shares, left=1),
        )
    )


def _reported(public_set: PublicSet) -> dict[str, tuple[PublicRequest, ...]]:
    return {part: asked for part, asked in public_set.requests.items() if not part.endswith("tuning")}


def _recalls(catalog: Catalog, public_set: PublicSet) -> Iterator[str]:
    """Yield R@5 of the requests for tuning, for each share of the scores by meaning."""
    asked = [request for part, own in public_set.requests.items() if part.endswith("tuning") for request in own]
    for share in SHARES:
        with mock.patch.object(Catalog, "semantic_share", share):
            answers = [(_Toolfold(catalog).rank(one.text, 5), {name_of(at) for at in one.needed}) for one in asked]
        yield f"{100 * statistics.fmean(found(ranked, needed, 5) for ranked, needed in answers):.1f}"


def _other_rankers(public_set: PublicSet) -> list[tuple[Ranker, str]]:
    """Return the searches of others with their titles. Each has the same texts.

    FastMCP's takes minutes; its answers are stored in :data:`STORED` until the texts or the requests change.
    """
    texts = {name_of(at): _text(tool) for at, tool in enumerate(public_set.tools)}
    asked = list(dict.fromkeys(request.text for part in _reported(public_set).values() for request in part))
    key = hashlib.sha256(json.dumps([texts, asked]).encode()).hexdigest()[:16]
    path = STORED / f"{key}.json"
    if not path.exists():
        ranker = fastmcp_bm25(texts, asked, DEPTH)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({text: ranker.rank(text, DEPTH) for text in asked}), encoding="utf-8")
    full_text = FullText(texts)
    with closing(full_text):
        recorded = {text: full_text.rank(text, DEPTH) for text in asked}
    return [
        (Recorded(recorded), "SQLite FTS5, Porter, BM25"),
        (Recorded(json.loads(path.read_text(encoding="utf-8"))), "FastMCP BM25"),
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


def _milliseconds(ranker: Ranker, asked: Sequence[PublicRequest]) -> Iterator[str]:
    """Yield the median time of this process for a request, of ordinary and of long ones."""
    took: dict[str, float] = {}
    for _ in range(TIMES):
        for text in {request.text for request in asked}:
            _, took_ms = timed(ranker.rank, text, DEPTH, clock=time.thread_time)
            took[text] = min(took.get(text, math.inf), took_ms)
    for lengths in (ORDINARY, LONG):
        found = [each_ms for text, each_ms in took.items() if len(text.split()) in lengths]
        yield f"{statistics.median(found):.2f}" if found else ""


if __name__ == "__main__":
    command, page = "make bench-retrieval-public DATA=FOLDER", "docs/reference/retrieval.md"
    sys.exit(harness.run(__doc__, command, measure, page, "--own", flags=["folder"]))
