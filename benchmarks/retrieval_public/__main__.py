"""Measure the search on public sets of tools and requests: ``make bench-retrieval-public DATA=FOLDER``.

python -m benchmarks.retrieval_public FOLDER            print the tables
python -m benchmarks.retrieval_public FOLDER --own      print them without the other search
python -m benchmarks.retrieval_public FOLDER --write    put the tables into docs/reference/retrieval.md

FOLDER has the files of the sets; docs/reference/retrieval.md says which.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from contextlib import closing

from benchmarks import harness
from benchmarks.retrieval.rankers import FullText, Ranker, Recorded, Toolfold
from benchmarks.retrieval.report import DEPTH, found, hit, with_error
from benchmarks.retrieval_public.public_sets import (
    PublicRequest,
    PublicSet,
    PublicTool,
    compile_tools,
    load_all,
    name_of,
)
from scripts.measured_tables import markdown_table
from toolfold.build import search_index

HEAD = ("requests", "search", "n", "hit@1", "R@5")


def measure(options: argparse.Namespace) -> str:
    """Return the tables."""
    rows = []
    for public_set in harness.track(load_all(options.folder), lambda one: f"Searching {one.name}"):
        rankers: list[tuple[Ranker, str]] = []
        for semantic in (False, True) if search_index.has_vectors() else (False,):
            catalog = compile_tools(public_set.tools, semantic=semantic)
            rankers.append((Toolfold(catalog), "toolfold, semantic postings" if semantic else "toolfold"))
        for ranker, title in rankers if options.own else [*rankers, _other_ranker(public_set)]:
            rows += [_row(public_set.name, part, title, ranker, own) for part, own in public_set.requests.items()]
    rows.sort(key=lambda row: row[0])
    return markdown_table(HEAD, rows, left=2)


def _other_ranker(public_set: PublicSet) -> tuple[Ranker, str]:
    """Return the search of SQLite with its title. It has the same texts."""
    texts = {name_of(at): _text(tool) for at, tool in enumerate(public_set.tools)}
    asked = dict.fromkeys(request.text for part in public_set.requests.values() for request in part)
    with closing(FullText(texts)) as full_text:
        return Recorded({text: full_text.rank(text, DEPTH) for text in asked}), "SQLite FTS5, Porter, BM25"


def _text(tool: PublicTool) -> str:
    parameters = (f"{name}: {description}" for name, description in tool.parameters)
    return ". ".join(part for part in (tool.name, tool.source, tool.category, tool.description, *parameters) if part)


def _row(name: str, part: str, title: str, ranker: Ranker, asked: Sequence[PublicRequest]) -> tuple[str, ...]:
    answers = [(ranker.rank(request.text, DEPTH), {name_of(at) for at in request.needed}) for request in asked]
    first = 100 * statistics.fmean(hit(ranked, needed, 1) for ranked, needed in answers)
    recalls = [found(ranked, needed, 5) for ranked, needed in answers]
    return (f"{name}, {part}", title, str(len(asked)), f"{first:.1f}", with_error(recalls))


if __name__ == "__main__":
    command, page = "make bench-retrieval-public DATA=FOLDER", "docs/reference/retrieval.md"
    sys.exit(harness.run(__doc__, command, measure, page, "--own", flags=["folder"]))
