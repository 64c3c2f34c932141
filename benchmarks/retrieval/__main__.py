"""Measures how well words find tools: ``make bench-retrieval``.

python -m benchmarks.retrieval                  print the tables, and times
python -m benchmarks.retrieval --write          put the tables into docs/reference/retrieval.md
python -m benchmarks.retrieval --check          fail when docs/reference/retrieval.md holds others
python -m benchmarks.retrieval --misses         print what toolfold's search got wrong, of the tuning half
"""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

from benchmarks.retrieval.fastmcp_rankers import fastmcp_rankers
from benchmarks.retrieval.metrics import DEPTH
from benchmarks.retrieval.rankers import EveryWord, FullText, Ranker, Toolfold, descriptions
from benchmarks.retrieval.report import answers, misses, tables, times
from benchmarks.retrieval.request_set import load
from scripts import measured_tables
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.cli import progress

PAGE = Path("docs/reference/retrieval.md")
COMMAND = "make bench-retrieval ARGS=--write"


def main() -> int:
    options = measured_tables.parse_options(__doc__, "--write", "--check", "--misses")
    requests = load()
    catalog = FileStore(bundled_path())()
    own = Toolfold(catalog)
    if options.misses:
        print(misses(answers(own, requests)), end="")
        return 0
    texts = descriptions(catalog)
    with closing(FullText(texts)) as full_text:
        here: dict[str, Ranker] = {
            "toolfold": own,
            "SQLite FTS5, Porter, BM25": full_text,
            "every word a substring": EveryWord(texts),
        }
        there = fastmcp_rankers(texts, [request.text for request in requests], DEPTH)
        rankers = progress.track({**here, **there}.items(), lambda ranker: f"Ranking: {ranker[0]}")
        measured = tables({title: answers(ranker, requests) for title, ranker in rankers})
        if not (options.write or options.check):
            print(measured, times(here, requests), sep="\n", end="")
            return 0
    return measured_tables.update_page(PAGE, COMMAND, measured, write=options.write)


if __name__ == "__main__":
    sys.exit(main())
