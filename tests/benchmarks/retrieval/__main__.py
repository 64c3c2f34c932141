"""Measures how well words find tools: ``make bench-retrieval``.

python -m tests.benchmarks.retrieval                  print the tables, and times
python -m tests.benchmarks.retrieval --write          put the tables into docs/retrieval.md
python -m tests.benchmarks.retrieval --check          fail when docs/retrieval.md holds others
python -m tests.benchmarks.retrieval --misses         print what toolfold's search got wrong, of the tuning half
"""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path

from tests.benchmarks.retrieval.fastmcp_rankers import fastmcp_rankers
from tests.benchmarks.retrieval.metrics import DEPTH
from tests.benchmarks.retrieval.rankers import EveryWord, FullText, Ranker, Toolfold, descriptions
from tests.benchmarks.retrieval.report import answers, misses, tables, times
from tests.benchmarks.retrieval.request_set import load
from toolfold.catalog.store import FileStore, embedded_path

PAGE = Path("docs/retrieval.md")
BEGIN, END = "<!-- measured by: make bench-retrieval ARGS=--write -->\n", "<!-- end of measured -->\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group()
    for name in ("--write", "--check", "--misses"):
        mode.add_argument(name, action="store_true")
    options = parser.parse_args()
    requests = load()
    catalog = FileStore(embedded_path())()
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
        measured = tables({title: answers(ranker, requests) for title, ranker in {**here, **there}.items()})
        if not (options.write or options.check):
            print(measured, times(here, requests), sep="\n", end="")
            return 0
    return _page(measured, write=options.write)


def _page(measured: str, *, write: bool) -> int:
    """Compare the page's tables with ``measured``, or replace them."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    current, after = rest.split(END)
    if write:
        PAGE.write_text(f"{before}{BEGIN}\n{measured}\n{END}{after}", encoding="utf-8")
    elif current.strip() != measured.strip():
        print(f"The tables of {PAGE} are stale. Run: make bench-retrieval ARGS=--write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
